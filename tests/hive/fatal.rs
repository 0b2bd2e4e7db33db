//! A platform at whose side the process dies: after it has carried a request out, and before anybody hears of it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base::Clock;
use channels::memory::Memory;
use channels::{
    Attachment, ConversationId, Deliver, Intake, Kind, Outbound, Receive, ReceiveError, Reply, SendError, Sent, Turn,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::watch;

/// When a process dies of a delivery; shared by all platforms of a world.
#[derive(Clone, Default)]
pub struct Fate(Arc<State>);

#[derive(Default)]
struct State {
    /// Deliveries until then; 0: it does not.
    left: AtomicU64,
    has_come: watch::Sender<bool>,
}

impl Fate {
    /// The process dies of that delivery, counted from 1.
    pub fn after(&self, deliveries: u64) {
        self.0.left.store(deliveries, Ordering::Relaxed);
    }

    /// Whether it is to die now.
    pub fn has_come(&self) -> bool {
        *self.0.has_come.borrow()
    }

    /// Waits for that.
    pub async fn comes(&self) {
        // The sender lives in self.
        let _ = self.0.has_come.subscribe().wait_for(|has_come| *has_come).await;
    }

    /// It has died; the next one lives.
    pub fn is_over(&self) {
        self.0.has_come.send_replace(false);
    }

    /// Counts a delivery. Whether it was the last.
    fn counts(&self) -> bool {
        let left = self.0.left.load(Ordering::Relaxed);
        self.0.left.store(left.saturating_sub(1), Ordering::Relaxed);
        if left == 1 {
            self.0.has_come.send_replace(true);
        }
        left == 1
    }
}

/// What the reference of a file ends in that takes long to fetch.
pub const SLOW: &str = "/slow";
/// How long.
const SLOW_FETCH: Duration = Duration::from_secs(10);

/// A platform in memory, with a fate.
pub struct Fatal {
    /// The time of the process.
    pub clock: Clock,
    /// The platform.
    pub memory: Arc<Memory>,
    /// When its host dies.
    pub fate: Fate,
}

impl Receive for Fatal {
    fn kind(&self) -> Kind {
        self.memory.kind()
    }
    fn receive(&self, intake: Arc<dyn Intake>, stop: base::Stop) -> BoxFuture<'_, Result<(), ReceiveError>> {
        self.memory.receive(intake, stop)
    }
    fn fetch<'a>(
        &'a self,
        attachment: &'a Attachment,
        to: &'a Path,
        size_max_bytes: u64,
    ) -> BoxFuture<'a, Result<(), SendError>> {
        async move {
            if attachment.reference.ends_with(SLOW) {
                self.clock.sleep(SLOW_FETCH).await;
            }
            self.memory.fetch(attachment, to, size_max_bytes).await
        }
        .boxed()
    }
    fn check(&self) -> BoxFuture<'_, Result<String, ReceiveError>> {
        self.memory.check()
    }
}

impl Reply for Fatal {
    fn typing<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, ()> {
        self.memory.typing(conversation)
    }
    fn draft_interval(&self, conversation: &ConversationId) -> Duration {
        self.memory.draft_interval(conversation)
    }
    fn draft_fits(&self, conversation: &ConversationId) -> bool {
        self.memory.draft_fits(conversation)
    }
}

impl Deliver for Fatal {
    fn ready<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Turn> {
        self.memory.ready(conversation)
    }
    fn deliver<'a>(&'a self, out: &'a Outbound) -> BoxFuture<'a, Result<Sent, SendError>> {
        async move {
            let answer = self.memory.deliver(out).await;
            // A fault that was scripted is to be heard of.
            if answer.is_ok() && self.fate.counts() {
                return std::future::pending().await;
            }
            answer
        }
        .boxed()
    }
    fn find<'a>(&'a self, out: &'a Outbound, since_ms: i64) -> BoxFuture<'a, Result<Option<Sent>, SendError>> {
        self.memory.find(out, since_ms)
    }
    fn key_window(&self) -> Duration {
        self.memory.key_window()
    }
    fn reads_back(&self) -> bool {
        self.memory.reads_back()
    }
}
