//! `add_todo`: one more item at the end of the turn's list.

use std::borrow::Cow;
use std::time::Duration;

use base::Clock;
use schemars::JsonSchema;
use serde::Deserialize;
use store::Db;
use store::todos::{MAX, Status, Todo};

use super::{TodosOutput, change, free_id, full, subject};
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Adds items.
pub struct AddTodo {
    /// The database.
    pub db: Db,
    /// The time.
    pub clock: Clock,
}

/// The item.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddTodoArgs {
    /// What is to be done, in a few words.
    #[serde(alias = "text", alias = "content")]
    #[schemars(length(min = 1, max = 300))]
    pub subject: String,
}

impl Tool for AddTodo {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("add_todo"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/add_todo.md")),
        domain: Domain::Human,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Control,
        ops: Ops::Daily,
        // What is on the list and not done is not put there twice.
        effect: Effect::Idempotent,
        destructive: false,
        timeout: Duration::from_secs(30),
        max_result_bytes: 64 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = AddTodoArgs;
    type Output = TodosOutput;

    async fn run(&self, call: &Call, args: AddTodoArgs) -> Result<TodosOutput, ToolError> {
        let subject = subject(&args.subject)?;
        let add = |list: &mut Vec<Todo>| {
            if list.iter().any(|todo| todo.subject == subject && todo.status != Status::Completed) {
                return Ok(());
            }
            if list.len() == MAX {
                return Err(full());
            }
            let id = free_id(list);
            list.push(Todo { id, subject, status: Status::Pending });
            Ok(())
        };
        change(&self.db, call.run, self.clock.now(), add).await
    }
}
