//! What is deleted, and when: every table that grows has its rule here.

use anyhow::Result;
use base::Moment;

use crate::{Conn, audit, events, memory, sql};

/// How many newer versions a memory has before an older one goes.
const VERSIONS: u32 = 20;

/// Before which moment rows of each sort may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Before {
    /// Messages in and out, the tasks they caused, and memories that were deleted.
    pub talk: Moment,
    /// Turns: what was said in them, their tool calls, and what else happened.
    pub journal: Moment,
    /// The log of trust decisions; changes of trust are kept ten times as long (the caller says so).
    pub decisions: Moment,
    /// Changes of trust, and the audit of tool calls.
    pub changes: Moment,
    /// The ledger.
    pub usage: Moment,
    /// Unread messages of senders nobody decided about.
    pub held: Moment,
}

/// Deletes at most `batch` rows of each sort: a writer must not wait long. How many went; fewer than `batch` of each
/// sort means that nothing is left to do.
pub async fn prune(conn: &mut Conn, before: &Before, batch: u32) -> Result<u64> {
    let mut gone = 0;
    let rules: [(&'static str, Moment); 9] = [
        (
            "DELETE FROM outbox WHERE id IN (SELECT id FROM outbox o WHERE finished_at < $1
               AND NOT EXISTS (SELECT 1 FROM outbox e WHERE e.target = o.id) LIMIT $2)",
            before.talk,
        ),
        (
            "DELETE FROM inbox WHERE id IN (SELECT id FROM inbox WHERE received_at < $1
               AND state IN ('answered', 'taken', 'denied') LIMIT $2)",
            before.talk,
        ),
        (
            "DELETE FROM inbox WHERE id IN (SELECT id FROM inbox WHERE received_at < $1 AND state = 'held' LIMIT $2)",
            before.held,
        ),
        ("DELETE FROM runs WHERE id IN (SELECT id FROM runs WHERE finished_at < $1 LIMIT $2)", before.journal),
        ("DELETE FROM tasks WHERE id IN (SELECT id FROM tasks WHERE finished_at < $1 LIMIT $2)", before.talk),
        (
            "DELETE FROM topics WHERE id IN (SELECT id FROM topics t WHERE state = 'closed' AND last_activity_at < $1
               AND NOT EXISTS (SELECT 1 FROM inbox WHERE topic = t.id)
               AND NOT EXISTS (SELECT 1 FROM outbox WHERE topic = t.id)
               AND NOT EXISTS (SELECT 1 FROM runs WHERE topic = t.id)
               AND NOT EXISTS (SELECT 1 FROM journal WHERE topic = t.id)
               AND NOT EXISTS (SELECT 1 FROM tasks WHERE topic = t.id) LIMIT $2)",
            before.talk,
        ),
        (
            "DELETE FROM trust_audit_log WHERE id IN (SELECT id FROM trust_audit_log
               WHERE created_at < $1 AND actor IS NULL LIMIT $2)",
            before.decisions,
        ),
        (
            "DELETE FROM trust_audit_log WHERE id IN (SELECT id FROM trust_audit_log
               WHERE created_at < $1 AND actor IS NOT NULL LIMIT $2)",
            before.changes,
        ),
        ("DELETE FROM usage WHERE id IN (SELECT id FROM usage WHERE at < $1 LIMIT $2)", before.usage),
    ];
    for (sql, moment) in rules {
        gone += sql::query(sql).bind(moment).bind(batch).execute(&mut *conn).await?.rows_affected();
    }
    gone += events::prune(conn, before.journal, batch).await?;
    gone += audit::prune(conn, before.changes, batch).await?;
    gone += memory::prune(conn, before.talk, VERSIONS, batch).await?;
    Ok(gone)
}
