//! Work that a team is given again, or in the place of what it was given before.

use anyhow::Result;
use base::{Moment, TaskId, TeamName};
use channels::ConversationId;

use super::{Origin, Raw, Task, cancel, get};
use crate::{Conn, sql};

/// What a giver gives a team.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// The team that is to do it.
    pub team: &'a TeamName,
    /// The team that gives it.
    pub giver: &'a TeamName,
    /// Where it came from.
    pub origin: &'a Origin,
}

/// The task with these very words that a team has from this giver for the same conversation and topic, and that is not
/// over; the oldest. What comes of one that is done for others reaches those others.
pub async fn same_open(conn: &mut Conn, given: &Given<'_>, body: &str) -> Result<Option<TaskId>> {
    let sql = "SELECT id FROM tasks INDEXED BY open_tasks_of_team
               WHERE team = $1 AND state IN ('queued', 'running') AND kind = 'delegate'
                 AND giver = $2 AND body = $3 AND conversation IS $4 AND topic IS $5 ORDER BY id LIMIT 1";
    let id: Option<i64> = sql::query_scalar(sql)
        .bind(given.team.as_str())
        .bind(given.giver.as_str())
        .bind(body)
        .bind(given.origin.conversation.as_ref().map(ConversationId::as_str))
        .bind(given.origin.topic.map(|topic| topic.0))
        .fetch_optional(conn)
        .await?;
    Ok(id.map(TaskId))
}

/// Takes out of a team's queue what this giver has delegated to it, for whatever conversation. Those tasks, the oldest
/// first.
pub async fn cancel_given(
    conn: &mut Conn,
    team: &TeamName,
    giver: &TeamName,
    note: &str,
    now: Moment,
) -> Result<Vec<Task>> {
    let sql = "SELECT id, team, lane, kind, priority, body, conversation, topic, sender, giver, cause, continues,
                 options, attempts, failures
               FROM tasks INDEXED BY open_tasks_of_team
               WHERE team = $1 AND state IN ('queued', 'running') AND state = 'queued' AND kind = 'delegate' AND giver = $2
               ORDER BY id";
    let rows: Vec<Raw> = sql::query_as(sql).bind(team.as_str()).bind(giver.as_str()).fetch_all(&mut *conn).await?;
    let given: Vec<Task> = rows.into_iter().map(Task::try_from).collect::<Result<_>>()?;
    for task in &given {
        cancel(conn, task.id, note, now).await?;
    }
    Ok(given)
}

/// Asks a team's running work to end in favour of the task `by`, unless somebody has asked already: not what makes it
/// ready, and not what tells it of its own children's results, which nobody would tell it again. How many there are.
pub async fn stop_given(conn: &mut Conn, team: &TeamName, by: TaskId) -> Result<u64> {
    let sql = "UPDATE tasks INDEXED BY one_running_task_per_lane SET stop_asked = 'replaced', replaced_by = $2
               WHERE team = $1 AND state = 'running' AND stop_asked IS NULL
                 AND kind IN ('delegate', 'trigger', 'handoff')";
    Ok(sql::query(sql).bind(team.as_str()).bind(by.0).execute(conn).await?.rows_affected())
}

/// The task that a task was asked to end for, if it was and that is still known.
pub async fn replaced_by(conn: &mut Conn, id: TaskId) -> Result<Option<Task>> {
    let sql = "SELECT replaced_by FROM tasks WHERE id = $1";
    let by: Option<Option<i64>> = sql::query_scalar(sql).bind(id.0).fetch_optional(&mut *conn).await?;
    match by.flatten() {
        Some(by) => get(conn, TaskId(by)).await,
        None => Ok(None),
    }
}
