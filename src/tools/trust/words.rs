//! The words that the three tools share: what a model writes, and what a change of trust is in them.

use base::Moment;
use channels::Kind;
use org::trust::change::{Actor, Change, Changed, Refusal, Via};
use org::trust::ids;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::trust::Level;

use crate::call::Call;
use crate::tool::ToolError;

/// A chat platform.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChannelType {
    /// Discord.
    Discord,
    /// Telegram.
    Telegram,
    /// The terminal.
    Console,
    /// A browser page.
    Web,
}

impl From<ChannelType> for Kind {
    fn from(kind: ChannelType) -> Kind {
        match kind {
            ChannelType::Discord => Kind::Discord,
            ChannelType::Telegram => Kind::Telegram,
            ChannelType::Console => Kind::Console,
            ChannelType::Web => Kind::Web,
        }
    }
}

/// What is said about a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TrustLevel {
    /// May speak.
    #[default]
    Trusted,
    /// May not, and is told nothing.
    Denied,
}

impl From<TrustLevel> for Level {
    fn from(level: TrustLevel) -> Level {
        match level {
            TrustLevel::Trusted => Level::Trusted,
            TrustLevel::Denied => Level::Denied,
        }
    }
}

/// What came of a change.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangeOutput {
    /// Whether it was made.
    pub success: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl From<Result<Changed, Refusal>> for ChangeOutput {
    fn from(outcome: Result<Changed, Refusal>) -> Self {
        ChangeOutput { success: outcome.is_ok(), reason: outcome.err().map(|refusal| refusal.to_string()) }
    }
}

impl ChangeOutput {
    pub(super) fn not(reason: impl ToString) -> Self {
        ChangeOutput { success: false, reason: Some(reason.to_string()) }
    }
}

/// The change that the call's admin asks for; the inner error is a reason for the model.
pub(super) fn change(
    call: &Call,
    kind: Kind,
    sender_id: &str,
    channel_id: Option<&str>,
    at: Moment,
) -> Result<Result<Change, String>, ToolError> {
    // The executor has refused every turn that no admin caused; one without a sender at all is a fault of ours.
    let actor = call.origin.sender.clone().filter(|_| call.grant.admin);
    let actor = Actor::Person(actor.ok_or_else(|| ToolError::refused("no admin caused this turn"))?);
    let read = || {
        let sender = ids::person(kind, sender_id).map_err(|bad| format!("sender_id: {bad}"))?;
        let place = channel_id.map(|text| ids::place(kind, text));
        let conversation = place.transpose().map_err(|bad| format!("channel_id: {bad}"))?;
        Ok(Change { sender, conversation, actor, via: Via::Tool, at })
    };
    Ok(read())
}
