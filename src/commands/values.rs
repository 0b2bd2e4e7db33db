//! Words → people, places, spans.

use anyhow::Result;
use base::clock;
use channels::{Content, ConversationId, Kind, SenderId};
use store::{Conn, inbox};

use super::Asked;

/// Whom a command means: by id, by mention, or as the author of the message it answers. `Err` has the words for
/// whoever asked.
pub(super) async fn person(conn: &mut Conn, asked: &Asked<'_>, name: &str) -> Result<Result<SenderId, String>> {
    let Some(word) = asked.value(name) else {
        return Ok(answered(conn, asked).await?.ok_or_else(|| {
            "Whom do you mean? Give an id such as `discord:42`, mention them, or answer one of their messages."
                .to_owned()
        }));
    };
    let kind = asked.event.conversation.kind();
    // Discord writes a mention as <@42> or <@!42>.
    let bare = word.strip_prefix("<@").and_then(|rest| rest.strip_suffix('>')).map(|id| id.trim_start_matches('!'));
    let word = bare.unwrap_or(word);
    if let Ok(id) = word.parse::<SenderId>() {
        return Ok(org::trust::ids::person(id.kind(), id.user()).map_err(|error| format!("{error}.")));
    }
    if kind != Kind::Console
        && let Ok(id) = org::trust::ids::person(kind, word)
    {
        return Ok(Ok(id));
    }
    let found = inbox::senders_called(conn, kind, word.trim_start_matches('@')).await?;
    Ok(match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(format!("I know nobody called `{word}` here. Give an id such as `discord:42` or `telegram:42`.")),
        several => {
            let ids: Vec<_> = several.iter().map(|id| format!("`{id}`")).collect();
            Err(format!("Several are called `{word}`: {}. Give the id.", ids.join(", ")))
        }
    })
}

/// The author of the message that a command answers.
async fn answered(conn: &mut Conn, asked: &Asked<'_>) -> Result<Option<SenderId>> {
    let (message, sender) = match &asked.event.content {
        Content::Command { reply_to, reply_to_sender, .. } => (reply_to, reply_to_sender),
        Content::Text(said) => (&said.reply_to, &said.reply_to_sender),
        _ => return Ok(None),
    };
    if let Some(sender) = sender {
        return Ok(Some(sender.id.clone()));
    }
    match message {
        Some(message) => inbox::author_of(conn, &asked.event.conversation, message).await,
        None => Ok(None),
    }
}

/// The conversation a command means: `here`, or an id. `None` where none was given.
pub(super) fn place(asked: &Asked<'_>, name: &str, kind: Kind) -> Result<Option<ConversationId>, String> {
    match asked.value(name) {
        None => Ok(None),
        Some("here") => Ok(Some(asked.event.conversation.clone())),
        Some(word) => {
            let bare = word.strip_prefix("<#").and_then(|rest| rest.strip_suffix('>')).unwrap_or(word);
            org::trust::ids::place(kind, bare).map(Some).map_err(|error| format!("{error}, or `here`."))
        }
    }
}

/// When a span from now ends. `None` where none was given.
pub(super) fn end(asked: &Asked<'_>, name: &str) -> Result<Option<clock::Moment>, String> {
    match asked.value(name) {
        None => Ok(None),
        Some(word) => clock::parse_span(word)
            .map(|span| Some(asked.now.saturating_add(clock::ms(span))))
            .ok_or_else(|| format!("`{word}` is no time span: write `90m`, `12h`, `7d` or `4w`.")),
    }
}
