//! Signs of life while a turn runs: typing, and the text as it grows.
//!
//! A draft's row is written before anything is shown, so that after a crash the same message is written on. What is
//! shown here is never the reply: that goes through the outbox.

use std::sync::Arc;
use std::time::Duration;

use base::{Moment, OutboxId, RunId, Stop, Tasks, clock};
use channels::{Action, Channel, Outbound, SendError};
use store::inbox::Row;
use store::outbox;
use store::tasks::Origin;
use tokio::sync::watch;

use super::Sessions;

/// A turn that is quicker than this shows nothing but its reply.
const FIRST_AFTER: Duration = Duration::from_millis(1_500);
/// Both platforms show typing for some seconds: Telegram for 5, Discord for 10.
const TYPING_EVERY: Duration = Duration::from_secs(4);
/// A turn that is quicker than this does not even type.
const TYPING_AFTER: Duration = Duration::from_millis(400);
/// Where there is no room for a draft, it is looked for again after this.
const NO_ROOM: Duration = Duration::from_millis(250);
/// How long the end of a turn waits for a draft that is on its way: it must not arrive after the reply.
const LAST_WAIT: Duration = Duration::from_secs(30);

/// The signs of life of one turn.
pub(super) struct Draft {
    text: watch::Sender<String>,
    tasks: Tasks,
}

impl Draft {
    /// Begins to show that somebody is at work where the turn came from.
    pub(super) fn begin(session: &Arc<Sessions>, origin: &Origin, run: RunId, reply_to: Option<String>) -> Draft {
        let (text, shown) = watch::channel(String::new());
        let draft = Draft { text, tasks: Tasks::new() };
        let Some(conversation) = origin.conversation.clone() else { return draft };
        let Some(channel) = session.voices.of(conversation.kind()).cloned() else { return draft };
        let new = outbox::New {
            topic: origin.topic,
            run: Some(run),
            reply_to,
            ..outbox::New::message(&conversation, Action::Delete { message_id: String::new() })
        };
        let life = Life { session: session.clone(), channel, new, row: None };
        draft.tasks.spawn("signs of life", life.show(shown, draft.tasks.stop_token()));
        draft
    }

    /// The text is this now.
    pub(super) fn set(&self, text: String) {
        self.text.send_replace(text);
    }

    /// The text as it is now.
    pub(super) fn text(&self) -> String {
        self.text.borrow().clone()
    }

    /// More of the text.
    pub(super) fn grow(&self, more: &str) {
        self.text.send_modify(|text| text.push_str(more));
    }

    /// Marks messages as taken in: the turn goes on with them.
    pub(super) fn seen(&self, session: &Sessions, messages: &[Row]) {
        for row in messages {
            let event = &row.event;
            let Some(channel) = session.voices.of(event.conversation.kind()).cloned() else { continue };
            let (conversation, id) = (event.conversation.clone(), event.event_id.clone());
            let stop = self.tasks.stop_token();
            self.tasks.spawn("seen", async move {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => {}
                    () = channel.seen(&conversation, &id) => {}
                }
            });
        }
    }

    /// Shows nothing more. Once this returns, nothing of it is on its way.
    pub(super) async fn end(&self) {
        self.tasks.stop();
        if !self.tasks.wait(LAST_WAIT).await {
            tracing::warn!("a draft is still on its way after {LAST_WAIT:?}; it may show again after the reply");
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        self.tasks.stop();
    }
}

struct Life {
    session: Arc<Sessions>,
    channel: Arc<dyn Channel>,
    new: outbox::New,
    row: Option<Shown>,
}

struct Shown {
    id: OutboxId,
    message_id: Option<String>,
}

