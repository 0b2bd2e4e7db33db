//! Writing a board: one request, and what the rows say after it.

use std::time::Duration;

use anyhow::Result;
use base::{Moment, OutboxId, clock};
use channels::{Action, Channel, ConversationId, Gone, Outbound, Piece, SendError, Sent, render};
use store::boards::{self, Board, Message};
use store::outbox::{self, Loss, New};
use store::topics;

use super::{LAST_WITHIN, LOOK_EVERY, Page, Pages, Showing, View};
use crate::commands::board as words;

/// A board is written anew at most this often, and no more often than the platform wants drafts to be.
const EVERY: Duration = Duration::from_secs(5);
/// Waits after failures that may pass: doubled from the first to the last.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(300));

/// One request for a board, and what is known after it.
pub(super) async fn write(showing: &Showing, channel: &dyn Channel, pages: &Pages, view: &View, text: String) {
    let (id, interval) = (view.topic.id, channel.draft_interval(&view.topic.conversation).max(EVERY));
    let outcome = attempt(showing, channel, view, &text).await;
    let now = showing.clock.now();
    let later = |page: &mut Page, wait: Option<Duration>| {
        let wait = wait.unwrap_or_else(|| backoff(page.failures)).min(LAST_WITHIN);
        page.next_at = now + clock::ms(wait);
        page.failures = page.failures.saturating_add(1);
    };
    pages.change(id, |page| match outcome {
        Ok(Wrote::Text) => *page = Page { text, next_at: now + clock::ms(interval), ..Page::default() },
        Ok(Wrote::Nothing) => *page = Page { next_at: now + clock::ms(interval), ..Page::default() },
        Ok(Wrote::Later(wait)) => later(page, wait),
        Err(error) => {
            tracing::error!("the board of topic {id} could not be written down: {error:#}");
            later(page, None);
        }
    });
}

fn backoff(failures: u32) -> Duration {
    BACKOFF.0.saturating_mul(1 << failures.min(16)).min(BACKOFF.1)
}

/// What an attempt came to.
enum Wrote {
    /// It says the text now.
    Text,
    /// What was open about it is settled; what it should say is looked at anew.
    Nothing,
    /// To be tried again after this, or after the usual wait.
    Later(Option<Duration>),
}

async fn attempt(showing: &Showing, channel: &dyn Channel, view: &View, text: &str) -> Result<Wrote> {
    let Some(board) = &view.board else { return first(showing, channel, view, text).await };
    match &board.message {
        Message::Shown(message_id) => edit(showing, channel, view, board, message_id, text).await,
        Message::InDoubt(first) => settle(showing, channel, view, board, *first).await,
        Message::Left => Ok(Wrote::Nothing),
    }
}

/// The message of a board that says this.
fn piece(conversation: &ConversationId, text: &str) -> Piece {
    let pieces = render::pieces(conversation.kind(), text, render::RenderLimits::default());
    // As long as a board gets, it is one piece.
    pieces.into_iter().next().unwrap_or_default()
}

fn with_buttons(conversation: &ConversationId, text: &str, board: OutboxId) -> Piece {
    Piece { buttons: words::buttons(board), ..piece(conversation, text) }
}

/// Sends a new board, if its topic still has none and its work is not over.
async fn first(showing: &Showing, channel: &dyn Channel, view: &View, text: &str) -> Result<Wrote> {
    let (conversation, now) = (&view.topic.conversation, showing.clock.now());
    let new =
        New { topic: Some(view.topic.id), ..New::message(conversation, Action::Delete { message_id: String::new() }) };
    let (first_task, topic) = (view.first_task, view.topic.id);
    let begun = showing
        .db
        .tx("begin a board", async |conn| {
            if boards::tally(conn, topic, first_task).await?.open() == 0 {
                return Ok(None);
            }
            let id = outbox::draft(conn, &new, now).await?;
            let action = Action::Send(with_buttons(conversation, text, id));
            outbox::replace(conn, id, &action).await?;
            outbox::begin(conn, id, now).await?;
            boards::begin(conn, id, topic, first_task, now).await?;
            Ok(Some((id, action)))
        })
        .await?;
    let Some((id, action)) = begun else { return Ok(Wrote::Nothing) };
    match deliver(showing, channel, conversation, id, action).await {
        Ok(sent) => shown(showing, id, &sent).await.map(|()| Wrote::Text),
        Err(error) => not_sent(showing, view, id, error, Tried::Once).await,
    }
}

