//! What a turn means to do, and how far it is: a list that the model keeps, in rows.

mod add_todo;
mod complete_todo;
mod set_todos;
#[cfg(test)]
mod tests;

use base::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Conn;
use store::todos::{self, MAX, Status, Todo};

use crate::tool::ToolError;

pub use add_todo::{AddTodo, AddTodoArgs};
pub use complete_todo::{CompleteTodo, CompleteTodoArgs};
pub use set_todos::{NewTodo, SetTodos, SetTodosArgs};

/// The longest subject, in characters: a headline, not a plan.
const SUBJECT_CHARS_MAX: usize = 300;
/// The longest id, in characters.
const ID_CHARS_MAX: usize = 64;

/// How far an item is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Nobody has begun.
    #[default]
    Pending,
    /// It is being done.
    InProgress,
    /// It is done.
    Completed,
}

impl From<TodoStatus> for Status {
    fn from(status: TodoStatus) -> Status {
        match status {
            TodoStatus::Pending => Status::Pending,
            TodoStatus::InProgress => Status::InProgress,
            TodoStatus::Completed => Status::Completed,
        }
    }
}

impl From<Status> for TodoStatus {
    fn from(status: Status) -> TodoStatus {
        match status {
            Status::Pending => TodoStatus::Pending,
            Status::InProgress => TodoStatus::InProgress,
            Status::Completed => TodoStatus::Completed,
        }
    }
}

/// An item, as the model is shown it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TodoShown {
    /// Its name in the list.
    pub id: String,
    /// What is to be done.
    pub subject: String,
    /// How far it is.
    pub status: TodoStatus,
}

/// The list, after it was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TodosOutput {
    /// The items, in order.
    pub todos: Vec<TodoShown>,
    /// How many of them are not done yet.
    pub open: usize,
}

impl From<Vec<Todo>> for TodosOutput {
    fn from(list: Vec<Todo>) -> TodosOutput {
        let open = list.iter().filter(|todo| todo.status != Status::Completed).count();
        let shown = |todo: Todo| TodoShown { id: todo.id, subject: todo.subject, status: todo.status.into() };
        TodosOutput { todos: list.into_iter().map(shown).collect(), open }
    }
}

/// What is to be done, as it is kept: on one line, with an end.
fn subject(text: &str) -> Result<String, ToolError> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() {
        return Err(ToolError::refused("an item says in its `subject` what is to be done"));
    }
    if line.chars().count() > SUBJECT_CHARS_MAX {
        return Err(ToolError::refused(format!("a `subject` has at most {SUBJECT_CHARS_MAX} characters")));
    }
    Ok(line)
}

/// The smallest number that no item of the list has as its name.
fn free_id(list: &[Todo]) -> String {
    let is_free = |id: &String| list.iter().all(|todo| todo.id != *id);
    (1..).map(|number: usize| number.to_string()).find(is_free).expect("there are more numbers than items")
}

/// Says that a list is full.
fn full() -> ToolError {
    ToolError::refused(format!("a list has at most {MAX} items: put several into one"))
}

/// Changes the list of a turn, as `change` says. Where that refuses, the list stays as it is.
async fn change(
    db: &store::Db,
    run: RunId,
    now: base::Moment,
    change: impl FnOnce(&mut Vec<Todo>) -> Result<(), ToolError>,
) -> Result<TodosOutput, ToolError> {
    let write = async |conn: &mut Conn| {
        let mut list = todos::of_run(conn, run).await?;
        if let Err(error) = change(&mut list) {
            return Ok(Err(error));
        }
        todos::replace(conn, run, &list, now).await?;
        Ok(Ok(TodosOutput::from(list)))
    };
    db.tx("change the list of a turn", write).await?
}
