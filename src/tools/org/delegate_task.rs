//! `delegate_task`: work for a child team's queue.

use std::borrow::Cow;
use std::time::Duration;

use base::{Clock, Moment, Scrub, TaskId, TeamName};
use org::teams::confirm;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::questions::Asking;
use store::tasks::{self, Given, Kind, New, Open, Priority};
use store::{Conn, Db};

use super::{named, text, worker_of};
use crate::call::Call;
use crate::protocol::tell_replaced;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Why a task that waited, or its turn that waited to be tried again, has ended: as of a turn that ran.
const REPLACED: &str = "stopped: Replaced";

/// Gives work.
pub struct DelegateTask {
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
pub struct DelegateTaskArgs {
    /// One of your child teams.
    pub team: String,
    /// What it is to do. It knows nothing of your talk: say everything that it needs.
    pub task: String,
    /// How urgent it is. Default `normal`.
    pub priority: Option<Urgency>,
    /// What to do where the team has work already. Without it the task waits behind that.
    pub overlap_policy: Option<Overlap>,
}

/// How urgent work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Urgency {
    /// Incidents.
    Critical,
    /// A person waits for it.
    High,
    /// Ordinary work.
    Normal,
    /// It can wait.
    Low,
}

impl From<Urgency> for Priority {
    fn from(urgency: Urgency) -> Priority {
        match urgency {
            Urgency::Critical => Priority::Critical,
            Urgency::High => Priority::High,
            Urgency::Normal => Priority::Normal,
            Urgency::Low => Priority::Low,
        }
    }
}

impl From<Priority> for Urgency {
    fn from(priority: Priority) -> Urgency {
        match priority {
            Priority::Critical => Urgency::Critical,
            Priority::High => Urgency::High,
            Priority::Normal => Urgency::Normal,
            Priority::Low => Urgency::Low,
        }
    }
}

/// What to do with work for a team that has some.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Overlap {
    /// Drop the new task.
    Skip,
    /// Cancel what the team was given before, also what runs, and do the new task.
    Replace,
    /// Do nothing, and say so: a person decides.
    Confirm,
}

/// What became of it.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Delegated {
    /// It was decided.
    Settled {
        /// `queued`: its result comes to you. `skipped`: the team is busy, and the task was dropped. `in_flight`: the
        /// team has this very task already.
        status: Status,
        /// The task.
        #[serde(skip_serializing_if = "Option::is_none")]
        task_id: Option<i64>,
    },
    /// Nothing was done: a person decides.
    Undecided {
        /// Always true.
        requires_confirmation: bool,
        /// What to ask, and how to go on.
        message: String,
    },
}

/// What became of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It waits in the team's queue.
    Queued,
    /// It was dropped.
    Skipped,
    /// The team has this very task already.
    InFlight,
}

impl Tool for DelegateTask {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("delegate_task"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/delegate_task.md")),
        domain: Domain::Org,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Write,
        ops: Ops::Daily,
        // A call that is made again after a crash finds the task that it had queued.
        effect: Effect::Idempotent,
        destructive: false,
        timeout: Duration::from_secs(15),
        max_result_bytes: 8 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = DelegateTaskArgs;
    type Output = Delegated;

    async fn run(&self, call: &Call, args: DelegateTaskArgs) -> Result<Delegated, ToolError> {
        let team = named(&args.team)?;
        let body = self.scrub.clean(text("task", &args.task)?);
        let (priority, now) = (args.priority.map_or(Priority::Normal, Priority::from), self.clock.now());
        let queued_by = format!("call:{}:{}", call.step, call.call_id);
        let given = Given { team: &team, giver: &call.team, origin: &call.origin };
        let give = async |conn: &mut Conn| {
            if let Some(task) = tasks::of_call(conn, call.run, &queued_by).await? {
                return Ok(Ok(settled(Status::Queued, Some(task))));
            }
            if let Err(why) = worker_of(conn, call, &team).await? {
                return Ok(Err(why));
            }
            let open = tasks::open_of_team(conn, &team, 1).await?;
            let replaces = match (open.first(), args.overlap_policy) {
                (None, _) => false,
                (Some(_), None) => {
                    if let Some(same) = tasks::same_open(conn, &given, &body).await? {
                        return Ok(Ok(settled(Status::InFlight, Some(same))));
                    }
                    false
                }
                (Some(_), Some(Overlap::Skip)) => return Ok(Ok(settled(Status::Skipped, None))),
                (Some(first), Some(Overlap::Confirm)) => {
                    return Ok(Ok(ask(conn, call, &team, (first, &body), now).await?));
                }
                (Some(_), Some(Overlap::Replace)) => true,
            };
            if replaces {
                for task in tasks::cancel_given(conn, &team, &call.team, REPLACED, now).await? {
                    tell_replaced(conn, &task, &call.origin, now).await?;
                }
            }
            let new = New {
                priority,
                giver: Some(&call.team),
                cause: Some(call.run),
                correlation: Some(&queued_by),
                ..New::of(&team, Kind::Delegate, &body, &call.origin)
            };
            let task = tasks::give(conn, &new, now).await?;
            if replaces {
                tasks::stop_given(conn, &team, task).await?;
            }
            Ok(Ok(settled(Status::Queued, Some(task))))
        };
        self.db.tx("delegate a task", give).await?.map_err(ToolError::Refused)
    }
}

fn settled(status: Status, task: Option<TaskId>) -> Delegated {
    Delegated::Settled { status, task_id: task.map(|task| task.0) }
}

/// Asks people where there is a conversation to ask in; the model is told either way.
async fn ask(
    conn: &mut Conn,
    call: &Call,
    team: &TeamName,
    (first, wanted): (&Open, &str),
    now: Moment,
) -> anyhow::Result<Delegated> {
    let does = match (first.kind, first.running) {
        (Kind::Bootstrap, _) => "is still setting itself up".to_owned(),
        (_, true) => format!("is at work: \"{}\"", base::text::headline(&first.body, 120)),
        (_, false) => format!("has work waiting: \"{}\"", base::text::headline(&first.body, 120)),
    };
    // A session in the middle of another one answers that one, and is gone when people have decided.
    let place = call.origin.conversation.as_ref().filter(|_| call.depth == 0);
    if let Some(place) = place {
        let text = format!("`{team}` {does}. What about the new task, \"{}\"?", base::text::headline(wanted, 200));
        let asking = Asking { run: call.run, step: call.step, call_id: call.call_id.to_string() };
        confirm::ask(conn, asking, place, &call.origin, &text, now).await?;
    }
    // What sets a team up is nobody's to take back.
    let instead = match first.kind {
        Kind::Bootstrap | Kind::Result => "",
        _ => ", with `replace` that work is cancelled",
    };
    let how = match place {
        Some(_) => "People were asked with buttons, and what they choose comes to you; or they tell you.",
        None => "Ask whoever decides that.",
    };
    Ok(Delegated::Undecided {
        requires_confirmation: true,
        message: format!(
            "`{team}` {does}. Nothing was given to it. {how} To give it the task, call again: without overlap_policy it \
             waits behind that work{instead}."
        ),
    })
}