/// Writes a board anew; the last time where its work is over.
async fn edit(
    showing: &Showing,
    channel: &dyn Channel,
    view: &View,
    board: &Board,
    message_id: &str,
    text: &str,
) -> Result<Wrote> {
    let conversation = &view.topic.conversation;
    let piece = match view.is_over() {
        true => piece(conversation, text),
        false => with_buttons(conversation, text, board.id),
    };
    let action = Action::Edit { message_id: message_id.to_owned(), piece };
    match deliver(showing, channel, conversation, board.id, action).await {
        Ok(_) if view.is_over() => end(showing, view, board).await.map(|()| Wrote::Text),
        Ok(_) => Ok(Wrote::Text),
        Err(error) => match passes(showing, view, &error).await? {
            Some(wait) => Ok(Wrote::Later(wait)),
            None => {
                // Somebody has deleted it, or the hive may not write there any more: both are no news.
                tracing::debug!(outbox.id = board.id.0, "a board is not written on: {error}");
                leave(showing, board.id, message_id).await.map(|()| Wrote::Nothing)
            }
        },
    }
}

/// A first attempt was made and nothing was heard of it: is the message there?
async fn settle(
    showing: &Showing,
    channel: &dyn Channel,
    view: &View,
    board: &Board,
    first_attempt_at: Moment,
) -> Result<Wrote> {
    let conversation = &view.topic.conversation;
    let row = showing.db.read(async |conn| outbox::get(conn, board.id).await).await?;
    let Some(row) = row else { return Ok(Wrote::Nothing) };
    let age = clock::millis(showing.clock.now() - first_attempt_at);
    let found = if age < channel.key_window() {
        // The same key: it is there once, whether it was or not.
        deliver(showing, channel, conversation, board.id, row.action).await.map(Some)
    } else if channel.reads_back() {
        channel.find(&outbound(showing, conversation, board.id, row.action), first_attempt_at).await
    } else {
        let why = "the hive was stopped while it showed what teams do, and cannot tell whether it is there";
        return lose(showing, board.id, Loss::Ambiguous, why).await;
    };
    match found {
        Ok(Some(sent)) => shown(showing, board.id, &sent).await.map(|()| Wrote::Nothing),
        Ok(None) => undo(showing, board.id).await.map(|()| Wrote::Nothing),
        Err(error) => not_sent(showing, view, board.id, error, Tried::Before).await,
    }
}

fn outbound(showing: &Showing, conversation: &ConversationId, id: OutboxId, action: Action) -> Outbound {
    let (conversation, key) = (conversation.clone(), showing.voices.key(id));
    Outbound { conversation, key, action, reply_to: None, handle: None }
}

async fn deliver(
    showing: &Showing,
    channel: &dyn Channel,
    conversation: &ConversationId,
    id: OutboxId,
    action: Action,
) -> Result<Sent, SendError> {
    let out = outbound(showing, conversation, id, action);
    drop(channel.ready(conversation).await);
    channel.deliver(&out).await
}

/// Whether a message that was not sent may be there all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tried {
    /// This was the only attempt: it says what is.
    Once,
    /// An earlier attempt may have been carried out.
    Before,
}

