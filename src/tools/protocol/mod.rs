//! The task protocol: how an agent that does a task talks with whoever gave it, before its last words are the result.
//!
//! | tool | what |
//! |---|---|
//! | `update_task_status` | what the task came to, or that it cannot be done; else its last words would say so |
//! | `report_to_parent` | how far it is |
//! | `request_input` | asks whoever gave the task, and waits |
//! | `respond_to_task` | answers that |
//!
//! Invariants: only the turn of a task speaks for it; a session that answers a question at once has none. Only whoever
//! gave a task answers it, and the first answer stands. Questions go up the tree and nowhere else: a turn that waits for
//! an answer waits for a turn of the team above, which never waits for a lane below it.

mod giver;
mod replaced;
mod report_to_parent;
mod request_input;
mod respond_to_task;
#[cfg(test)]
mod tests;
mod update_task_status;

use crate::tool::ToolError;

pub use giver::{tell_giver, waits_for, wake};
pub use replaced::tell_replaced;
pub use report_to_parent::{ReportToParent, ReportToParentArgs, Reported};
pub use request_input::{InputGiven, RequestInput, RequestInputArgs};
pub use respond_to_task::{RespondToTask, RespondToTaskArgs, Responded};
pub use update_task_status::{StatusUpdated, TaskStatus, UpdateTaskStatus, UpdateTaskStatusArgs};

/// The name of the tool that asks, which stands in the rows of its questions.
pub const ASKS: &str = "request_input";
/// The longest result, error or report, in characters: what a task's result is cut to. What is longer belongs into a file.
const TEXT_CHARS_MAX: usize = 10_000;

/// A text as it is passed on: not empty, and bounded.
fn text<'a>(what: &str, given: &'a str, chars_max: usize) -> Result<&'a str, ToolError> {
    let text = given.trim();
    let chars = text.chars().count();
    if text.is_empty() {
        return Err(ToolError::refused(format!("the {what} is empty")));
    }
    if chars > chars_max {
        return Err(ToolError::refused(format!("the {what} has {chars} characters, and may have {chars_max}")));
    }
    Ok(text)
}
