//! Who and where: ids that carry their platform.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A chat platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Discord, through its gateway and REST API.
    Discord,
    /// Telegram, through the Bot API.
    Telegram,
    /// The terminal of whoever runs the hive.
    Console,
    /// A browser page of the hive's own.
    Web,
}

impl Kind {
    /// Every kind, in the order in which they are listed to people.
    pub const ALL: [Kind; 4] = [Kind::Discord, Kind::Telegram, Kind::Console, Kind::Web];

    /// The word that stands before the colon in ids and in configuration files.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Discord => "discord",
            Kind::Telegram => "telegram",
            Kind::Console => "console",
            Kind::Web => "web",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Kind {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, BadAddress> {
        Kind::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| BadAddress(text.to_owned()))
    }
}

/// Text that should have been `kind:id` and is not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an address: expected `discord:ID`, `telegram:ID`, `console:ID` or `web:ID`")]
pub struct BadAddress(pub String);

/// One place where messages come and go: `discord:123`, `telegram:-100200/7`, `console:local`.
///
/// For Telegram the part after the slash is the forum topic; the General topic and flat chats have none.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ConversationId(Address);

/// A person (or bot) on one platform: `discord:42`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SenderId(Address);

/// Invariant: `text` is `kind:local`, `local` is not empty and has no white space.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Address {
    kind: Kind,
    text: Box<str>,
}

impl Address {
    fn new(kind: Kind, local: impl fmt::Display) -> Self {
        Address { kind, text: format!("{kind}:{local}").into() }
    }

    fn local(&self) -> &str {
        &self.text[self.kind.as_str().len() + 1..]
    }
}

impl FromStr for Address {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, BadAddress> {
        let bad = || BadAddress(text.to_owned());
        let (kind, local) = text.split_once(':').ok_or_else(bad)?;
        let kind = kind.parse::<Kind>().map_err(|_| bad())?;
        if local.is_empty() || local.contains(char::is_whitespace) || local.contains(char::is_control) {
            return Err(bad());
        }
        Ok(Address { kind, text: text.into() })
    }
}

impl ConversationId {
    /// The conversation that `kind` calls `local`. An adapter calls this with the platform's own id.
    pub fn new(kind: Kind, local: impl fmt::Display) -> Self {
        ConversationId(Address::new(kind, local))
    }
    /// The platform.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }
    /// The platform's own id, without the kind.
    pub fn local(&self) -> &str {
        self.0.local()
    }
    /// The whole id, `kind:local`.
    pub fn as_str(&self) -> &str {
        &self.0.text
    }
}

impl SenderId {
    /// The user that `kind` calls `user`.
    pub fn new(kind: Kind, user: impl fmt::Display) -> Self {
        SenderId(Address::new(kind, user))
    }
    /// The platform.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }
    /// The platform's own user id, without the kind.
    pub fn user(&self) -> &str {
        self.0.local()
    }
    /// The whole id, `kind:user`.
    pub fn as_str(&self) -> &str {
        &self.0.text
    }
}

impl FromStr for ConversationId {
    type Err = BadAddress;
    fn from_str(text: &str) -> Result<Self, BadAddress> {
        text.parse().map(ConversationId)
    }
}
impl FromStr for SenderId {
    type Err = BadAddress;
    fn from_str(text: &str) -> Result<Self, BadAddress> {
        text.parse().map(SenderId)
    }
}
impl TryFrom<String> for ConversationId {
    type Error = BadAddress;
    fn try_from(text: String) -> Result<Self, BadAddress> {
        text.parse()
    }
}
impl TryFrom<String> for SenderId {
    type Error = BadAddress;
    fn try_from(text: String) -> Result<Self, BadAddress> {
        text.parse()
    }
}
impl From<ConversationId> for String {
    fn from(id: ConversationId) -> String {
        id.0.text.into()
    }
}
impl From<SenderId> for String {
    fn from(id: SenderId) -> String {
        id.0.text.into()
    }
}
impl fmt::Display for ConversationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}
impl fmt::Display for SenderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}
impl fmt::Debug for ConversationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}
impl fmt::Debug for SenderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_reads_back_as_it_was_written() {
        for text in ["discord:1", "telegram:-100200/7", "console:local", "web:a-b"] {
            let id: ConversationId = text.parse().expect(text);
            assert_eq!(id.as_str(), text);
            assert_eq!(format!("{}:{}", id.kind(), id.local()), text);
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in ["", "discord", "discord:", ":1", "irc:1", "Discord:1", "discord:1 2", "discord:\n"] {
            assert!(text.parse::<SenderId>().is_err(), "{text:?}");
        }
    }
}
