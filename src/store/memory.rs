//! What teams remember: entries, their chunks, the full-text index over these, and the chunks' vectors.
//!
//! The index is kept by triggers of the migration; nothing here writes to it. It is read as posting lists, term by
//! term: a text of a user is split into terms by the index's own tokenizer and is never a query expression, so there
//! is no text that it could fail on.

use anyhow::{Context, Result};
use base::{Moment, TeamName};

use crate::sql::row;
use crate::{Conn, sql};

row! {
    /// An entry.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Entry {
        /// Its number. Never given twice.
        pub id: i64,
        /// Whose it is.
        pub team: String,
        /// What it is called in its team.
        pub key: String,
        /// What is remembered.
        pub content: String,
        /// One of the six words of the table.
        pub kind: String,
        /// Whether it is what its key means now.
        pub is_active: bool,
        /// Since when it is deleted, and so no longer found.
        pub deleted_at: Option<Moment>,
        /// The entry that it took the place of.
        pub supersedes_id: Option<i64>,
        /// Why.
        pub supersede_reason: Option<String>,
        /// Who saved it.
        pub updated_by: Option<String>,
        /// When it was saved.
        pub created_at: Moment,
        /// When it was saved, superseded or deleted.
        pub updated_at: Moment,
    }
}

const ENTRY: &str = "SELECT id, team, key, content, type AS kind, is_active, deleted_at, supersedes_id,
                            supersede_reason, updated_by, created_at, updated_at FROM memories";

/// An entry to be.
#[derive(Clone, Copy, Debug)]
pub struct New<'a> {
    /// Whose.
    pub team: &'a TeamName,
    /// Its key.
    pub key: &'a str,
    /// What is remembered.
    pub content: &'a str,
    /// One of the six words of the table.
    pub kind: &'a str,
    /// The entry that it takes the place of; already retired.
    pub supersedes_id: Option<i64>,
    /// Why.
    pub supersede_reason: Option<&'a str>,
    /// Who saves it.
    pub updated_by: Option<&'a str>,
}

/// A piece of an entry, to be searched.
#[derive(Clone, Copy, Debug)]
pub struct NewChunk<'a> {
    /// The words of the entry's key.
    pub title: &'a str,
    /// The text.
    pub content: &'a str,
    /// The text as it is indexed, where that differs.
    pub spaced: Option<&'a str>,
    /// How many words title and content have, as the index counts them.
    pub words: i64,
    /// The vector and the name of its model, if there is one already.
    pub vector: Option<(&'a str, &'a [f32])>,
}

/// The entry that a key means now.
pub async fn active(conn: &mut Conn, team: &TeamName, key: &str) -> Result<Option<Entry>> {
    let sql = format!("{ENTRY} WHERE team = $1 AND key = $2 AND is_active = 1");
    sql::query_as(sql).bind(team.as_str()).bind(key).fetch_optional(conn).await
}

/// An entry of a team by its number, whatever its state.
pub async fn entry(conn: &mut Conn, team: &TeamName, id: i64) -> Result<Option<Entry>> {
    let sql = format!("{ENTRY} WHERE id = $1 AND team = $2");
    sql::query_as(sql).bind(id).bind(team.as_str()).fetch_optional(conn).await
}

/// Takes an active entry out of use, so that another can supersede it.
pub async fn retire(conn: &mut Conn, id: i64, now: Moment) -> Result<()> {
    let sql = "UPDATE memories SET is_active = 0, updated_at = $2 WHERE id = $1 AND is_active = 1";
    sql::query(sql).bind(id).bind(now).execute(conn).await?;
    Ok(())
}

/// Adds an active entry.
///
/// # Errors
/// If its key has an active entry, or `supersedes_id` is no earlier entry of the same key and team, or has a
/// successor already.
pub async fn insert(conn: &mut Conn, new: &New<'_>, now: Moment) -> Result<i64> {
    let sql = "INSERT INTO memories (team, key, content, type, is_active, supersedes_id, supersede_reason, updated_by,
                                     created_at, updated_at)
               VALUES ($1, $2, $3, $4, 1, $5, $6, $7, $8, $8) RETURNING id";
    sql::query_scalar(sql)
        .bind(new.team.as_str())
        .bind(new.key)
        .bind(new.content)
        .bind(new.kind)
        .bind(new.supersedes_id)
        .bind(new.supersede_reason)
        .bind(new.updated_by)
        .bind(now)
        .fetch_one(conn)
        .await
}

