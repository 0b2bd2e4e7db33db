//! The platforms' rates, kept by us: per conversation and overall.

mod bucket;
mod clock;
#[cfg(test)]
mod tests;
mod window;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::ConversationId;
use bucket::Bucket;
pub use clock::{Moment, TokioClock};
pub use window::Turn;
use window::Window;

/// At most `burst` at once, and one more each `every`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many may go without waiting. Zero counts as one.
    pub burst: u32,
    /// How long one takes to be free again.
    pub every: Duration,
}

impl Rate {
    /// The fastest rate with this `burst` that lets at most `limit` requests through in ANY stretch of `window`,
    /// wherever it begins.
    ///
    /// "5 in 5 s" is not `burst` 5 and one each second: that lets 9 through in the first 5 s. After a burst, the
    /// rest of the window has room for `limit - burst` more. A small burst gives the highest steady rate, a large
    /// one the quickest answer in several pieces.
    pub const fn within(limit: u32, window: Duration, burst: u32) -> Rate {
        let limit = if limit == 0 { 1 } else { limit };
        let burst = if burst == 0 {
            1
        } else if burst > limit {
            limit
        } else {
            burst
        };
        let every = window.as_nanos().div_ceil((limit - burst + 1) as u128);
        let every = if every > u64::MAX as u128 { u64::MAX } else { every as u64 };
        Rate { burst, every: Duration::from_nanos(every) }
    }
}

/// At most `most` requests in ANY stretch of `within`, wherever it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// How many. Zero counts as one.
    pub most: usize,
    /// The length of the stretch.
    pub within: Duration,
}

/// Keeps one bot's requests within its platform's rates.
///
/// Invariants: a request has its place in its conversation's rate and in the bot's from the same instant on, the one
/// at which [`Pace::ready`] returns, so neither rate can be exceeded by time spent waiting for the other; in the bot's
/// it is counted when its [`Turn`] is dropped; requests of one conversation go in the order in which they asked;
/// conversations whose turn has come go in the order in which it came; a wait that is dropped leaves no trace; a
/// conversation that is at rest costs no memory for long.
pub struct Pace {
    overall: Gate<Arc<Window>>,
    rate_of: fn(&ConversationId) -> Rate,
    lanes: Mutex<Lanes>,
}

/// The conversations that were used lately.
struct Lanes {
    by_conversation: HashMap<ConversationId, Arc<Gate<Bucket>>>,
    /// At this many the ones at rest are dropped.
    sweep_at: usize,
}

/// The smallest number of conversations worth a sweep.
const SWEEP_MIN: usize = 64;

impl Pace {
    /// `overall` for everything the bot sends, `rate_of` for each conversation by its id.
    pub fn new(overall: Limit, rate_of: fn(&ConversationId) -> Rate) -> Self {
        let lanes = Lanes { by_conversation: HashMap::new(), sweep_at: SWEEP_MIN };
        Pace { overall: Gate::new(Window::new(overall)), rate_of, lanes: Mutex::new(lanes) }
    }

    /// Waits for this conversation's turn, then for the bot's. Conversations do not wait for each other.
    ///
    /// May be dropped at any time: what was not granted was not charged.
    pub async fn ready(&self, conversation: &ConversationId) -> Turn {
        let lane = self.lane(conversation);
        // Both locks are fair and are held by whoever is next, so a thousand waiters cost one wake-up each.
        let own = lane.turn.lock().await;
        loop {
            lane.open(&own).await;
            let all = self.overall.turn.lock().await;
            self.overall.open(&all).await;
            // A freeze may have come while this waited for the bot's turn: then that turn goes to another.
            if lane.free_at(&own).is_none()
                && let Some(turn) = all.take()
            {
                let taken = own.take();
                debug_assert!(taken, "it was free, and its turn is ours");
                return turn;
            }
        }
    }

    /// Nothing of this conversation waits here, nothing is frozen, and a request would go at once: a draft would
    /// delay nobody.
    pub fn idle(&self, conversation: &ConversationId) -> bool {
        // Under the lock, so that a lane nobody waits in is held by the map alone.
        let lanes = self.lanes();
        let lane_free =
            lanes.by_conversation.get(conversation).is_none_or(|lane| Arc::strong_count(lane) == 1 && lane.is_free());
        lane_free && self.overall.is_free()
    }

