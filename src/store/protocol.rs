//! What a task says of itself while its turn runs: how far it is, and what it came to.

use anyhow::{Context, Result};
use base::{Moment, TaskId};

use crate::{Conn, sql};

/// How far a task says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is being done.
    InProgress,
    /// It is done.
    Completed,
    /// It cannot be done.
    Failed,
}

impl Status {
    const ALL: [Status; 3] = [Status::InProgress, Status::Completed, Status::Failed];

    /// The word in the row.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::InProgress => "in_progress",
            Status::Completed => "completed",
            Status::Failed => "failed",
        }
    }

    fn read(word: &str) -> Result<Status> {
        let found = Status::ALL.into_iter().find(|status| status.as_str() == word);
        found.with_context(|| format!("`{word}` is no status of a task"))
    }
}

/// The last that a task said of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// How far it is.
    pub status: Status,
    /// What it came to, why it failed, or how far it is; may be empty.
    pub text: String,
}

/// The last that a task said of itself, if it has.
pub async fn said(conn: &mut Conn, task: TaskId) -> Result<Option<Said>> {
    let sql = "SELECT status, text FROM task_progress WHERE task = $1 AND status IS NOT NULL";
    let row: Option<(String, String)> = sql::query_as(sql).bind(task.0).fetch_optional(conn).await?;
    row.map(|(status, text)| Ok(Said { status: Status::read(&status)?, text })).transpose()
}

/// Has a task say something of itself, in the place of what it said before.
pub async fn say(conn: &mut Conn, task: TaskId, said: &Said, now: Moment) -> Result<()> {
    let sql = "INSERT INTO task_progress (task, status, text, said_at) VALUES ($1, $2, $3, $4)
               ON CONFLICT (task) DO UPDATE SET status = $2, text = $3, said_at = $4";
    sql::query(sql).bind(task.0).bind(said.status.as_str()).bind(&said.text).bind(now).execute(conn).await?;
    Ok(())
}

/// Says that this call of the task's turn tells its giver something. `false` where it has already: calls that report run
/// one after the other, so the last one is all there is to know.
pub async fn report(conn: &mut Conn, task: TaskId, call: &str) -> Result<bool> {
    let sql = "INSERT INTO task_progress (task, reported) VALUES ($1, $2)
               ON CONFLICT (task) DO UPDATE SET reported = $2 WHERE reported IS NOT $2";
    Ok(sql::query(sql).bind(task.0).bind(call).execute(conn).await?.rows_affected() > 0)
}

/// Says that people are shown a line of it. `false` where they were within the last `pause_ms`.
pub async fn show(conn: &mut Conn, task: TaskId, pause_ms: Moment, now: Moment) -> Result<bool> {
    let sql = "INSERT INTO task_progress (task, shown_at) VALUES ($1, $2)
               ON CONFLICT (task) DO UPDATE SET shown_at = $2 WHERE shown_at IS NULL OR shown_at <= $2 - $3";
    Ok(sql::query(sql).bind(task.0).bind(now).bind(pause_ms).execute(conn).await?.rows_affected() > 0)
}

#[cfg(test)]
mod tests;
