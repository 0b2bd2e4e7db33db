//! Messages that answer no message: where they go, and what becomes of their buttons.

use anyhow::Result;
use base::{Moment, OutboxId};
use channels::{Action, Button, ConversationId, Kind, Piece, SenderId, render};
use store::outbox::{self, New};
use store::{Conn, trust};

use crate::trust::{Policy, admins};

/// Where a person can be reached alone: where they last were, or where the platform opens such a place.
pub async fn reach(conn: &mut Conn, person: &SenderId) -> Result<ConversationId> {
    if let Some(known) = trust::direct(conn, person).await? {
        return Ok(known);
    }
    Ok(match person.kind() {
        // A private chat has its person's id.
        Kind::Telegram | Kind::Console | Kind::Web => ConversationId::new(person.kind(), person.user()),
        // The adapter opens the direct channel of a user that is written with an @.
        Kind::Discord => ConversationId::new(Kind::Discord, format_args!("@{}", person.user())),
    })
}

/// Where all admins can be reached, each place once. Empty where there is no admin.
pub async fn reach_admins(conn: &mut Conn, policy: &Policy, now: Moment) -> Result<Vec<ConversationId>> {
    let mut places = Vec::new();
    for admin in admins(conn, policy, now).await? {
        let place = reach(conn, &admin).await?;
        if !places.contains(&place) {
            places.push(place);
        }
    }
    Ok(places)
}

/// Puts a Markdown text into the outbox, with buttons below its last piece. The row of that piece. The template says
/// everything but what is to be done.
pub async fn send(
    conn: &mut Conn,
    markdown: &str,
    buttons: Vec<Vec<Button>>,
    template: &New,
    now: Moment,
) -> Result<Option<OutboxId>> {
    let mut pieces = render::pieces(template.conversation.kind(), markdown, render::RenderLimits::default());
    if let Some(last) = pieces.last_mut() {
        last.buttons = buttons;
    }
    let mut row = None;
    for piece in pieces {
        let new = New { action: Action::Send(piece), ..template.clone() };
        row = Some(outbox::push(conn, &new, now).await?);
    }
    Ok(row)
}

/// Takes the buttons off a message and says below it what was decided.
pub async fn close(conn: &mut Conn, notice: OutboxId, verdict: &str, now: Moment) -> Result<()> {
    let below = |asked: &Piece, kind| {
        // The message is in the platform's markup already; only the line below it has still to become so.
        let line = render::pieces(kind, verdict, render::RenderLimits::default()).into_iter().next()?;
        Some(Piece {
            text: format!("{}\n\n{}", asked.text, line.text),
            plain: format!("{}\n\n{}", asked.plain, line.plain),
            buttons: Vec::new(),
            files: Vec::new(),
        })
    };
    change(conn, notice, below, now).await
}

/// Gives a message other buttons.
pub async fn rebutton(conn: &mut Conn, notice: OutboxId, buttons: Vec<Vec<Button>>, now: Moment) -> Result<()> {
    change(conn, notice, |asked, _| Some(Piece { buttons, files: Vec::new(), ..asked.clone() }), now).await
}

async fn change(
    conn: &mut Conn,
    notice: OutboxId,
    new: impl FnOnce(&Piece, Kind) -> Option<Piece>,
    now: Moment,
) -> Result<()> {
    let Some(sent) = outbox::get(conn, notice).await? else { return Ok(()) };
    let Action::Send(asked) = &sent.action else { return Ok(()) };
    let Some(piece) = new(asked, sent.conversation.kind()) else { return Ok(()) };
    let edit = Action::Edit { message_id: String::new(), piece };
    let row = New { topic: sent.topic, target: Some(notice), ..New::message(&sent.conversation, edit) };
    outbox::push(conn, &row, now).await?;
    Ok(())
}
