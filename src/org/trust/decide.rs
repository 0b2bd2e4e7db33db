//! May this sender speak here? One pure function over the policy and the trust rows.

use channels::{ConversationId, Kind, SenderId};
use serde::{Deserialize, Serialize};

use super::policy::{Access, KindPolicy, Policy};

/// What a trust row says of its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrustLevel {
    /// May speak.
    Trusted,
    /// May not speak, whatever else says that they may.
    Denied,
}

/// One grant or denial, as the table of trusted senders keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustRow {
    /// Whom it is about.
    pub sender: SenderId,
    /// Where it holds, with the threads of that place; `None`: everywhere.
    pub conversation: Option<ConversationId>,
    /// What it says.
    pub level: TrustLevel,
    /// Whether a trusted sender also has the admin role. Means nothing on a denial.
    pub admin: bool,
    /// From when on the row counts as absent, in milliseconds since 1970; `None`: never.
    pub expires_at_ms: Option<i64>,
}

/// Where a message was said.
#[derive(Clone, Copy, Debug)]
pub struct Where<'a> {
    /// The conversation itself.
    pub conversation: &'a ConversationId,
    /// The channel or chat that it belongs to, if it is a Discord thread or a Telegram forum topic.
    pub parent: Option<&'a ConversationId>,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// May speak.
    Trusted {
        /// Whether they also have the admin role here.
        admin: bool,
    },
    /// Somebody said no to this very sender: they get no answer at all.
    Denied,
    /// A stranger: nothing lets them in. They are told so once, and an admin is asked.
    Unknown,
}

/// The answer and the rule that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Decision {
    /// The answer.
    pub verdict: Verdict,
    /// The rule.
    pub reason: Reason,
}

/// The rule that decided. Its code ([`Reason::as_str`]) is stable: it stands in the audit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The person at the terminal that runs the hive: always an admin.
    Console,
    /// The sender stands in the platform's denylist.
    SenderDenylist,
    /// A row denies the sender here or everywhere.
    DbDenied,
    /// A row trusts the sender here or everywhere.
    DbTrusted,
    /// The sender is one of `HIVE_ADMINS`.
    Admin,
    /// The sender stands in the platform's allowlist.
    SenderAllowlist,
    /// The conversation (or the one it is a thread of) is open to everybody.
    ChannelOverrideAllow,
    /// The conversation (or the one it is a thread of) is closed.
    ChannelOverrideDeny,
    /// The platform is open to everybody.
    ChannelPolicyAllow,
    /// The platform is closed.
    ChannelPolicyDeny,
    /// The hive is open to everybody where nothing else was said.
    DefaultPolicyAllow,
    /// The hive is closed where nothing else was said.
    DefaultPolicyDeny,
    /// Nothing was said at all, which closes.
    NoPolicy,
}

impl Reason {
    /// Every reason, in the order in which the rules are asked.
    pub const ALL: [Reason; 13] = [
        Reason::Console,
        Reason::SenderDenylist,
        Reason::DbDenied,
        Reason::DbTrusted,
        Reason::Admin,
        Reason::SenderAllowlist,
        Reason::ChannelOverrideAllow,
        Reason::ChannelOverrideDeny,
        Reason::ChannelPolicyAllow,
        Reason::ChannelPolicyDeny,
        Reason::DefaultPolicyAllow,
        Reason::DefaultPolicyDeny,
        Reason::NoPolicy,
    ];

