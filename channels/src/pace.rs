//! The platforms' rates, kept by us: per conversation and overall.

use std::time::Duration;

use crate::ConversationId;

/// At most `burst` at once, and one more each `every`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many may go without waiting.
    pub burst: u32,
    /// How long one takes to be free again.
    pub every: Duration,
}

/// Keeps one bot's requests within its platform's rates.
pub struct Pace {}

impl Pace {
    /// `overall` for everything the bot sends, `rate_of` for each conversation by its id.
    pub fn new(overall: Rate, rate_of: fn(&ConversationId) -> Rate) -> Self {
        let _ = (overall, rate_of);
        Pace {}
    }

    /// Waits for this conversation's turn, then for the bot's. Conversations do not wait for each other.
    pub async fn ready(&self, conversation: &ConversationId) {
        let _ = conversation;
    }

    /// Nothing of this conversation waits here and nothing is frozen: a draft would delay nobody.
    pub fn idle(&self, conversation: &ConversationId) -> bool {
        let _ = conversation;
        true
    }

    /// The platform said to wait: holds one conversation, or with `None` everything.
    pub fn freeze(&self, conversation: Option<&ConversationId>, wait: Duration) {
        let _ = (conversation, wait);
    }
}
