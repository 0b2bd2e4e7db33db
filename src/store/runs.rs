//! The journaled record of one turn.

use anyhow::Result;
use base::{Moment, RunId, TaskId, TopicId};
use channels::SenderId;

use crate::tasks::{End, Origin, Task};
use crate::{Conn, sql};

/// A turn that is entered, for the first time or again after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// How many steps are in the journal already.
    pub steps: i64,
}

/// The run of a task: the one that a crash left, or a new one.
pub async fn enter(conn: &mut Conn, task: &Task, now: Moment) -> Result<Run> {
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
        .bind(task.origin.topic.map(|topic| topic.0))
        .bind(task.origin.sender.as_ref().map(SenderId::as_str))
        .bind(now)
        .fetch_one(conn)
        .await?;
    Ok(Run { id: RunId(id), steps: 0 })
}

/// The run of a task, if it was entered.
pub async fn of_task(conn: &mut Conn, task: TaskId) -> Result<Option<Run>> {
    let sql = "SELECT id, steps FROM runs WHERE task = $1";
    let found: Option<(i64, i64)> = sql::query_as(sql).bind(task.0).fetch_optional(conn).await?;
    Ok(found.map(|(id, steps)| Run { id: RunId(id), steps }))
}

/// One more step is in the journal.
pub async fn step(conn: &mut Conn, id: RunId) -> Result<()> {
    sql::query("UPDATE runs SET steps = steps + 1 WHERE id = $1").bind(id.0).execute(conn).await?;
    Ok(())
}

/// Ends a run with so many steps in the journal. `false` where it had ended.
pub async fn finish(conn: &mut Conn, run: Run, end: End, note: &str, now: Moment) -> Result<bool> {
    let state = match end {
        End::Done => "done",
        End::Failed => "failed",
        End::Cancelled => "stopped",
    };
    let sql = "UPDATE runs SET state = $2, note = $3, finished_at = $4, steps = $5 WHERE id = $1 AND state = 'running'";
    let done = sql::query(sql).bind(run.id.0).bind(state).bind(note).bind(now).bind(run.steps).execute(conn).await?;
    Ok(done.rows_affected() > 0)
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
