//! A model for tests: every agent has a queue of turns, every request is remembered, and what was not scripted is an
//! error that names the request.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base::text::headline;
use base::{Clock, Moment};
use futures::future::BoxFuture;
use serde_json::Value;

use crate::error::{Class, ModelError};
use crate::model::{Model, Progress, Sink};
use crate::request::{Block, Input, ModelRef, Request, Role, ToolUse};
use crate::response::{Response, StopReason, Usage};

/// The profile's name in a scripted model's reference.
pub const PROFILE: &str = "script";

/// How large a scripted model's context is where nothing else is said.
pub const CONTEXT_WINDOW_TOKENS: u64 = 200_000;

/// What a turn uses where it says nothing else.
pub const USAGE: Usage = Usage { input_tokens: 100, output_tokens: 10, cache_read_tokens: 0, cache_write_tokens: 0 };

/// The script of a whole hive. Clones share it; it may outlive the hive that it drives, so that a restart goes on
/// where the crash was.
#[derive(Clone)]
pub struct Script {
    clock: Clock,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    agents: BTreeMap<String, Agent>,
    calls: Vec<Call>,
    unscripted: Vec<String>,
}

#[derive(Default)]
struct Agent {
    turns: VecDeque<Turn>,
    /// Given before any turn, and without using one up.
    faults: VecDeque<ModelError>,
    /// Waited before the next answers, each once.
    delays: VecDeque<Duration>,
    /// How many tool calls it has made: the number in their ids.
    tool_uses: u64,
}

/// A request that came.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Which agent asked.
    pub agent: String,
    /// When.
    pub at: Moment,
    /// What it asked.
    pub request: Request,
}

/// One scripted answer: steps in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    steps: Vec<Step>,
    usage: Usage,
    stop: Option<StopReason>,
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Say(String),
    Call { name: String, input: Input },
    Wait(Duration),
    Fail(ModelError),
}

impl Turn {
    /// An answer without anything in it, as models give at times.
    pub fn empty() -> Self {
        Turn { steps: Vec::new(), usage: USAGE, stop: None }
    }
    /// Words, streamed in one piece.
    pub fn say(text: impl Into<String>) -> Self {
        Turn::empty().and_say(text)
    }
    /// A tool call.
    pub fn call(name: impl Into<String>, input: Value) -> Self {
        Turn::empty().and_call(name, input)
    }
    /// An error instead of an answer.
    pub fn fail(error: ModelError) -> Self {
        Turn::empty().then_fail(error)
    }
    /// More words, as a piece of their own.
    #[must_use]
    pub fn and_say(self, text: impl Into<String>) -> Self {
        self.step(Step::Say(text.into()))
    }
    /// Another tool call of the same turn.
    #[must_use]
    pub fn and_call(self, name: impl Into<String>, input: Value) -> Self {
        self.step(Step::Call { name: name.into(), input: Input::Json(input) })
    }
    /// A tool call whose arguments are not JSON.
    #[must_use]
    pub fn and_broken_call(self, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        self.step(Step::Call { name: name.into(), input: Input::Broken(arguments.into()) })
    }
    /// A wait, here in the order of the steps.
    #[must_use]
    pub fn and_wait(self, time: Duration) -> Self {
        self.step(Step::Wait(time))
    }
    /// The stream breaks off here.
    #[must_use]
    pub fn then_cut(self) -> Self {
        self.then_fail(ModelError::new(Class::Cut, "scripted: the answer ended before it was whole"))
    }
    /// An error comes here; what was said before it has been shown.
    #[must_use]
    pub fn then_fail(self, error: ModelError) -> Self {
        self.step(Step::Fail(error))
    }
    /// Another use than [`USAGE`].
    #[must_use]
    pub fn using(self, usage: Usage) -> Self {
        Turn { usage, ..self }
    }
    /// Another reason to stop than the one that follows from the content.
    #[must_use]
    pub fn stopped(self, stop: StopReason) -> Self {
        Turn { stop: Some(stop), ..self }
    }
    fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }
}

impl Script {
    /// An empty script. Its waits go by `clock`.
    pub fn new(clock: Clock) -> Self {
        Script { clock, state: Arc::default() }
    }

    /// The model of one agent; its reference is `script:<agent>`.
    pub fn model(&self, agent: &str) -> Arc<dyn Model> {
        self.model_sized(agent, CONTEXT_WINDOW_TOKENS)
    }

    /// The model of one agent, with a context window of its own.
    pub fn model_sized(&self, agent: &str, context_window_tokens: u64) -> Arc<dyn Model> {
        let (name, reference) = (agent.to_owned(), ModelRef::new(PROFILE, agent));
        let agent_of = Box::new(move |_: &Request| name.clone());
        Arc::new(Scripted { script: self.clone(), reference, agent_of, context_window_tokens })
    }

