//! Ids as people and models write them: with or without the kind in front, and as the platform itself emits them.
//!
//! An id that the platform writes otherwise (`@alice`, `<@42>`, `0042`) would trust or deny nobody without saying
//! so; it is refused here, with what would be right.

use channels::{ConversationId, Kind, SenderId};

/// A text that is no id of a platform's person or place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct BadId {
    /// What was written, cut to a length that can be shown.
    pub text: String,
    /// What would be right.
    pub expected: &'static str,
}

/// The longest part of a bad id that is shown, in characters.
const SHOWN_CHARS: usize = 80;

/// The person that `kind` calls `text`; `discord:42` and `42` are the same.
///
/// # Errors
/// Says what would be right.
pub fn person(kind: Kind, text: &str) -> Result<SenderId, BadId> {
    let local = without_kind(kind, text).filter(|id| match kind {
        Kind::Discord => is_positive(id),
        // Whoever writes in the name of a group or channel has that chat's id, which is negative.
        Kind::Telegram => is_positive(id.strip_prefix('-').unwrap_or(id)),
        Kind::Console | Kind::Web => is_word(id),
    });
    local.map(|id| SenderId::new(kind, id)).ok_or_else(|| bad(text, person_form(kind)))
}

/// What an id of a person looks like.
pub fn person_form(kind: Kind) -> &'static str {
    match kind {
        Kind::Discord => "a Discord user id: digits such as `123456789012345678`",
        Kind::Telegram => "a Telegram user id: digits such as `123456789`",
        Kind::Console | Kind::Web => "an id without white space",
    }
}

/// The conversation that `kind` calls `text`; `telegram:-100/7` and `-100/7` are the same.
///
/// # Errors
/// Says what would be right.
pub fn place(kind: Kind, text: &str) -> Result<ConversationId, BadId> {
    let local = without_kind(kind, text).filter(|id| match kind {
        Kind::Discord => is_positive(id),
        Kind::Telegram => {
            let (chat, topic) = id.split_once('/').unwrap_or((id, "1"));
            is_positive(chat.strip_prefix('-').unwrap_or(chat)) && is_positive(topic)
        }
        Kind::Console | Kind::Web => is_word(id),
    });
    local.map(|id| ConversationId::new(kind, id)).ok_or_else(|| bad(text, place_form(kind)))
}

/// What an id of a conversation looks like.
pub fn place_form(kind: Kind) -> &'static str {
    match kind {
        Kind::Discord => "a Discord channel id: digits such as `123456789012345678`",
        Kind::Telegram => "a Telegram chat id such as `-1001234567890`, or `-1001234567890/7` for a forum topic",
        Kind::Console | Kind::Web => "an id without white space",
    }
}

fn bad(text: &str, expected: &'static str) -> BadId {
    let shown: String = text.chars().flat_map(char::escape_default).collect();
    BadId { text: base::text::cut(&shown, SHOWN_CHARS), expected }
}

/// `None` where the id carries the name of another platform.
fn without_kind(kind: Kind, text: &str) -> Option<&str> {
    let text = text.trim();
    match text.split_once(':') {
        Some((prefix, id)) if prefix == kind.as_str() => Some(id),
        Some((prefix, _)) if prefix.parse::<Kind>().is_ok() => None,
        _ => Some(text),
    }
}

/// A number as a platform writes it: above zero, no sign, no zero in front, in 63 bits.
pub fn is_positive(text: &str) -> bool {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits && !text.starts_with('0') && text.parse::<i64>().is_ok()
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_the_platform_writes_it() {
        for (kind, text, id) in [
            (Kind::Discord, "42", "discord:42"),
            (Kind::Discord, " discord:42 ", "discord:42"),
            (Kind::Telegram, "-100200", "telegram:-100200"),
            (Kind::Web, "a-b", "web:a-b"),
        ] {
            assert_eq!(person(kind, text).map(|id| id.to_string()).as_deref(), Ok(id), "{text}");
        }
        assert_eq!(place(Kind::Telegram, "-100/7").map(|id| id.to_string()).as_deref(), Ok("telegram:-100/7"));
        assert_eq!(place(Kind::Discord, "discord:9").map(|id| id.to_string()).as_deref(), Ok("discord:9"));
    }

    #[test]
    fn what_would_match_nobody_is_refused() {
        for text in ["", "@alice", "<@42>", "0042", "+42", "telegram:42", "4 2", "99999999999999999999", "-42"] {
            assert!(person(Kind::Discord, text).is_err(), "{text}");
        }
        for text in ["", "-", "--1", "1/", "1/0", "/7", "1/2/3", "discord:1"] {
            assert!(place(Kind::Telegram, text).is_err(), "{text}");
        }
        assert_eq!(
            person(Kind::Discord, "@alice\n").map_err(|bad| bad.to_string()),
            Err("`@alice\\n` is not a Discord user id: digits such as `123456789012345678`".into())
        );
    }
}