impl Life {
    async fn show(mut self, mut text: watch::Receiver<String>, stop: Stop) {
        let clock = self.session.clock;
        let begun = clock.now();
        let mut next_typing = begun + clock::ms(TYPING_AFTER);
        let mut next_draft = begun + clock::ms(FIRST_AFTER);
        let (mut dirty, mut last) = (false, String::new());
        loop {
            let now = clock.now();
            if now >= next_typing {
                next_typing = now + clock::ms(TYPING_EVERY);
                tokio::select! {
                    biased;
                    // A sign of life is dropped where the reply is ready: it must not wait for it.
                    () = stop.cancelled() => return,
                    () = self.channel.typing(&self.new.conversation) => {}
                }
            }
            if dirty && now >= next_draft {
                let visible = self.visible(&text.borrow_and_update());
                dirty = false;
                let Some(wait) = self.try_draft(&visible, &mut last).await else { return };
                next_draft = clock.now() + clock::ms(wait);
                dirty |= visible != last;
            }
            let wake = if dirty { next_draft.min(next_typing) } else { next_typing };
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                changed = text.changed(), if !dirty => match changed {
                    Ok(()) => dirty = true,
                    Err(_) => return,
                },
                () = clock.sleep_until(Some(wake)) => {}
            }
        }
    }

    /// Shows the text if that is new and the platform has room. When to look again; `None`: never.
    async fn try_draft(&mut self, visible: &str, last: &mut String) -> Option<Duration> {
        if visible.trim().is_empty() || visible == last {
            visible.clone_into(last);
            return Some(NO_ROOM);
        }
        if !self.channel.draft_fits(&self.new.conversation) {
            return Some(NO_ROOM);
        }
        match self.draft(visible, self.session.clock.now()).await {
            Ok(()) => {
                visible.clone_into(last);
                Some(self.channel.draft_interval(&self.new.conversation))
            }
            Err(SendError::RateLimited { retry_after, .. }) => Some(retry_after),
            Err(SendError::Transient(why)) => {
                tracing::debug!("a draft could not be shown and is tried again: {why}");
                Some(TYPING_EVERY)
            }
            // Sent or not: a second first message could stand there beside it.
            Err(error) => {
                tracing::debug!("drafts of this turn are not shown any more: {error}");
                None
            }
        }
    }

    /// The text without secrets, and without an end that could be the beginning of one.
    fn visible(&self, text: &str) -> String {
        // What may be the beginning of a secret waits until it is known to be none.
        self.session.office.scrub.clean_unfinished(text)
    }

    async fn draft(&mut self, text: &str, now: Moment) -> Result<(), SendError> {
        let piece = channels::render::draft(self.new.conversation.kind(), text);
        let fault = |error: anyhow::Error| SendError::Transient(format!("{error:#}"));
        let shown = match &mut self.row {
            Some(shown) => shown,
            row => row.insert(first_row(&self.session, &mut self.new, piece.clone(), now).await.map_err(fault)?),
        };
        let action = match &shown.message_id {
            Some(message_id) => Action::Edit { message_id: message_id.clone(), piece },
            None => Action::Send(piece),
        };
        let out = Outbound {
            conversation: self.new.conversation.clone(),
            key: self.session.voices.key(shown.id),
            action,
            reply_to: self.new.reply_to.clone(),
            handle: None,
        };
        drop(self.channel.ready(&self.new.conversation).await);
        let sent = match self.channel.deliver(&out).await {
            Ok(sent) => sent,
            Err(error) => {
                if shown.message_id.is_none() && !matches!(error, SendError::Ambiguous(_)) {
                    // It is certainly not there: the end of the turn need not be in doubt about it.
                    let id = shown.id;
                    self.row = None;
                    let undone =
                        self.session.db.tx("a draft is not shown", async |conn| outbox::not_shown(conn, id).await);
                    undone.await.map_err(fault)?;
                }
                return Err(error);
            }
        };
        if shown.message_id.is_none() {
            let (id, message_id) = (shown.id, sent.message_id.clone());
            let noted = self.session.db.tx("a draft is shown", async |conn| outbox::shown(conn, id, &message_id).await);
            noted.await.map_err(fault)?;
            shown.message_id = Some(sent.message_id);
        }
        Ok(())
    }
}

/// The draft's row: the one that a crash left, or a new one.
async fn first_row(
    session: &Sessions,
    new: &mut outbox::New,
    piece: channels::Piece,
    now: Moment,
) -> anyhow::Result<Shown> {
    new.action = Action::Send(piece);
    session
        .db
        .tx("begin a draft", async |conn| {
            let known = match new.run {
                Some(run) => outbox::draft_of(conn, run).await?,
                None => None,
            };
            let (id, message_id) = match known {
                Some(draft) => (draft.id, draft.message_id),
                None => (outbox::draft(conn, new, now).await?, None),
            };
            outbox::begin(conn, id, now).await?;
            Ok(Shown { id, message_id })
        })
        .await
}
