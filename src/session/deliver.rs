//! What a team made of a task, for whoever waits for it: in the transaction that ends the task.
//!
//! | who | how they hear |
//! |---|---|
//! | the main agent, which gave it for a topic | a note in that topic, and its session wakes |
//! | another team, which gave it | a task of the kind `result`, which goes on with the turn that gave it |
//! | the conversation that caused it | a notice: `[team] …` |
//!
//! A new team's first task wakes nobody: its notice says that it is ready, and the topic can read it.

use anyhow::Result;
use base::Moment;
use channels::Action;
use channels::render::RenderLimits;
use store::notes::{self, Reader};
use store::outbox::{self, New};
use store::runs::{self, Run};
use store::tasks::{self, End, Kind, Task};
use store::teams::{self, State};
use store::{Conn, topics};

use super::finish::{Ending, reply_rows};

/// The longest result that is kept and passed on, in characters: a longer one belongs into a file.
pub(super) const RESULT_CHARS_MAX: usize = 10_000;

/// A task that ends.
pub(super) struct Delivered<'a> {
    pub task: &'a Task,
    pub run: Run,
    pub ending: &'a Ending,
    pub render: RenderLimits,
}

/// Ends the task of a team, and has everybody hear of it who waits for it.
pub(super) async fn write(conn: &mut Conn, done: &Delivered<'_>, now: Moment) -> Result<()> {
    let Delivered { task, run, ending, .. } = done;
    if !runs::finish(conn, *run, ending.end, &ending.note, now).await? {
        return Ok(());
    }
    end(conn, task, ending, done.render, now).await
}

/// Ends the task of a team that was begun again and again without an end.
///
/// # Errors
/// Only the database's.
pub async fn give_up(conn: &mut Conn, task: &Task, note: &str, render: RenderLimits, now: Moment) -> Result<()> {
    let reply = Some(format!("⚠️ {note}"));
    let ending = Ending { end: End::Failed, note: note.to_owned(), reply, reply_to: None, passes: None };
    end(conn, task, &ending, render, now).await
}

async fn end(
    conn: &mut Conn,
    task: &Task,
    ending: &Ending,
    render: RenderLimits,
    now: Moment,
) -> Result<()> {
    let result = base::text::cut(ending.reply.as_deref().unwrap_or_default().trim(), RESULT_CHARS_MAX);
    if !tasks::finish_with(conn, task.id, ending.end, &ending.note, &result, now).await? {
        return Ok(());
    }
    if task.kind == Kind::Bootstrap {
        let state = if ending.end == End::Done { State::Ready } else { State::Failed };
        teams::set_state(conn, &task.team, state).await?;
    }
    // Whoever replaced it, or has taken its team away, knows.
    let Some(_) = &ending.reply else { return Ok(()) };
    report(conn, task, ending, &result, now).await?;
    announce(conn, task, ending, &result, render, now).await
}

/// Tells the team that gave it.
async fn report(conn: &mut Conn, task: &Task, ending: &Ending, result: &str, now: Moment) -> Result<()> {
    let Some(giver) = &task.giver else { return Ok(()) };
    if !matches!(task.kind, Kind::Delegate | Kind::Result | Kind::Bootstrap) || teams::get(conn, giver).await?.is_none()
    {
        return Ok(());
    }
    let what = match ending.end {
        End::Done => "ended",
        End::Failed => "failed",
        End::Cancelled => "was cancelled",
    };
    let text = match task.kind {
        Kind::Bootstrap => notice(task, ending, result),
        _ => format!("Task {} of the team {} {what}. Its result:\n{result}", task.id, task.team),
    };
    let topic = task.origin.topic.filter(|_| giver.is_main());
    let reachable = match topic {
        Some(topic) => topics::get(conn, topic).await?.is_some(),
        None => false,
    };
    if reachable {
        let reader = Reader { team: giver.clone(), topic };
        notes::add(conn, &reader, &task.team, &text, now).await?;
        if let (Some(topic), Kind::Delegate | Kind::Result) = (topic, task.kind) {
            tasks::enqueue_message(conn, &task.origin, topic, now).await?;
        }
        return Ok(());
    }
    if task.kind == Kind::Bootstrap {
        let reader = Reader { team: giver.clone(), topic: None };
        return notes::add(conn, &reader, &task.team, &text, now).await;
    }
    wake(conn, task, &text, now).await
}

/// Has the team that gave it go on, with the turn in which it gave it. What that comes to is for whoever gave that
/// turn's task.
async fn wake(conn: &mut Conn, task: &Task, text: &str, now: Moment) -> Result<()> {
    let Some(giver) = &task.giver else { return Ok(()) };
    let before = match task.cause {
        Some(cause) => runs::task(conn, cause).await?,
        None => None,
    };
    let before = match before {
        Some(id) => tasks::get(conn, id).await?,
        None => None,
    };
    let waits = before.filter(|before| matches!(before.kind, Kind::Delegate | Kind::Result));
    let new = tasks::New {
        priority: task.priority,
        giver: waits.as_ref().and_then(|before| before.giver.as_ref()),
        cause: waits.as_ref().and_then(|before| before.cause),
        continues: task.cause,
        ..tasks::New::of(giver, Kind::Result, text, &task.origin)
    };
    tasks::give(conn, &new, now).await?;
    Ok(())
}

/// Tells the conversation that caused it.
async fn announce(
    conn: &mut Conn,
    task: &Task,
    ending: &Ending,
    result: &str,
    render: RenderLimits,
    now: Moment,
) -> Result<()> {
    let Some(conversation) = &task.origin.conversation else { return Ok(()) };
    let template =
        New { topic: task.origin.topic, ..New::message(conversation, Action::Delete { message_id: String::new() }) };
    for row in reply_rows(conversation, &notice(task, ending, result), render, &template) {
        outbox::push(conn, &row, now).await?;
    }
    Ok(())
}

/// What people read of it.
fn notice(task: &Task, ending: &Ending, result: &str) -> String {
    let team = &task.team;
    match (task.kind, ending.end) {
        (Kind::Bootstrap, End::Done) => format!("[{team}] Team bootstrapped and ready."),
        (Kind::Bootstrap, _) => {
            format!("[{team}] ⚠️ The team could not be made ready: {}", or(result, &ending.note))
        }
        _ => format!("[{team}] {}", or(result, "(no result)")),
    }
}

fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}
