//! How far each platform was read.

use anyhow::Result;
use base::Moment;
use channels::{Cursor, Kind};

use crate::{Conn, sql};

/// Moves a cursor.
pub async fn set(conn: &mut Conn, cursor: &Cursor, now: Moment) -> Result<()> {
    let sql = "INSERT INTO cursors (stream, value, at) VALUES ($1, $2, $3)
               ON CONFLICT (stream) DO UPDATE SET value = $2, at = $3";
    sql::query(sql).bind(&cursor.stream).bind(&cursor.value).bind(now).execute(conn).await?;
    Ok(())
}

/// Every cursor of a kind, by name.
pub async fn of_kind(conn: &mut Conn, kind: Kind) -> Result<Vec<Cursor>> {
    let sql = "SELECT stream, value FROM cursors WHERE stream LIKE $1 ORDER BY stream";
    let rows: Vec<(String, String)> = sql::query_as(sql).bind(format!("{kind}/%")).fetch_all(conn).await?;
    Ok(rows.into_iter().map(|(stream, value)| Cursor { stream, value }).collect())
}
