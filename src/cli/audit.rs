//! `hive audit`: what tools were called, and whether the log of it is whole.

use std::process::ExitCode;

use anyhow::Result;
use base::clock;
use clap::Subcommand;
use serde_json::json;
use store::audit::{self, Row, Verified};

use super::{block_on, print, run::open};
use crate::config::Config;

#[derive(Subcommand)]
pub(super) enum Audit {
    /// Walk along the whole log; exit code 1 where a row was changed or is missing.
    Verify,
}

pub(super) fn list(config: &Config, as_json: bool, last: u32) -> Result<ExitCode> {
    let rows = block_on(async { open(config).await?.read(async |conn| audit::latest(conn, last).await).await })?;
    for row in &rows {
        print(&if as_json { in_json(row) } else { in_words(row) })?;
    }
    Ok(ExitCode::SUCCESS)
}

fn in_json(row: &Row) -> String {
    json!({
        "id": row.id, "at_ms": row.at, "team": row.team, "tool": row.tool, "sender": row.sender, "run": row.run,
        "step": row.step, "call_id": row.call_id, "arguments_sha256": row.arguments_digest, "decision": row.decision,
        "reason": row.reason, "outcome": row.outcome, "duration_ms": row.duration_ms, "hash": row.hash,
    })
    .to_string()
}

fn in_words(row: &Row) -> String {
    let sender = row.sender.as_deref().unwrap_or("nobody");
    let what = match row.decision.as_str() {
        "allowed" => format!("{} after {} ms", row.outcome, row.duration_ms),
        _ => format!("refused: {}", base::text::headline(&row.reason, 100)),
    };
    format!("{:>6}  {}  {}  {}  turn {}  {sender}  {what}", row.id, clock::show(row.at), row.team, row.tool, row.run)
}

pub(super) fn verify(config: &Config) -> Result<ExitCode> {
    let verified = block_on(async { open(config).await?.read(async |conn| audit::verify(conn).await).await })?;
    print(&in_a_sentence(&verified))?;
    Ok(if matches!(verified, Verified::Whole { .. }) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What a walk along the log came to, for people.
pub(super) fn in_a_sentence(verified: &Verified) -> String {
    match verified {
        Verified::Whole { rows } => format!("audit: {rows} calls of tools, no row changed or missing"),
        Verified::Broken { id, why } => format!("audit: row {id} is not to be trusted: {why}"),
    }
}
