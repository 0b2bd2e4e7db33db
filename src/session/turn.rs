//! The straight loop of a turn: ask the model; if it wants no tool, finish; run the tools; spend a step.

use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result};
use base::{Moment, RunId, Stop, TopicId};
use channels::{Content, Place};
use llm::{Block, ModelError, ModelRef, Progress, Request, Response, StopReason, Usage};
use org::memory;
use store::inbox::Row;
use store::runs::Run;
use store::tasks::{End, Task};
use store::{Conn, calls, inbox, journal, questions, runs, trust, usage};
use tools::{Asked, Call, Grant};

use super::draft::Draft;
use super::enter::Mail;
use super::finish::{Delivery, Ending};
use super::history::{self, History, text_of};
use super::{Sessions, apology, compact, enter, finish, prompt};
use crate::config::DuringTurn;

/// How much of a request may be what the team remembers, in tokens.
const MEMORY_TOKENS: u64 = 1_500;

/// How a turn came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// There was nothing to do: another turn had taken the messages in.
    Nothing,
    /// With a reply, an error that people see, or their own word to stop.
    Finished,
    /// The hive stops: the rows say where to go on.
    Left,
}

/// Tells a running turn to end, and why.
#[derive(Clone, Debug)]
pub struct Halt {
    /// Cancelled when the turn is to end.
    pub token: Stop,
    why: Arc<OnceLock<Why>>,
}

/// Why a running turn is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// A person said so.
    Person,
    /// A newer message is to be answered instead.
    Message,
    /// The hive stops.
    Shutdown,
}

impl Halt {
    /// Not yet.
    pub fn new() -> Self {
        Halt { token: Stop::new(), why: Arc::default() }
    }

    /// Now. The first reason stands.
    pub fn now(&self, why: Why) {
        self.why.get_or_init(|| why);
        self.token.cancel();
    }
}

impl Default for Halt {
    fn default() -> Self {
        Halt::new()
    }
}

/// Runs the turn of a claimed task to its end.
///
/// # Errors
/// Only where the rows could not be written: what people are told of any other fault is part of the turn.
pub async fn run(session: &Arc<Sessions>, task: &Task, halt: &Halt) -> Result<Ended> {
    let now = session.clock.now();
    let Some(topic) = task.origin.topic else {
        let note = "a message task without a topic";
        session
            .db
            .tx("end a task", async |conn| store::tasks::finish(conn, task.id, End::Failed, note, now).await)
            .await?;
        return Ok(Ended::Finished);
    };
    let (known, waiting) = session
        .db
        .read(async |conn| {
            let known = runs::of_task(conn, task.id).await?;
            Ok((known, if known.is_none() { enter::waiting(conn, topic).await? } else { Vec::new() }))
        })
        .await?;
    if known.is_none() && waiting.is_empty() {
        session
            .db
            .note("end an empty task", async |conn| store::tasks::finish(conn, task.id, End::Done, "", now).await)
            .await?;
        return Ok(Ended::Nothing);
    }
    let mut turn = match known {
        Some(run) => Turn::again(session, task, run, topic).await?,
        None => Turn::anew(session, task, topic, Mail::open(session, waiting).await?).await?,
    };
    let ending = turn.proceed(halt).await;
    turn.draft.end().await;
    match ending {
        Ok(Some(ending)) => turn.finish(ending, None).await.map(|()| Ended::Finished),
        Ok(None) => Ok(if turn.finished { Ended::Finished } else { Ended::Left }),
        Err(error) => {
            tracing::error!(task.id = task.id.0, "the turn of task {} failed: {error:#}", task.id);
            let ending = turn.ending(End::Failed, format!("{error:#}"), apology::OURS.to_owned());
            turn.finish(ending, None).await.map(|()| Ended::Finished)
        }
    }
}

struct Turn<'a> {
    session: &'a Arc<Sessions>,
    task: &'a Task,
    run: RunId,
    topic: TopicId,
    /// Steps that are in the journal.
    steps: i64,
    begun: Moment,
    draft: Draft,
    /// What people said in this turn, oldest first.
    said: Vec<Row>,
    /// The mailbox was looked into just now.
    looked: bool,
    /// What the team remembers that matters, and how much had been said when it was looked up.
    remembered: Option<(usize, String)>,
    finished: bool,
}

