//! The talk of a topic in fewer words, so that it fits into a model's window.

use anyhow::Result;
use base::{Moment, TopicId};

use crate::{Conn, sql};

/// The newest summary of a topic: the journal id it reaches up to, and the text.
pub async fn latest(conn: &mut Conn, topic: TopicId) -> Result<Option<(i64, String)>> {
    let sql = "SELECT upto, text FROM summaries WHERE topic = $1 ORDER BY upto DESC LIMIT 1";
    sql::query_as(sql).bind(topic.0).fetch_optional(conn).await
}

/// Adds a summary of everything up to and including the journal row `upto`.
pub async fn add(conn: &mut Conn, topic: TopicId, upto: i64, text: &str, now: Moment) -> Result<()> {
    let sql = "INSERT INTO summaries (topic, upto, text, created_at) VALUES ($1, $2, $3, $4)
               ON CONFLICT (topic, upto) DO UPDATE SET text = $3, created_at = $4";
    sql::query(sql).bind(topic.0).bind(upto).bind(text).bind(now).execute(conn).await?;
    Ok(())
}
