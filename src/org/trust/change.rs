//! Somebody's trust is changed: the row, the log, what they wrote meanwhile and the notices about them, together.
//!
//! Chat commands, buttons, the command line and tools all come through here, inside one transaction of theirs:
//! `db.tx("trust a sender", async |conn| change::grant(conn, ..).await)`. A refusal has changed nothing.

use anyhow::Result;
use base::Moment;
use channels::{ConversationId, Kind, SenderId};
use store::trust::{Audit, Level, Row};
use store::{Conn, inbox, strangers, trust};

use super::Policy;
use crate::notices;

/// Who makes a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// A person in a chat. The caller has checked that they are an admin.
    Person(SenderId),
    /// Whoever has the machine: the command line.
    Cli,
    /// A one-time code that the command line gave out.
    Pairing,
}

impl Actor {
    /// The word in the row and in the log: an address, `cli` or `pairing`.
    pub fn as_str(&self) -> &str {
        match self {
            Actor::Person(sender) => sender.as_str(),
            Actor::Cli => "cli",
            Actor::Pairing => "pairing",
        }
    }

    fn is(&self, sender: &SenderId) -> bool {
        matches!(self, Actor::Person(person) if person == sender)
    }
}

/// Where a change came in: the reason code in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// A chat command.
    Command,
    /// A button under a notice.
    Button,
    /// The command line.
    Cli,
    /// A pairing code.
    Pairing,
    /// A tool, in a turn that an admin caused.
    Tool,
}

impl Via {
    /// The code in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Via::Command => "command",
            Via::Button => "button",
            Via::Cli => "cli",
            Via::Pairing => "pairing",
            Via::Tool => "tool",
        }
    }
}

/// Whose trust is changed, by whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Whose.
    pub sender: SenderId,
    /// Where, with the threads of that place; `None` is everywhere.
    pub conversation: Option<ConversationId>,
    /// Who says so.
    pub actor: Actor,
    /// How it was said.
    pub via: Via,
    /// When.
    pub at: Moment,
}

/// What a trusted sender may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Speak.
    Speaker,
    /// Speak, and manage trust; everywhere only.
    Admin,
}

/// What a change did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// The row that stood there before.
    pub before: Option<Row>,
    /// How many messages of theirs were handed over, or buried.
    pub messages: u64,
    /// It settled an open question about a stranger, whose notices have lost their buttons.
    pub settled: bool,
}

/// Why a change was not made. The text is for whoever asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The conversation is on another platform than the sender.
    #[error("{0} is not a conversation of {kind}", kind = .1.kind())]
    OtherPlatform(ConversationId, SenderId),
    /// Rows mean nothing for the terminal.
    #[error("the terminal is always trusted: whoever runs the hive sits there")]
    Terminal,
    /// The sender stands in the denylist, which beats every row.
    #[error("{0} stands in sender_denylist of channels.yaml, which beats every grant: take them out there first")]
    Denylist(SenderId),
    /// They are denied everywhere, which beats a grant in one conversation.
    #[error("{0} is denied everywhere, which beats a grant in one conversation: revoke the denial first")]
    DeniedEverywhere(SenderId),
    /// The role of an admin holds everywhere or not at all.
    #[error("an admin is one everywhere: leave the conversation out")]
    AdminInOnePlace,
    /// It would end before it begins.
    #[error("the grant would be over already")]
    Over,
    /// The sender is one of `HIVE_ADMINS`.
    #[error("{0} is one of HIVE_ADMINS: take them out there first")]
    EnvironmentAdmin(SenderId),
    /// Nobody takes the right to speak from themselves by mistake.
    #[error("that would take the right to speak from yourself: ask another admin, or use the command line")]
    Yourself,
    /// There is no row to remove.
    #[error("{}", not_there(.0, .1.as_ref(), .2))]
    NotThere(SenderId, Option<ConversationId>, Vec<Option<ConversationId>>),
}

fn not_there(sender: &SenderId, wanted: Option<&ConversationId>, rows: &[Option<ConversationId>]) -> String {
    let place = |place: Option<&ConversationId>| place.map_or("everywhere".to_owned(), |id| format!("in {id}"));
    let wanted = place(wanted);
    if rows.is_empty() {
        return format!("nothing was said about {sender}, so there is nothing to revoke");
    }
    let rows: Vec<String> = rows.iter().map(|row| place(row.as_ref())).collect();
    format!("nothing was said about {sender} {wanted}, only {}", rows.join(", "))
}

/// Trusts a sender, until `expires_at` or for good.
///
/// What they wrote while unknown is handed over, an open question about them is settled. Whoever is an admin stays
/// one: [`revoke`] takes that. An earlier denial of the same scope is replaced.
pub async fn grant(
    conn: &mut Conn,
    policy: &Policy,
    change: &Change,
    role: Role,
    expires_at: Option<Moment>,
) -> Result<Result<Changed, Refusal>> {
    let Change { sender, conversation, .. } = change;
    let rows = trust::of_sender(conn, sender).await?;
    if let Some(refusal) = may_grant(policy, change, role, expires_at, &rows) {
        return Ok(Err(refusal));
    }
    let before = rows.into_iter().find(|row| row.conversation == *conversation);
    let was_admin = before.as_ref().is_some_and(|row| row.admin && counts(row, change.at));
    set(conn, change, Level::Trusted, role == Role::Admin || was_admin, expires_at).await?;
    log(conn, change, "trusted").await?;
    let messages = inbox::release(conn, sender, conversation.as_ref()).await?;
    let settled = settle(conn, change, "Trusted").await?;
    Ok(Ok(Changed { before, messages, settled }))
}

