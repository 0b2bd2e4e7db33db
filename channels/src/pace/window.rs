//! The rate of a whole bot: at most so many requests in any stretch of time, counted when they go.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::Limit;

/// How soon to look again where every place is promised: between the promise and the request lies one small write.
const SOON: Duration = Duration::from_millis(5);

/// The requests of the last stretch, and the places in it that are promised.
#[derive(Debug)]
pub(super) struct Window {
    limit: Limit,
    log: Mutex<Log>,
}

#[derive(Debug, Default)]
struct Log {
    /// When the latest requests went, at most `limit.most` of them.
    went: VecDeque<Instant>,
    /// Requests that may go and have not gone.
    promised: usize,
}

impl Window {
    pub(super) fn new(limit: Limit) -> Arc<Window> {
        Arc::new(Window { limit: Limit { most: limit.most.max(1), ..limit }, log: Mutex::default() })
    }

    /// When the next request may go; `None` means now. Takes nothing.
    pub(super) fn free_at(&self) -> Option<Instant> {
        let (log, now) = (self.log(), Instant::now());
        let Some(room) = self.limit.most.checked_sub(log.promised).filter(|room| *room > 0) else {
            return Some(now + SOON);
        };
        // With the last `room` of them still within the stretch there is no place for one more.
        let oldest = log.went.len().checked_sub(room).map(|at| log.went[at] + self.limit.within);
        oldest.filter(|free| *free > now)
    }

    /// Promises a place if one is free.
    pub(super) fn take(self: &Arc<Self>) -> Option<Turn> {
        if self.free_at().is_some() {
            return None;
        }
        self.log().promised += 1;
        Some(Turn(Some(self.clone())))
    }

    /// Nothing went lately: a new window would behave the same.
    pub(super) fn is_at_rest(&self) -> bool {
        let log = self.log();
        log.promised == 0 && log.went.back().is_none_or(|last| *last + self.limit.within <= Instant::now())
    }

    fn went(&self) {
        let mut log = self.log();
        log.promised -= 1;
        log.went.push_back(Instant::now());
        if log.went.len() > self.limit.most {
            log.went.pop_front();
        }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to one request. It is counted at the moment at which this is dropped: right before the request goes, so
/// that what is done in between, for example writing down that it is tried, moves no requests together.
#[derive(Debug, Default)]
pub struct Turn(Option<Arc<Window>>);

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(window) = &self.0 {
            window.went();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_place_is_taken_from_the_promise_and_counted_from_the_request() {
        let window = Window::new(Limit { most: 2, within: SECOND });
        let first = window.take().unwrap();
        let second = window.take().unwrap();
        assert!(window.take().is_none(), "both places are promised");
        drop(first);
        tokio::time::advance(SECOND / 2).await;
        drop(second);
        assert_eq!(window.free_at(), Some(Instant::now() + SECOND / 2), "the first went half a second ago");
        tokio::time::advance(SECOND / 2).await;
        let third = window.take().unwrap();
        assert!(window.take().is_none(), "the second went half a second ago");
        tokio::time::advance(SECOND * 9).await;
        assert!(!window.is_at_rest(), "a place is promised");
        drop(third);
        tokio::time::advance(SECOND).await;
        assert!(window.is_at_rest());
    }

    #[test]
    fn a_limit_of_nothing_still_lets_one_through() {
        assert!(Window::new(Limit { most: 0, within: SECOND }).take().is_some());
    }
}
