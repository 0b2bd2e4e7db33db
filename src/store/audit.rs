//! Every call of a tool, in a chain: nobody changes or removes a row in the middle without a trace.

use anyhow::Result;
use base::{Moment, RunId, TeamName};
use channels::SenderId;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::sql::row;
use crate::{Conn, settings, sql};

/// A call as it is audited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The team whose session called.
    pub team: TeamName,
    /// The tool's logical name; of a call that names no tool, what the model wrote.
    pub tool: String,
    /// Who caused the turn.
    pub sender: Option<SenderId>,
    /// The turn.
    pub run: RunId,
    /// The step of it.
    pub step: i64,
    /// The provider's id of the call.
    pub call_id: String,
    /// The arguments as the journal keeps them: scrubbed, in one canonical form. Only their digest is stored.
    pub arguments: String,
    /// What was decided about it.
    pub decision: Decision,
    /// What came of it.
    pub outcome: Outcome,
    /// From the model's asking to the result, in milliseconds.
    pub duration_ms: i64,
}

/// What was decided about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It may be made.
    Allowed,
    /// It may not, and why.
    Refused(String),
}

/// What came of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A result.
    Done,
    /// An error result.
    Failed,
    /// It was not made.
    NotRun,
    /// It was cut off, and nobody knows.
    Unknown,
}

impl Outcome {
    fn as_str(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Failed => "failed",
            Outcome::NotRun => "not run",
            Outcome::Unknown => "unknown",
        }
    }
}

row! {
    /// A row of the log.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Row {
        /// Its number.
        pub id: i64,
        /// When the call ended.
        pub at: Moment,
        /// The team.
        pub team: String,
        /// The tool.
        pub tool: String,
        /// Who caused the turn.
        pub sender: Option<String>,
        /// The turn.
        pub run: i64,
        /// The step.
        pub step: i64,
        /// The provider's id of the call.
        pub call_id: String,
        /// SHA-256 of the arguments, in hex.
        pub arguments_digest: String,
        /// `allowed` or `refused`.
        pub decision: String,
        /// Why it was refused.
        pub reason: String,
        /// `done`, `failed`, `not run` or `unknown`.
        pub outcome: String,
        /// How long it took.
        pub duration_ms: i64,
        /// The hash of the row before it.
        pub previous: String,
        /// The hash of this row.
        pub hash: String,
    }
}

impl Row {
    /// What the hash must be.
    fn hashed(&self) -> String {
        let words = json!([
            self.at,
            self.team,
            self.tool,
            self.sender,
            self.run,
            self.step,
            self.call_id,
            self.arguments_digest,
            self.decision,
            self.reason,
            self.outcome,
            self.duration_ms,
            self.previous,
        ]);
        hex(&Sha256::digest(words.to_string()))
    }
}

/// Where the hash of the last row that was deleted for its age is kept: the chain goes on from there.
const ANCHOR: &str = "audit.anchor";
const COLUMNS: &str = "SELECT id, at, team, tool, sender, run, step, call_id, arguments_digest, decision, reason,
    outcome, duration_ms, previous, hash FROM audit";

/// Appends a call to the chain.
pub async fn append(conn: &mut Conn, entry: &Entry, now: Moment) -> Result<()> {
    let last: Option<String> =
        sql::query_scalar("SELECT hash FROM audit ORDER BY id DESC LIMIT 1").fetch_optional(conn).await?;
    let previous = match last {
        Some(hash) => hash,
        None => settings::get(conn, ANCHOR).await?.unwrap_or_default(),
    };
    let (decision, reason) = match &entry.decision {
        Decision::Allowed => ("allowed", ""),
        Decision::Refused(why) => ("refused", why.as_str()),
    };
    let mut row = Row {
        id: 0,
        at: now,
        team: entry.team.to_string(),
        tool: entry.tool.clone(),
        sender: entry.sender.as_ref().map(ToString::to_string),
        run: entry.run.0,
        step: entry.step,
        call_id: entry.call_id.clone(),
        arguments_digest: hex(&Sha256::digest(&entry.arguments)),
        decision: decision.to_owned(),
        reason: reason.to_owned(),
        outcome: entry.outcome.as_str().to_owned(),
        duration_ms: entry.duration_ms,
        previous,
        hash: String::new(),
    };
    row.hash = row.hashed();
    let sql = "INSERT INTO audit (at, team, tool, sender, run, step, call_id, arguments_digest, decision, reason,
                 outcome, duration_ms, previous, hash)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
    sql::query(sql)
        .bind(row.at)
        .bind(row.team)
        .bind(row.tool)
        .bind(row.sender)
        .bind(row.run)
        .bind(row.step)
        .bind(row.call_id)
        .bind(row.arguments_digest)
        .bind(row.decision)
        .bind(row.reason)
        .bind(row.outcome)
        .bind(row.duration_ms)
        .bind(row.previous)
        .bind(row.hash)
        .execute(conn)
        .await?;
    Ok(())
}

/// The newest rows, newest first.
pub async fn latest(conn: &mut Conn, limit: u32) -> Result<Vec<Row>> {
    sql::query_as(format!("{COLUMNS} ORDER BY id DESC LIMIT $1")).bind(limit).fetch_all(conn).await
}

/// What a walk along the chain came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verified {
    /// Every row is as it was written, and none is missing between the first and the last.
    Whole {
        /// How many rows there are.
        rows: u64,
    },
    /// The first row that is not as it must be.
    Broken {
        /// Its number.
        id: i64,
        /// What is wrong with it.
        why: &'static str,
    },
}

/// Walks along the whole chain. Rows that were cut off at its end show nowhere: compare the last hash with one that
/// was noted elsewhere.
pub async fn verify(conn: &mut Conn) -> Result<Verified> {
    const PAGE: u32 = 1_000;
    let mut expected = settings::get(conn, ANCHOR).await?.unwrap_or_default();
    let (mut rows, mut after) = (0, 0);
    loop {
        let sql = format!("{COLUMNS} WHERE id > $1 ORDER BY id LIMIT $2");
        let page: Vec<Row> = sql::query_as(sql).bind(after).bind(PAGE).fetch_all(conn).await?;
        let Some(last) = page.last() else { return Ok(Verified::Whole { rows }) };
        after = last.id;
        for row in &page {
            if row.previous != expected {
                return Ok(Verified::Broken { id: row.id, why: "the row before it is missing or was changed" });
            }
            if row.hash != row.hashed() {
                return Ok(Verified::Broken { id: row.id, why: "it was changed" });
            }
            expected.clone_from(&row.hash);
            rows += 1;
        }
    }
}

/// Deletes the oldest rows before `before`, at most `batch`, and notes where the chain goes on. How many went.
pub async fn prune(conn: &mut Conn, before: Moment, batch: u32) -> Result<u64> {
    // Only from the beginning: a clock that was set back must not make a hole.
    let oldest: Vec<(i64, Moment, String)> =
        sql::query_as("SELECT id, at, hash FROM audit ORDER BY id LIMIT $1").bind(batch).fetch_all(conn).await?;
    let Some((last, _, hash)) = oldest.into_iter().take_while(|(_, at, _)| *at < before).last() else { return Ok(0) };
    settings::set(conn, ANCHOR, &hash).await?;
    Ok(sql::query("DELETE FROM audit WHERE id <= $1").bind(last).execute(conn).await?.rows_affected())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
