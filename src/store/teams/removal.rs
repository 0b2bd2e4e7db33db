//! A team goes, with every row that is its own. What was said and done stays in the audit, the events and the ledger.

use anyhow::Result;
use base::TeamName;

use crate::{Conn, grants, memory, sql, vault};

/// Takes away some of a team's work: tasks with their turns, and turns in which it was only asked, at most `most` of
/// each. `false` where that was all there is. A team may have worked for years, and nobody is to wait for all of it in one
/// transaction: this is called until nothing is left, and [`remove`] then has little to do.
pub async fn remove_some_work(conn: &mut Conn, name: &TeamName, most: u32) -> Result<bool> {
    let mut found = false;
    for sql in [
        "DELETE FROM tasks WHERE id IN (SELECT id FROM tasks INDEXED BY tasks_of_team WHERE team = $1 LIMIT $2)",
        "DELETE FROM runs WHERE id IN (
           SELECT id FROM runs INDEXED BY asked_turns_of_team WHERE team = $1 AND task IS NULL LIMIT $2)",
    ] {
        let done = sql::query(sql).bind(name.as_str()).bind(most).execute(&mut *conn).await?;
        found |= done.rows_affected() >= u64::from(most);
    }
    Ok(found)
}

/// Takes a team away with everything that is its own: its memory, its vault, what people granted to it, its scope, what it
/// was told, and what is left of its work. Its children go before it. `false` where there is none of this name.
///
/// # Errors
/// Where it has children.
pub async fn remove(conn: &mut Conn, name: &TeamName) -> Result<bool> {
    remove_some_work(conn, name, u32::MAX).await?;
    memory::remove_team(conn, name).await?;
    vault::remove_team(conn, name).await?;
    grants::remove_team(conn, name).await?;
    let done = sql::query("DELETE FROM teams WHERE name = $1").bind(name.as_str()).execute(conn).await?;
    Ok(done.rows_affected() > 0)
}