    /// A model that several agents share: `agent_of` tells from the request who asks.
    pub fn model_for(
        &self,
        reference: ModelRef,
        agent_of: impl Fn(&Request) -> String + Send + Sync + 'static,
    ) -> Arc<dyn Model> {
        let (agent_of, context_window_tokens) = (Box::new(agent_of), CONTEXT_WINDOW_TOKENS);
        Arc::new(Scripted { script: self.clone(), reference, agent_of, context_window_tokens })
    }

    /// Adds a turn to an agent's queue.
    pub fn turn(&self, agent: &str, turn: Turn) {
        self.lock().agents.entry(agent.to_owned()).or_default().turns.push_back(turn);
    }

    /// Lets an agent's next `times` requests fail. They use up no turn.
    pub fn fail(&self, agent: &str, error: &ModelError, times: usize) {
        let faults = std::iter::repeat_n(error.clone(), times);
        self.lock().agents.entry(agent.to_owned()).or_default().faults.extend(faults);
    }

    /// Lets an agent's next answer begin this much later.
    pub fn slow(&self, agent: &str, time: Duration) {
        self.lock().agents.entry(agent.to_owned()).or_default().delays.push_back(time);
    }

    /// Every request so far, in the order in which they came.
    pub fn calls(&self) -> Vec<Call> {
        self.lock().calls.clone()
    }

    /// The requests of one agent.
    pub fn requests(&self, agent: &str) -> Vec<Request> {
        let state = self.lock();
        state.calls.iter().filter(|call| call.agent == agent).map(|call| call.request.clone()).collect()
    }

    /// What was asked and not scripted, one line each. A test ends with none.
    pub fn unscripted(&self) -> Vec<String> {
        self.lock().unscripted.clone()
    }

    /// Agents that have turns or faults left, with how many. A test ends with none.
    pub fn unused(&self) -> Vec<(String, usize)> {
        let state = self.lock();
        let left = state.agents.iter().map(|(name, agent)| (name.clone(), agent.turns.len() + agent.faults.len()));
        left.filter(|(_, left)| *left > 0).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the request and takes what is scripted for it.
    fn take(&self, agent: &str, request: &Request) -> Result<(Turn, Duration), ModelError> {
        let at = self.clock.now();
        let mut state = self.lock();
        state.calls.push(Call { agent: agent.to_owned(), at, request: request.clone() });
        let queue = state.agents.entry(agent.to_owned()).or_default();
        let delay = queue.delays.pop_front().unwrap_or_default();
        if let Some(fault) = queue.faults.pop_front() {
            return Ok((Turn::fail(fault), delay));
        }
        if let Some(turn) = queue.turns.pop_front() {
            return Ok((turn, delay));
        }
        let line = describe(agent, request);
        state.unscripted.push(line.clone());
        Err(ModelError::new(Class::Malformed, line))
    }

    fn next_id(&self, agent: &str) -> String {
        let mut state = self.lock();
        let queue = state.agents.entry(agent.to_owned()).or_default();
        queue.tool_uses += 1;
        format!("{agent}-{}", queue.tool_uses)
    }
}

/// A request in one line.
fn describe(agent: &str, request: &Request) -> String {
    let last = request.messages.last();
    let who = last.map_or("nobody", |last| match last.role {
        Role::User => "the user",
        Role::Assistant => "the model",
    });
    let words = last.map(|last| last.content.iter().map(shown).collect::<Vec<_>>().join(" ")).unwrap_or_default();
    let count = request.messages.len();
    format!(
        "nothing is scripted for `{agent}`, asked with {count} messages, the last by {who}: {}",
        headline(&words, 200)
    )
}

fn shown(block: &Block) -> String {
    match block {
        Block::Text(text) => text.clone(),
        Block::ToolUse(call) => format!("[calls {}]", call.name),
        Block::ToolResult { content, .. } => format!("[result {content}]"),
        Block::Opaque { .. } => "[opaque]".to_owned(),
    }
}

struct Scripted {
    script: Script,
    reference: ModelRef,
    agent_of: Box<dyn Fn(&Request) -> String + Send + Sync>,
    context_window_tokens: u64,
}

/// A turn that is being played. Dropped before its end (a crash, a cancelled turn) it goes back to where it was,
/// for whoever asks again was given no answer.
struct Playing<'a> {
    script: &'a Script,
    agent: &'a str,
    turn: Option<Turn>,
}

impl Drop for Playing<'_> {
    fn drop(&mut self) {
        if let Some(turn) = self.turn.take() {
            self.script.lock().agents.entry(self.agent.to_owned()).or_default().turns.push_front(turn);
        }
    }
}

