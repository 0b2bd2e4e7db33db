//! A platform in memory: the third adapter, for tests and simulations of a whole hive on virtual time.
//!
//! It opens no socket and has no timer of its own. It plays Discord or Telegram as far as a host can tell them
//! apart: message limits, the idempotency key and its window, reading back. It is the platform AND its people, so
//! it outlives a host that is stopped and started again: what a host did not take is offered to the next one.

mod platform;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::pace::{Pace, Turn};
use crate::{
    Attachment, Closed, ConversationId, Cursor, Deliver, Inbound, Intake, Kind, Outbound, Receive, ReceiveError, Reply,
    Report, Scope, SendError, Sent,
};
use platform::Platform;
pub use platform::{Carried, Delivery, Outcome, Shown};

/// How many events are handed over at once, at most: what Telegram's `getUpdates` gives.
const BATCH_MAX: usize = 100;

/// For how long the memory channel refuses a second message with the same key when it plays Discord, whose
/// documentation says "the past few minutes".
const DISCORD_KEY_WINDOW: Duration = Duration::from_mins(2);

/// A channel whose platform is a model in memory. Shared by `Arc` between the host and the test that drives it.
pub struct Memory {
    kind: Kind,
    pace: Option<Pace>,
    now_ms: Box<dyn Fn() -> i64 + Send + Sync>,
    platform: Mutex<Platform>,
    /// Counts changes: of the queue, of what is shown, of what was tried.
    changes: watch::Sender<u64>,
}

impl Memory {
    /// Plays `kind`. Its clock starts at the wall clock's time and goes on with tokio's, paused or not.
    pub fn new(kind: Kind) -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (start_ms, start) = (since_1970.as_millis() as i64, Instant::now());
        Memory {
            kind,
            pace: None,
            now_ms: Box::new(move || start_ms + start.elapsed().as_millis() as i64),
            platform: Mutex::default(),
            changes: watch::Sender::new(0),
        }
    }

    /// Reads the time, in milliseconds since 1970, from `now_ms` instead: the host's own clock.
    pub fn with_clock(mut self, now_ms: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        self.now_ms = Box::new(now_ms);
        self
    }

    /// Keeps to these rates in [`Deliver::ready`], as the real adapters do. Without, everything goes at once.
    pub fn with_pace(mut self, pace: Pace) -> Self {
        self.pace = Some(pace);
        self
    }

    // What people do.

    /// Something happens on the platform. It waits here until a host has taken it, together with the cursor.
    pub fn inject(&self, event: Inbound, cursor: Option<Cursor>) {
        self.change(|platform| platform.incoming.push_back((event, cursor)));
    }

    /// Puts a file where [`Receive::fetch`] finds it by its reference.
    pub fn attach(&self, reference: &str, bytes: impl Into<Vec<u8>>) {
        self.change(|platform| platform.files.insert(reference.to_owned(), bytes.into()));
    }

    /// The conversation is deleted: what is sent there is [`crate::Gone::Conversation`] from now on.
    pub fn remove(&self, conversation: &ConversationId) {
        self.change(|platform| platform.removed.insert(conversation.clone()));
    }

    // What goes wrong. Faults are used up in the order in which they were scripted.

    /// The next delivery, anywhere, fails with this and is not carried out.
    pub fn fail_next(&self, error: SendError) {
        self.change(|platform| platform.script(None, Some(error), Carried::NotOut));
    }

    /// The next delivery in this conversation fails with this and is not carried out. Others are not touched.
    pub fn fail_next_in(&self, conversation: &ConversationId, error: SendError) {
        self.change(|platform| platform.script(Some(conversation.clone()), Some(error), Carried::NotOut));
    }

    /// The answer to the next delivery in this conversation is lost: the host sees [`SendError::Ambiguous`].
    pub fn lose_next_answer_in(&self, conversation: &ConversationId, carried: Carried) {
        let lost = SendError::Ambiguous("the connection closed before the answer".to_owned());
        self.change(|platform| platform.script(Some(conversation.clone()), Some(lost), carried));
    }

    /// The next delivery in this conversation never ends: the host gives up, or is killed, in the middle of it.
    pub fn hang_next_in(&self, conversation: &ConversationId, carried: Carried) {
        self.change(|platform| platform.script(Some(conversation.clone()), None, carried));
    }

    // What can be seen.

    /// Every delivery that was tried, in order, with what came of it.
    pub fn outbox(&self) -> Vec<Delivery> {
        self.platform().tried.clone()
    }

    /// The bot's messages that people see in this conversation now, oldest first.
    pub fn shown(&self, conversation: &ConversationId) -> Vec<Shown> {
        self.platform().shown_in(conversation)
    }

    /// Every conversation that the bot ever posted to, sorted.
    pub fn conversations(&self) -> Vec<ConversationId> {
        self.platform().posted.keys().cloned().collect()
    }

    /// Each time that the bot was seen typing, in order.
    pub fn typed(&self) -> Vec<ConversationId> {
        self.platform().typed.clone()
    }

    /// What the channel reported to its host, in order.
    pub fn reports(&self) -> Vec<Report> {
        self.platform().reports.clone()
    }

    /// Events that no host has taken yet.
    pub fn untaken(&self) -> usize {
        self.platform().incoming.len()
    }

    /// Waits until `seen` is true of this channel; looks again at every change. Give it a limit of your own.
    pub async fn until(&self, seen: impl Fn(&Memory) -> bool) {
        let mut changes = self.changes.subscribe();
        while !seen(self) {
            changes.changed().await.expect("the sender lives in self");
        }
    }

    fn platform(&self) -> MutexGuard<'_, Platform> {
        self.platform.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Platform) -> T) -> T {
        let result = change(&mut self.platform());
        self.changes.send_modify(|count| *count += 1);
        result
    }

    /// Hands over what waits, oldest first; what was not taken stays where it is.
    async fn hand_over(&self, intake: &dyn Intake) -> Result<(), Closed> {
        loop {
            let (events, cursor) = self.platform().batch(BATCH_MAX);
            let count = events.len();
            if count == 0 {
                return Ok(());
            }
            intake.take(events, cursor).await?;
            self.change(|platform| drop(platform.incoming.drain(..count)));
        }
    }
}