    /// The platform said to wait: holds one conversation, or with `None` everything. Never shortens a longer hold.
    pub fn freeze(&self, conversation: Option<&ConversationId>, wait: Duration) {
        match conversation {
            Some(conversation) => self.lane(conversation).hold(wait),
            None => self.overall.hold(wait),
        }
    }

    /// The conversation's lane, made if need be. Clones of the `Arc` are only made here, under the lock.
    fn lane(&self, conversation: &ConversationId) -> Arc<Gate<Bucket>> {
        let mut lanes = self.lanes();
        if let Some(lane) = lanes.by_conversation.get(conversation) {
            return Arc::clone(lane);
        }
        if lanes.by_conversation.len() >= lanes.sweep_at {
            lanes.by_conversation.retain(|_, lane| Arc::strong_count(lane) > 1 || !lane.is_at_rest());
            lanes.by_conversation.shrink_to(SWEEP_MIN);
            // Doubling keeps the cost of sweeping constant per new conversation.
            lanes.sweep_at = SWEEP_MIN.max(lanes.by_conversation.len() * 2);
        }
        let lane = Arc::new(Gate::new(Bucket::new((self.rate_of)(conversation))));
        lanes.by_conversation.insert(conversation.clone(), Arc::clone(&lane));
        lane
    }

    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Pace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pace").field("conversations", &self.lanes().by_conversation.len()).finish_non_exhaustive()
    }
}

/// What counts requests.
trait Meter {
    /// When the next request may go; `None` means now. Takes nothing.
    fn free_at(&self) -> Option<Instant>;
    /// Nothing was taken lately: a new one would behave the same.
    fn is_at_rest(&self) -> bool;
}

impl Meter for Bucket {
    fn free_at(&self) -> Option<Instant> {
        self.free_at()
    }

    fn is_at_rest(&self) -> bool {
        self.is_full()
    }
}

impl Meter for Arc<Window> {
    fn free_at(&self) -> Option<Instant> {
        self.as_ref().free_at()
    }

    fn is_at_rest(&self) -> bool {
        self.as_ref().is_at_rest()
    }
}

/// One rate with its queue and its hold.
struct Gate<M> {
    /// Held by the first in the queue. tokio's lock is fair: first come, first served.
    turn: tokio::sync::Mutex<M>,
    /// Nothing goes before this. Apart from `turn`, so that a hold need not queue.
    held_until: Mutex<Option<Instant>>,
}

impl<M: Meter> Gate<M> {
    fn new(meter: M) -> Self {
        Gate { turn: tokio::sync::Mutex::new(meter), held_until: Mutex::new(None) }
    }

    /// Waits until a request may go. A hold that comes meanwhile is waited out too.
    async fn open(&self, meter: &M) {
        while let Some(at) = self.free_at(meter) {
            sleep_until(at).await;
        }
    }

    /// When the next request may go; `None` means now.
    fn free_at(&self, meter: &M) -> Option<Instant> {
        self.held().max(meter.free_at())
    }

    /// Nobody is in the queue and a request may go now.
    fn is_free(&self) -> bool {
        self.turn.try_lock().is_ok_and(|meter| self.free_at(&meter).is_none())
    }

    /// A new gate would behave the same.
    fn is_at_rest(&self) -> bool {
        self.held().is_none() && self.turn.try_lock().is_ok_and(|meter| meter.is_at_rest())
    }

    fn hold(&self, wait: Duration) {
        let now = Instant::now();
        // A platform may say any number; one that overflows the clock means "not in this process's life".
        let until = now.checked_add(wait).unwrap_or(now + Duration::from_hours(24 * 365));
        let mut held = self.held_until.lock().unwrap_or_else(PoisonError::into_inner);
        *held = (*held).max(Some(until));
    }

    /// The end of the hold, if it is still to come.
    fn held(&self) -> Option<Instant> {
        let held = *self.held_until.lock().unwrap_or_else(PoisonError::into_inner);
        held.filter(|until| *until > Instant::now())
    }
}