    /// The code that is written into the audit log and read by people and programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::Console => "console",
            Reason::SenderDenylist => "sender_denylist",
            Reason::DbDenied => "db_denied",
            Reason::DbTrusted => "db_trusted",
            Reason::Admin => "admin",
            Reason::SenderAllowlist => "sender_allowlist",
            Reason::ChannelOverrideAllow => "channel_override_allow",
            Reason::ChannelOverrideDeny => "channel_override_deny",
            Reason::ChannelPolicyAllow => "channel_policy_allow",
            Reason::ChannelPolicyDeny => "channel_policy_deny",
            Reason::DefaultPolicyAllow => "default_policy_allow",
            Reason::DefaultPolicyDeny => "default_policy_deny",
            Reason::NoPolicy => "no_policy",
        }
    }
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Decides whether `sender` may speak at `place` at the time `now_ms` (milliseconds since 1970).
///
/// The first rule that speaks wins: the console; the denylist; a denied row; a trusted row; `HIVE_ADMINS`; the
/// allowlist; the conversation's override; the platform's policy; the default policy; nothing, which closes.
/// A row counts if it names this sender, has not expired, and names this conversation, the one it is a thread
/// of, or none. Among the rows that count one denial is enough, whatever its scope and whatever the others say.
/// A thread with an override of its own does not ask its parent's.
///
/// Rows of other senders and other conversations may be handed in: they are passed over, and their order means
/// nothing.
pub fn decide(policy: &Policy, rows: &[TrustRow], sender: &SenderId, place: Where<'_>, now_ms: i64) -> Decision {
    // Both ends must be the terminal: a conversation of another platform never inherits its right.
    if sender.kind() == Kind::Console && place.conversation.kind() == Kind::Console {
        return trusted(true, Reason::Console);
    }
    let kind_policy = policy.kinds.get(&sender.kind());
    if kind_policy.is_some_and(|kind| kind.deny.contains(sender.user())) {
        return Decision { verdict: Verdict::Denied, reason: Reason::SenderDenylist };
    }
    let rows = || rows.iter().filter(|row| row.counts(sender, place, now_ms));
    if rows().any(|row| row.level == TrustLevel::Denied) {
        return Decision { verdict: Verdict::Denied, reason: Reason::DbDenied };
    }
    // The admin role adds up: a plain grant here does not take it from who has it everywhere.
    let listed = policy.admins.contains(sender);
    if rows().next().is_some() {
        return trusted(listed || rows().any(|row| row.admin), Reason::DbTrusted);
    }
    if listed {
        return trusted(true, Reason::Admin);
    }
    if kind_policy.is_some_and(|kind| kind.allow.contains(sender.user())) {
        return trusted(false, Reason::SenderAllowlist);
    }
    stranger(policy, kind_policy, place)
}

/// What holds for a sender whom nothing names.
fn stranger(policy: &Policy, kind_policy: Option<&KindPolicy>, place: Where<'_>) -> Decision {
    let overridden = kind_policy.and_then(|kind| {
        let of = |conversation| kind.conversations.get(conversation).copied();
        of(place.conversation).or_else(|| place.parent.and_then(of))
    });
    let (access, allow, deny) = if let Some(access) = overridden {
        (access, Reason::ChannelOverrideAllow, Reason::ChannelOverrideDeny)
    } else if let Some(access) = kind_policy.and_then(|kind| kind.policy) {
        (access, Reason::ChannelPolicyAllow, Reason::ChannelPolicyDeny)
    } else if let Some(access) = policy.default {
        (access, Reason::DefaultPolicyAllow, Reason::DefaultPolicyDeny)
    } else {
        return Decision { verdict: Verdict::Unknown, reason: Reason::NoPolicy };
    };
    match access {
        Access::Allow => trusted(false, allow),
        Access::Deny => Decision { verdict: Verdict::Unknown, reason: deny },
    }
}

fn trusted(admin: bool, reason: Reason) -> Decision {
    Decision { verdict: Verdict::Trusted { admin }, reason }
}

impl TrustRow {
    fn counts(&self, sender: &SenderId, place: Where<'_>, now_ms: i64) -> bool {
        let here = match &self.conversation {
            None => true,
            Some(conversation) => conversation == place.conversation || Some(conversation) == place.parent,
        };
        here && self.sender == *sender && self.expires_at_ms.is_none_or(|end| now_ms < end)
    }
}

#[cfg(test)]
mod tests;
