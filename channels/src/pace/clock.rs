//! Time for governor's limiters: tokio's, so that a test on paused time is exact.

use std::ops::Add;
use std::time::Duration;

use governor::clock::{Clock, Reference};
use governor::nanos::Nanos;
use tokio::time::Instant;

/// tokio's clock as governor wants it.
#[derive(Clone, Copy, Debug)]
pub struct TokioClock;

/// A point on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub(super) Instant);

impl Clock for TokioClock {
    type Instant = Moment;

    fn now(&self) -> Moment {
        Moment(Instant::now())
    }
}

impl Add<Nanos> for Moment {
    type Output = Moment;

    fn add(self, nanos: Nanos) -> Moment {
        Moment(self.0 + Duration::from(nanos))
    }
}

impl Reference for Moment {
    fn duration_since(&self, earlier: Moment) -> Nanos {
        self.0.saturating_duration_since(earlier.0).into()
    }

    fn saturating_sub(&self, nanos: Nanos) -> Moment {
        Moment(self.0.checked_sub(nanos.into()).unwrap_or(self.0))
    }
}
