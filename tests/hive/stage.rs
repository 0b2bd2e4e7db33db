//! The models of a trial: each agent plays its scripted turns in their order, and every request is remembered.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::Clock;
use base::chance::Chance;
use futures::future::BoxFuture;
use llm::script::{Script, Turn};
use llm::{Class, Model, ModelError, ModelRef, Request, Response, Sink};

use crate::improvise;

/// What all models of a trial share. It outlives the hive that they answer.
#[derive(Clone, Default)]
pub struct Stage(Arc<Mutex<State>>);

/// Which turn answered which request: so that the same request gets the same answer in another run, whatever was
/// lost in between.
pub type Memory = BTreeMap<u64, Vec<usize>>;

#[derive(Default)]
struct State {
    turns: BTreeMap<String, Vec<Entry>>,
    requests: Vec<(String, Request)>,
    unscripted: Vec<String>,
    improvises: Option<u64>,
    played: Memory,
    recalled: Option<Memory>,
}

struct Entry {
    turn: Turn,
    heard: bool,
    line: usize,
    progress: Progress,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Waiting,
    Playing,
    Played,
}

impl Stage {
    /// Adds a turn to an agent's part. One that is not `heard` to its end is over once its asker goes away; `line` is
    /// where it stands in the scenario.
    pub fn add(&self, agent: &str, turn: Turn, heard: bool, line: usize) {
        let entry = Entry { turn, heard, line, progress: Progress::Waiting };
        self.lock().turns.entry(agent.to_owned()).or_default().push(entry);
    }

    /// Agents without a part answer by chance from now on.
    pub fn improvise(&self, seed: u64) {
        self.lock().improvises = Some(seed);
    }

    /// Answers as another run did.
    pub fn recall(&self, memory: Memory) {
        self.lock().recalled = Some(memory);
    }

    /// What was answered with what.
    pub fn memory(&self) -> Memory {
        self.lock().played.clone()
    }

    /// Every request so far: who asked, and what.
    pub fn requests(&self) -> Vec<(String, Request)> {
        self.lock().requests.clone()
    }

    /// The requests of one agent.
    pub fn requests_of(&self, agent: &str) -> Vec<Request> {
        self.lock().requests.iter().filter(|(who, _)| who == agent).map(|(_, request)| request.clone()).collect()
    }

    /// What was asked without an answer being scripted, and the turns that nobody asked for.
    pub fn faults(&self) -> Vec<String> {
        let state = self.lock();
        let mut faults = state.unscripted.clone();
        for (agent, entries) in &state.turns {
            let unused = entries.iter().filter(|entry| entry.progress != Progress::Played);
            faults.extend(unused.map(|entry| format!("line {}: `{agent}` was never asked for this turn", entry.line)));
        }
        faults
    }

    /// The model of an agent, with its context window.
    pub fn actor(&self, agent: &str, context_window_tokens: u64) -> Arc<dyn Model> {
        let reference = ModelRef::new(llm::script::PROFILE, agent);
        Arc::new(Actor { stage: self.clone(), agent: agent.to_owned(), reference, context_window_tokens })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The turn that answers a request, and its place in the agent's part where it has one.
    fn take(&self, agent: &str, request: &Request) -> Result<(Option<usize>, Turn), ModelError> {
        let mut state = self.lock();
        let state = &mut *state;
        state.requests.push((agent.to_owned(), request.clone()));
        let asked = state.requests.len() as u64;
        let key = key(agent, request);
        let entries = state.turns.entry(agent.to_owned()).or_default();
        let known = state.recalled.as_ref().and_then(|memory| memory.get(&key));
        let again = known.and_then(|known| {
            known.iter().copied().find(|at| entries[*at].progress == Progress::Waiting).or(known.last().copied())
        });
        let next = again.or_else(|| entries.iter().position(|entry| entry.progress == Progress::Waiting));
        if let Some(at) = next {
            entries[at].progress = Progress::Playing;
            let played = state.played.entry(key).or_default();
            if !played.contains(&at) {
                played.push(at);
            }
            return Ok((Some(at), entries[at].turn.clone()));
        }
        if let Some(seed) = state.improvises {
            return Ok((None, improvise::turn(&Chance::seeded(seed ^ key.rotate_left(7) ^ asked), agent)));
        }
        let last = request.messages.last().map(|message| base::text::headline(&message.text(), 200));
        let line = format!("nothing is scripted for `{agent}`, asked with: {}", last.unwrap_or_default());
        state.unscripted.push(line.clone());
        Err(ModelError::new(Class::Malformed, line))
    }

    /// A turn has come to its end, or its asker has gone away.
    fn end(&self, agent: &str, at: usize, whole: bool) {
        let mut state = self.lock();
        let Some(entry) = state.turns.get_mut(agent).and_then(|entries| entries.get_mut(at)) else { return };
        entry.progress = if whole || !entry.heard { Progress::Played } else { Progress::Waiting };
        if whole && !entry.heard {
            let fault = format!("line {}: `{agent}` was heard to the end of this turn", entry.line);
            state.unscripted.push(fault);
        }
    }
}

/// Whose part a request is: teams and subagents may share the main agent's model, and have parts of their own.
fn part(agent: &str, request: &Request) -> String {
    let named = |before: &str, after: &str| {
        let texts = request.system.iter().map(|system| system.text.as_str());
        texts.filter_map(|text| text.split_once(before)?.1.split_once(after)).next().map(|(name, _)| name.to_owned())
    };
    let team = named("This is the team `", "`");
    let working = request.system.iter().any(|system| system.text.contains("You do one task for a team of a hive."));
    // Nothing tells a scout from other agents but that it is no subagent and works for a team's agent.
    let subagent = named("--- Active Subagent: ", " ---").or_else(|| working.then(|| "scout".to_owned()));
    [team, subagent].into_iter().flatten().reduce(|team, subagent| format!("{team}/{subagent}")).unwrap_or(agent.into())
}

fn key(agent: &str, request: &Request) -> u64 {
    let mut hasher = DefaultHasher::new();
    (agent, format!("{:?}", request.messages)).hash(&mut hasher);
    hasher.finish()
}

struct Actor {
    stage: Stage,
    agent: String,
    reference: ModelRef,
    context_window_tokens: u64,
}

/// A turn that is being played. Dropped before its end (a crash, a stopped turn) it waits again: whoever asked was
/// given no answer.
struct Playing<'a> {
    actor: &'a Actor,
    agent: String,
    at: Option<usize>,
    whole: bool,
}

impl Drop for Playing<'_> {
    fn drop(&mut self) {
        if let Some(at) = self.at {
            self.actor.stage.end(&self.agent, at, self.whole);
        }
    }
}

impl Model for Actor {
    fn respond<'a>(&'a self, request: &'a Request, sink: Sink<'a>) -> BoxFuture<'a, Result<Response, ModelError>> {
        Box::pin(async move {
            let agent = part(&self.agent, request);
            let (at, turn) = self.stage.take(&agent, request)?;
            let mut playing = Playing { actor: self, agent: agent.clone(), at, whole: false };
            // A script of its own for every answer: ids of tool calls begin anew in each, as some servers count.
            let script = Script::new(Clock::starting_at(0));
            script.turn(&agent, turn);
            let answer = script.model(&agent).respond(request, sink).await;
            playing.whole = true;
            answer
        })
    }

    fn reference(&self) -> &ModelRef {
        &self.reference
    }

    fn context_window_tokens(&self) -> u64 {
        self.context_window_tokens
    }
}
