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
use base::{Moment, RunId};
use channels::Action;
use channels::render::RenderLimits;
use store::notes::{self, Reader};
use store::outbox::{self, New};
use store::runs::{self, Run};
use store::tasks::{self, End, Kind, Options, Task};
use store::teams::{self, State};
use store::{Conn, topics};
use tools::protocol::{waits_for, wake};

use super::finish::{Ending, reply_rows};
use super::told;

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
    end(conn, task, Some(run.id), ending, done.render, now).await
}

/// Ends the task of a team that was begun again and again without an end.
///
/// # Errors
/// Only the database's.
pub async fn give_up(conn: &mut Conn, task: &Task, note: &str, render: RenderLimits, now: Moment) -> Result<()> {
    let reply = Some(format!("⚠️ {note}"));
    let ending = Ending { end: End::Failed, note: note.to_owned(), reply, reply_to: None, passes: None };
    let ending = told::as_told(conn, task, ending).await?;
    let run = runs::of_task(conn, task.id).await?.map(|run| run.id);
    end(conn, task, run, &ending, render, now).await
}

async fn end(
    conn: &mut Conn,
    task: &Task,
    run: Option<RunId>,
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
    announce(conn, task, run, &notice(task, ending, &result), render, now).await
}

/// Tells the team that gave it.
async fn report(conn: &mut Conn, task: &Task, ending: &Ending, result: &str, now: Moment) -> Result<()> {
    // Nobody has given the turn that answers a question.
    let Some(giver) = waits_for(task).filter(|_| task.options.answers.is_none()) else { return Ok(()) };
    if teams::get(conn, giver).await?.is_none() {
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
    wake(conn, task, &text, Options::default(), now).await
}

/// Tells the conversation that caused it.
async fn announce(
    conn: &mut Conn,
    task: &Task,
    run: Option<RunId>,
    text: &str,
    render: RenderLimits,
    now: Moment,
) -> Result<()> {
    let Some(conversation) = &task.origin.conversation else { return Ok(()) };
    let action = Action::Delete { message_id: String::new() };
    let template = New { topic: task.origin.topic, run, ..New::message(conversation, action) };
    for row in reply_rows(conversation, text, render, &template) {
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
