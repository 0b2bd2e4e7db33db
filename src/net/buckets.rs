//! Token buckets: how often a team may ask what it asks under one key.
//!
//! A bucket belongs to a team and a key and lives as long as the process: a session that ends and another that begins
//! draw from the same one.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base::TeamName;
use channels::pace::{Moment, TokioClock};
use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use serde::Deserialize;

/// The slowest refill that is counted, one request in a week, and the fastest, one in a microsecond: a full bucket of
/// the largest burst has to fit governor's arithmetic, 64 bits of nanoseconds.
const EVERY_MAX: Duration = Duration::from_hours(7 * 24);
const EVERY_MIN: Duration = Duration::from_micros(1);

/// The largest burst that is counted.
const BURST_MAX: u32 = 10_000;

/// How a bucket fills.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BucketRule {
    /// How many requests a second come in, all day: more than zero, and parts of one are fine.
    pub rps: f64,
    /// How many it holds when nothing was asked for long, at least one. It begins full.
    pub burst: u32,
}

impl BucketRule {
    /// Whether this is a rule.
    ///
    /// # Errors
    /// Says which number is none.
    pub fn check(&self) -> Result<(), String> {
        if !(self.rps.is_finite() && self.rps > 0.0) {
            return Err(format!("rps is {}: it must be more than 0", self.rps));
        }
        if !(1..=BURST_MAX).contains(&self.burst) {
            return Err(format!("burst is {}: it must be from 1 to {BURST_MAX}", self.burst));
        }
        Ok(())
    }

    /// The time in which one request comes in.
    fn every(&self) -> Duration {
        let seconds = if self.rps > 0.0 { self.rps.recip() } else { f64::INFINITY };
        Duration::try_from_secs_f64(seconds).unwrap_or(EVERY_MAX).clamp(EVERY_MIN, EVERY_MAX)
    }
}

/// All buckets of a process. Clones are the same ones.
#[derive(Clone, Default)]
pub struct Buckets(Arc<Mutex<HashMap<(TeamName, String), Bucket>>>);

type Limiter = RateLimiter<NotKeyed, InMemoryState, TokioClock, NoOpMiddleware<Moment>>;

struct Bucket {
    rule: BucketRule,
    limiter: Limiter,
}

impl Buckets {
    /// Takes one request of `team` under `key`, whose rule is `rule`. A rule that is not the one from before begins
    /// with a full bucket.
    ///
    /// # Errors
    /// If the bucket is empty: how long until there is one. Nothing was taken then.
    pub fn take(&self, team: &TeamName, key: &str, rule: BucketRule) -> Result<(), Duration> {
        // A panic cannot leave a bucket half taken from, so a poisoned lock is as good as any.
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = buckets.entry((team.clone(), key.to_owned())).or_insert_with(|| Bucket::new(rule));
        if bucket.rule != rule {
            *bucket = Bucket::new(rule);
        }
        let now = TokioClock.now();
        bucket.limiter.check().map_err(|not_until| not_until.wait_time_from(now))
    }

    /// Forgets the buckets of a team that is gone.
    pub fn forget(&self, team: &TeamName) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|(of, _), _| of != team);
    }
}

impl Bucket {
    fn new(rule: BucketRule) -> Bucket {
        let burst = NonZeroU32::new(rule.burst.min(BURST_MAX)).unwrap_or(NonZeroU32::MIN);
        let quota = Quota::with_period(rule.every()).expect("the period is not zero: it was clamped");
        Bucket { rule, limiter: RateLimiter::direct_with_clock(quota.allow_burst(burst), TokioClock) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn team(name: &str) -> TeamName {
        name.parse::<TeamName>().unwrap()
    }

    const RULE: BucketRule = BucketRule { rps: 0.5, burst: 2 };

    #[tokio::test(start_paused = true)]
    async fn a_bucket_begins_full_and_fills_again() {
        let buckets = Buckets::default();
        let ops = team("ops");
        let take = || buckets.take(&ops, "news", RULE);
        assert_eq!((take(), take()), (Ok(()), Ok(())));
        assert_eq!(take(), Err(Duration::from_secs(2)));
        tokio::time::advance(Duration::from_millis(1_500)).await;
        assert_eq!(take(), Err(Duration::from_millis(500)));
        tokio::time::advance(Duration::from_millis(500)).await;
        assert_eq!(take(), Ok(()));
        assert!(take().is_err());
        tokio::time::advance(Duration::from_hours(1)).await;
        assert_eq!((take(), take(), take().is_err()), (Ok(()), Ok(()), true), "it holds no more than its burst");
    }

    #[tokio::test(start_paused = true)]
    async fn teams_and_keys_do_not_share_and_clones_do() {
        let rule = BucketRule { rps: 1.0, burst: 1 };
        let buckets = Buckets::default();
        assert!(buckets.take(&team("ops"), "a", rule).is_ok());
        assert!(buckets.clone().take(&team("ops"), "a", rule).is_err());
        assert!(buckets.take(&team("ops"), "b", rule).is_ok());
        assert!(buckets.take(&team("docs"), "a", rule).is_ok());
        buckets.forget(&team("ops"));
        assert!(buckets.take(&team("ops"), "a", rule).is_ok());
        assert!(buckets.take(&team("docs"), "a", rule).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn another_rule_is_another_bucket() {
        let buckets = Buckets::default();
        let rule = BucketRule { rps: 1.0, burst: 1 };
        assert!(buckets.take(&team("ops"), "a", rule).is_ok());
        assert!(buckets.take(&team("ops"), "a", BucketRule { burst: 2, ..rule }).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn numbers_that_are_none_throttle_and_do_not_break() {
        for rps in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300, 1e-300] {
            for burst in [0, 1, u32::MAX] {
                let rule = BucketRule { rps, burst };
                assert!(Buckets::default().take(&team("ops"), "a", rule).is_ok(), "{rule:?}");
                assert!(rule.check().is_err() || (burst == 1 && rps.is_finite() && rps > 0.0), "{rule:?}");
            }
        }
        assert_eq!(RULE.check(), Ok(()));
    }
}