/// Deletes what a key means and meant: its rows stay and are no longer found. `false` where no entry is active.
pub async fn delete(conn: &mut Conn, team: &TeamName, key: &str, now: Moment) -> Result<bool> {
    if active(conn, team, key).await?.is_none() {
        return Ok(false);
    }
    let sql = "DELETE FROM memory_chunks WHERE memory IN
                 (SELECT id FROM memories WHERE team = $1 AND key = $2 AND deleted_at IS NULL)";
    sql::query(sql).bind(team.as_str()).bind(key).execute(conn).await?;
    let sql = "UPDATE memories SET is_active = 0, deleted_at = $3, updated_at = $3
               WHERE team = $1 AND key = $2 AND deleted_at IS NULL";
    sql::query(sql).bind(team.as_str()).bind(key).bind(now).execute(conn).await?;
    Ok(true)
}

/// Active entries, last saved first; all, or of one type.
pub async fn list(conn: &mut Conn, team: &TeamName, kind: Option<&str>, limit: u32) -> Result<Vec<Entry>> {
    let sql = format!(
        "{ENTRY} WHERE team = $1 AND is_active = 1 AND ($2 IS NULL OR type = $2)
         ORDER BY updated_at DESC, id DESC LIMIT $3"
    );
    sql::query_as(sql).bind(team.as_str()).bind(kind).bind(limit).fetch_all(conn).await
}

/// Removes everything of a team that is shut down.
pub async fn remove_team(conn: &mut Conn, team: &TeamName) -> Result<()> {
    for sql in [
        "DELETE FROM memory_chunks WHERE team = $1",
        "DELETE FROM memories WHERE team = $1",
        "DELETE FROM memory_teams WHERE team = $1",
    ] {
        sql::query(sql).bind(team.as_str()).execute(conn).await?;
    }
    Ok(())
}

/// Removes at most `limit` entries for good: deleted ones that were deleted before `before`, and superseded ones that
/// have `versions` newer versions. Says how many went.
pub async fn prune(conn: &mut Conn, before: Moment, versions: u32, limit: u32) -> Result<u64> {
    let sql = "SELECT id FROM memories WHERE deleted_at < $1
               UNION
               SELECT id FROM (SELECT id, is_active, row_number() OVER (PARTITION BY team, key ORDER BY id DESC) AS age
                               FROM memories WHERE deleted_at IS NULL)
               WHERE is_active = 0 AND age > $2
               ORDER BY id LIMIT $3";
    let ids: Vec<i64> = sql::query_scalar(sql).bind(before).bind(versions).bind(limit).fetch_all(conn).await?;
    if ids.is_empty() {
        return Ok(0);
    }
    let ids = serde_json::to_string(&ids)?;
    let sql = "UPDATE memories SET supersedes_id = NULL WHERE supersedes_id IN (SELECT value FROM json_each($1))";
    sql::query(sql).bind(&ids).execute(conn).await?;
    // Not by the cascade, which would run no trigger of ours where a connection has recursive triggers off.
    let sql = "DELETE FROM memory_chunks WHERE memory IN (SELECT value FROM json_each($1))";
    sql::query(sql).bind(&ids).execute(conn).await?;
    let sql = "DELETE FROM memories WHERE id IN (SELECT value FROM json_each($1))";
    Ok(sql::query(sql).bind(&ids).execute(conn).await?.rows_affected())
}

/// Adds a chunk of an entry.
pub async fn add_chunk(
    conn: &mut Conn,
    team: &TeamName,
    memory: i64,
    index: usize,
    chunk: &NewChunk<'_>,
) -> Result<()> {
    let stamp = next_stamp(conn).await?;
    let sql =
        "INSERT INTO memory_chunks (memory, team, chunk_index, title, content, spaced, words, model, vector, stamp)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    sql::query(sql)
        .bind(memory)
        .bind(team.as_str())
        .bind(i64::try_from(index)?)
        .bind(chunk.title)
        .bind(chunk.content)
        .bind(chunk.spaced)
        .bind(chunk.words)
        .bind(chunk.vector.map_or("", |(model, _)| model))
        .bind(chunk.vector.map(|(_, vector)| bytes(vector)))
        .bind(stamp)
        .execute(conn)
        .await?;
    Ok(())
}

