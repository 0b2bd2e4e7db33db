//! The platforms' rates, kept by us: per conversation and overall.

mod bucket;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::ConversationId;
use bucket::Bucket;

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
    /// one the quickest answer in several pieces. For a whole bot take 2: with 1, a timer that fires a little late
    /// loses that time for good.
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

/// Keeps one bot's requests within its platform's rates.
///
/// Invariants: a request is charged to its conversation and to the bot at the same instant, the one at which
/// [`Pace::ready`] returns, so neither rate can be exceeded by time spent waiting for the other; requests of one
/// conversation go in the order in which they asked; conversations whose turn has come go in the order in which it
/// came; a wait that is dropped leaves no trace; a conversation that is at rest costs no memory for long.
pub struct Pace {
    overall: Gate,
    rate_of: fn(&ConversationId) -> Rate,
    lanes: Mutex<Lanes>,
}

/// The conversations that were used lately.
struct Lanes {
    by_conversation: HashMap<ConversationId, Arc<Gate>>,
    /// At this many the ones at rest are dropped.
    sweep_at: usize,
}

/// The smallest number of conversations worth a sweep.
const SWEEP_MIN: usize = 64;

impl Pace {
    /// `overall` for everything the bot sends, `rate_of` for each conversation by its id.
    pub fn new(overall: Rate, rate_of: fn(&ConversationId) -> Rate) -> Self {
        let lanes = Lanes { by_conversation: HashMap::new(), sweep_at: SWEEP_MIN };
        Pace { overall: Gate::new(overall), rate_of, lanes: Mutex::new(lanes) }
    }

    /// Waits for this conversation's turn, then for the bot's. Conversations do not wait for each other.
    ///
    /// May be dropped at any time: what was not granted was not charged.
    pub async fn ready(&self, conversation: &ConversationId) {
        let lane = self.lane(conversation);
        // Both locks are fair and are held by whoever is next, so a thousand waiters cost one wake-up each.
        let own = lane.turn.lock().await;
        loop {
            lane.open(&own).await;
            let all = self.overall.turn.lock().await;
            self.overall.open(&all).await;
            // A freeze may have come while this waited for the bot's turn: then that turn goes to another.
            if lane.free_at(&own).is_none() {
                let taken = own.take() && all.take();
                debug_assert!(taken, "both were free, and both turns are ours");
                return;
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
    fn lane(&self, conversation: &ConversationId) -> Arc<Gate> {
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
        let lane = Arc::new(Gate::new((self.rate_of)(conversation)));
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

/// One rate with its queue and its hold.
struct Gate {
    /// Held by the first in the queue. tokio's lock is fair: first come, first served.
    turn: tokio::sync::Mutex<Bucket>,
    /// Nothing goes before this. Apart from `turn`, so that a hold need not queue.
    held_until: Mutex<Option<Instant>>,
}

impl Gate {
    fn new(rate: Rate) -> Self {
        Gate { turn: tokio::sync::Mutex::new(Bucket::new(rate)), held_until: Mutex::new(None) }
    }

    /// Waits until a request may go. A hold that comes meanwhile is waited out too.
    async fn open(&self, bucket: &Bucket) {
        while let Some(at) = self.free_at(bucket) {
            sleep_until(at).await;
        }
    }

    /// When the next request may go; `None` means now.
    fn free_at(&self, bucket: &Bucket) -> Option<Instant> {
        self.held().max(bucket.free_at())
    }

    /// Nobody is in the queue and a request may go now.
    fn is_free(&self) -> bool {
        self.turn.try_lock().is_ok_and(|bucket| self.free_at(&bucket).is_none())
    }

    /// A new gate would behave the same.
    fn is_at_rest(&self) -> bool {
        self.held().is_none() && self.turn.try_lock().is_ok_and(|bucket| bucket.is_full())
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
