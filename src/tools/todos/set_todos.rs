//! `set_todos`: the whole list of a turn, at once.

use std::borrow::Cow;
use std::time::Duration;

use base::Clock;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use store::Db;
use store::todos::{MAX, Status, Todo};

use super::{ID_CHARS_MAX, TodoStatus, TodosOutput, change, free_id, full, subject};
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Replaces the list.
pub struct SetTodos {
    /// The database.
    pub db: Db,
    /// The time.
    pub clock: Clock,
}

/// The list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetTodosArgs {
    /// All items, in order. An empty list clears it.
    #[serde(alias = "items", deserialize_with = "items")]
    #[schemars(length(max = 30))]
    pub todos: Vec<NewTodo>,
}

/// An item.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTodo {
    /// Its name in the list. Left out: a number.
    pub id: Option<String>,
    /// What is to be done, in a few words.
    #[serde(alias = "text", alias = "content")]
    #[schemars(length(min = 1, max = 300))]
    pub subject: String,
    /// How far it is. At most one is in progress. Left out: pending.
    #[serde(default)]
    pub status: TodoStatus,
}

/// Items as models write them: objects, or their subjects alone. A subject alone that says nothing is none.
fn items<'de, D: Deserializer<'de>>(written: D) -> Result<Vec<NewTodo>, D::Error> {
    let written = Vec::<Value>::deserialize(written)?;
    let item = |value| match value {
        Value::String(subject) if subject.trim().is_empty() => None,
        Value::String(subject) => Some(Ok(NewTodo { id: None, subject, status: TodoStatus::Pending })),
        value => Some(serde_json::from_value(value)),
    };
    written.into_iter().filter_map(item).collect::<Result<_, _>>().map_err(Error::custom)
}

impl Tool for SetTodos {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("set_todos"),
        aliases: &["task_todos"],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/set_todos.md")),
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
    type Args = SetTodosArgs;
    type Output = TodosOutput;

    async fn run(&self, call: &Call, args: SetTodosArgs) -> Result<TodosOutput, ToolError> {
        let new = list(args.todos)?;
        let put = |todos: &mut Vec<Todo>| {
            *todos = new;
            Ok(())
        };
        change(&self.db, call.run, self.clock.now(), put).await
    }
}

/// The list that was asked for, if it is one.
fn list(asked: Vec<NewTodo>) -> Result<Vec<Todo>, ToolError> {
    if asked.len() > MAX {
        return Err(full());
    }
    if asked.iter().filter(|todo| todo.status == TodoStatus::InProgress).count() > 1 {
        return Err(ToolError::refused("at most one item is in progress: the others are pending, or completed"));
    }
    let mut list: Vec<Todo> = Vec::with_capacity(asked.len());
    let mut unnamed = Vec::new();
    for (at, todo) in asked.into_iter().enumerate() {
        let id = todo.id.map(|id| id.trim().to_owned()).unwrap_or_default();
        if id.chars().count() > ID_CHARS_MAX || id.contains(char::is_control) {
            return Err(ToolError::refused(format!("an `id` is one line of at most {ID_CHARS_MAX} characters")));
        }
        if id.is_empty() {
            unnamed.push(at);
        } else if list.iter().any(|other| other.id == id) {
            return Err(ToolError::refused(format!("two items have the id `{id}`")));
        }
        list.push(Todo { id, subject: subject(&todo.subject)?, status: Status::from(todo.status) });
    }
    // Names that were given come first: a number may be one of them.
    for at in unnamed {
        list[at].id = free_id(&list);
    }
    Ok(list)
}
