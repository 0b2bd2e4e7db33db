//! The way out: works off the outbox, one conversation after the other in itself, all of them side by side.
//!
//! An attempt is written down before it is made. What a crash left in the middle is settled by what the platform can
//! tell: within Discord's nonce window the same key cannot post twice; past it the channel is read back; Telegram can
//! tell nothing, so a send is repeated with a mark or reported, by configuration, and never silently.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use base::{Clock, Moment, Stop, Tasks, clock};
use channels::{Action, Channel, ConversationId, Gone, Outbound, Piece, Scope, SendError, Turn};
use org::trust::Policy;
use store::outbox::{self, Loss, Row};
use store::{Bell, Db, topics};

use super::busy::Busy;
use crate::config::{Ambiguous, Outbox};
use crate::voices::Voices;
use crate::welcome;

/// What stands before a text that may be there twice.
const MARK: &str = "↻ (this may be a repeat) ";
/// Waits between attempts that failed for a passing reason: doubled from the first to the last.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));
/// How long a wrong token is waited with: only an operator can help.
const TOKEN_WAIT: Duration = Duration::from_secs(60);
/// A scan without a bell.
const RESCAN: Duration = Duration::from_secs(30);
/// Most conversations that one scan looks at; the rest comes with the next.
const SCAN: u32 = 1_000;

/// Sends what is in the outbox.
pub struct Sending {
    /// The rows.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// The platforms.
    pub voices: Voices,
    /// What is done when nobody knows whether something was sent.
    pub rules: Outbox,
    /// Whom to tell what could not be delivered.
    pub policy: Arc<Policy>,
}

/// Runs until `tasks` is told to stop.
pub async fn run(sending: Arc<Sending>, tasks: Tasks) {
    let stop = tasks.stop_token();
    let mut bell = sending.db.changes(Bell::Outbox);
    let busy = Busy::default();
    loop {
        bell.mark_unchanged();
        let due = match scan(&sending, &tasks, &busy).await {
            Ok(due) => due,
            Err(error) => {
                tracing::error!("the outbox could not be read: {error:#}");
                Some(sending.clock.now() + 1_000)
            }
        };
        let rescan = sending.clock.now() + clock::ms(RESCAN);
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            _ = bell.changed() => {}
            () = sending.clock.sleep_until(Some(due.unwrap_or(rescan).min(rescan))) => {}
        }
    }
}

/// Starts a sender for every conversation that has something to send now. When the next one is due.
async fn scan(sending: &Arc<Sending>, tasks: &Tasks, busy: &Busy) -> Result<Option<Moment>> {
    let now = sending.clock.now();
    let mut next: Option<Moment> = None;
    for (conversation, due_at) in sending.db.read(async |conn| outbox::waiting(conn, SCAN, now).await).await? {
        if busy.has(&conversation) || sending.voices.of(conversation.kind()).is_none() {
            continue;
        }
        if due_at > now {
            next = Some(next.map_or(due_at, |next| next.min(due_at)));
            continue;
        }
        let Some(entered) = busy.enter(&conversation, &sending.db, Bell::Outbox) else { continue };
        let (sending, stop) = (sending.clone(), tasks.stop_token());
        tasks.spawn("send", async move {
            let _entered = entered;
            if let Err(error) = drain(&sending, &conversation, &stop).await {
                tracing::error!("what goes out to {conversation} could not be worked off: {error:#}");
                sending.clock.sleep(Duration::from_secs(1)).await;
            }
        });
    }
    Ok(next)
}

/// Sends what a conversation has that is due.
async fn drain(sending: &Sending, conversation: &ConversationId, stop: &Stop) -> Result<()> {
    let Some(channel) = sending.voices.of(conversation.kind()).cloned() else { return Ok(()) };
    loop {
        let head = sending.db.read(async |conn| outbox::head(conn, conversation).await).await?;
        let Some(row) = head else { return Ok(()) };
        if !row.is_due(sending.clock.now()) || stop.is_cancelled() {
            return Ok(());
        }
        // Waiting for the platform's rate comes before the attempt is written down: killed here, nothing was tried.
        let turn = tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(()),
            turn = channel.ready(conversation) => turn,
        };
        one(sending, channel.as_ref(), row, turn).await?;
    }
}

/// Settles what a crash left open, makes one attempt, and writes down what came of it.
async fn one(sending: &Sending, channel: &dyn Channel, mut row: Row, turn: Turn) -> Result<()> {
    if row.target_lost {
        match lost_target(&row.action) {
            Some(instead) => row.action = instead,
            None => return done(sending, &row, "").await,
        }
    }
    if row.cut_off
        && let Some(settled) = settle(sending, channel, &mut row).await?
    {
        return Ok(settled);
    }
    let (id, now) = (row.id, sending.clock.now());
    sending.db.tx("begin to send", async |conn| outbox::begin(conn, id, now).await).await?;
    let out = outbound(sending, &row);
    drop(turn);
    match channel.deliver(&out).await {
        Ok(sent) => done(sending, &row, &sent.message_id).await,
        Err(error) => failed(sending, channel, &row, error).await,
    }
}

