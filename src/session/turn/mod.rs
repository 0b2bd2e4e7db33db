//! The straight loop of a turn: ask the model; if it wants no tool, finish; run the tools; spend a step.
//!
//! | file | what |
//! |---|---|
//! | `opening` | how a turn begins: what waits in a mailbox, a task's text, or where a crash cut it off |
//! | `ask` | the model is asked once |
//! | `record` | what it answered, in the journal and the ledger |
//! | `ending` | how a turn ends |
//! | `halt` | telling a running turn to end |

mod ask;
mod ending;
mod halt;
mod opening;
mod record;

use std::sync::Arc;

use anyhow::{Context, Result};
use base::{Moment, RunId, TeamName, TopicId};
use llm::{Block, ModelRef, Response, Usage};
use opening::Opening;
use store::inbox::Row;
use store::tasks::{self, End, Origin, Task};
use store::{Conn, calls, trust};
use tools::delegation::Slot;
use tools::{Asked, Call, Grant};

use super::agent::{self, Agent};
use super::draft::Draft;
use super::finish::{Ending, look_again};
use super::history::{History, Talk};
use super::{Sessions, apology};
use crate::config::DuringTurn;

pub use ending::interrupt;
pub use halt::{Ended, Halt, Why};
pub use opening::answers_people;
pub(super) use record::CUT_SHORT;

/// Runs the turn of a claimed task to its end.
///
/// # Errors
/// Only where the rows could not be written: what people are told of any other fault is part of the turn.
pub async fn run(session: &Arc<Sessions>, task: &Task, halt: &Halt) -> Result<Ended> {
    let Some(opening) = Opening::of(session, task).await? else { return nothing(session, task).await };
    // Whose agent cannot be made still has its turn: it ends with that, and whoever waits for it hears of it.
    let (agent, fault) = match session.agents.of_task(&session.db, task).await {
        Ok(agent) => (agent, None),
        Err(error) => (session.agents.of_team(&session.db, &TeamName::main()).await?, Some(error)),
    };
    let Some(mut turn) = Turn::enter(session, Arc::new(agent), task, opening).await? else {
        return nothing(session, task).await;
    };
    let ending = match fault {
        None => turn.proceed(halt).await,
        Some(error) => Err(error.context(format!("prepare the agent of the team {}", task.team))),
    };
    turn.draft.end().await;
    match ending {
        Ok(Some(ending)) => turn.end(ending, halt).await,
        Ok(None) => Ok(if turn.ended.is_some() { Ended::Finished } else { Ended::Left }),
        Err(error) => {
            tracing::error!(task.id = task.id.0, "the turn of task {} failed: {error:#}", task.id);
            let said = agent::in_words(&error).unwrap_or_else(|| apology::OURS.to_owned());
            let ending = turn.ending(End::Failed, format!("{error:#}"), said);
            turn.end(ending, halt).await
        }
    }
}

/// Ends a task that has nothing to do. What has come into its mailbox meanwhile is another's.
async fn nothing(session: &Sessions, task: &Task) -> Result<Ended> {
    let now = session.clock.now();
    let end = async |conn: &mut Conn| {
        tasks::finish(conn, task.id, End::Done, "", now).await?;
        look_again(conn, task, End::Done, now).await
    };
    session.db.note("end an empty task", end).await?;
    Ok(Ended::Nothing)
}

/// A turn that runs.
pub(super) struct Turn<'a> {
    session: &'a Arc<Sessions>,
    agent: Arc<Agent>,
    /// `None` for a turn in the middle of another one.
    task: Option<&'a Task>,
    origin: Origin,
    run: RunId,
    /// The topic whose talk this is: the turn answers people.
    topic: Option<TopicId>,
    /// What the model is shown of earlier turns.
    talk: Talk,
    /// How many turns there are around this one, and the slot of its team that the innermost of them has taken.
    depth: u32,
    slot: Option<Arc<Slot>>,
    /// Steps that are in the journal.
    steps: i64,
    begun: Moment,
    draft: Draft,
    /// What people said in this turn, oldest first.
    said: Vec<Row>,
    /// What this turn is about, for memory, where people said nothing.
    about: String,
    /// The mailbox was looked into just now.
    looked: bool,
    /// What the team remembers that matters, and how much had been said when it was looked up.
    remembered: Option<(usize, String)>,
    /// How it ended.
    ended: Option<Ending>,
}

/// What the model answered, before it is in the journal.
struct Answer {
    response: Response,
    failed: Vec<(ModelRef, Usage)>,
}

/// What came of asking it.
enum Step {
    Answers(Answer),
    Ends(Ending),
}

impl Turn<'_> {
    /// Goes on until the turn has an ending. `None`: it was written already, or the hive stops.
    pub(super) async fn proceed(&mut self, halt: &Halt) -> Result<Option<Ending>> {
        let mut history = self.history().await?;
        loop {
            if halt.token.is_cancelled() {
                return self.halted(halt, &history).await;
            }
            // What a person has granted meanwhile holds from this step on.
            self.agent = self.session.agents.renewed(&self.session.db, &self.agent).await?;
            if let Some((step, calls)) = open_calls(&history, self.run)? {
                self.run_tools(step, calls, halt).await?;
                history = self.history().await?;
                continue;
            }
            // A new turn has just looked.
            if !std::mem::take(&mut self.looked) && self.take_more().await? {
                history = self.history().await?;
            } else if history.last_answer(self.run)?.is_some_and(|(_, last)| !wants_tools(&last)) {
                // Entered again after a crash that came between the last answer and its reply.
                return Ok(Some(self.ending(End::Done, String::new(), history.said_so_far(self.run)?)));
            }
            if self.steps >= self.steps_max() {
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

    fn steps_max(&self) -> i64 {
        let asked = self.task.and_then(|task| task.options.max_steps).map(i64::from);
        asked.map_or(self.agent.steps_max, |asked| asked.min(self.agent.steps_max))
    }

    async fn history(&self) -> Result<History> {
        let limit = self.session.limits.history_max;
        self.session.db.read(async |conn| self.talk.read(conn, self.run, limit).await).await
    }

    /// Whether what people say while the turn runs becomes part of it.
    fn listens(&self) -> bool {
        self.topic.is_some() && self.session.limits.during_turn == DuringTurn::Inject
    }

    async fn run_tools(&self, step: i64, calls: Vec<Asked>, halt: &Halt) -> Result<()> {
        let call = Call {
            team: self.agent.team.clone(),
            grant: Arc::new(Grant { admin: self.by_admins().await?, ..Grant::clone(&self.agent.held) }),
            origin: self.origin.clone(),
            run: self.run,
            step,
            call_id: "".into(),
            stop: halt.token.clone(),
            leaving: halt.leaving.clone(),
            depth: self.depth,
            slot: self.slot.clone(),
        };
        let calls = calls.into_iter().map(|asked| self.agent.subagents.read(asked)).collect();
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

fn wants_tools(content: &[Block]) -> bool {
    content.iter().any(|block| block.as_tool_use().is_some())
}

fn joined(said: &str, more: &str) -> String {
    match (said.trim(), more.trim()) {
        ("", more) => more.to_owned(),
        (said, "") => said.to_owned(),
        (said, more) => format!("{said}\n\n{more}"),
    }
}
