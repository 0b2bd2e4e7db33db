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
use tools::protocol::{tell_giver, tell_replaced, waits_for, wake};

use super::finish::{Ending, reply_rows};
use super::{apology, told};

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
    let reply = Some(apology::WORK_GIVEN_UP.to_owned());
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
        // One that is closing stays so: there is no way back from it.
        teams::move_on(conn, &task.team, State::Bootstrapping, state).await?;
    }
    if ending.reply.is_none() {
        // Whoever has taken its team away knows, and so does whoever replaced it: others do not.
        return match tasks::replaced_by(conn, task.id).await? {
            Some(by) => tell_replaced(conn, task, &by.origin, now).await,
            None => Ok(()),
        };
    }
    report(conn, task, ending, &result, now).await?;
    announce(conn, task, run, &notice(task, ending, &result), render, now).await
}

/// Ends a task that waits in its queue, because a person stops it. One whose turn had begun, and waits to be tried again,
/// ends as if it ran. Of one that had not, people know, and its giver hears. `false` where it does not wait any more.
///
/// # Errors
/// Only the database's.
pub async fn cancel(conn: &mut Conn, task: &Task, now: Moment) -> Result<bool> {
    let note = "stopped by a person";
    if !tasks::cancel(conn, task.id, note, now).await? {
        return Ok(false);
    }
    if let Some(run) = runs::of_task(conn, task.id).await? {
        org::questions::give_up_of(conn, run.id, now).await?;
        let reply = Some(apology::STOPPED.to_owned());
        let ending = Ending { end: End::Cancelled, note: note.to_owned(), reply, reply_to: None, passes: None };
        report(conn, task, &ending, apology::STOPPED, now).await?;
        let text = notice(task, &ending, apology::STOPPED);
        announce(conn, task, Some(run.id), &text, RenderLimits::default(), now).await?;
        return Ok(true);
    }
    let text = format!("Task {} was cancelled by a person before it began.", task.id);
    tell_giver(conn, task, &text, now).await?;
    Ok(true)
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
            let why = or(result, &ending.note);
            // Words about a fault begin with a sign of their own.
            let why = why.strip_prefix("⚠️").unwrap_or(why).trim_start();
            format!("[{team}] ⚠️ The team could not be made ready: {why}")
        }
        _ => format!("[{team}] {}", or(result, "(no result)")),
    }
}

fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

#[cfg(test)]
mod tests {
    use base::{TaskId, TeamName};
    use store::tasks::{Origin, Priority};

    use super::*;

    #[test]
    fn a_notice_has_one_sign_of_a_fault() {
        let task = Task {
            id: TaskId(1),
            team: "ops".parse().unwrap(),
            lane: "ops".into(),
            kind: Kind::Bootstrap,
            priority: Priority::Critical,
            body: String::new(),
            origin: Origin::default(),
            giver: Some(TeamName::main()),
            cause: None,
            continues: None,
            options: Options::default(),
            attempts: 1,
            failures: 0,
        };
        let ending = |end| Ending { end, note: "a note".into(), reply: None, reply_to: None, passes: None };
        for (kind, end, result, expected) in [
            (Kind::Bootstrap, End::Done, "Ready.", "[ops] Team bootstrapped and ready."),
            (Kind::Bootstrap, End::Failed, "⚠️ no key", "[ops] ⚠️ The team could not be made ready: no key"),
            (Kind::Bootstrap, End::Failed, "", "[ops] ⚠️ The team could not be made ready: a note"),
            (Kind::Delegate, End::Failed, "⚠️ no key", "[ops] ⚠️ no key"),
            (Kind::Delegate, End::Done, "", "[ops] (no result)"),
        ] {
            let task = Task { kind, ..task.clone() };
            assert_eq!(notice(&task, &ending(end), result), expected);
        }
    }
}
