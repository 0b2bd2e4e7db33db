//! What can be claimed: the first due task of every lane that is free. However long the queue is, it is not walked
//! through: its head is, and then each lane's.

use std::time::Duration;

use anyhow::Result;
use base::{Moment, TaskId, clock};

use super::{Raw, Task};
use crate::sql::row;
use crate::{Conn, sql};

/// Tasks at the head of the queue that are looked through for free lanes; usually there is one. Behind them every lane
/// is looked at, which takes as long as there are lanes.
const HEAD: u32 = 256;
/// The longest that a fault puts a task off, in milliseconds.
const PUT_OFF_MAX_MS: Moment = 3_600_000;

/// Claims up to `limit` tasks that are due, the most urgent and oldest first, each in a lane that is free. There may be
/// more of them where fewer than `limit` are found, but not where none is.
pub async fn claim(conn: &mut Conn, limit: u32, now: Moment, leased_until: Moment) -> Result<Vec<Task>> {
    let mut found = at_head(conn, limit, now).await?;
    if found.is_empty() {
        found = in_lanes(conn, limit, now).await?;
    }
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let sql = "UPDATE tasks SET state = 'running', leased_until = $3, attempts = attempts + 1,
                 started_at = coalesce(started_at, $2)
               WHERE id IN (SELECT value FROM json_each($1))
               RETURNING id, team, lane, kind, priority, body, conversation, topic, sender, giver, cause, continues,
                 options, attempts, failures";
    let found = serde_json::to_string(&found)?;
    let mut rows: Vec<Raw> = sql::query_as(sql).bind(found).bind(now).bind(leased_until).fetch_all(conn).await?;
    rows.sort_by_key(|row| (row.priority, row.id));
    rows.into_iter().map(Task::try_from).collect()
}

/// What may be claimed at `$1`: what no fault has put off; what was put off and is due; and what seems to be put off
/// for longer than anything is (`$2`, the last moment that can be): by a clock that was set back since.
const DUE: &str = "(failures = 0 OR due_at <= $1 OR due_at > $2)";
/// What is due, or holds up its lane until it is: nobody works in a team before it was made ready.
const FIRST: &str = "(failures = 0 OR due_at <= $1 OR due_at > $2 OR kind = 'bootstrap')";
/// Every lane that has queued tasks: from lane to lane in the index, not from task to task.
const LANES: &str = "WITH RECURSIVE lanes (lane) AS (
    SELECT min(lane) FROM tasks WHERE state = 'queued'
    UNION ALL SELECT (SELECT min(lane) FROM tasks WHERE state = 'queued' AND lane > l.lane)
      FROM lanes l WHERE l.lane IS NOT NULL)";

/// Of the head of the queue, the first of each free lane.
async fn at_head(conn: &mut Conn, limit: u32, now: Moment) -> Result<Vec<i64>> {
    let sql = format!(
        "SELECT id FROM (SELECT id, lane, priority FROM tasks WHERE state = 'queued' AND {DUE}
           ORDER BY priority, id LIMIT $3) t
         WHERE NOT EXISTS (SELECT 1 FROM tasks r WHERE r.lane = t.lane AND r.state = 'running')
           AND NOT EXISTS (SELECT 1 FROM tasks q WHERE q.lane = t.lane AND q.state = 'queued' AND {FIRST}
             AND (q.priority, q.id) < (t.priority, t.id))
         ORDER BY priority, id LIMIT $4"
    );
    sql::query_scalar(sql).bind(now).bind(now + PUT_OFF_MAX_MS).bind(HEAD).bind(limit).fetch_all(conn).await
}

/// The first task of each free lane, where it is due.
async fn in_lanes(conn: &mut Conn, limit: u32, now: Moment) -> Result<Vec<i64>> {
    let sql = format!(
        "{LANES} SELECT t.id FROM lanes l JOIN tasks t ON t.id = (SELECT id FROM tasks
             WHERE lane = l.lane AND state = 'queued' AND {FIRST} ORDER BY priority, id LIMIT 1)
         WHERE {DUE} AND NOT EXISTS (SELECT 1 FROM tasks r WHERE r.lane = l.lane AND r.state = 'running')
         ORDER BY t.priority, t.id LIMIT $3"
    );
    sql::query_scalar(sql).bind(now).bind(now + PUT_OFF_MAX_MS).bind(limit).fetch_all(conn).await
}

