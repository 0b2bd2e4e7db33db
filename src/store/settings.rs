//! Facts of this database as a whole.

use anyhow::Result;
use base::Moment;

use crate::{Conn, sql};

/// The value of a fact.
pub async fn get(conn: &mut Conn, name: &str) -> Result<Option<String>> {
    let sql = "SELECT value FROM settings WHERE name = $1";
    sql::query_scalar(sql).bind(name).fetch_optional(conn).await
}

/// Sets a fact.
pub async fn set(conn: &mut Conn, name: &str, value: &str) -> Result<()> {
    let sql = "INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = $2";
    sql::query(sql).bind(name).bind(value).execute(conn).await?;
    Ok(())
}

/// What tells this database from any other, also from one that was deleted and made anew: part of every outgoing
/// idempotency key. Made at the first call, from the time.
pub async fn instance(conn: &mut Conn, now: Moment) -> Result<String> {
    if let Some(known) = get(conn, "instance").await? {
        return Ok(known);
    }
    let made = format!("{now:x}");
    set(conn, "instance", &made).await?;
    Ok(made)
}
