//! Discord's rate limits as they are documented and as its answers show them.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Of one bucket: 5 requests in 5 seconds from the first.
const BUCKET: (u32, Duration) = (5, Duration::from_secs(5));
/// Of one bot: 50 requests in a second
/// (<https://discord.com/developers/docs/topics/rate-limits#global-rate-limit>).
const GLOBAL: (u32, Duration) = (50, Duration::from_secs(1));

/// What a bucket says to one request; what answers carry in their headers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Standing {
    pub limit: u32,
    pub remaining: u32,
    pub reset_after: Duration,
}

/// Too many: how long to wait, and whether everything must.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TooMany {
    pub retry_after: Duration,
    pub global: bool,
}

#[derive(Debug)]
struct Window {
    began: Instant,
    count: u32,
}

/// Windows by bucket: what is done, and where.
#[derive(Debug, Default)]
pub(super) struct Limits {
    buckets: HashMap<(&'static str, u64), Window>,
    global: Option<Window>,
}

impl Limits {
    /// Counts one request.
    pub(super) fn count(&mut self, what: &'static str, place: u64, now: Instant) -> Result<Standing, TooMany> {
        let global = self.global.get_or_insert(Window { began: now, count: 0 });
        if let Err(retry_after) = global.count(GLOBAL, now) {
            return Err(TooMany { retry_after, global: true });
        }
        let bucket = self.buckets.entry((what, place)).or_insert(Window { began: now, count: 0 });
        bucket.count(BUCKET, now).map_err(|retry_after| TooMany { retry_after, global: false })?;
        let reset_after = (bucket.began + BUCKET.1).saturating_duration_since(now);
        Ok(Standing { limit: BUCKET.0, remaining: BUCKET.0 - bucket.count, reset_after })
    }
}

impl Window {
    fn count(&mut self, (most, length): (u32, Duration), now: Instant) -> Result<(), Duration> {
        if now >= self.began + length {
            *self = Window { began: now, count: 0 };
        }
        if self.count >= most {
            return Err(self.began + length - now);
        }
        self.count += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sixth_message_of_a_channel_waits_for_the_window_and_no_other_channel_does() {
        let (mut limits, start) = (Limits::default(), Instant::now());
        for n in 0..5u32 {
            let standing = limits.count("send", 1, start).expect("within");
            assert_eq!((standing.limit, standing.remaining), (5, 4 - n));
        }
        let late = start + Duration::from_secs(3);
        let wait = TooMany { retry_after: Duration::from_secs(2), global: false };
        assert_eq!(limits.count("send", 1, late), Err(wait));
        assert!(limits.count("send", 2, late).is_ok());
        assert!(limits.count("edit", 1, late).is_ok());
        assert!(limits.count("send", 1, start + Duration::from_secs(5)).is_ok());
    }

    #[test]
    fn the_fifty_first_request_of_a_second_waits_wherever_it_goes() {
        let (mut limits, start) = (Limits::default(), Instant::now());
        for n in 0..50 {
            assert!(limits.count("send", n, start).is_ok());
        }
        assert_eq!(limits.count("send", 99, start).map_err(|many| many.global), Err(true));
        assert!(limits.count("send", 99, start + Duration::from_secs(1)).is_ok());
    }
}