fn outbound(sending: &Sending, row: &Row) -> Outbound {
    Outbound {
        conversation: row.conversation.clone(),
        key: sending.voices.key(row.id),
        action: row.action.clone(),
        reply_to: row.reply_to.clone(),
        handle: row.handle.clone(),
    }
}

/// An edit of a message that never came to be is a message; a deletion of it is nothing.
fn lost_target(action: &Action) -> Option<Action> {
    match action {
        Action::Edit { piece, .. } => Some(Action::Send(piece.clone())),
        Action::Delete { .. } => None,
        Action::Send(piece) => Some(Action::Send(piece.clone())),
    }
}

/// An attempt was begun and nothing was heard of it. `Some`: it is settled; `None`: it may be tried (again).
async fn settle(sending: &Sending, channel: &dyn Channel, row: &mut Row) -> Result<Option<()>> {
    // Editing or deleting twice changes nothing.
    if !matches!(row.action, Action::Send(_)) {
        return Ok(None);
    }
    let first = row.first_attempt_at.unwrap_or(row.due_at);
    let age = clock::millis(sending.clock.now() - first);
    if age < channel.key_window() {
        return Ok(None);
    }
    if !channel.reads_back() {
        return ambiguous(sending, row, "the hive was stopped in the middle of sending").await;
    }
    match channel.find(&outbound(sending, row), first).await {
        Ok(Some(sent)) => done(sending, row, &sent.message_id).await.map(Some),
        Ok(None) => Ok(None),
        Err(error) => failed(sending, channel, row, error).await.map(Some),
    }
}

/// Nobody knows whether it was sent, and the platform cannot tell: by configuration it is repeated with a mark, or
/// reported. `None`: the row may be tried now.
async fn ambiguous(sending: &Sending, row: &mut Row, why: &str) -> Result<Option<()>> {
    let marked = match (&row.action, sending.rules.ambiguous) {
        (Action::Send(piece), Ambiguous::ResendMarked) => mark(piece),
        _ => None,
    };
    let Some(marked) = marked else {
        lose(sending, row, Loss::Ambiguous, why).await?;
        return Ok(Some(()));
    };
    tracing::warn!(outbox.id = row.id.0, "message {} may be in {} twice: {why}", row.id, row.conversation);
    row.action = Action::Send(marked);
    let (id, action) = (row.id, row.action.clone());
    sending.db.tx("mark a repeat", async |conn| outbox::replace(conn, id, &action).await).await?;
    Ok(None)
}

/// The piece with a mark; `None` where it has one and was tried again all the same.
fn mark(piece: &Piece) -> Option<Piece> {
    if piece.plain.starts_with(MARK) {
        return None;
    }
    Some(Piece { text: format!("{MARK}{}", piece.text), plain: format!("{MARK}{}", piece.plain), ..piece.clone() })
}

async fn done(sending: &Sending, row: &Row, message_id: &str) -> Result<()> {
    let (id, now) = (row.id, sending.clock.now());
    sending.db.tx("sent", async |conn| outbox::sent(conn, id, message_id, now).await).await
}

async fn failed(sending: &Sending, channel: &dyn Channel, row: &Row, error: SendError) -> Result<()> {
    let mut row = row.clone();
    match error {
        SendError::RateLimited { retry_after, scope } => {
            if scope == Scope::Everything {
                tracing::warn!("{}: everything waits for {retry_after:?}", row.conversation.kind());
            }
            put_off(sending, &row, retry_after, "rate limited").await
        }
        SendError::Transient(why) => retry(sending, &row, &why).await,
        SendError::Ambiguous(why) if !matches!(row.action, Action::Send(_)) => retry(sending, &row, &why).await,
        // The row stays "being sent": the next look settles it by what the platform can tell.
        SendError::Ambiguous(why) if !channel.key_window().is_zero() || channel.reads_back() => {
            tracing::warn!(outbox.id = row.id.0, "nobody knows whether message {} was sent: {why}", row.id);
            wait_in_doubt(sending, &row).await
        }
        SendError::Ambiguous(why) => match ambiguous(sending, &mut row, &why).await? {
            Some(()) => Ok(()),
            None => put_off(sending, &row, backoff(row.attempts), &why).await,
        },
        SendError::Gone(Gone::Message) => match lost_target(&row.action) {
            Some(instead) => try_as(sending, &row, instead).await,
            None => done(sending, &row, "").await,
        },
        SendError::Gone(Gone::Interaction) => {
            let id = row.id;
            sending.db.tx("answer without the interaction", async |conn| outbox::drop_handle(conn, id).await).await
        }
        SendError::Gone(Gone::Conversation) => lose(sending, &row, Loss::Dead, "the conversation is gone").await,
        SendError::Forbidden(why) => lose(sending, &row, Loss::Dead, &format!("not allowed there: {why}")).await,
        SendError::Refused(why) => lose(sending, &row, Loss::Dead, &format!("the platform refuses it: {why}")).await,
        SendError::Moved(to) => moved(sending, &row, &to).await,
        SendError::Unauthorized => {
            tracing::error!("{} does not accept the token any more; what goes out waits", row.conversation.kind());
            put_off(sending, &row, TOKEN_WAIT, "the token is not accepted").await
        }
    }
}

