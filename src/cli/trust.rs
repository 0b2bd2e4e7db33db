//! `hive trust …`: the chat commands' changes, by whoever has the machine.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use base::{Clock, Moment, clock};
use channels::{ConversationId, SenderId};
use clap::Subcommand;
use org::trust::change::{self, Actor, Change, Role, Via};
use serde_json::json;
use store::trust::{self, Audit, Row};

use super::{block_on, print, run::open};
use crate::config::Config;

#[derive(Subcommand)]
pub(super) enum Trust {
    /// Let somebody talk to the hive.
    Add {
        #[command(flatten)]
        whom: Whom,
        /// For how long, such as 12h or 7d; for good without it.
        #[arg(long)]
        expires: Option<String>,
        /// They may also manage trust.
        #[arg(long)]
        admin: bool,
    },
    /// Have the hive ignore somebody.
    Deny {
        #[command(flatten)]
        whom: Whom,
        /// For how long, such as 12h or 7d; for good without it.
        #[arg(long)]
        expires: Option<String>,
    },
    /// Take back what was said about somebody.
    Revoke {
        #[command(flatten)]
        whom: Whom,
    },
    /// Who is trusted and who is denied.
    List {
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// Who changed whose trust, and decisions about messages, newest first.
    Log {
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
        /// Only changes, not decisions about messages.
        #[arg(long)]
        changes: bool,
        /// How many entries.
        #[arg(long, default_value_t = 50)]
        limit: u32,
    },
}

#[derive(clap::Args)]
pub(super) struct Whom {
    /// Who, such as discord:42.
    sender: SenderId,
    /// Only in that conversation, such as discord:123; everywhere without it.
    #[arg(long)]
    conversation: Option<ConversationId>,
}

pub(super) fn run(config: &Config, command: Trust) -> Result<ExitCode> {
    match command {
        Trust::List { json } => list(config, json)?,
        Trust::Log { json, changes, limit } => log(config, json, changes, limit)?,
        Trust::Add { whom, expires, admin } => edit(config, whom, Verb::Add(role(admin)), expires.as_deref())?,
        Trust::Deny { whom, expires } => edit(config, whom, Verb::Deny, expires.as_deref())?,
        Trust::Revoke { whom } => edit(config, whom, Verb::Revoke, None)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn role(admin: bool) -> Role {
    if admin { Role::Admin } else { Role::Speaker }
}

enum Verb {
    Add(Role),
    Deny,
    Revoke,
}

fn edit(config: &Config, whom: Whom, verb: Verb, expires: Option<&str>) -> Result<()> {
    let now = Clock::Wall.now();
    let expires_at = expires.map(|span| end(now, span)).transpose()?;
    let sender = org::trust::ids::person(whom.sender.kind(), whom.sender.user())?;
    let change = Change { sender, conversation: whom.conversation, actor: Actor::Cli, via: Via::Cli, at: now };
    let policy = &config.trust;
    let done = block_on(async {
        let db = open(config).await?;
        db.tx("change trust", async |conn| match verb {
            Verb::Add(role) => change::grant(conn, policy, &change, role, expires_at).await,
            Verb::Deny => change::deny(conn, policy, &change, expires_at).await,
            Verb::Revoke => change::revoke(conn, policy, &change).await,
        })
        .await
    })?;
    match done {
        Err(refusal) => bail!("nothing was changed: {refusal}"),
        Ok(changed) => {
            let word = match verb {
                Verb::Add(_) => "trusted",
                Verb::Deny => "denied",
                Verb::Revoke => "as the policy says again",
            };
            print(&format!("{} is {word}; messages of theirs that were waiting: {}", change.sender, changed.messages))
        }
    }
}

fn end(now: Moment, span: &str) -> Result<Moment> {
    let span = clock::parse_span(span).with_context(|| format!("`{span}` is no time span: write `12h` or `7d`"))?;
    Ok(now.saturating_add(clock::ms(span)))
}

fn list(config: &Config, as_json: bool) -> Result<()> {
    let rows = block_on(async { open(config).await?.read(async |conn| trust::list(conn, None, None).await).await })?;
    for admin in &config.trust.admins {
        print(&match as_json {
            true => json!({ "channel_type": admin.kind(), "sender_id": admin.user(), "channel_id": null,
                            "trust_level": "trusted", "admin": true, "granted_by": "HIVE_ADMINS" })
            .to_string(),
            false => format!("{admin}: admin (HIVE_ADMINS)"),
        })?;
    }
    for row in rows {
        print(&if as_json { row_json(&row) } else { row_text(&row) })?;
    }
    Ok(())
}

fn row_json(row: &Row) -> String {
    json!({
        "channel_type": row.sender.kind(), "sender_id": row.sender.user(),
        "channel_id": row.conversation.as_ref().map(ConversationId::local),
        "trust_level": row.level.as_str(), "admin": row.admin, "granted_by": row.granted_by,
        "created_at_ms": row.created_at, "expires_at_ms": row.expires_at,
    })
    .to_string()
}

fn row_text(row: &Row) -> String {
    let level = if row.admin { "admin" } else { row.level.as_str() };
    let place = row.conversation.as_ref().map_or("everywhere".to_owned(), |id| format!("in {id}"));
    let until = row.expires_at.map_or(String::new(), |end| format!(", until {}", clock::show(end)));
    format!("{}: {level} {place}{until} (by {}, {})", row.sender, row.granted_by, clock::show(row.created_at))
}

fn log(config: &Config, as_json: bool, changes: bool, limit: u32) -> Result<()> {
    let entries =
        block_on(async { open(config).await?.read(async |conn| trust::log_latest(conn, changes, limit).await).await })?;
    for entry in entries {
        print(&if as_json { entry_json(&entry) } else { entry_text(&entry) })?;
    }
    Ok(())
}

fn entry_json(entry: &Audit) -> String {
    json!({
        "at_ms": entry.at, "channel_type": entry.sender.kind(), "sender_id": entry.sender.user(),
        "channel_id": entry.conversation, "decision": entry.decision, "reason": entry.reason, "actor": entry.actor,
    })
    .to_string()
}

fn entry_text(entry: &Audit) -> String {
    let by = entry.actor.as_deref().map_or(String::new(), |actor| format!(" by {actor}"));
    let place =
        if entry.conversation.is_empty() { "everywhere".to_owned() } else { format!("in {}", entry.conversation) };
    format!("{}  {}  {} {place}{by} ({})", clock::show(entry.at), entry.sender, entry.decision, entry.reason)
}
