//! Ids of people and places as the platforms write them.
//!
//! An id that is written otherwise than the platform emits it (`0042`, `+42`) would never match and silently trust
//! or deny nobody, so it is refused. In a file the kind may stand before it (`discord:42`) or not.

use channels::{ConversationId, Kind};

use super::fault::shown;
use super::form::Form;

/// What is said of a key that names the place of an earlier one, as `123` and `discord:123` do.
pub(super) const TWICE: &str = "names the same place as an earlier key: keep one of the two";

/// The id of a person or bot of `kind`, without the kind.
pub(super) fn user(kind: Kind) -> Form<String> {
    let expected = match kind {
        Kind::Discord => "a Discord user id: digits such as `123456789012345678`",
        Kind::Telegram => "a Telegram user id: digits such as `123456789`",
        Kind::Console | Kind::Web => "an id without white space",
    };
    Form::new(expected, move |text| {
        let id = without_kind(kind, text)?;
        let good = match kind {
            Kind::Discord => is_positive(id),
            // Whoever writes in the name of a group or channel has that chat's id, which is negative.
            Kind::Telegram => is_positive(id.strip_prefix('-').unwrap_or(id)),
            Kind::Console | Kind::Web => is_word(id),
        };
        good.then(|| id.to_owned())
    })
}

/// The id of a place of `kind`.
pub(super) fn conversation(kind: Kind) -> Form<ConversationId> {
    let expected = match kind {
        Kind::Discord => "a Discord channel id: digits such as `123456789012345678`",
        Kind::Telegram => "a Telegram chat id such as `-1001234567890`, or `-1001234567890/7` for a forum topic",
        Kind::Console | Kind::Web => "an id without white space",
    };
    Form::new(expected, move |text| {
        let id = without_kind(kind, text)?;
        let good = match kind {
            Kind::Discord => is_positive(id),
            Kind::Telegram => {
                let (chat, topic) = id.split_once('/').unwrap_or((id, "1"));
                is_positive(chat.strip_prefix('-').unwrap_or(chat)) && is_positive(topic)
            }
            Kind::Console | Kind::Web => is_word(id),
        };
        good.then(|| ConversationId::new(kind, id))
    })
}

/// A person as `HIVE_ADMINS` names them: the kind, and an id of digits. The error says what would be right.
pub(super) fn admin(text: &str) -> Result<channels::SenderId, String> {
    const KINDS: [&str; 2] = ["discord", "telegram"];
    let expected = "expected `discord:ID` or `telegram:ID`";
    let Some((kind, id)) = text.split_once(':') else {
        return Err(format!("found {}, {expected}", shown(text)));
    };
    let kind = match kind {
        "discord" => Kind::Discord,
        "telegram" => Kind::Telegram,
        other => {
            let hint = super::fault::meant(other, KINDS).map(|kind| format!("; did you mean `{kind}:`?"));
            return Err(format!("found {}, {expected}{}", shown(text), hint.unwrap_or_default()));
        }
    };
    if !is_positive(id) {
        return Err(format!("found {}, expected digits after `{kind}:`, as the platform shows the id", shown(text)));
    }
    Ok(channels::SenderId::new(kind, id))
}

/// `None` where the id carries the name of another platform.
fn without_kind(kind: Kind, text: &str) -> Option<&str> {
    match text.split_once(':') {
        Some((prefix, id)) if prefix == kind.as_str() => Some(id),
        Some((prefix, _)) if prefix.parse::<Kind>().is_ok() => None,
        _ => Some(text),
    }
}

/// A number as a platform writes it: above zero, no sign, no zero in front, in 63 bits.
fn is_positive(text: &str) -> bool {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits && !text.starts_with('0') && text.parse::<i64>().is_ok()
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c.is_control())
}