async fn next_stamp(conn: &mut Conn) -> Result<i64> {
    let sql = "UPDATE memory_stamp SET stamp = stamp + 1 WHERE only = 1 RETURNING stamp";
    sql::query_scalar(sql).fetch_one(conn).await
}

/// How much a team remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Chunks.
    pub chunks: i64,
    /// Their words.
    pub words: i64,
    /// The newest stamp of any chunk; 0 where there is none.
    pub stamp: i64,
}

/// How much a team remembers now.
pub async fn totals(conn: &mut Conn, team: &TeamName) -> Result<Totals> {
    let sql = "SELECT chunks, words, coalesce((SELECT max(stamp) FROM memory_chunks WHERE team = $1), 0)
               FROM memory_teams WHERE team = $1";
    let found: Option<(i64, i64, i64)> = sql::query_as(sql).bind(team.as_str()).fetch_optional(conn).await?;
    Ok(found.map_or_else(Totals::default, |(chunks, words, stamp)| Totals { chunks, words, stamp }))
}

/// A chunk as the scan of vectors needs it.
#[derive(Clone, Debug, PartialEq)]
pub struct Slot {
    /// The chunk.
    pub chunk: i64,
    /// Its stamp.
    pub stamp: i64,
    /// How many words it has.
    pub words: i64,
    /// Its vector, if the model asked for made it.
    pub vector: Option<Vec<f32>>,
}

/// At most `limit` chunks of a team with a stamp above `stamp`, in the order of their stamps.
pub async fn slots_after(conn: &mut Conn, team: &TeamName, model: &str, stamp: i64, limit: u32) -> Result<Vec<Slot>> {
    let sql = "SELECT id, stamp, words, CASE WHEN model = $2 THEN vector END FROM memory_chunks
               WHERE team = $1 AND stamp > $3 ORDER BY stamp LIMIT $4";
    let rows: Vec<(i64, i64, i64, Option<Vec<u8>>)> =
        sql::query_as(sql).bind(team.as_str()).bind(model).bind(stamp).bind(limit).fetch_all(conn).await?;
    let slot = |(chunk, stamp, words, vector): (i64, i64, i64, Option<Vec<u8>>)| Slot {
        chunk,
        stamp,
        words,
        vector: vector.map(|bytes| floats(&bytes)),
    };
    Ok(rows.into_iter().map(slot).collect())
}

row! {
    /// A chunk that was found, with its entry.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Found {
        /// The chunk.
        pub chunk: i64,
        /// The entry.
        pub memory: i64,
        /// The entry's key.
        pub key: String,
        /// The entry's type.
        pub kind: String,
        /// Whether the entry is active; else it is superseded.
        pub is_active: bool,
        /// When the entry was saved or superseded.
        pub updated_at: Moment,
        /// The chunk's text.
        pub content: String,
    }
}

/// The chunks of these numbers that are there and belong to the team, in any order.
pub async fn found(conn: &mut Conn, team: &TeamName, chunks: &[i64]) -> Result<Vec<Found>> {
    // CROSS JOIN: in this order. Left to itself SQLite may walk all chunks of the team for each number.
    let sql = "SELECT c.id AS chunk, c.memory, m.key, m.type AS kind, m.is_active, m.updated_at, c.content
               FROM json_each($2) AS wanted
               CROSS JOIN memory_chunks AS c ON c.id = wanted.value
               CROSS JOIN memories AS m ON m.id = c.memory
               WHERE c.team = $1 AND m.deleted_at IS NULL";
    sql::query_as(sql).bind(team.as_str()).bind(serde_json::to_string(chunks)?).fetch_all(conn).await
}

/// The terms of a text, each once, as the index's own tokenizer makes them.
///
/// It is asked through a table of this connection alone, in memory: no text can disagree with the index about what a
/// word is, and no Porter stemmer of ours has to agree with SQLite's.
pub async fn terms(conn: &mut Conn, text: &str) -> Result<Vec<String>> {
    for sql in [
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.memory_question
             USING fts5 (text, content = '', tokenize = 'porter unicode61 remove_diacritics 2')",
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.memory_question_words USING fts5vocab (temp, memory_question, row)",
        "INSERT INTO temp.memory_question (memory_question) VALUES ('delete-all')",
    ] {
        sql::query(sql).execute(conn).await.context("prepare to split a question into terms")?;
    }
    let sql = "INSERT INTO temp.memory_question (rowid, text) VALUES (1, $1)";
    sql::query(sql).bind(text).execute(conn).await?;
    sql::query_scalar("SELECT term FROM temp.memory_question_words ORDER BY term").fetch_all(conn).await
}

