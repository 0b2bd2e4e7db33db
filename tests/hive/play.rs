//! Plays a scenario and writes down what it should say.

use std::collections::BTreeMap;
use std::time::Duration;

use base::clock;
use channels::memory::Outcome;
use channels::{Action, Kind, SendError};
use org::trust::change::{self, Actor, Change, Role, Via};
use tracing::Level;

use crate::language::{Deed, Fault, Line, Means, Question, Says, Scenario, Verb, kind_of};
use crate::logs::Logs;
use crate::names::KINDS;
use crate::people::People;
use crate::show;
use crate::world::World;

/// What a scenario came to.
pub struct Played {
    /// Its text as it should be.
    pub text: String,
    /// What must not be, whatever the text says.
    pub faults: Vec<String>,
    /// The world at its end.
    pub world: World,
    /// What was logged.
    pub logs: Logs,
}

/// Plays a scenario to its end.
///
/// # Errors
/// What could not be played, with its line.
pub fn play(scenario: &Scenario, prepare: impl FnOnce(&mut World)) -> Result<Played, String> {
    let logs = Logs::default();
    let _listening = logs.listen();
    let mut world = World::new(&scenario.setup)?;
    prepare(&mut world);
    let mut stage = Play {
        scenario,
        world,
        logs: logs.clone(),
        text: Vec::new(),
        seen: BTreeMap::new(),
        seen_messages: BTreeMap::new(),
        seen_logs: 0,
        people: People::default(),
        acted: false,
        paused: false,
        loaded: 0,
    };
    stage.lines()?;
    let Play { world, text, .. } = stage;
    let faults = world.stage.faults();
    Ok(Played { text: text.join("\n") + "\n", faults, world, logs })
}

struct Play<'a> {
    scenario: &'a Scenario,
    world: World,
    logs: Logs,
    text: Vec<String>,
    /// How many deliveries of each platform are written down.
    seen: BTreeMap<Kind, usize>,
    /// How many messages of each platform are known: an answer that names an older one was sent again.
    seen_messages: BTreeMap<Kind, Vec<String>>,
    seen_logs: usize,
    people: People,
    /// Something was done that the hive has not come to rest from.
    acted: bool,
    /// The last thing done was a wait, a crash or a stop: outputs show what is, not what will be.
    paused: bool,
    /// Up to which line the agents know their parts: all of an act, before it begins.
    loaded: usize,
}

