//! Who may speak, and the log of decisions and changes.

use anyhow::Result;
use base::Moment;
use channels::{ConversationId, Kind, SenderId};

use crate::sql::row;
use crate::{Conn, sql};

/// A row about a sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Who.
    pub sender: SenderId,
    /// Where; `None` is everywhere.
    pub conversation: Option<ConversationId>,
    /// Trusted, or denied.
    pub level: Level,
    /// Whether they may manage trust.
    pub admin: bool,
    /// Who said so: an address, `env`, `pairing` or `cli`.
    pub granted_by: String,
    /// Since when.
    pub created_at: Moment,
    /// Until when; `None` is for ever.
    pub expires_at: Option<Moment>,
}

/// What a row says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// May speak.
    Trusted,
    /// May not, and is told nothing.
    Denied,
}

impl Level {
    /// The word in the row.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Trusted => "trusted",
            Level::Denied => "denied",
        }
    }
}

row! {
    struct Raw {
        channel_type: String,
        channel_id: Option<String>,
        sender_id: String,
        trust_level: String,
        admin: bool,
        granted_by: String,
        created_at: i64,
        expires_at: Option<i64>,
    }
}

impl TryFrom<Raw> for Row {
    type Error = anyhow::Error;
    fn try_from(raw: Raw) -> Result<Row> {
        let kind: Kind = raw.channel_type.parse()?;
        Ok(Row {
            sender: SenderId::new(kind, raw.sender_id),
            conversation: raw.channel_id.map(|local| ConversationId::new(kind, local)),
            level: if raw.trust_level == "trusted" { Level::Trusted } else { Level::Denied },
            admin: raw.admin,
            granted_by: raw.granted_by,
            created_at: raw.created_at,
            expires_at: raw.expires_at,
        })
    }
}

const COLUMNS: &str =
    "SELECT channel_type, channel_id, sender_id, trust_level, admin, granted_by, created_at, expires_at
                       FROM sender_trust";

/// Every row about a sender, in all conversations, also expired ones.
pub async fn of_sender(conn: &mut Conn, sender: &SenderId) -> Result<Vec<Row>> {
    let sql = format!("{COLUMNS} WHERE channel_type = $1 AND sender_id = $2 ORDER BY id");
    let raws: Vec<Raw> = sql::query_as(sql).bind(sender.kind().as_str()).bind(sender.user()).fetch_all(conn).await?;
    raws.into_iter().map(Row::try_from).collect()
}

/// Every row, or those of a kind or level.
pub async fn list(conn: &mut Conn, kind: Option<Kind>, level: Option<Level>) -> Result<Vec<Row>> {
    let sql = format!(
        "{COLUMNS} WHERE ($1 IS NULL OR channel_type = $1) AND ($2 IS NULL OR trust_level = $2)
         ORDER BY channel_type, sender_id, channel_id"
    );
    let raws: Vec<Raw> =
        sql::query_as(sql).bind(kind.map(Kind::as_str)).bind(level.map(Level::as_str)).fetch_all(conn).await?;
    raws.into_iter().map(Row::try_from).collect()
}

/// Sets the row of (sender, conversation or everywhere).
pub async fn set(conn: &mut Conn, row: &Row) -> Result<()> {
    let sql = "INSERT INTO sender_trust
                 (channel_type, channel_id, sender_id, trust_level, admin, granted_by, created_at, expires_at)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
               ON CONFLICT (channel_type, sender_id, coalesce(channel_id, '')) DO UPDATE SET
                 trust_level = $4, admin = $5, granted_by = $6, created_at = $7, expires_at = $8";
    sql::query(sql)
        .bind(row.sender.kind().as_str())
        .bind(row.conversation.as_ref().map(ConversationId::local))
        .bind(row.sender.user())
        .bind(row.level.as_str())
        .bind(row.admin)
        .bind(&row.granted_by)
        .bind(row.created_at)
        .bind(row.expires_at)
        .execute(conn)
        .await?;
    Ok(())
}

/// Removes the row of (sender, conversation or everywhere). `false` where there was none.
pub async fn remove(conn: &mut Conn, sender: &SenderId, conversation: Option<&ConversationId>) -> Result<bool> {
    let sql = "DELETE FROM sender_trust WHERE channel_type = $1 AND sender_id = $2 AND channel_id IS $3";
    let done = sql::query(sql)
        .bind(sender.kind().as_str())
        .bind(sender.user())
        .bind(conversation.map(ConversationId::local))
        .execute(conn)
        .await?;
    Ok(done.rows_affected() > 0)
}

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    /// Whom it is about.
    pub sender: SenderId,
    /// Where; empty for a change that holds everywhere.
    pub conversation: String,
    /// `allowed`, `denied` or `held` of a message; `trusted`, `denied` or `revoked` of a change.
    pub decision: String,
    /// Why, as a stable code.
    pub reason: String,
    /// Who made the change; `None` where it is a decision about a message.
    pub actor: Option<String>,
    /// When.
    pub at: Moment,
}

/// Appends to the log.
pub async fn log(conn: &mut Conn, entry: &Audit) -> Result<()> {
    let sql = "INSERT INTO trust_audit_log (channel_type, channel_id, sender_id, decision, reason, actor, created_at)
               VALUES ($1, $2, $3, $4, $5, $6, $7)";
    sql::query(sql)
        .bind(entry.sender.kind().as_str())
        .bind(&entry.conversation)
        .bind(entry.sender.user())
        .bind(&entry.decision)
        .bind(&entry.reason)
        .bind(&entry.actor)
        .bind(entry.at)
        .execute(conn)
        .await?;
    Ok(())
}

/// The newest entries, newest first; only changes of trust, or everything.
pub async fn log_latest(conn: &mut Conn, only_changes: bool, limit: u32) -> Result<Vec<Audit>> {
    type Raw = (String, String, String, String, String, Option<String>, i64);
    let sql = "SELECT channel_type, channel_id, sender_id, decision, reason, actor, created_at FROM trust_audit_log
               WHERE ($1 = 0 OR actor IS NOT NULL) ORDER BY id DESC LIMIT $2";
    let raws: Vec<Raw> = sql::query_as(sql).bind(only_changes).bind(limit).fetch_all(conn).await?;
    raws.into_iter()
        .map(|(kind, conversation, sender, decision, reason, actor, at)| {
            let sender = SenderId::new(kind.parse::<Kind>()?, sender);
            Ok(Audit { sender, conversation, decision, reason, actor, at })
        })
        .collect()
}

/// Where a trusted person can be reached alone.
pub async fn set_direct(conn: &mut Conn, sender: &SenderId, conversation: &ConversationId, now: Moment) -> Result<()> {
    let sql = "INSERT INTO direct_conversations (sender, conversation, at) VALUES ($1, $2, $3)
               ON CONFLICT (sender) DO UPDATE SET conversation = $2, at = $3 WHERE conversation <> $2";
    sql::query(sql).bind(sender.as_str()).bind(conversation.as_str()).bind(now).execute(conn).await?;
    Ok(())
}

/// Where a person was last seen alone with the bot.
pub async fn direct(conn: &mut Conn, sender: &SenderId) -> Result<Option<ConversationId>> {
    let sql = "SELECT conversation FROM direct_conversations WHERE sender = $1";
    let found: Option<String> = sql::query_scalar(sql).bind(sender.as_str()).fetch_optional(conn).await?;
    Ok(found.map(|text| text.parse()).transpose()?)
}
