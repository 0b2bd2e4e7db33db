//! What the owner of the hive wrote about who may speak to it.

use std::collections::{BTreeMap, BTreeSet};

use channels::{ConversationId, Kind, SenderId};
use serde::{Deserialize, Serialize};

/// What a policy says about a sender whom nothing else names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Everybody may speak.
    Allow,
    /// Nobody may, unless something that comes earlier says so.
    Deny,
}

/// The `trust:` mapping of `channels.yaml` together with `HIVE_ADMINS`.
///
/// The default value is the closed hive: nobody but the terminal may speak.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// What holds on a platform that has no policy of its own. `None`: nothing was said, which closes.
    pub default: Option<Access>,
    /// What holds on one platform.
    pub kinds: BTreeMap<Kind, KindPolicy>,
    /// The senders of `HIVE_ADMINS`: trusted with the admin role, as if a row without conversation said so.
    pub admins: BTreeSet<SenderId>,
}

/// What holds on one platform.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindPolicy {
    /// What holds for a sender whom no list names. `None`: [`Policy::default`] decides.
    pub policy: Option<Access>,
    /// Platform user ids (without the kind) that may speak in every conversation.
    pub allow: BTreeSet<String>,
    /// Platform user ids (without the kind) that may not speak anywhere; this beats every grant.
    pub deny: BTreeSet<String>,
    /// What holds in one conversation instead of `policy`.
    pub conversations: BTreeMap<ConversationId, Access>,
}
