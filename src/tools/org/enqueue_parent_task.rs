//! `enqueue_parent_task`: work for the parent's queue. It says what happened; who does something about it the parent decides.

use std::borrow::Cow;
use std::time::Duration;

use base::{Clock, Scrub, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::tasks::{self, Kind, New, Priority};
use store::teams::{self, State};
use store::{Conn, Db};

use super::delegate_task::Urgency;
use super::text;
use crate::call::Call;
use crate::run::receipt;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Most pieces of work that a child hands over within [`WINDOW_MS`].
const PER_MINUTE: i64 = 10;
/// How long they are counted, and how long the same correlation id means the same piece of work, in milliseconds.
const WINDOW_MS: i64 = 60_000;
/// The longest correlation id, in bytes.
const CORRELATION_BYTES_MAX: usize = 200;

/// Hands work over.
pub struct EnqueueParentTask {
    /// The database.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// No task holds a secret, whatever placeholder stood in it.
    pub scrub: Scrub,
}

/// The work.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnqueueParentTaskArgs {
    /// What happened, and what is to be done about it. Who does it is your parent's decision.
    pub task: String,
    /// How urgent it is.
    pub priority: Urgency,
    /// The same id within a minute is the same piece of work, and is queued once.
    pub correlation_id: Option<String>,
}

/// What became of it.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HandedOver {
    /// Always true: a failure is an error.
    pub success: bool,
    /// The id of the piece of work.
    pub correlation_id: String,
    /// The task in the parent's queue.
    pub task_id: i64,
    /// Whether it had been handed over already: nothing was queued again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub deduplicated: bool,
}

impl Tool for EnqueueParentTask {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("enqueue_parent_task"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/enqueue_parent_task.md")),
        domain: Domain::Org,
        source: Source::Native,
        availability: Availability::Sub,
        partition: Partition::Write,
        ops: Ops::Daily,
        effect: Effect::Idempotent,
        destructive: false,
        timeout: Duration::from_secs(15),
        max_result_bytes: 4 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = EnqueueParentTaskArgs;
    type Output = HandedOver;

    async fn run(&self, call: &Call, args: EnqueueParentTaskArgs) -> Result<HandedOver, ToolError> {
        let body = self.scrub.clean(text("task", &args.task)?);
        let given = args.correlation_id.as_deref().map(str::trim).filter(|id| !id.is_empty());
        if given.is_some_and(|id| id.len() > CORRELATION_BYTES_MAX) {
            return Err(ToolError::refused(format!("a correlation_id has at most {CORRELATION_BYTES_MAX} bytes")));
        }
        let correlation = match given {
            Some(id) => self.scrub.clean(id),
            // Of this very call: a call that is made again is the same piece of work.
            None => format!("handoff:{}:{}:{}:{}", call.team, call.run, call.step, call.call_id),
        };
        let (now, child) = (self.clock.now(), &call.team);
        let hand_over = async |conn: &mut Conn| {
            let own = teams::get(conn, child).await?;
            let Some(parent) = own.and_then(|own| own.parent) else {
                return Ok(Err(format!("no_parent: `{child}` has no parent: do it, or delegate it, yourself")));
            };
            if teams::get(conn, &parent).await?.is_none_or(|parent| parent.state == State::Closing) {
                return Ok(Err(format!("`{parent}` is closing, and takes no work")));
            }
            let known = tasks::known_correlation(conn, &parent, child, &correlation, now - WINDOW_MS).await?;
            let handed_over = |task: TaskId, deduplicated| HandedOver {
                success: true,
                correlation_id: correlation.clone(),
                task_id: task.0,
                deduplicated,
            };
            if let Some(task) = known {
                let handed_over = handed_over(task, true);
                receipt::write(conn, call, &self.scrub, &handed_over, now).await?;
                return Ok(Ok(handed_over));
            }
            if tasks::handed_over_since(conn, &parent, child, now - WINDOW_MS).await? >= PER_MINUTE {
                return Ok(Err(format!(
                    "rate_limit_exceeded: {PER_MINUTE} pieces of work a minute; put together what belongs together, or \
                     wait a minute"
                )));
            }
            let new = New {
                priority: Priority::from(args.priority),
                giver: Some(child),
                cause: Some(call.run),
                correlation: Some(&correlation),
                ..New::of(&parent, Kind::Handoff, &body, &call.origin)
            };
            let handed_over = handed_over(tasks::give(conn, &new, now).await?, false);
            receipt::write(conn, call, &self.scrub, &handed_over, now).await?;
            Ok(Ok(handed_over))
        };
        self.db.tx("hand work to the parent", hand_over).await?.map_err(ToolError::Refused)
    }
}
