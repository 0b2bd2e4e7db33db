//! A platform that costs nothing: events come from a queue, replies are told to whoever listens and forgotten.
//!
//! `channels::memory` keeps all it ever saw, which is what tests want and what a measurement of memory and of
//! a thousand messages a second does not.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base::Stop;
use channels::{
    Action, Addressed, Attachment, Content, ConversationId, Cursor, Deliver, Inbound, Intake, Kind, Outbound, Place,
    Receive, ReceiveError, Reply, Report, SendError, Sender, SenderId, Sent, Text,
};
use futures::future::BoxFuture;
use tokio::sync::{Notify, mpsc};

/// How many events are handed over at once, at most: what Telegram's `getUpdates` gives.
const BATCH_MAX: usize = 100;

/// The platform. It plays Telegram: no idempotency key, no reading back.
pub struct Line {
    waiting: Mutex<VecDeque<Inbound>>,
    rings: Notify,
    posts: mpsc::UnboundedSender<Posted>,
    number: AtomicU64,
}

/// A reply as it was posted.
#[derive(Clone, Debug)]
pub struct Posted {
    /// The text on the screen.
    pub text: String,
    /// When.
    pub at: Instant,
}

impl Line {
    /// A platform, and where its replies come out.
    pub fn new() -> (Arc<Line>, mpsc::UnboundedReceiver<Posted>) {
        let (posts, posted) = mpsc::unbounded_channel();
        let line = Line { waiting: Mutex::default(), rings: Notify::new(), posts, number: AtomicU64::new(1) };
        (Arc::new(line), posted)
    }

    /// Somebody says something in a forum topic. In a forum the topic is known without a classifier.
    pub fn say(&self, topic: u64, text: String) {
        let event = event(topic, self.number.fetch_add(1, Ordering::Relaxed), text);
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push_back(event);
        self.rings.notify_one();
    }

    /// Waits until there is something, and takes it out, oldest first.
    pub async fn next(&self) -> Vec<Inbound> {
        loop {
            let batch: Vec<Inbound> = {
                let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                let count = waiting.len().min(BATCH_MAX);
                waiting.drain(..count).collect()
            };
            if !batch.is_empty() {
                return batch;
            }
            self.rings.notified().await;
        }
    }

    /// Posts a reply.
    pub fn post(&self, text: String) -> Sent {
        // At the end of a benchmark nobody listens any more.
        let _ = self.posts.send(Posted { text, at: Instant::now() });
        Sent { message_id: self.number.fetch_add(1, Ordering::Relaxed).to_string() }
    }
}

/// The forum in which all topics are.
const FORUM: &str = "-1001234567890";

/// What somebody said in a topic.
pub fn event(topic: u64, number: u64, text: String) -> Inbound {
    Inbound {
        conversation: ConversationId::new(Kind::Telegram, format_args!("{FORUM}/{topic}")),
        place: Place::Thread { parent: ConversationId::new(Kind::Telegram, FORUM), title: format!("Topic {topic}") },
        event_id: number.to_string(),
        sender: Sender { id: SenderId::new(Kind::Telegram, 7), name: "Ann".to_owned() },
        sent_at_ms: 0,
        addressed: Addressed::Overheard,
        content: Content::Text(Text { text, ..Text::default() }),
    }
}

impl Receive for Line {
    fn kind(&self) -> Kind {
        Kind::Telegram
    }

    fn receive(&self, intake: Arc<dyn Intake>, stop: Stop) -> BoxFuture<'_, Result<(), ReceiveError>> {
        Box::pin(async move {
            intake.report(Kind::Telegram, Report::Connected { name: "line".to_owned() });
            let mut taken = 0_u64;
            loop {
                let events = tokio::select! {
                    biased;
                    () = stop.cancelled() => return Ok(()),
                    events = self.next() => events,
                };
                taken += events.len() as u64;
                let cursor = Cursor { stream: "telegram/updates".to_owned(), value: taken.to_string() };
                intake.take(events, Some(cursor)).await.map_err(|_| ReceiveError::Closed)?;
            }
        })
    }

    fn fetch<'a>(&'a self, _: &'a Attachment, _: &'a Path, _: u64) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async { Err(SendError::Refused("there are no files here".to_owned())) })
    }

    fn check(&self) -> BoxFuture<'_, Result<String, ReceiveError>> {
        Box::pin(async { Ok("line".to_owned()) })
    }
}

impl Reply for Line {
    fn typing<'a>(&'a self, _: &'a ConversationId) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    fn draft_interval(&self, _: &ConversationId) -> Duration {
        Duration::from_secs(1)
    }

    /// Drafts would be replies that nobody asked for here.
    fn draft_fits(&self, _: &ConversationId) -> bool {
        false
    }
}

impl Deliver for Line {
    fn deliver<'a>(&'a self, out: &'a Outbound) -> BoxFuture<'a, Result<Sent, SendError>> {
        Box::pin(async move {
            match &out.action {
                Action::Send(piece) | Action::Edit { piece, .. } => Ok(self.post(piece.plain.clone())),
                Action::Delete { message_id } => Ok(Sent { message_id: message_id.clone() }),
            }
        })
    }

    fn find<'a>(&'a self, _: &'a Outbound, _: i64) -> BoxFuture<'a, Result<Option<Sent>, SendError>> {
        Box::pin(async { Ok(None) })
    }

    fn key_window(&self) -> Duration {
        Duration::ZERO
    }

    fn reads_back(&self) -> bool {
        false
    }
}