fn backoff(attempts: i64) -> Duration {
    let doublings = u32::try_from(attempts.clamp(0, 16)).unwrap_or(16);
    BACKOFF.0.saturating_mul(1 << doublings).min(BACKOFF.1)
}

/// Tries again later, until it has been tried for too long.
async fn retry(sending: &Sending, row: &Row, why: &str) -> Result<()> {
    let first = row.first_attempt_at.unwrap_or_else(|| sending.clock.now());
    if clock::millis(sending.clock.now() - first) > sending.rules.give_up_after {
        return lose(sending, row, Loss::Dead, &format!("given up after many attempts: {why}")).await;
    }
    put_off(sending, row, backoff(row.attempts), why).await
}

async fn put_off(sending: &Sending, row: &Row, wait: Duration, why: &str) -> Result<()> {
    tracing::debug!(outbox.id = row.id.0, "message {} waits for {wait:?}: {why}", row.id);
    let (id, now) = (row.id, sending.clock.now());
    sending.db.tx("put off", async |conn| outbox::put_off(conn, id, wait, why, now).await).await
}

/// Stays "being sent", and is looked at again after a while.
async fn wait_in_doubt(sending: &Sending, row: &Row) -> Result<()> {
    let (id, now) = (row.id, sending.clock.now());
    let wait = backoff(row.attempts);
    sending.db.tx("wait in doubt", async |conn| outbox::wait_in_doubt(conn, id, wait, now).await).await
}

async fn try_as(sending: &Sending, row: &Row, action: Action) -> Result<()> {
    let id = row.id;
    let now = sending.clock.now();
    sending
        .db
        .tx("send what cannot be edited", async |conn| {
            outbox::replace(conn, id, &action).await?;
            outbox::put_off(conn, id, Duration::ZERO, "the message to edit is gone", now).await
        })
        .await
}

async fn moved(sending: &Sending, row: &Row, to: &ConversationId) -> Result<()> {
    tracing::info!("{} has moved to {to}", row.conversation);
    let from = &row.conversation;
    sending
        .db
        .tx("move a conversation", async |conn| {
            topics::move_to(conn, from, to).await?;
            outbox::move_to(conn, from, to).await
        })
        .await?;
    Ok(())
}

/// Gives a message up, and tells the admins: a reply that cannot be delivered is no mere line in a log.
async fn lose(sending: &Sending, row: &Row, loss: Loss, why: &str) -> Result<()> {
    tracing::warn!(outbox.id = row.id.0, "message {} to {} was not delivered: {why}", row.id, row.conversation);
    let now = sending.clock.now();
    sending
        .db
        .tx("give a message up", async |conn| {
            outbox::give_up(conn, row.id, loss, why, now).await?;
            welcome::report_loss(conn, &sending.policy, row, loss, why, now).await
        })
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_their_bound() {
        assert_eq!(backoff(0), Duration::from_secs(1));
        assert_eq!(backoff(3), Duration::from_secs(8));
        assert_eq!(backoff(40), Duration::from_secs(300));
    }

    #[test]
    fn a_repeat_is_marked_once() {
        let piece = Piece { text: "<b>hi</b>".into(), plain: "hi".into(), ..Piece::default() };
        let marked = mark(&piece).unwrap();
        assert!(marked.text.starts_with(MARK) && marked.plain.starts_with(MARK));
        assert_eq!(mark(&marked), None);
    }

    #[test]
    fn what_was_never_sent_cannot_be_edited_or_deleted() {
        let piece = Piece { text: "hi".into(), ..Piece::default() };
        let edit = Action::Edit { message_id: String::new(), piece: piece.clone() };
        assert_eq!(lost_target(&edit), Some(Action::Send(piece)));
        assert_eq!(lost_target(&Action::Delete { message_id: String::new() }), None);
    }
}
