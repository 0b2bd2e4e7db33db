//! `respond_to_task`: whoever gave a task answers what it asks.

use std::borrow::Cow;
use std::time::Duration;

use anyhow::Result;
use base::{Clock, Moment, Scrub, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::questions::{self, Answer};
use store::tasks::{self, Task};
use store::{Conn, Db, runs};

use super::giver::waits_for;
use super::{ASKS, TEXT_CHARS_MAX, text};
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Answers a task.
pub struct RespondToTask {
    /// The database.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// No answer holds a secret, whatever placeholder stood in it.
    pub scrub: Scrub,
}

/// Which one, and what.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RespondToTaskArgs {
    /// The task that asks, by its number.
    pub task_id: i64,
    /// The answer, with everything that the task has to know.
    pub answer: String,
}

/// What became of it.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Responded {
    /// Always true: a failure is an error.
    pub success: bool,
    /// The task, which goes on.
    pub task_id: i64,
}

impl Tool for RespondToTask {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("respond_to_task"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/respond_to_task.md")),
        domain: Domain::Delegation,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Write,
        ops: Ops::Daily,
        // The same answer of the same team twice is one answer.
        effect: Effect::Idempotent,
        destructive: false,
        timeout: Duration::from_secs(15),
        max_result_bytes: 4 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = RespondToTaskArgs;
    type Output = Responded;

    async fn run(&self, call: &Call, args: RespondToTaskArgs) -> Result<Responded, ToolError> {
        let text = self.scrub.clean(text("answer", &args.answer, TEXT_CHARS_MAX)?);
        let answer = Answer::Said { text, by: call.team.to_string() };
        let (id, now) = (TaskId(args.task_id), self.clock.now());
        let respond = async |conn: &mut Conn| {
            match tasks::get(conn, id).await?.filter(|task| gave(call, task)) {
                Some(task) => settle(conn, &task, &answer, now).await,
                // Whether there is such a task elsewhere is none of the caller's business.
                None => Ok(Err(format!("{id} is no task that you gave here"))),
            }
        };
        self.db.tx("respond to a task", respond).await?.map_err(ToolError::Refused)?;
        Ok(Responded { success: true, task_id: args.task_id })
    }
}

/// Whether the caller gave this task. What the main agent gives for a topic belongs to that topic's talk.
fn gave(call: &Call, task: &Task) -> bool {
    waits_for(task) == Some(&call.team) && (!call.team.is_main() || call.origin.topic == task.origin.topic)
}

/// Answers what a task asks, unless that has an answer.
async fn settle(conn: &mut Conn, task: &Task, answer: &Answer, now: Moment) -> Result<Result<(), String>> {
    let id = task.id;
    let asked = match runs::of_task(conn, id).await? {
        Some(run) => questions::last_by(conn, run.id, ASKS).await?,
        None => None,
    };
    let Some(question) = asked else {
        return Ok(Err(format!("task {id} asks nothing: `send_message` tells a team something that it did not ask")));
    };
    Ok(match &question.answer {
        None if question.expires_at > now => {
            questions::answer(conn, question.id, answer, now).await?;
            Ok(())
        }
        None | Some(Answer::Nobody) => {
            Err(format!("task {id} waits no longer: there was no answer in time, or it was stopped"))
        }
        Some(first) if first == answer => Ok(()),
        Some(_) => Err(format!("task {id} has its answer already: the first one stands")),
    })
}
