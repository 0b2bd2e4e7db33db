//! What Telegram's refusals mean for a host.

use std::time::Duration;

use super::call::{CallError, Refusal};
use super::place;
use crate::{Gone, Kind, ReceiveError, Scope, SendError};

/// How long to wait after a 429 that does not say how long.
const FLOOD_WAIT: Duration = Duration::from_secs(5);

/// Descriptions of a chat or a topic that is not there.
const GONE: [&str; 6] = [
    "chat not found",
    "thread not found",
    "topic_deleted",
    "peer_id_invalid",
    "group chat was deleted",
    "chat was deactivated",
];

/// Descriptions that come as 400 and mean that the bot may not write there.
const FORBIDDEN: [&str; 7] = [
    "not enough rights",
    "have no rights",
    "need administrator rights",
    "chat_write_forbidden",
    "chat_admin_required",
    "chat_restricted",
    "topic_closed",
];

/// Descriptions of a message that can no longer be edited.
const NO_MESSAGE: [&str; 3] = ["message to edit not found", "message_id_invalid", "message can't be edited"];

/// What a host should make of a request that failed.
pub(super) fn send_error(error: CallError) -> SendError {
    match error {
        CallError::NotDone(why) => SendError::Transient(why),
        CallError::Unknown(why) => SendError::Ambiguous(why),
        CallError::Refused(refusal) => refused(refusal),
    }
}

fn refused(refusal: Refusal) -> SendError {
    if let Some(chat) = refusal.moved_to {
        return SendError::Moved(place::chat_id(chat));
    }
    let says_one_of = |words: &[&str]| words.iter().any(|words| refusal.says(words));
    match refusal.code {
        429 => {
            let retry_after = refusal.retry_after.unwrap_or(FLOOD_WAIT);
            SendError::RateLimited { retry_after, scope: Scope::Conversation }
        }
        _ if names_no_bot(&refusal) => SendError::Unauthorized,
        _ if says_one_of(&GONE) => SendError::Gone(Gone::Conversation),
        _ if says_one_of(&NO_MESSAGE) => SendError::Gone(Gone::Message),
        403 => SendError::Forbidden(refusal.description),
        _ if says_one_of(&FORBIDDEN) => SendError::Forbidden(refusal.description),
        _ => SendError::Refused(refusal.description),
    }
}

/// Whether the token is wrong.
pub(super) fn is_unauthorized(error: &CallError) -> bool {
    matches!(error, CallError::Refused(refusal) if names_no_bot(refusal))
}

/// Telegram says 401 of a token that it does not know, and a bare 404 of one that has not the shape of a token.
fn names_no_bot(refusal: &Refusal) -> bool {
    refusal.code == 401 || (refusal.code == 404 && refusal.description == "Not Found")
}

/// What [`crate::Receive::check`] says of a request that failed.
pub(super) fn check_error(error: CallError) -> ReceiveError {
    if is_unauthorized(&error) {
        return ReceiveError::Unauthorized(Kind::Telegram, "TELEGRAM_TOKEN");
    }
    ReceiveError::Unreachable(error.to_string())
}

#[cfg(test)]
mod tests {
    use teloxide::types::ChatId;

    use super::*;

    fn said(code: u16, description: &str) -> SendError {
        let description = description.to_owned();
        send_error(CallError::Refused(Refusal { code, description, retry_after: None, moved_to: None }))
    }

    #[test]
    fn a_refusal_is_typed_by_what_to_do_next() {
        let gone = SendError::Gone(Gone::Conversation);
        let forbidden = |why: &str| SendError::Forbidden(why.to_owned());
        let no_rights = "Bad Request: not enough rights to send text messages to the chat";
        for (code, description, expected) in [
            (400, "Bad Request: chat not found", gone.clone()),
            (400, "Bad Request: message thread not found", gone.clone()),
            (400, "Bad Request: TOPIC_DELETED", gone.clone()),
            (403, "Forbidden: the group chat was deleted", gone),
            (403, "Forbidden: bot was blocked by the user", forbidden("Forbidden: bot was blocked by the user")),
            (400, "Bad Request: TOPIC_CLOSED", forbidden("Bad Request: TOPIC_CLOSED")),
            (400, no_rights, forbidden(no_rights)),
            (400, "Bad Request: message to edit not found", SendError::Gone(Gone::Message)),
            (400, "Bad Request: MESSAGE_ID_INVALID", SendError::Gone(Gone::Message)),
            (401, "Unauthorized", SendError::Unauthorized),
            (404, "Not Found", SendError::Unauthorized),
            (404, "Not Found: method not found", SendError::Refused("Not Found: method not found".into())),
            (400, "Bad Request: message is too long", SendError::Refused("Bad Request: message is too long".into())),
            (429, "Too Many Requests", SendError::RateLimited { retry_after: FLOOD_WAIT, scope: Scope::Conversation }),
        ] {
            assert_eq!(said(code, description), expected, "{code} {description}");
        }
    }

    #[test]
    fn a_group_that_became_a_supergroup_has_moved() {
        let moved_to = Some(ChatId(-1001));
        let refusal = Refusal { code: 400, description: String::new(), retry_after: None, moved_to };
        let moved = SendError::Moved("telegram:-1001".parse().unwrap());
        assert_eq!(send_error(CallError::Refused(refusal)), moved);
    }
}