/// How often a term stands in the index, over all teams: what reading its places costs.
pub async fn places_of(conn: &mut Conn, term: &str) -> Result<i64> {
    let sql = "SELECT cnt FROM memory_fts_words WHERE term = $1";
    Ok(sql::query_scalar(sql).bind(term).fetch_optional(conn).await?.unwrap_or(0))
}

/// Where a term stands, over all teams: chunks in ascending order, once for each time, and whether in the title. At
/// most `limit` places.
pub async fn places(conn: &mut Conn, term: &str, limit: i64) -> Result<Vec<(i64, bool)>> {
    let sql = "SELECT doc, col = 'title' FROM memory_fts_places WHERE term = $1 LIMIT $2";
    sql::query_as(sql).bind(term).bind(limit).fetch_all(conn).await
}

/// SQLite's own ranking of a team's chunks for any of these words, best first, with its scores (higher is better): the
/// yardstick for ours. `weights` are of title and content.
pub async fn ranked(
    conn: &mut Conn,
    team: &TeamName,
    words: &[&str],
    weights: (f64, f64),
    limit: u32,
) -> Result<Vec<(i64, f64)>> {
    if words.is_empty() {
        return Ok(Vec::new());
    }
    // In quotes everything is a word, but for quotes, which part words, and NUL, which ends the expression.
    let expression: Vec<String> = words.iter().map(|word| format!("\"{}\"", word.replace(['"', '\0'], " "))).collect();
    let sql = "SELECT c.id, -bm25(memory_fts, $2, $3) AS score FROM memory_fts
               CROSS JOIN memory_chunks AS c ON c.id = memory_fts.rowid
               WHERE memory_fts MATCH $1 AND c.team = $4 ORDER BY score DESC, c.id LIMIT $5";
    sql::query_as(sql)
        .bind(expression.join(" OR "))
        .bind(weights.0)
        .bind(weights.1)
        .bind(team.as_str())
        .bind(limit)
        .fetch_all(conn)
        .await
}

row! {
    /// A chunk whose vector is missing, or another model's.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Stale {
        /// The chunk.
        pub chunk: i64,
        /// The words of its entry's key.
        pub title: String,
        /// Its text.
        pub content: String,
    }
}

/// At most `limit` chunks, of all teams, that have no vector of this model.
pub async fn stale(conn: &mut Conn, model: &str, limit: u32) -> Result<Vec<Stale>> {
    let sql = "SELECT id AS chunk, title, content FROM memory_chunks WHERE model < $1 OR model > $1 LIMIT $2";
    sql::query_as(sql).bind(model).bind(limit).fetch_all(conn).await
}

/// Gives a chunk its vector. A chunk that is gone meanwhile is not missed.
pub async fn set_vector(conn: &mut Conn, chunk: i64, model: &str, vector: &[f32]) -> Result<()> {
    let stamp = next_stamp(conn).await?;
    let sql = "UPDATE memory_chunks SET model = $2, vector = $3, stamp = $4 WHERE id = $1";
    sql::query(sql).bind(chunk).bind(model).bind(bytes(vector)).bind(stamp).execute(conn).await?;
    Ok(())
}

/// What SQLite finds wrong with the full-text index.
///
/// # Errors
/// If the index and the chunks differ.
pub async fn check_index(conn: &mut Conn) -> Result<()> {
    look_anew(conn).await?;
    sql::query("INSERT INTO memory_fts (memory_fts, rank) VALUES ('integrity-check', 1)").execute(conn).await?;
    Ok(())
}

/// Has this connection look at the full-text index as it is now.
///
/// A connection keeps what it knows of the index's structure from its last search to its next. A search looks whether
/// others wrote meanwhile; SQLite's own check of a database does not, and would take what they wrote for damage.
pub(crate) async fn look_anew(conn: &mut Conn) -> Result<()> {
    sql::query_scalar::<i64>("SELECT rowid FROM memory_fts LIMIT 1").fetch_optional(conn).await?;
    Ok(())
}

fn bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)).collect()
}

#[cfg(test)]
mod tests;
