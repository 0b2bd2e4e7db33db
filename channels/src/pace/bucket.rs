//! One rate limit: governor's algorithm on tokio's clock, with a look that takes nothing.

use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::StateStore;
use governor::{Quota, RateLimiter};
use tokio::time::Instant;

use super::{Moment, Rate, TokioClock};

/// The longest `every` that is counted, and far beyond any platform's: keeps governor's arithmetic in range.
const EVERY_MAX: Duration = Duration::from_hours(24);

/// The largest `burst` that is counted, for the same reason.
const BURST_MAX: u32 = 10_000;

/// Requests that may go now. Time is tokio's, so that a test on paused time is exact.
pub(super) struct Bucket {
    limiter: RateLimiter<Step, Level, TokioClock, NoOpMiddleware<Moment>>,
    burst: NonZeroU32,
}

impl Bucket {
    /// A full bucket.
    pub(super) fn new(rate: Rate) -> Self {
        let burst = NonZeroU32::new(rate.burst.min(BURST_MAX)).unwrap_or(NonZeroU32::MIN);
        let every = rate.every.clamp(Duration::from_nanos(1), EVERY_MAX);
        let quota = Quota::with_period(every).expect("`every` is not zero: it was clamped").allow_burst(burst);
        Bucket { limiter: RateLimiter::new(quota, Level::default(), TokioClock), burst }
    }

    /// When the next request may go; `None` means now. Takes nothing.
    pub(super) fn free_at(&self) -> Option<Instant> {
        self.limiter.check_key(&Step::Look).err().map(|not_until| not_until.earliest_possible().0)
    }

    /// Takes one if one is free, and tells whether it was.
    pub(super) fn take(&self) -> bool {
        self.limiter.check_key(&Step::Take).is_ok()
    }

    /// Nothing was taken lately: a new bucket would behave the same.
    pub(super) fn is_full(&self) -> bool {
        matches!(self.limiter.check_key_n(&Step::Look, self.burst), Ok(Ok(())))
    }
}

/// What a check does with its result. Given to governor as the key, because it hands that to the store.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Step {
    /// Keeps it.
    Take,
    /// Forgets it.
    Look,
}

/// The fill level, in governor's words the theoretical arrival time of the next request.
#[derive(Default)]
struct Level(Mutex<Option<Nanos>>);

impl StateStore for Level {
    type Key = Step;

    fn measure_and_replace<T, F, E>(&self, step: &Step, measure: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        // A panic cannot leave a number half written, so a poisoned lock is as good as any.
        let mut level = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (outcome, next) = measure(*level)?;
        if *step == Step::Take {
            *level = Some(next);
        }
        Ok(outcome)
    }
}
