//! Ids of people and places as the platforms write them.
//!
//! An id that is written otherwise than the platform emits it (`0042`, `+42`) would never match and silently trust
//! or deny nobody, so it is refused. In a file the kind may stand before it (`discord:42`) or not.

use channels::{ConversationId, Kind};
use org::trust::ids;

use super::fault::shown;
use super::form::Form;

/// What is said of a key that names the place of an earlier one, as `123` and `discord:123` do.
pub(super) const TWICE: &str = "names the same place as an earlier key: keep one of the two";

/// The id of a person or bot of `kind`, without the kind.
pub(super) fn user(kind: Kind) -> Form<String> {
    Form::new(ids::person_form(kind), move |text| Some(ids::person(kind, text).ok()?.user().to_owned()))
}

/// The id of a place of `kind`.
pub(super) fn conversation(kind: Kind) -> Form<ConversationId> {
    Form::new(ids::place_form(kind), move |text| ids::place(kind, text).ok())
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
            let hint = base::text::meant(other, KINDS).map(|kind| format!("; did you mean `{kind}:`?"));
            return Err(format!("found {}, {expected}{}", shown(text), hint.unwrap_or_default()));
        }
    };
    if !ids::is_positive(id) {
        return Err(format!("found {}, expected digits after `{kind}:`, as the platform shows the id", shown(text)));
    }
    Ok(channels::SenderId::new(kind, id))
}
