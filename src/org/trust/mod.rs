//! Who may speak to the hive.

pub mod change;
mod decide;
pub mod ids;
mod policy;

use anyhow::Result;
use base::Moment;
use channels::{Inbound, Place, SenderId};
use store::trust::{Audit, Level, Row};
use store::{Conn, trust};

pub use decide::{Decision, Reason, TrustLevel, TrustRow, Verdict, Where, decide};
pub use policy::{Access, KindPolicy, Policy};

/// Decides about whoever caused an event, where it happened.
pub fn of_event(policy: &Policy, rows: &[Row], event: &Inbound, now: Moment) -> Decision {
    let parent = match &event.place {
        Place::Thread { parent, .. } => Some(parent),
        Place::Direct | Place::Group { .. } => None,
    };
    let rows: Vec<TrustRow> = rows.iter().map(TrustRow::from).collect();
    decide(policy, &rows, &event.sender.id, Where { conversation: &event.conversation, parent }, now)
}

/// Whether whoever caused an event is an admin now.
pub fn is_admin(policy: &Policy, rows: &[Row], event: &Inbound, now: Moment) -> bool {
    of_event(policy, rows, event, now).verdict == Verdict::Trusted { admin: true }
}

/// Writes a decision about an event down.
pub async fn log_decision(conn: &mut Conn, event: &Inbound, decision: Decision, now: Moment) -> Result<()> {
    let word = match decision.verdict {
        Verdict::Trusted { .. } => "allowed",
        Verdict::Denied => "denied",
        Verdict::Unknown => "held",
    };
    let entry = Audit {
        sender: event.sender.id.clone(),
        conversation: event.conversation.local().to_owned(),
        decision: word.to_owned(),
        reason: decision.reason.as_str().to_owned(),
        actor: None,
        at: now,
    };
    trust::log(conn, &entry).await
}

/// Everybody who is an admin now: those of `HIVE_ADMINS` and those of the rows. The terminal is not among them.
pub async fn admins(conn: &mut Conn, policy: &Policy, now: Moment) -> Result<Vec<SenderId>> {
    let mut admins: std::collections::BTreeSet<SenderId> = policy.admins.clone();
    for row in trust::list(conn, None, Some(Level::Trusted)).await? {
        if row.admin && row.expires_at.is_none_or(|end| now < end) {
            admins.insert(row.sender);
        }
    }
    Ok(admins.into_iter().collect())
}

impl From<&Row> for TrustRow {
    fn from(row: &Row) -> TrustRow {
        TrustRow {
            sender: row.sender.clone(),
            conversation: row.conversation.clone(),
            level: match row.level {
                Level::Trusted => TrustLevel::Trusted,
                Level::Denied => TrustLevel::Denied,
            },
            admin: row.admin,
            expires_at_ms: row.expires_at,
        }
    }
}
