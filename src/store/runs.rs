//! The journaled record of one turn.

mod answering;

use anyhow::Result;
use base::{Moment, RunId, TaskId, TeamName, TopicId};
use channels::SenderId;

use crate::tasks::{End, Origin, Task};
use crate::{Conn, calls, sql, vault};

pub use answering::{Answering, answering};

/// A turn that is entered, for the first time or again after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// How many steps are in the journal already.
    pub steps: i64,
}

/// The run of a task: the one that a crash left, or a new one. `topic`: the one whose talk it is part of.
pub async fn enter(conn: &mut Conn, task: &Task, topic: Option<TopicId>, now: Moment) -> Result<Run> {
    let found: Option<(i64, i64)> =
        sql::query_as("SELECT id, steps FROM runs WHERE task = $1").bind(task.id.0).fetch_optional(&mut *conn).await?;
    if let Some((id, steps)) = found {
        return Ok(Run { id: RunId(id), steps });
    }
    let sql = "INSERT INTO runs (task, team, topic, sender, state, started_at)
               VALUES ($1, $2, $3, $4, 'running', $5) RETURNING id";
    let id = sql::query_scalar(sql)
        .bind(task.id.0)
        .bind(task.team.as_str())
        .bind(topic.map(|topic| topic.0))
        .bind(task.origin.sender.as_ref().map(SenderId::as_str))
        .bind(now)
        .fetch_one(conn)
        .await?;
    Ok(Run { id: RunId(id), steps: 0 })
}

/// A turn in the middle of another one: a team that is asked and answers at once. It has no task, and leaves the
/// team's queue as it is. `delegation`: which of the things that its parent has handed over it answers, as a JSON object
/// that the event of its start repeats.
pub async fn enter_within(
    conn: &mut Conn,
    parent: RunId,
    delegation: &serde_json::Value,
    team: &TeamName,
    sender: Option<&SenderId>,
    now: Moment,
) -> Result<Run> {
    let sql = "INSERT INTO runs (parent, delegation, team, sender, state, started_at)
               VALUES ($1, $2, $3, $4, 'running', $5) RETURNING id";
    let id = sql::query_scalar(sql)
        .bind(parent.0)
        .bind(delegation.to_string())
        .bind(team.as_str())
        .bind(sender.map(SenderId::as_str))
        .bind(now)
        .fetch_one(conn)
        .await?;
    Ok(Run { id: RunId(id), steps: 0 })
}

/// Ends the turns in the middle of others that a crash has cut off, and their calls with them: nobody waits for them any
/// more.
pub async fn end_orphans(conn: &mut Conn, now: Moment) -> Result<u64> {
    calls::interrupt_within(conn, now).await?;
    let sql = "UPDATE runs SET state = 'stopped', finished_at = $1, note = 'cut off by a stop of the hive'
               WHERE state = 'running' AND parent IS NOT NULL";
    let ended = sql::query(sql).bind(now).execute(&mut *conn).await?.rows_affected();
    vault::remove_handed_of_ended(conn).await?;
    Ok(ended)
}

/// The run of a task, if it was entered.
pub async fn of_task(conn: &mut Conn, task: TaskId) -> Result<Option<Run>> {
    let sql = "SELECT id, steps FROM runs WHERE task = $1";
    let found: Option<(i64, i64)> = sql::query_as(sql).bind(task.0).fetch_optional(conn).await?;
    Ok(found.map(|(id, steps)| Run { id: RunId(id), steps }))
}

/// The task whose turn this was; `None` for a turn in the middle of another one.
pub async fn task(conn: &mut Conn, id: RunId) -> Result<Option<TaskId>> {
    let found: Option<Option<i64>> =
        sql::query_scalar("SELECT task FROM runs WHERE id = $1").bind(id.0).fetch_optional(conn).await?;
    Ok(found.flatten().map(TaskId))
}

/// A run and those whose talk it went on with, oldest first.
pub async fn chain(conn: &mut Conn, id: RunId) -> Result<Vec<RunId>> {
    let sql = "WITH RECURSIVE chain (run, depth) AS (
                 SELECT $1, 0
                 UNION ALL SELECT t.continues, c.depth + 1 FROM chain c JOIN runs r ON r.id = c.run
                   JOIN tasks t ON t.id = r.task WHERE t.continues IS NOT NULL AND c.depth < 20)
               SELECT run FROM chain ORDER BY depth DESC";
    let ids: Vec<i64> = sql::query_scalar(sql).bind(id.0).fetch_all(conn).await?;
    Ok(ids.into_iter().map(RunId).collect())
}

/// One more step is in the journal.
pub async fn step(conn: &mut Conn, id: RunId) -> Result<()> {
    sql::query("UPDATE runs SET steps = steps + 1 WHERE id = $1").bind(id.0).execute(conn).await?;
    Ok(())
}

/// Ends a run with so many steps in the journal, and forgets the secrets that its calls were given and did not use.
/// `false` where it had ended.
pub async fn finish(conn: &mut Conn, run: Run, end: End, note: &str, now: Moment) -> Result<bool> {
    let state = match end {
        End::Done => "done",
        End::Failed => "failed",
        End::Cancelled => "stopped",
    };
    let sql = "UPDATE runs SET state = $2, note = $3, finished_at = $4, steps = $5 WHERE id = $1 AND state = 'running'";
    let done = sql::query(sql).bind(run.id.0).bind(state).bind(note).bind(now).bind(run.steps);
    if done.execute(&mut *conn).await?.rows_affected() == 0 {
        return Ok(false);
    }
    vault::remove_handed(conn, run.id).await?;
    Ok(true)
}

/// Ends a run that nobody goes on with. `false` where it had ended.
pub async fn cut_off(conn: &mut Conn, id: RunId, now: Moment) -> Result<bool> {
    let sql = "UPDATE runs SET state = 'stopped', note = 'cut off', finished_at = $2
               WHERE id = $1 AND state = 'running'";
    if sql::query(sql).bind(id.0).bind(now).execute(&mut *conn).await?.rows_affected() == 0 {
        return Ok(false);
    }
    vault::remove_handed(conn, id).await?;
    Ok(true)
}

/// What a run was caused by: for tools and the ledger.
pub async fn origin(conn: &mut Conn, id: RunId) -> Result<Origin> {
    let sql = "SELECT t.conversation, t.topic, t.sender FROM runs r JOIN tasks t ON t.id = r.task WHERE r.id = $1";
    let (conversation, topic, sender): (Option<String>, Option<i64>, Option<String>) =
        sql::query_as(sql).bind(id.0).fetch_one(conn).await?;
    Ok(Origin {
        conversation: conversation.map(|text| text.parse()).transpose()?,
        topic: topic.map(TopicId),
        sender: sender.map(|text| text.parse()).transpose()?,
    })
}