impl Play<'_> {
    fn lines(&mut self) -> Result<(), String> {
        let lines = &self.scenario.lines;
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            let told = |why: String| format!("{}:{}: {why}", self.scenario.path.display(), line.number);
            let is_output = |line: &Line| matches!(line.means, Means::Seen | Means::Asks(_));
            if is_output(line) {
                let end = lines[at..].iter().position(|line| !is_output(line)).map_or(lines.len(), |count| at + count);
                self.outputs(at, &lines[at..end]).map_err(told)?;
                at = end;
                continue;
            }
            self.load_act(at);
            match &line.means {
                Means::Break => self.end_act().map_err(told)?,
                Means::Does(deed) => self.does(deed).map_err(told)?,
                _ => {}
            }
            self.copy(line);
            at += 1;
        }
        self.end_act().map_err(|why| format!("{}: at its end: {why}", self.scenario.path.display()))
    }

    /// Gives the agents their parts of the act that begins with this line.
    fn load_act(&mut self, at: usize) {
        let lines = &self.scenario.lines;
        while self.loaded <= at || lines.get(self.loaded).is_some_and(|line| !matches!(line.means, Means::Break)) {
            if let Some(Line { number, means: Means::Answers { agent, turn, times, heard }, .. }) =
                lines.get(self.loaded)
            {
                (0..*times).for_each(|_| self.world.stage.add(agent, turn.clone(), *heard, *number));
            }
            self.loaded += 1;
        }
    }

    /// How many answers an agent has in its part above a line.
    fn answers_above(&self, at: usize, who: &str) -> usize {
        let count = |line: &Line| match &line.means {
            Means::Answers { agent, times, .. } if agent == who => *times,
            _ => 0,
        };
        self.scenario.lines[..at].iter().map(count).sum()
    }

    fn copy(&mut self, line: &Line) {
        self.text.push(line.head.clone());
        self.text.extend(line.block.iter().map(|more| format!("  {more}")));
    }

    /// Everything that is under way comes to its end, and what is to be seen of it is written down.
    fn end_act(&mut self) -> Result<(), String> {
        if self.acted && self.world.is_alive() {
            self.world.rest()?;
        }
        self.write_seen();
        (self.acted, self.paused) = (false, false);
        Ok(())
    }

    fn outputs(&mut self, at: usize, lines: &[Line]) -> Result<(), String> {
        if self.acted && !self.paused && self.world.is_alive() {
            self.world.rest()?;
            self.acted = false;
        }
        self.write_seen();
        for line in lines {
            if let Means::Asks(question) = &line.means {
                self.text.push(line.head.clone());
                let answer = self.answer(at, question)?;
                self.text.extend(answer);
            }
        }
        Ok(())
    }

    /// Writes down what was sent and logged since the last look.
    fn write_seen(&mut self) {
        let mut new = Vec::new();
        for kind in KINDS {
            let deliveries = self.world.memory(kind).outbox();
            let seen = self.seen.entry(kind).or_default();
            new.extend(deliveries.into_iter().skip(*seen).inspect(|_| *seen += 1));
        }
        new.sort_by_key(|delivery| delivery.at_ms);
        for delivery in new {
            let kind = delivery.out.conversation.kind();
            let known = self.seen_messages.entry(kind).or_default();
            let mut again = false;
            if let (Action::Send(_), Outcome::Done(sent)) = (&delivery.out.action, &delivery.outcome) {
                again = known.contains(&sent.message_id);
                known.push(sent.message_id.clone());
            }
            self.text.extend(show::delivery(&self.world.names, &delivery, again));
        }
        let entries = self.logs.entries();
        for entry in entries.iter().skip(self.seen_logs).filter(|entry| entry.level <= Level::WARN) {
            let level = if entry.level == Level::ERROR { "error" } else { "warn" };
            let message = self.world.names.with_names(&entry.message, None).replace('\n', "\\n");
            self.text.push(format!("log {level} {message}"));
        }
        self.seen_logs = entries.len();
    }

    fn answer(&mut self, line: usize, question: &Question) -> Result<Vec<String>, String> {
        let workspace = self.world.workspace().display().to_string();
        Ok(match question {
            Question::Sees { agent, number, with } => {
                let requests = self.world.stage.requests_of(agent);
                let at = number.unwrap_or_else(|| self.answers_above(line, agent).min(requests.len()));
                let request = at.checked_sub(1).and_then(|at| requests.get(at));
                let request = request.ok_or_else(|| format!("`{agent}` was asked {} times", requests.len()))?;
                match with {
                    Some(text) => show::lines_with(&self.world.names, request, &workspace, text),
                    None => show::request(&self.world.names, request, &workspace),
                }
            }
            Question::Got { agent } => {
                let requests = self.world.stage.requests_of(agent);
                let request = requests.get(self.answers_above(line, agent)).or(requests.last());
                let request = request.ok_or_else(|| format!("`{agent}` was never asked"))?;
                show::results(&self.world.names, request, &workspace)
            }
            Question::Facts(sql) => {
                let sql = self.world.names.with_ids(sql, None)?;
                let rows = self.world.rows().of(&sql)?;
                show::rows(&self.world.names, &rows)
            }
            Question::Shown(place) => {
                let (conversation, _) = self.world.names.place(place)?;
                let shown = self.world.memory(conversation.kind()).shown(&conversation);
                show::shown(&self.world.names, conversation.kind(), &shown)
            }
        })
    }

    fn does(&mut self, deed: &Deed) -> Result<(), String> {
        let pauses = matches!(deed, Deed::Waits(_) | Deed::Crashes | Deed::Stops);
        let starts = !matches!(deed, Deed::Judges { .. } | Deed::Pairs { .. } | Deed::Restarts { .. });
        if self.world.lives == 0 && starts {
            self.world.start()?;
        }
        (self.acted, self.paused) = (true, pauses);
        match deed {
            Deed::Says(says) => {
                for time in 1..=says.times {
                    let text = says.text.replace("{n}", &time.to_string());
                    self.people.says(&mut self.world, &Says { text, ..says.clone() })?;
                }
            }
            Deed::Clicks { place, sender, label, on } => {
                self.people.clicks(&mut self.world, place, sender, label, on.as_deref())?
            }
            Deed::Judges { verb, sender, place, lasts } => self.judges(*verb, sender, place.as_deref(), *lasts)?,
            Deed::Gives { team, text } => {
                let (now, team) = (self.world.now(), team.parse().map_err(|error| format!("{error}"))?);
                let (kind, nobody) = (store::tasks::Kind::Trigger, store::tasks::Origin::default());
                let new = store::tasks::New::of(&team, kind, text, &nobody);
                self.world.beside(async |conn| store::tasks::give(conn, &new, now).await)?;
            }
            Deed::Pairs { code, lasts } => {
                let (now, digest) = (self.world.now(), openhive::commands::digest(code));
                let until = now + clock::ms(*lasts);
                self.world.beside(async |conn| store::pairings::add(conn, &digest, now, until).await)?;
            }
            Deed::Fails { place, fault, times } => {
                (0..*times).try_for_each(|_| self.fails(place, fault))?;
            }
            Deed::Removes(place) => {
                let (conversation, _) = self.world.names.place(place)?;
                self.world.memory(conversation.kind()).remove(&conversation);
            }
            Deed::Waits(span) => self.world.run(*span)?,
            Deed::Crashes => self.world.crash(),
            Deed::CrashesAfter(name) => {
                self.world.die_after_named(name);
                self.world.until_death(name)?;
                self.world.crash();
                self.paused = true;
            }
            Deed::Stops => self.world.stop(),
            Deed::Restarts { later_ms } => {
                if self.world.is_alive() {
                    return Err("the hive lives: `crash` or `stop` comes first".to_owned());
                }
                self.world.pass_without_process(*later_ms);
                self.world.start()?;
            }
        }
        Ok(())
    }

    fn judges(&mut self, verb: Verb, sender: &str, place: Option<&str>, lasts: Option<Duration>) -> Result<(), String> {
        let sender = self.world.names.person_at(sender)?;
        let conversation = place.map(|path| self.world.names.place(path)).transpose()?.map(|(id, _)| id);
        let at = self.world.now();
        let change = Change { sender, conversation, actor: Actor::Cli, via: Via::Cli, at };
        let (policy, end) = (self.world.policy().clone(), lasts.map(|span| at + clock::ms(span)));
        let done = self.world.beside(async |conn| match verb {
            Verb::Trust => change::grant(conn, &policy, &change, Role::Speaker, end).await,
            Verb::Admin => change::grant(conn, &policy, &change, Role::Admin, end).await,
            Verb::Deny => change::deny(conn, &policy, &change, end).await,
            Verb::Revoke => change::revoke(conn, &policy, &change).await,
        })?;
        done.map(drop).map_err(|refusal| refusal.to_string())
    }

    fn fails(&mut self, place: &str, fault: &Fault) -> Result<(), String> {
        let error = match fault {
            Fault::Error(error) => Some(error.clone()),
            Fault::Moved(to) => Some(SendError::Moved(self.world.names.place(to)?.0)),
            _ => None,
        };
        if let (Some(kind), Some(error)) = (kind_of(place), &error) {
            self.world.memory(kind).fail_next(error.clone());
            return Ok(());
        }
        let (conversation, _) = self.world.names.place(place)?;
        let memory = self.world.memory(conversation.kind());
        match (fault, error) {
            (Fault::Ambiguous(carried), _) => memory.lose_next_answer_in(&conversation, *carried),
            (Fault::Hangs(carried), _) => memory.hang_next_in(&conversation, *carried),
            (_, Some(error)) => memory.fail_next_in(&conversation, error),
            (_, None) => return Err("this fault needs a place".to_owned()),
        }
        Ok(())
    }
}