row! {
    /// What a worker finds when it looks, without touching a row.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Found {
        /// There may be something to claim.
        pub claimable: bool,
        /// A running task is asked to end.
        pub to_stop: bool,
        /// When the next task is due that was put back, to be claimed again later.
        pub next_due: Option<Moment>,
    }
}

/// Looks whether there is anything to do: a scan without work writes nothing.
pub async fn look(conn: &mut Conn, now: Moment) -> Result<Found> {
    let sql = format!(
        "{LANES} SELECT EXISTS (SELECT 1 FROM lanes l JOIN tasks t ON t.id = (SELECT id FROM tasks
               WHERE lane = l.lane AND state = 'queued' AND {FIRST} ORDER BY priority, id LIMIT 1)
             WHERE {DUE} AND NOT EXISTS (SELECT 1 FROM tasks r WHERE r.lane = l.lane AND r.state = 'running'))
             AS claimable,
           EXISTS (SELECT 1 FROM tasks WHERE state = 'running' AND stop_asked IS NOT NULL) AS to_stop,
           (SELECT min(due_at) FROM tasks WHERE state = 'queued' AND due_at > created_at AND due_at > $1
              AND failures > 0) AS next_due"
    );
    sql::query_as(sql).bind(now).bind(now + PUT_OFF_MAX_MS).fetch_one(conn).await
}

/// Puts running tasks back, to be claimed again: at once, unless a fault has put them off until `due_at`.
pub async fn put_back(conn: &mut Conn, ids: &[TaskId], due_at: Moment) -> Result<()> {
    let ids = serde_json::to_string(ids)?;
    // A second message task may have been queued meanwhile: its lane has one. What the turn leaves in the mailbox has
    // a task again when the turn ends.
    let sql = "DELETE FROM tasks WHERE kind = 'message' AND state = 'queued' AND lane IN (SELECT lane FROM tasks
                 WHERE id IN (SELECT value FROM json_each($1)) AND kind = 'message' AND state = 'running')";
    sql::query(sql).bind(ids.as_str()).execute(&mut *conn).await?;
    let sql = "UPDATE tasks SET state = 'queued', leased_until = NULL, due_at = $2
               WHERE id IN (SELECT value FROM json_each($1)) AND state = 'running'";
    sql::query(sql).bind(ids).bind(due_at).execute(conn).await?;
    Ok(())
}

/// Puts a running task back whose worker stops in good order: that was no death, and is not counted as one.
pub async fn leave(conn: &mut Conn, id: TaskId, now: Moment) -> Result<()> {
    let sql = "UPDATE tasks SET attempts = max(attempts - 1, 0) WHERE id = $1 AND state = 'running'";
    sql::query(sql).bind(id.0).execute(&mut *conn).await?;
    put_back(conn, &[id], now).await
}

/// Puts a running task back whose turn failed by a fault that may pass: it is entered again after `wait`, and after an
/// hour at the latest. When that is; `None` where the task is asked to end, or does not run.
pub async fn retry(conn: &mut Conn, id: TaskId, wait: Duration, now: Moment) -> Result<Option<Moment>> {
    let sql = "UPDATE tasks SET failures = failures + 1, attempts = max(attempts - 1, 0)
               WHERE id = $1 AND state = 'running' AND stop_asked IS NULL";
    if sql::query(sql).bind(id.0).execute(&mut *conn).await?.rows_affected() == 0 {
        return Ok(None);
    }
    let due_at = now + clock::ms(wait).min(PUT_OFF_MAX_MS);
    put_back(conn, &[id], due_at).await?;
    Ok(Some(due_at))
}

#[cfg(test)]
mod tests;
