//! What the server does wrong when a test says so.

use std::time::Duration;

/// A wrong answer, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// 429 with `parameters.retry_after`, in seconds.
    TooManyRequests(u64),
    /// An HTTP fault of the kind that proxies give: this status and a page of HTML.
    Status(u16),
    /// Telegram's own refusal: its `error_code` and its description.
    Refusal(u16, &'static str),
    /// The connection is closed and nothing was done.
    CutBefore,
    /// The request is carried out and the connection is closed instead of an answer.
    CutAfter,
    /// The request is carried out and answered this much later.
    Delay(Duration),
}

/// A fault, and which requests it hits.
#[derive(Clone, Debug)]
pub struct Failure {
    fault: Fault,
    method: Option<String>,
    chat: Option<i64>,
    times: usize,
}

impl Failure {
    /// Hits the next request, whatever it is.
    pub fn new(fault: Fault) -> Failure {
        Failure { fault, method: None, chat: None, times: 1 }
    }

    /// Hits only this method.
    pub fn of(mut self, method: &str) -> Failure {
        self.method = Some(method.to_lowercase());
        self
    }

    /// Hits only requests for this chat.
    pub fn in_chat(mut self, chat: i64) -> Failure {
        self.chat = Some(chat);
        self
    }

    /// Hits so many requests.
    pub fn times(mut self, times: usize) -> Failure {
        self.times = times;
        self
    }
}

/// The failures that are still to come, oldest first.
#[derive(Debug, Default)]
pub(super) struct Faults(Vec<Failure>);

impl Faults {
    pub(super) fn add(&mut self, failure: Failure) {
        self.0.push(failure);
    }

    /// The fault for this request, if one is due; it is used up.
    pub(super) fn due(&mut self, method: &str, chat: Option<i64>) -> Option<Fault> {
        let hits = |failure: &Failure| {
            failure.times > 0
                && failure.method.as_ref().is_none_or(|only| only == method)
                && failure.chat.is_none_or(|only| Some(only) == chat)
        };
        let place = self.0.iter().position(hits)?;
        let failure = &mut self.0[place];
        failure.times -= 1;
        let fault = failure.fault.clone();
        self.0.retain(|failure| failure.times > 0);
        Some(fault)
    }
}