impl Receive for Memory {
    fn kind(&self) -> Kind {
        self.kind
    }

    /// Ends with [`ReceiveError::Closed`] as soon as the host takes no more. The events that it did not take are
    /// the first ones at the next call. One host at a time: two would both get what neither has taken.
    fn receive(&self, intake: Arc<dyn Intake>, stop: CancellationToken) -> BoxFuture<'_, Result<(), ReceiveError>> {
        async move {
            let connected = Report::Connected { name: self.name() };
            intake.report(self.kind, connected.clone());
            self.change(|platform| platform.reports.push(connected));
            let mut changes = self.changes.subscribe();
            loop {
                changes.mark_unchanged();
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return Ok(()),
                    taken = self.hand_over(&*intake) => taken.map_err(|Closed| ReceiveError::Closed)?,
                }
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return Ok(()),
                    changed = changes.changed() => changed.expect("the sender lives in self"),
                }
            }
        }
        .boxed()
    }

    fn fetch<'a>(
        &'a self,
        attachment: &'a Attachment,
        to: &'a Path,
        size_max_bytes: u64,
    ) -> BoxFuture<'a, Result<(), SendError>> {
        async move {
            let Some(bytes) = self.platform().files.get(&attachment.reference).cloned() else {
                return Err(SendError::Refused(format!("there is no file `{}`", attachment.reference)));
            };
            if bytes.len() as u64 > size_max_bytes {
                return Err(SendError::Refused(format!("{} bytes are more than {size_max_bytes}", bytes.len())));
            }
            tokio::fs::write(to, bytes).await.map_err(|error| SendError::Transient(format!("write the file: {error}")))
        }
        .boxed()
    }

    fn check(&self) -> BoxFuture<'_, Result<String, ReceiveError>> {
        async { Ok(self.name()) }.boxed()
    }
}

impl Memory {
    fn name(&self) -> String {
        format!("memory-{}", self.kind)
    }
}

impl Reply for Memory {
    fn typing<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, ()> {
        async { self.change(|platform| platform.typed.push(conversation.clone())) }.boxed()
    }

    /// One second: what Telegram documents for a private chat, and what five in five seconds come to on Discord.
    fn draft_interval(&self, _: &ConversationId) -> Duration {
        Duration::from_secs(1)
    }

    fn draft_fits(&self, conversation: &ConversationId) -> bool {
        self.pace.as_ref().is_none_or(|pace| pace.idle(conversation))
    }
}

impl Deliver for Memory {
    fn ready<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Turn> {
        async move {
            match &self.pace {
                Some(pace) => pace.ready(conversation).await,
                None => Turn::default(),
            }
        }
        .boxed()
    }

    fn deliver<'a>(&'a self, out: &'a Outbound) -> BoxFuture<'a, Result<Sent, SendError>> {
        async move {
            let now_ms = (self.now_ms)();
            let key_window = self.key_window();
            let outcome = self.change(|platform| platform.deliver(self.kind, out, now_ms, key_window));
            match outcome {
                Outcome::Done(sent) => Ok(sent),
                Outcome::Hung => std::future::pending().await,
                Outcome::Failed(error) => {
                    if let (Some(pace), SendError::RateLimited { retry_after, scope }) = (&self.pace, &error) {
                        pace.freeze((*scope == Scope::Conversation).then_some(&out.conversation), *retry_after);
                    }
                    Err(error)
                }
            }
        }
        .boxed()
    }

    fn find<'a>(&'a self, out: &'a Outbound, since_ms: i64) -> BoxFuture<'a, Result<Option<Sent>, SendError>> {
        async move { if self.reads_back() { self.platform().find(out, since_ms) } else { Ok(None) } }.boxed()
    }

    /// Two minutes when it plays Discord, otherwise none.
    fn key_window(&self) -> Duration {
        if self.kind == Kind::Discord { DISCORD_KEY_WINDOW } else { Duration::ZERO }
    }

    /// Only Discord lets a bot read back.
    fn reads_back(&self) -> bool {
        self.kind == Kind::Discord
    }
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memory").field("kind", &self.kind).finish_non_exhaustive()
    }
}
