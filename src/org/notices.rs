//! Messages with buttons that have done their work.

use anyhow::Result;
use base::{Moment, OutboxId};
use channels::{Action, Piece, render};
use store::Conn;
use store::outbox::{self, New};

/// Takes the buttons off a message and says below it what was decided.
pub async fn close(conn: &mut Conn, notice: OutboxId, verdict: &str, now: Moment) -> Result<()> {
    let Some(sent) = outbox::get(conn, notice).await? else { return Ok(()) };
    let Action::Send(asked) = sent.action else { return Ok(()) };
    // The message is in the platform's markup already; only the line below it has still to become so.
    let line = render::pieces(sent.conversation.kind(), verdict, render::RenderLimits::default());
    let Some(line) = line.into_iter().next() else { return Ok(()) };
    let piece = Piece {
        text: format!("{}\n\n{}", asked.text, line.text),
        plain: format!("{}\n\n{}", asked.plain, line.plain),
        buttons: Vec::new(),
        files: Vec::new(),
    };
    let edit = Action::Edit { message_id: String::new(), piece };
    let row = New { topic: sent.topic, target: Some(notice), ..New::message(&sent.conversation, edit) };
    outbox::push(conn, &row, now).await?;
    Ok(())
}
