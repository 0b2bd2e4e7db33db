//! `report_to_parent`: how far a task is, for whoever gave it. It wakes nobody.

use std::borrow::Cow;
use std::time::Duration;

use anyhow::Result;
use base::{Clock, Moment, Scrub};
use channels::Action;
use org::notices;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::outbox::New;
use store::tasks::Task;
use store::{Conn, Db, notes, protocol};

use super::{TEXT_CHARS_MAX, giver, text};
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// People are shown one line of a task within this time, in milliseconds; the team that gave it reads all of them.
const PAUSE_MS: Moment = 60_000;
/// The longest line, in characters.
const LINE_CHARS: usize = 300;

/// Tells how far it is.
pub struct ReportToParent {
    /// The database.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// No report holds a secret, whatever placeholder stood in it.
    pub scrub: Scrub,
}

/// How far it is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportToParentArgs {
    /// What is done and what comes next, in a sentence or two. People may be shown its beginning.
    pub message: String,
}

/// Who was told.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reported {
    /// Always true: a failure is an error.
    pub success: bool,
    /// The team that reads it in its next turn.
    pub to: String,
}

impl Tool for ReportToParent {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("report_to_parent"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/report_to_parent.md")),
        domain: Domain::Delegation,
        source: Source::Native,
        availability: Availability::Sub,
        partition: Partition::Control,
        ops: Ops::Daily,
        // A call that is made again after a crash finds that it has told.
        effect: Effect::Idempotent,
        destructive: false,
        timeout: Duration::from_secs(15),
        max_result_bytes: 4 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = ReportToParentArgs;
    type Output = Reported;

    async fn run(&self, call: &Call, args: ReportToParentArgs) -> Result<Reported, ToolError> {
        let message = self.scrub.clean(text("message", &args.message, TEXT_CHARS_MAX)?);
        let now = self.clock.now();
        let tell = async |conn: &mut Conn| match giver::own_task(conn, call).await? {
            Ok(task) => tell(conn, call, &task, &message, now).await,
            Err(why) => Ok(Err(why)),
        };
        let to = self.db.tx("report to the parent", tell).await?.map_err(ToolError::Refused)?;
        Ok(Reported { success: true, to })
    }
}

/// Tells whoever gave a task how far it is, once for each call; where that is the main agent, people see a line of it.
/// The team that reads it, or why there is none.
pub(super) async fn tell(
    conn: &mut Conn,
    call: &Call,
    task: &Task,
    message: &str,
    now: Moment,
) -> Result<Result<String, String>> {
    let Some(reader) = giver::reader(conn, task).await? else {
        return Ok(Err("there is nobody above you to report to".to_owned()));
    };
    let to = reader.team.to_string();
    if !protocol::report(conn, task.id, &format!("{}/{}", call.step, call.call_id)).await? {
        return Ok(Ok(to));
    }
    let note = format!("Task {} goes on: {message}", task.id);
    notes::add(conn, &reader, &task.team, &note, now).await?;
    if let Some(place) = task.origin.conversation.as_ref().filter(|_| reader.team.is_main())
        && protocol::show(conn, task.id, PAUSE_MS, now).await?
    {
        let line = format!("[{}] {}", task.team, base::text::headline(message, LINE_CHARS));
        let action = Action::Delete { message_id: String::new() };
        let template = New { topic: task.origin.topic, run: Some(call.run), ..New::message(place, action) };
        notices::send(conn, &line, Vec::new(), &template, now).await?;
    }
    Ok(Ok(to))
}
