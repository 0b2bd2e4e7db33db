//! What teams say to one another, and to a topic of the main agent: read in the reader's next turn.

use anyhow::Result;
use base::{Moment, RunId, TeamName, TopicId};

use crate::sql::row;
use crate::{Conn, sql};

/// Whose next turn reads a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reader {
    /// The team.
    pub team: TeamName,
    /// Its topic, where it talks to people; `None` for what belongs to none.
    pub topic: Option<TopicId>,
}

row! {
    /// A note that no turn has read.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Note {
        /// Its id.
        pub id: i64,
        /// The team that says it.
        pub writer: String,
        /// What it says.
        pub text: String,
    }
}

/// Says something.
///
/// # Errors
/// Where there is no such reader.
pub async fn add(conn: &mut Conn, reader: &Reader, writer: &TeamName, text: &str, now: Moment) -> Result<()> {
    let sql = "INSERT INTO notes (reader, topic, writer, text, at) VALUES ($1, $2, $3, $4, $5)";
    sql::query(sql)
        .bind(reader.team.as_str())
        .bind(reader.topic.map(|topic| topic.0))
        .bind(writer.as_str())
        .bind(text)
        .bind(now)
        .execute(conn)
        .await?;
    Ok(())
}

/// What a reader has not read, oldest first. What belongs to no topic is for whichever turn of the team comes first: a
/// topic's as well, for the root team may have no others.
pub async fn unread(conn: &mut Conn, reader: &Reader, limit: u32) -> Result<Vec<Note>> {
    let sql = "SELECT id, writer, text FROM notes WHERE reader = $1 AND topic = $2 AND run IS NULL
               UNION ALL SELECT id, writer, text FROM notes WHERE reader = $1 AND topic IS NULL AND run IS NULL
               ORDER BY id LIMIT $3";
    sql::query_as(sql)
        .bind(reader.team.as_str())
        .bind(reader.topic.map(|topic| topic.0))
        .bind(limit)
        .fetch_all(conn)
        .await
}

/// Whether something of a topic is unread that is for the root team.
pub async fn wait_in(conn: &mut Conn, topic: TopicId) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM notes WHERE reader = $1 AND topic = $2 AND run IS NULL)";
    sql::query_scalar(sql).bind(base::ids::MAIN).bind(topic.0).fetch_one(conn).await
}

/// Whether any of these notes is still unread.
pub async fn any_unread(conn: &mut Conn, ids: &[i64]) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM notes WHERE id IN (SELECT value FROM json_each($1)) AND run IS NULL)";
    sql::query_scalar(sql).bind(serde_json::to_string(ids)?).fetch_one(conn).await
}

/// A turn has read it. `false` where another one has already.
pub async fn take(conn: &mut Conn, id: i64, run: RunId) -> Result<bool> {
    let sql = "UPDATE notes SET run = $2 WHERE id = $1 AND run IS NULL";
    Ok(sql::query(sql).bind(id).bind(run.0).execute(conn).await?.rows_affected() > 0)
}

#[cfg(test)]
mod tests;