/// Denies a sender: no answer, nothing of theirs is read. Until `expires_at` or for good.
///
/// What they wrote while unknown is never to be read, an open question about them is settled.
pub async fn deny(
    conn: &mut Conn,
    policy: &Policy,
    change: &Change,
    expires_at: Option<Moment>,
) -> Result<Result<Changed, Refusal>> {
    let Change { sender, conversation, .. } = change;
    let refusal = of_any(change, expires_at)
        .or_else(|| change.actor.is(sender).then_some(Refusal::Yourself))
        .or_else(|| policy.admins.contains(sender).then(|| Refusal::EnvironmentAdmin(sender.clone())));
    if let Some(refusal) = refusal {
        return Ok(Err(refusal));
    }
    let before = row_of(conn, change).await?;
    set(conn, change, Level::Denied, false, expires_at).await?;
    log(conn, change, "denied").await?;
    let messages = inbox::bury(conn, sender, conversation.as_ref()).await?;
    let settled = settle(conn, change, "Denied").await?;
    Ok(Ok(Changed { before, messages, settled }))
}

/// Takes back what was said about a sender in exactly that scope, be it a grant or a denial: the policy decides
/// about them again.
pub async fn revoke(conn: &mut Conn, policy: &Policy, change: &Change) -> Result<Result<Changed, Refusal>> {
    let Change { sender, conversation, .. } = change;
    if let Some(refusal) = of_any(change, None) {
        return Ok(Err(refusal));
    }
    let rows = trust::of_sender(conn, sender).await?;
    let Some(before) = rows.iter().find(|row| row.conversation == *conversation).cloned() else {
        let places = rows.into_iter().map(|row| row.conversation).collect();
        return Ok(Err(Refusal::NotThere(sender.clone(), conversation.clone(), places)));
    };
    let trusts = before.level == Level::Trusted && conversation.is_none();
    if trusts && change.actor.is(sender) && !policy.admins.contains(sender) {
        return Ok(Err(Refusal::Yourself));
    }
    trust::remove(conn, sender, conversation.as_ref()).await?;
    log(conn, change, "revoked").await?;
    Ok(Ok(Changed { before: Some(before), ..Changed::default() }))
}

fn may_grant(
    policy: &Policy,
    change: &Change,
    role: Role,
    expires_at: Option<Moment>,
    rows: &[Row],
) -> Option<Refusal> {
    let Change { sender, conversation, .. } = change;
    if let Some(refusal) = of_any(change, expires_at) {
        return Some(refusal);
    }
    if role == Role::Admin && conversation.is_some() {
        return Some(Refusal::AdminInOnePlace);
    }
    if policy.kinds.get(&sender.kind()).is_some_and(|kind| kind.deny.contains(sender.user())) {
        return Some(Refusal::Denylist(sender.clone()));
    }
    let denies = |row: &Row| row.level == Level::Denied && row.conversation.is_none() && counts(row, change.at);
    (conversation.is_some() && rows.iter().any(denies)).then(|| Refusal::DeniedEverywhere(sender.clone()))
}

/// What is refused of every change.
fn of_any(change: &Change, expires_at: Option<Moment>) -> Option<Refusal> {
    if change.sender.kind() == Kind::Console {
        return Some(Refusal::Terminal);
    }
    if let Some(place) = change.conversation.as_ref().filter(|place| place.kind() != change.sender.kind()) {
        return Some(Refusal::OtherPlatform(place.clone(), change.sender.clone()));
    }
    expires_at.is_some_and(|end| end <= change.at).then_some(Refusal::Over)
}

fn counts(row: &Row, now: Moment) -> bool {
    row.expires_at.is_none_or(|end| now < end)
}

async fn row_of(conn: &mut Conn, change: &Change) -> Result<Option<Row>> {
    let rows = trust::of_sender(conn, &change.sender).await?;
    Ok(rows.into_iter().find(|row| row.conversation == change.conversation))
}

async fn set(conn: &mut Conn, change: &Change, level: Level, admin: bool, expires_at: Option<Moment>) -> Result<()> {
    let row = Row {
        sender: change.sender.clone(),
        conversation: change.conversation.clone(),
        level,
        admin,
        granted_by: change.actor.as_str().to_owned(),
        created_at: change.at,
        expires_at,
    };
    trust::set(conn, &row).await
}

async fn log(conn: &mut Conn, change: &Change, decision: &str) -> Result<()> {
    let entry = Audit {
        sender: change.sender.clone(),
        conversation: change.conversation.as_ref().map_or(String::new(), |place| place.local().to_owned()),
        decision: decision.to_owned(),
        reason: change.via.as_str().to_owned(),
        actor: Some(change.actor.as_str().to_owned()),
        at: change.at,
    };
    trust::log(conn, &entry).await
}

/// Settles the open question about a stranger, once nothing of theirs waits any more: a decision about one
/// conversation leaves it open while they also wrote elsewhere.
async fn settle(conn: &mut Conn, change: &Change, word: &str) -> Result<bool> {
    let Some(stranger) = strangers::open_of(conn, &change.sender).await? else { return Ok(false) };
    if inbox::held_count(conn, &change.sender).await? > 0 {
        return Ok(false);
    }
    let Some(notices) = strangers::settle(conn, stranger.id, change.actor.as_str(), change.at).await? else {
        return Ok(false);
    };
    let place = change.conversation.as_ref().map_or(String::new(), |place| format!(" in {place}"));
    let verdict = format!("{word}{place} by {}.", change.actor.as_str());
    for notice in notices {
        notices::close(conn, notice, &verdict, change.at).await?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests;
