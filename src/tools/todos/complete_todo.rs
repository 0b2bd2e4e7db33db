//! `complete_todo`: an item of the turn's list is done.

use std::borrow::Cow;
use std::time::Duration;

use base::Clock;
use schemars::JsonSchema;
use serde::Deserialize;
use store::Db;
use store::todos::{Status, Todo};

use super::{TodosOutput, change};
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Marks items as done.
pub struct CompleteTodo {
    /// The database.
    pub db: Db,
    /// The time.
    pub clock: Clock,
}

/// Which one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompleteTodoArgs {
    /// Its name in the list.
    pub id: String,
}

impl Tool for CompleteTodo {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("complete_todo"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/complete_todo.md")),
        domain: Domain::Human,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Control,
        ops: Ops::Daily,
        effect: Effect::Idempotent,
        destructive: false,
        timeout: Duration::from_secs(30),
        max_result_bytes: 64 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = CompleteTodoArgs;
    type Output = TodosOutput;

    async fn run(&self, call: &Call, args: CompleteTodoArgs) -> Result<TodosOutput, ToolError> {
        let complete = |list: &mut Vec<Todo>| {
            let ids: Vec<String> = list.iter().map(|todo| format!("`{}`", todo.id)).collect();
            let Some(todo) = list.iter_mut().find(|todo| todo.id == args.id.trim()) else {
                let known = if ids.is_empty() { "none".to_owned() } else { ids.join(", ") };
                let asked = base::text::headline(&args.id, 60);
                return Err(ToolError::refused(format!("there is no item `{asked}`; there are: {known}")));
            };
            todo.status = Status::Completed;
            Ok(())
        };
        change(&self.db, call.run, self.clock.now(), complete).await
    }
}
