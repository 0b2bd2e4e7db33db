//! `update_task_status`: a task says itself what it came to, in the place of its turn's last words.

use std::borrow::Cow;
use std::time::Duration;

use base::{Clock, Scrub};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::protocol::{self, Said, Status};
use store::{Conn, Db};

use super::report_to_parent::tell;
use super::{TEXT_CHARS_MAX, giver, text};
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Says what the task came to.
pub struct UpdateTaskStatus {
    /// The database.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// No result holds a secret, whatever placeholder stood in it.
    pub scrub: Scrub,
}

/// What it came to.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateTaskStatusArgs {
    /// How far the task is.
    pub status: TaskStatus,
    /// With `completed`: what it came to, for whoever gave it; without it your last words are that. With `in_progress`:
    /// how far it is, which is reported. With `failed`: what came of it all the same.
    pub result: Option<String>,
    /// With `failed`, and only there: why it cannot be done.
    pub error: Option<String>,
}

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// It is being done.
    InProgress,
    /// It is done.
    Completed,
    /// It cannot be done.
    Failed,
}

impl From<TaskStatus> for Status {
    fn from(status: TaskStatus) -> Status {
        match status {
            TaskStatus::InProgress => Status::InProgress,
            TaskStatus::Completed => Status::Completed,
            TaskStatus::Failed => Status::Failed,
        }
    }
}

/// What was written down.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StatusUpdated {
    /// Always true: a failure is an error.
    pub success: bool,
    /// The task.
    pub task_id: i64,
    /// How far it says it is. The last call counts, once your turn has ended.
    pub status: TaskStatus,
}

impl UpdateTaskStatusArgs {
    /// What is kept of it; or what is wrong with it.
    fn said(&self) -> Result<String, ToolError> {
        fn given<'a>(what: &str, value: Option<&'a str>) -> Result<Option<&'a str>, ToolError> {
            let value = value.map(str::trim).filter(|value| !value.is_empty());
            value.map(|value| text(what, value, TEXT_CHARS_MAX)).transpose()
        }
        let (result, error) = (given("result", self.result.as_deref())?, given("error", self.error.as_deref())?);
        match (self.status, result, error) {
            (TaskStatus::Failed, _, None) => Err(ToolError::refused("say in `error` why the task cannot be done")),
            (TaskStatus::Failed, Some(result), Some(error)) => Ok(format!("{error}\n\n{result}")),
            (TaskStatus::Failed, None, Some(error)) => Ok(error.to_owned()),
            (_, _, Some(_)) => Err(ToolError::refused("an `error` belongs to the status `failed`")),
            (_, result, None) => Ok(result.unwrap_or_default().to_owned()),
        }
    }
}

impl Tool for UpdateTaskStatus {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("update_task_status"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/update_task_status.md")),
        domain: Domain::Delegation,
        source: Source::Native,
        availability: Availability::Sub,
        partition: Partition::Control,
        ops: Ops::Daily,
        effect: Effect::Idempotent,
        destructive: false,
        timeout: Duration::from_secs(15),
        max_result_bytes: 4 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = UpdateTaskStatusArgs;
    type Output = StatusUpdated;

    async fn run(&self, call: &Call, args: UpdateTaskStatusArgs) -> Result<StatusUpdated, ToolError> {
        let said = Said { status: args.status.into(), text: self.scrub.clean(&args.said()?) };
        let now = self.clock.now();
        let write = async |conn: &mut Conn| {
            let task = match giver::own_task(conn, call).await? {
                Ok(task) => task,
                Err(why) => return Ok(Err(why)),
            };
            protocol::say(conn, task.id, &said, now).await?;
            if said.status == Status::InProgress && !said.text.is_empty() {
                // Where nobody is above, it is kept all the same.
                let _nobody = tell(conn, call, &task, &said.text, now).await?;
            }
            Ok(Ok(task.id))
        };
        let task = self.db.tx("update a task's status", write).await?.map_err(ToolError::Refused)?;
        Ok(StatusUpdated { success: true, task_id: task.0, status: args.status })
    }
}