/// A board's first message did not go through.
async fn not_sent(showing: &Showing, view: &View, id: OutboxId, error: SendError, tried: Tried) -> Result<Wrote> {
    if let SendError::Ambiguous(why) = &error {
        tracing::debug!(outbox.id = id.0, "nobody knows whether a board is shown: {why}");
        // The next look settles it by what the platform can tell.
        return Ok(Wrote::Later(None));
    }
    match passes(showing, view, &error).await? {
        Some(wait) => {
            if tried == Tried::Once {
                undo(showing, id).await?;
            }
            Ok(Wrote::Later(wait))
        }
        None => {
            tracing::debug!(outbox.id = id.0, "a board cannot be shown: {error}");
            lose(showing, id, Loss::Dead, &format!("what teams do cannot be shown: {error}")).await
        }
    }
}

/// Whether a fault may pass: then it is tried again after the wait inside, or after the usual one.
async fn passes(showing: &Showing, view: &View, error: &SendError) -> Result<Option<Option<Duration>>> {
    Ok(match error {
        SendError::RateLimited { retry_after, .. } => Some(Some(*retry_after)),
        SendError::Transient(_) | SendError::Ambiguous(_) => Some(None),
        // The way out says that it is not accepted.
        SendError::Unauthorized => Some(Some(BACKOFF.1)),
        SendError::Moved(to) => {
            let from = &view.topic.conversation;
            showing
                .db
                .tx("move a conversation", async |conn| {
                    topics::move_to(conn, from, to).await?;
                    outbox::move_to(conn, from, to).await
                })
                .await?;
            Some(Some(LOOK_EVERY))
        }
        SendError::Gone(Gone::Message | Gone::Conversation | Gone::Interaction)
        | SendError::Forbidden(_)
        | SendError::Refused(_) => None,
    })
}

async fn shown(showing: &Showing, id: OutboxId, sent: &Sent) -> Result<()> {
    showing.db.tx("a board is shown", async |conn| outbox::shown(conn, id, &sent.message_id).await).await
}

/// It is certainly not there: the row goes, and the board with it.
async fn undo(showing: &Showing, id: OutboxId) -> Result<()> {
    let untried = outbox::Draft { id, message_id: None, tried: false };
    let now = showing.clock.now();
    showing.db.tx("a board is not shown", async |conn| outbox::end_draft(conn, &untried, now).await).await
}

/// The message stays as it is; until its work is over no other one takes its place.
async fn leave(showing: &Showing, id: OutboxId, message_id: &str) -> Result<()> {
    let now = showing.clock.now();
    showing.db.tx("leave a board", async |conn| outbox::sent(conn, id, message_id, now).await).await
}

async fn lose(showing: &Showing, id: OutboxId, loss: Loss, why: &str) -> Result<Wrote> {
    let now = showing.clock.now();
    showing.db.tx("give a board up", async |conn| outbox::give_up(conn, id, loss, why, now).await).await?;
    Ok(Wrote::Nothing)
}

/// The work is over, and with it the board; unless more of it has come meanwhile.
pub(super) async fn end(showing: &Showing, view: &View, board: &Board) -> Result<()> {
    let (now, topic) = (showing.clock.now(), view.topic.id);
    showing
        .db
        .tx("a board ends", async |conn| {
            if boards::tally(conn, topic, board.first_task).await?.open() > 0 {
                return Ok(());
            }
            match &board.message {
                Message::Shown(message_id) => outbox::sent(conn, board.id, message_id, now).await?,
                Message::InDoubt(_) => {
                    let why = "it could not be learned whether it is there";
                    outbox::give_up(conn, board.id, Loss::Ambiguous, why, now).await?;
                }
                Message::Left => {}
            }
            boards::end(conn, board.id, now).await
        })
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_their_bound() {
        assert_eq!(backoff(0), Duration::from_secs(5));
        assert_eq!(backoff(3), Duration::from_secs(40));
        assert_eq!(backoff(u32::MAX), Duration::from_secs(300));
    }
}
