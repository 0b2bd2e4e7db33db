//! One-time codes that make their sender an admin. Only a digest of a code is kept.

use anyhow::Result;
use base::Moment;
use channels::SenderId;

use crate::{Conn, sql};

/// Keeps a code's digest. Codes that were used or have expired go.
pub async fn add(conn: &mut Conn, digest: &str, now: Moment, expires_at: Moment) -> Result<()> {
    sql::query("DELETE FROM pairings WHERE used_at IS NOT NULL OR expires_at < $1")
        .bind(now)
        .execute(&mut *conn)
        .await?;
    let sql = "INSERT INTO pairings (digest, created_at, expires_at) VALUES ($1, $2, $3)";
    sql::query(sql).bind(digest).bind(now).bind(expires_at).execute(conn).await?;
    Ok(())
}

/// Uses a code up. `false` where there is none such, it was used, or it has expired.
pub async fn redeem(conn: &mut Conn, digest: &str, sender: &SenderId, now: Moment) -> Result<bool> {
    let sql =
        "UPDATE pairings SET used_at = $3, used_by = $2 WHERE digest = $1 AND used_at IS NULL AND expires_at >= $3";
    let done = sql::query(sql).bind(digest).bind(sender.as_str()).bind(now).execute(conn).await?;
    Ok(done.rows_affected() > 0)
}

/// A sender gave a wrong code. Older tries than a day go.
pub async fn add_try(conn: &mut Conn, sender: &SenderId, now: Moment) -> Result<()> {
    sql::query("DELETE FROM pairing_tries WHERE at < $1").bind(now - 86_400_000).execute(&mut *conn).await?;
    let sql = "INSERT INTO pairing_tries (sender, at) VALUES ($1, $2)";
    sql::query(sql).bind(sender.as_str()).bind(now).execute(conn).await?;
    Ok(())
}

/// How many wrong codes a sender gave since a moment.
pub async fn tries(conn: &mut Conn, sender: &SenderId, since: Moment) -> Result<i64> {
    let sql = "SELECT count(*) FROM pairing_tries WHERE sender = $1 AND at >= $2";
    sql::query_scalar(sql).bind(sender.as_str()).bind(since).fetch_one(conn).await
}