/// What the model answered, before it is in the journal.
struct Answer {
    response: Response,
    failed: Vec<(ModelRef, Usage)>,
}

impl<'a> Turn<'a> {
    /// A turn that begins with what waits in the mailbox.
    async fn anew(session: &'a Arc<Sessions>, task: &'a Task, topic: TopicId, mail: Mail) -> Result<Turn<'a>> {
        let now = session.clock.now();
        let run = session
            .db
            .tx("enter a turn", async |conn| {
                let run = runs::enter(conn, task, now).await?;
                mail.take(conn, run.id, topic, run.steps + 1, now).await?;
                Ok(run)
            })
            .await?;
        Ok(Turn { looked: true, ..Turn::of(session, task, run, topic, mail.rows) })
    }

    /// A turn that a crash or a stop has cut off.
    async fn again(session: &'a Arc<Sessions>, task: &'a Task, run: Run, topic: TopicId) -> Result<Turn<'a>> {
        let said = session.db.read(async |conn| inbox::of_run(conn, run.id).await).await?;
        Ok(Turn::of(session, task, run, topic, said))
    }

    fn of(session: &'a Arc<Sessions>, task: &'a Task, run: Run, topic: TopicId, said: Vec<Row>) -> Self {
        let draft = Draft::begin(session, &task.origin, run.id, None);
        let begun = session.clock.now();
        Turn {
            session,
            task,
            run: run.id,
            topic,
            steps: run.steps,
            begun,
            draft,
            said,
            looked: false,
            remembered: None,
            finished: false,
        }
    }

    /// Goes on until the turn has an ending. `None`: it was written already, or the hive stops.
    async fn proceed(&mut self, halt: &Halt) -> Result<Option<Ending>> {
        let mut history = self.history().await?;
        loop {
            if halt.token.is_cancelled() {
                return self.halted(halt, &history).await;
            }
            if let Some((step, calls)) = open_calls(&history, self.run)? {
                self.run_tools(step, calls, halt).await?;
                history = self.history().await?;
                continue;
            }
            // A new turn has just looked.
            if !std::mem::take(&mut self.looked) && self.take_more().await? {
                history = self.history().await?;
            } else if history
                .last_answer(self.run)?
                .is_some_and(|(_, last)| last.iter().all(|b| b.as_tool_use().is_none()))
            {
                // Entered again after a crash that came between the last answer and its reply.
                let said = history.said_so_far(self.run)?;
                return Ok(Some(self.ending(End::Done, String::new(), said)));
            }
            if self.steps >= self.session.limits.steps_max {
                let text = joined(&history.said_so_far(self.run)?, &apology::of_steps(self.steps));
                return Ok(Some(self.ending(End::Failed, "the turn's steps are used up".to_owned(), text)));
            }
            self.remember().await?;
            let left =
                self.session.limits.turn.saturating_sub(base::clock::millis(self.session.clock.now() - self.begun));
            let step = tokio::select! {
                biased;
                () = halt.token.cancelled() => continue,
                () = self.session.clock.sleep(left) => {
                    let text = joined(&self.said(&history)?, apology::TOO_LONG);
                    return Ok(Some(self.ending(End::Failed, "the turn took too long".to_owned(), text)));
                }
                step = self.ask(&mut history) => step?,
            };
            match step {
                Step::Ends(ending) => return Ok(Some(ending)),
                Step::Answers(answer) => {
                    if self.record(answer, &history).await? {
                        return Ok(None);
                    }
                    history = self.history().await?;
                }
            }
        }
    }

    /// Takes in what people said meanwhile, where the configuration wants it in this turn.
    async fn take_more(&mut self) -> Result<bool> {
        if !self.said.is_empty() && self.session.limits.during_turn != DuringTurn::Inject {
            return Ok(false);
        }
        let more = self.session.db.read(async |conn| enter::waiting(conn, self.topic).await).await?;
        if more.is_empty() {
            return Ok(false);
        }
        let mail = Mail::open(self.session, more).await?;
        let now = self.session.clock.now();
        self.session
            .db
            .tx("take messages into a turn", async |conn| {
                mail.take(conn, self.run, self.topic, self.steps + 1, now).await
            })
            .await?;
        if !self.said.is_empty() {
            self.draft.seen(self.session, &mail.rows);
        }
        self.said.extend(mail.rows);
        Ok(true)
    }

    async fn history(&self) -> Result<History> {
        let limit = self.session.limits.history_max;
        self.session.db.read(async |conn| history::read(conn, self.topic, self.run, limit).await).await
    }

    /// Looks up what the team remembers that matters to what people said, once for what they said.
    async fn remember(&mut self) -> Result<()> {
        if self.remembered.as_ref().is_some_and(|(said, _)| *said == self.said.len()) {
            return Ok(());
        }
        let (library, team, now) = (&self.session.office.library, &self.task.team, self.session.clock.now());
        let any = async |conn: &mut Conn| store::memory::list(conn, team, None, 1).await;
        let mut memory = String::new();
        if !self.session.db.read(any).await?.is_empty() {
            let words = |row: &Row| match &row.event.content {
                Content::Text(said) => Some(said.text.clone()),
                _ => None,
            };
            let said: Vec<String> = self.said.iter().filter_map(words).collect();
            let question = memory::question(library, &said.join("\n")).await;
            let read = async |conn: &mut Conn| memory::inject(conn, library, team, &question, MEMORY_TOKENS, now).await;
            memory = self.session.db.read(read).await?;
        }
        self.remembered = Some((self.said.len(), memory));
        Ok(())
    }

    async fn run_tools(&self, step: i64, calls: Vec<Asked>, halt: &Halt) -> Result<()> {
        let call = Call {
            team: self.task.team.clone(),
            grant: Arc::new(Grant { admin: self.by_admins().await?, ..self.session.office.grant.clone() }),
            origin: self.task.origin.clone(),
            run: self.run,
            step,
            stop: halt.token.clone(),
        };
        self.session.tools.run_calls(&call, calls).await.context("run the tools of a step")?;
        Ok(())
    }

    /// Whether everybody who has a word in this turn is an admin now. One other voice is enough to say no: what a
    /// turn may do must not depend on who else was listened to.
    async fn by_admins(&self) -> Result<bool> {
        let now = self.session.clock.now();
        for row in &self.said {
            let (event, policy) = (&row.event, &self.session.office.policy);
            let rows = self.session.db.read(async |conn| trust::of_sender(conn, &event.sender.id).await).await?;
            if !org::trust::is_admin(policy, &rows, event, now) {
                return Ok(false);
            }
        }
        Ok(!self.said.is_empty())
    }

    /// Asks the model once; shortens the topic first where it does not fit.
    async fn ask(&self, history: &mut History) -> Result<Step> {
        let mut request = self.request(history)?;
        if compact::is_due(self.session, &request) {
            if compact::shorten(self.session, self.topic, self.run, history).await? {
                *history = self.history().await?;
                request = self.request(history)?;
            }
            if compact::is_due(self.session, &request) {
                compact::squeeze(&mut request.messages);
            }
        }
        let model = self.session.model.reference();
        let now = self.session.clock.now();
        let ledger = &self.session.office.ledger;
        if let Some(over) = ledger.refuses(&self.session.db, Some(self.topic), model, &request, now).await? {
            let text = joined(&history.said_so_far(self.run)?, over.sentence());
            return Ok(Step::Ends(self.ending(End::Failed, format!("over the budget: {over:?}"), text)));
        }
        let said = history.said_so_far(self.run)?;
        let (mut answer, mut failed) = self.respond(&request, &said).await;
        if matches!(&answer, Err(error) if error.class == llm::Class::ContextTooLong) {
            let shorter = compact::shorten(self.session, self.topic, self.run, history).await?;
            if shorter {
                *history = self.history().await?;
                request = self.request(history)?;
            }
            if shorter || compact::squeeze(&mut request.messages) {
                let again = self.respond(&request, &said).await;
                answer = again.0;
                failed.extend(again.1);
            }
        }
        match answer {
            Ok(response) => Ok(Step::Answers(Answer { response, failed })),
            Err(error) => {
                tracing::warn!(task.id = self.task.id.0, "the model did not answer task {}: {error}", self.task.id);
                self.note_usage(&failed).await?;
                Ok(Step::Ends(self.ending(End::Failed, error.to_string(), joined(&said, &apology::of_model(&error)))))
            }
        }
    }

    async fn respond(&self, request: &Request, said: &str) -> (Result<Response, ModelError>, Vec<(ModelRef, Usage)>) {
        let before = if said.is_empty() { String::new() } else { format!("{said}\n\n") };
        self.draft.set(before.clone());
        let mut failed = Vec::new();
        let answer = self
            .session
            .model
            .respond(request, &mut |progress: Progress<'_>| match progress {
                Progress::Text(more) => self.draft.grow(more),
                Progress::StartOver => self.draft.set(before.clone()),
                Progress::Failed(attempt) => {
                    tracing::warn!("{} failed: {}; {}", attempt.model, attempt.error, attempt.next);
                    failed.push((attempt.model.clone(), attempt.error.usage));
                }
            })
            .await;
        (answer, failed)
    }

    fn request(&self, history: &History) -> Result<Request> {
        let memory = self.remembered.as_ref().map_or("", |(_, memory)| memory);
        let event = self.said.last().map(|row| &row.event);
        let office = &self.session.office;
        let varies =
            prompt::varying(&office.workspace, event, history.topic.as_ref(), history.summary.as_deref(), memory);
        Ok(Request {
            system: office.fixed.system(varies),
            tools: office.fixed.tools.clone(),
            messages: history.messages()?,
            output_tokens_max: self.session.limits.output_tokens_max,
        })
    }

    /// Writes an answer down. `true` where it was the last: then the end of the turn is in the same transaction.
    async fn record(&mut self, answer: Answer, history: &History) -> Result<bool> {
        let wants_tools = answer.response.tool_uses().next().is_some();
        // A message that came meanwhile is answered in this turn, at the next step.
        let more = !wants_tools
            && self.session.limits.during_turn == DuringTurn::Inject
            && self.session.db.read(async |conn| inbox::waits(conn, self.topic).await).await?;
        if wants_tools || more {
            self.journal(&answer, None).await?;
            return Ok(false);
        }
        let said = history.said_so_far(self.run)?;
        let text = joined(&said, text_of(&answer.response.content).trim());
        let (end, note, text) = match answer.response.stop {
            _ if text.trim().is_empty() => (End::Failed, "the model said nothing", apology::NOTHING_SAID.to_owned()),
            StopReason::OutputLimit => {
                (End::Done, "cut off by the model's limit", format!("{text}{}", apology::CUT_OFF))
            }
            _ => (End::Done, "", text),
        };
        self.draft.end().await;
        let ending = self.ending(end, note.to_owned(), text);
        self.journal(&answer, Some(ending)).await?;
        Ok(true)
    }

    async fn journal(&mut self, answer: &Answer, ending: Option<Ending>) -> Result<()> {
        self.steps += 1;
        if let Some(ending) = ending {
            return self.finish(ending, Some(answer)).await;
        }
        let now = self.session.clock.now();
        let (content, entries) = (self.journaled(answer)?, self.ledger_entries(answer));
        self.session
            .db
            .tx("journal an answer", async |conn| {
                journal::append(conn, self.run, Some(self.topic), self.steps, journal::Role::Assistant, &content, now)
                    .await?;
                for entry in &entries {
                    usage::add(conn, entry, now).await?;
                }
                runs::step(conn, self.run).await
            })
            .await
    }

    /// An answer as the journal keeps it: a secret that the model says is not stored, nor sent to it again.
    fn journaled(&self, answer: &Answer) -> Result<String> {
        Ok(self.session.office.scrub.clean(&serde_json::to_string(&answer.response.content)?))
    }

    fn ledger_entries(&self, answer: &Answer) -> Vec<usage::Entry> {
        let used = answer.failed.iter().map(|(model, usage)| (model, usage));
        let used = used.chain([(&answer.response.model, &answer.response.usage)]);
        used.filter(|(_, usage)| **usage != Usage::default() || answer.failed.is_empty())
            .map(|(model, usage)| self.ledger_entry(model, usage))
            .collect()
    }

    fn ledger_entry(&self, model: &ModelRef, used: &Usage) -> usage::Entry {
        let sender = self.task.origin.sender.as_ref().map(ToString::to_string);
        self.session.office.ledger.entry(Some((self.run, self.topic)), sender, "turn", model, used)
    }

    async fn note_usage(&self, failed: &[(ModelRef, Usage)]) -> Result<()> {
        let entries: Vec<_> = failed
            .iter()
            .filter(|(_, usage)| *usage != Usage::default())
            .map(|(model, usage)| self.ledger_entry(model, usage))
            .collect();
        if entries.is_empty() {
            return Ok(());
        }
        let now = self.session.clock.now();
        self.session
            .db
            .tx("note what failed calls cost", async |conn| {
                for entry in &entries {
                    usage::add(conn, entry, now).await?;
                }
                Ok(())
            })
            .await
    }

    async fn halted(&self, halt: &Halt, history: &History) -> Result<Option<Ending>> {
        let why = halt.why.get().copied().unwrap_or(Why::Shutdown);
        if why == Why::Shutdown {
            return Ok(None);
        }
        let now = self.session.clock.now();
        self.session
            .db
            .tx("interrupt tools", async |conn| {
                for question in questions::open_of_run(conn, self.run).await? {
                    org::questions::give_up(conn, &question, "The turn was stopped.", now).await?;
                }
                calls::interrupt(conn, self.run, now).await
            })
            .await?;
        let said = self.said(history)?;
        let mut ending = self.ending(End::Cancelled, format!("stopped: {why:?}"), joined(&said, apology::STOPPED));
        if why == Why::Message {
            ending.reply = None;
        }
        Ok(Some(ending))
    }

    /// What the model has said in this turn, the answer that it is still writing included: people have seen it grow.
    fn said(&self, history: &History) -> Result<String> {
        let growing = self.draft.text();
        if growing.trim().is_empty() { history.said_so_far(self.run) } else { Ok(growing) }
    }

    fn ending(&self, end: End, note: String, reply: String) -> Ending {
        let reply = self.session.office.scrub.clean(&reply);
        Ending { end, note: self.session.office.scrub.clean(&note), reply: Some(reply), reply_to: self.reply_to() }
    }

    /// In places with several people the reply shows what it answers.
    fn reply_to(&self) -> Option<String> {
        let event = &self.said.last()?.event;
        matches!(event.place, Place::Group { .. }).then(|| event.event_id.clone())
    }

    async fn finish(&mut self, ending: Ending, answer: Option<&Answer>) -> Result<()> {
        let now = self.session.clock.now();
        let limits = &self.session.limits;
        let channel = self.task.origin.conversation.as_ref().and_then(|place| self.session.voices.of(place.kind()));
        let delivery = Delivery {
            anew: base::clock::millis(now - self.begun) > limits.new_message_after,
            resolvable: channel.is_some_and(|channel| channel.reads_back() || !channel.key_window().is_zero()),
            render: limits.render,
        };
        let spoken = match answer {
            Some(answer) => Some((self.journaled(answer)?, self.ledger_entries(answer))),
            None => None,
        };
        self.session
            .db
            .tx("finish task", async |conn| {
                if let Some((content, entries)) = &spoken {
                    let role = journal::Role::Assistant;
                    journal::append(conn, self.run, Some(self.topic), self.steps, role, content, now).await?;
                    for entry in entries {
                        usage::add(conn, entry, now).await?;
                    }
                }
                let run = Run { id: self.run, steps: self.steps };
                finish::write(conn, self.task, run, &ending, &delivery, now).await
            })
            .await?;
        self.finished = true;
        Ok(())
    }
}

/// The tool calls of the model's last answer that have no result yet.
fn open_calls(history: &History, run: RunId) -> Result<Option<(i64, Vec<Asked>)>> {
    let Some((step, content)) = history.last_answer(run)? else { return Ok(None) };
    let has_result = |id: &str| {
        let mut of_step = history.calls.iter().filter(|call| call.run == run && call.step == step);
        of_step.any(|call| call.call_id == id && call.state != calls::State::Started)
    };
    let open: Vec<Asked> =
        content.iter().filter_map(Block::as_tool_use).filter(|call| !has_result(&call.id)).map(Asked::from).collect();
    Ok((!open.is_empty()).then_some((step, open)))
}

enum Step {
    Answers(Answer),
    Ends(Ending),
}

fn joined(said: &str, more: &str) -> String {
    match (said.trim(), more.trim()) {
        ("", more) => more.to_owned(),
        (said, "") => said.to_owned(),
        (said, more) => format!("{said}\n\n{more}"),
    }
}
