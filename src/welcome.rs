//! Words for strangers and for admins: who asks to speak, and what could not be delivered.

use anyhow::Result;
use base::Moment;
use channels::render::{self, RenderLimits};
use channels::{Action, Button, ConversationId, Emphasis, Inbound, Place};
use org::notices;
use org::trust::Policy;
use store::outbox::{self, Loss, New, Row};
use store::{Conn, strangers};

/// Most unread messages that are kept of one stranger, the newest.
pub const HELD_MAX: i64 = 50;

/// Tells a stranger once, and shows them to the admins, with buttons to decide.
pub async fn tell(conn: &mut Conn, policy: &Policy, event: &Inbound, stranger: i64, now: Moment) -> Result<()> {
    let sender = &event.sender.id;
    let admins = org::trust::admins(conn, policy, now).await?;
    let asked = if admins.is_empty() { "Whoever runs me has to let you in" } else { "I have asked an admin" };
    let words = format!(
        "I don't know you yet, so I can't answer. {asked}; what you write until then is kept. Your id: `{sender}`"
    );
    let reply_to = (event.place != Place::Direct).then(|| event.event_id.clone());
    push(conn, &event.conversation, &words, &[], reply_to, now).await?;
    let who = escaped(&event.sender.name);
    let place = match &event.place {
        Place::Direct => "a direct conversation".to_owned(),
        Place::Group { title } | Place::Thread { title, .. } if title.is_empty() => format!("`{}`", event.conversation),
        Place::Group { title } | Place::Thread { title, .. } => {
            format!("{} (`{}`)", escaped(title), event.conversation)
        }
    };
    let notice = format!("{who} (`{sender}`) wants to talk to me in {place}.");
    let button = |label: &str, word: &str, emphasis| Button {
        label: label.to_owned(),
        data: format!("{word}:{stranger}"),
        emphasis,
    };
    let buttons = [vec![button("Trust", "trust", Emphasis::Primary), button("Deny", "deny", Emphasis::Danger)]];
    for place in notices::reach_admins(conn, policy, now).await? {
        let id = push(conn, &place, &notice, &buttons, None, now).await?;
        strangers::add_notice(conn, stranger, id).await?;
    }
    if admins.is_empty() {
        tracing::warn!("nobody can let {sender} in: name admins in HIVE_ADMINS, or run `hive pair`");
    }
    Ok(())
}

/// Tells the admins what was not delivered, unless it was to one of them: that would go round in circles.
pub async fn report_loss(
    conn: &mut Conn,
    policy: &Policy,
    row: &Row,
    loss: Loss,
    why: &str,
    now: Moment,
) -> Result<()> {
    let what = match loss {
        Loss::Dead => "could not be delivered",
        Loss::Ambiguous => "may not have been delivered; I did not send it again",
    };
    let words = format!("⚠️ A message to `{}` {what}: {}.", row.conversation, escaped(why));
    let places = notices::reach_admins(conn, policy, now).await?;
    if places.contains(&row.conversation) {
        return Ok(());
    }
    for place in places {
        push(conn, &place, &words, &[], None, now).await?;
    }
    Ok(())
}

async fn push(
    conn: &mut Conn,
    conversation: &ConversationId,
    markdown: &str,
    buttons: &[Vec<Button>],
    reply_to: Option<String>,
    now: Moment,
) -> Result<base::OutboxId> {
    let mut pieces = render::pieces(conversation.kind(), markdown, RenderLimits::default());
    let mut piece = pieces.drain(..1).next().unwrap_or_default();
    piece.buttons = buttons.to_vec();
    outbox::push(conn, &New { reply_to, ..New::message(conversation, Action::Send(piece)) }, now).await
}

/// Somebody else's words inside ours: on one line, without markup of their own.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in base::text::headline(text, 120).chars() {
        if c.is_ascii_punctuation() && !"-.,:;!?'\"/()".contains(c) {
            escaped.push('\\');
        }
        if !c.is_control() {
            escaped.push(c);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn a_name_brings_no_markup_along() {
        assert_eq!(escaped("**Eve** [x](http://e)\nsecond"), "\\*\\*Eve\\*\\* \\[x\\](http://e)");
        assert_eq!(escaped("Ann-Marie O'Hara"), "Ann-Marie O'Hara");
    }
}
