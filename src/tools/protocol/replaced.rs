//! A task that a newer one takes the place of, and those who do not know that.

use anyhow::Result;
use base::Moment;
use channels::Action;
use org::notices;
use store::Conn;
use store::outbox::New;
use store::tasks::{Origin, Task};

use super::giver::tell_giver;

/// The longest part of a task's text that people are shown, in characters.
const LINE_CHARS: usize = 120;

/// Tells whoever waits for a task that a newer one, which came from `by`, has taken its place: the conversation that
/// caused it, and the team that gave it. Where both came from the same conversation and topic, all of them know.
///
/// # Errors
/// Only the database's.
pub async fn tell_replaced(conn: &mut Conn, task: &Task, by: &Origin, now: Moment) -> Result<()> {
    let origin = &task.origin;
    if (&origin.conversation, origin.topic) == (&by.conversation, by.topic) {
        return Ok(());
    }
    if let Some(place) = &origin.conversation {
        let line = base::text::headline(&task.body, LINE_CHARS);
        let text = format!("[{}] ⚠️ A newer task has taken the place of \"{line}\".", task.team);
        let action = Action::Delete { message_id: String::new() };
        let template = New { topic: origin.topic, ..New::message(place, action) };
        notices::send(conn, &text, Vec::new(), &template, now).await?;
    }
    let text = format!("Task {} was not done: a newer task for others has taken its place.", task.id);
    tell_giver(conn, task, &text, now).await
}
