//! Whoever gave a task, and how they are reached.

use anyhow::Result;
use base::{Moment, TeamName};
use store::notes::{self, Reader};
use store::tasks::{self, Kind, New, Options, Task};
use store::teams::{self, State};
use store::{Conn, runs, topics};

use crate::call::Call;

/// The team that waits for what a task comes to; `None` where nobody does: work that a trigger made, or that was handed
/// up.
pub fn waits_for(task: &Task) -> Option<&TeamName> {
    matches!(task.kind, Kind::Delegate | Kind::Result | Kind::Bootstrap).then_some(task.giver.as_ref()).flatten()
}

/// Has the team that gave a task go on, with the turn in which it gave it. What that comes to is for whoever gave that
/// turn's task.
///
/// # Errors
/// Only the database's.
pub async fn wake(conn: &mut Conn, task: &Task, text: &str, options: Options, now: Moment) -> Result<()> {
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
    let new = New {
        priority: task.priority,
        giver: waits.as_ref().and_then(|before| before.giver.as_ref()),
        cause: waits.as_ref().and_then(|before| before.cause),
        continues: task.cause,
        options,
        ..New::of(giver, Kind::Result, text, &task.origin)
    };
    tasks::give(conn, &new, now).await?;
    Ok(())
}

/// Tells whoever waits for a task that nothing comes of it. The main agent reads it when it next talks in that topic:
/// people know already. A team has to go on, and is woken.
///
/// # Errors
/// Only the database's.
pub async fn tell_giver(conn: &mut Conn, task: &Task, text: &str, now: Moment) -> Result<()> {
    let Some(giver) = waits_for(task) else { return Ok(()) };
    if teams::get(conn, giver).await?.is_none() {
        return Ok(());
    }
    if !giver.is_main() {
        return wake(conn, task, text, Options::default(), now).await;
    }
    let topic = match task.origin.topic {
        Some(topic) => topics::get(conn, topic).await?.map(|topic| topic.id),
        None => None,
    };
    notes::add(conn, &Reader { team: giver.clone(), topic }, &task.team, text, now).await
}

/// The task whose turn makes this call, or why there is none.
pub(super) async fn own_task(conn: &mut Conn, call: &Call) -> Result<Result<Task, String>> {
    let task = match runs::task(conn, call.run).await? {
        Some(id) => tasks::get(conn, id).await?,
        None => None,
    };
    Ok(task.ok_or_else(|| {
        "you were asked something at once, and have no task of your own: whoever asked waits for your last words, so say \
         it there"
            .to_owned()
    }))
}

/// Who reads what a task reports: whoever gave it, else the team above.
pub(super) async fn reader(conn: &mut Conn, task: &Task) -> Result<Option<Reader>> {
    let team = match waits_for(task) {
        Some(giver) => Some(giver.clone()),
        None => teams::get(conn, &task.team).await?.and_then(|own| own.parent),
    };
    let Some(team) = team.filter(|team| *team != task.team) else { return Ok(None) };
    if teams::get(conn, &team).await?.is_none() {
        return Ok(None);
    }
    let topic = task.origin.topic.filter(|_| team.is_main());
    Ok(Some(Reader { team, topic }))
}

/// Whoever can be asked about a task: the team that gave it and is free to hear of it; or why there is none.
pub(super) async fn asked_about(conn: &mut Conn, task: &Task) -> Result<Result<Reader, String>> {
    const ELSE: &str = "take the assumption that does the least harm, and name it in your result";
    let Some(giver) = waits_for(task) else {
        return Ok(Err(format!("nobody waits for this task, and so nobody can be asked: {ELSE}")));
    };
    let Some(team) = teams::get(conn, giver).await?.filter(|team| team.state != State::Closing) else {
        return Ok(Err(format!("`{giver}`, which gave this task, is gone: {ELSE}")));
    };
    let topic = task.origin.topic.filter(|_| team.name.is_main());
    let lane = topic.map_or_else(|| team.name.to_string(), tasks::topic_lane);
    if lane == task.lane {
        // Its answer would wait behind this very turn.
        return Ok(Err(format!("`{giver}` waits for this very turn, and cannot be asked: {ELSE}")));
    }
    Ok(Ok(Reader { team: team.name, topic }))
}

/// Asks whoever gave a task: they are woken.
pub(super) async fn ask(conn: &mut Conn, task: &Task, reader: &Reader, text: &str, now: Moment) -> Result<()> {
    if let Some(topic) = reader.topic {
        notes::add(conn, reader, &task.team, text, now).await?;
        return tasks::enqueue_message(conn, &task.origin, topic, now).await;
    }
    wake(conn, task, text, Options { answers: Some(task.id), ..Options::default() }, now).await
}