impl Scripted {
    async fn play(&self, request: &Request, sink: Sink<'_>) -> Result<Response, ModelError> {
        let agent = (self.agent_of)(request);
        let (turn, delay) = self.script.take(&agent, request)?;
        let mut playing = Playing { script: &self.script, agent: &agent, turn: Some(turn.clone()) };
        if !delay.is_zero() {
            self.script.clock.sleep(delay).await;
        }
        let mut content: Vec<Block> = Vec::new();
        for step in turn.steps {
            match step {
                Step::Say(text) => {
                    sink(Progress::Text(&text));
                    match content.last_mut() {
                        Some(Block::Text(so_far)) => so_far.push_str(&text),
                        _ => content.push(Block::Text(text)),
                    }
                }
                Step::Call { name, input } => {
                    content.push(Block::ToolUse(ToolUse { id: self.script.next_id(&agent), name, input }));
                }
                Step::Wait(time) => self.script.clock.sleep(time).await,
                Step::Fail(error) => {
                    playing.turn = None;
                    return Err(error);
                }
            }
        }
        playing.turn = None;
        let calls = content.iter().any(|block| block.as_tool_use().is_some());
        let stop = turn.stop.unwrap_or(if calls { StopReason::ToolUse } else { StopReason::EndTurn });
        Ok(Response { content, stop, usage: turn.usage, model: self.reference.clone() })
    }
}

impl Model for Scripted {
    fn respond<'a>(&'a self, request: &'a Request, sink: Sink<'a>) -> BoxFuture<'a, Result<Response, ModelError>> {
        Box::pin(self.play(request, sink))
    }

    fn reference(&self) -> &ModelRef {
        &self.reference
    }

    fn context_window_tokens(&self) -> u64 {
        self.context_window_tokens
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::request::Message;

    fn request(text: &str) -> Request {
        Request { messages: vec![Message::user(text)], ..Request::default() }
    }

    #[tokio::test(start_paused = true)]
    async fn every_agent_plays_its_own_turns_in_order() {
        let script = Script::new(Clock::starting_at(0));
        let (ops, docs) = (script.model("ops"), script.model("docs"));
        script.turn("ops", Turn::say("a").and_say("b").and_call("read", json!({})).and_broken_call("x", "{"));
        script.turn("docs", Turn::say("c"));
        script.slow("docs", Duration::from_secs(90));
        let mut shown = Vec::new();
        let mut sink = |progress: Progress<'_>| shown.push(format!("{progress:?}"));
        let first = ops.respond(&request("1"), &mut sink).await.expect("scripted");
        let ids: Vec<&str> = first.tool_uses().map(|call| call.id.as_str()).collect();
        assert_eq!((first.text().as_str(), first.stop, ids), ("ab", StopReason::ToolUse, vec!["ops-1", "ops-2"]));
        let second = docs.respond(&request("2"), &mut sink).await.expect("scripted");
        assert_eq!((second.text().as_str(), second.model.to_string().as_str()), ("c", "script:docs"));
        assert_eq!(shown, [r#"Text("a")"#, r#"Text("b")"#, r#"Text("c")"#]);
        assert_eq!(script.calls().iter().map(|call| call.at).collect::<Vec<_>>(), [0, 0]);
        assert_eq!(script.clock.now(), 90_000);
        assert_eq!((script.unused(), script.unscripted()), (vec![], vec![]));
    }

    #[tokio::test(start_paused = true)]
    async fn an_unscripted_request_is_an_error_that_names_it() {
        let script = Script::new(Clock::starting_at(0));
        let error =
            script.model("ops").respond(&request("what now?"), &mut |_| ()).await.expect_err("nothing scripted");
        assert!(error.text.contains("`ops`") && error.text.contains("what now?"), "{error}");
        assert_eq!(script.unscripted(), [error.text]);
        let fault = ModelError::new(Class::Overloaded { retry_after: None }, "529");
        script.fail("ops", &fault, 2);
        script.turn("ops", Turn::say("at last"));
        assert_eq!(script.unused(), [("ops".to_owned(), 3)]);
        let model = script.model("ops");
        for expected in [Err(fault.clone()), Err(fault), Ok("at last".to_owned())] {
            assert_eq!(model.respond(&request("x"), &mut |_| ()).await.map(|response| response.text()), expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_that_was_dropped_is_played_again() {
        let script = Script::new(Clock::starting_at(0));
        script.turn("ops", Turn::say("a").and_wait(Duration::from_secs(60)).and_say("b"));
        let model = script.model_for(ModelRef::new("p", "m"), |_| "ops".to_owned());
        let asked = request("x");
        let dropped = tokio::time::timeout(Duration::from_secs(1), model.respond(&asked, &mut |_| ())).await;
        assert!(dropped.is_err());
        let again = model.respond(&asked, &mut |_| ()).await.expect("still scripted");
        assert_eq!((again.text().as_str(), script.requests("ops").len()), ("ab", 2));
    }
}
