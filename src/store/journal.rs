//! What was said in turns, in order. Tool results stand in [`crate::calls`].

use anyhow::Result;
use base::{Moment, RunId, TopicId};

use crate::{Conn, sql};

/// Who spoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A person, or what stands for one.
    User,
    /// The model.
    Assistant,
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its id; entries are in the order in which they were made.
    pub id: i64,
    /// The turn.
    pub run: RunId,
    /// The step of the turn, from 1; a person's words carry the step before which they were taken in.
    pub step: i64,
    /// Who spoke.
    pub role: Role,
    /// What: JSON, the model layer's blocks.
    pub content: String,
}

type Raw = (i64, i64, i64, String, String);

fn entry((id, run, step, role, content): Raw) -> Entry {
    let role = if role == "user" { Role::User } else { Role::Assistant };
    Entry { id, run: RunId(run), step, role, content }
}

/// Appends an entry.
pub async fn append(
    conn: &mut Conn,
    run: RunId,
    topic: Option<TopicId>,
    step: i64,
    role: Role,
    content: &str,
    now: Moment,
) -> Result<()> {
    let role = match role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    let sql = "INSERT INTO journal (run, topic, step, role, content, at) VALUES ($1, $2, $3, $4, $5, $6)";
    sql::query(sql)
        .bind(run.0)
        .bind(topic.map(|topic| topic.0))
        .bind(step)
        .bind(role)
        .bind(content)
        .bind(now)
        .execute(conn)
        .await?;
    Ok(())
}

/// A run's entries, oldest first.
pub async fn of_run(conn: &mut Conn, run: RunId) -> Result<Vec<Entry>> {
    let sql = "SELECT id, run, step, role, content FROM journal WHERE run = $1 ORDER BY id";
    let rows: Vec<Raw> = sql::query_as(sql).bind(run.0).fetch_all(conn).await?;
    Ok(rows.into_iter().map(entry).collect())
}

/// A topic's entries after `after`, without those of the run `except`, the newest `limit` of them, oldest first.
pub async fn of_topic(
    conn: &mut Conn,
    topic: TopicId,
    after: i64,
    except: Option<RunId>,
    limit: u32,
) -> Result<Vec<Entry>> {
    let sql = "SELECT id, run, step, role, content FROM journal
               WHERE topic = $1 AND id > $2 AND ($3 IS NULL OR run <> $3) ORDER BY id DESC LIMIT $4";
    let mut rows: Vec<Raw> =
        sql::query_as(sql).bind(topic.0).bind(after).bind(except.map(|run| run.0)).bind(limit).fetch_all(conn).await?;
    rows.reverse();
    Ok(rows.into_iter().map(entry).collect())
}

/// How many turns of a topic have words in the journal.
pub async fn turns_of_topic(conn: &mut Conn, topic: TopicId) -> Result<i64> {
    let sql = "SELECT count(DISTINCT run) FROM journal WHERE topic = $1";
    sql::query_scalar(sql).bind(topic.0).fetch_one(conn).await
}
