//! The port: a model that answers.

use std::fmt;
use std::time::Duration;

use futures::future::BoxFuture;

use crate::error::ModelError;
use crate::request::{ModelRef, Request};
use crate::response::Response;

/// A model that answers requests.
pub trait Model: Send + Sync {
    /// Asks. `sink` hears the answer's text while it comes and what happens to it; the whole answer is returned.
    /// Dropping the future ends the request at the provider as well.
    fn respond<'a>(&'a self, request: &'a Request, sink: Sink<'a>) -> BoxFuture<'a, Result<Response, ModelError>>;

    /// Which model this is; of a chain, the first.
    fn reference(&self) -> &ModelRef;

    /// How many tokens a request and its answer may have together.
    fn context_window_tokens(&self) -> u64;
}

/// Hears of an answer's progress. Called between awaits of the request: it must not block.
pub type Sink<'a> = &'a mut (dyn FnMut(Progress<'_>) + Send);

/// What happens while a model answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progress<'a> {
    /// More of the text.
    Text(&'a str),
    /// An attempt failed. For the journal and the ledger: the tokens of an answer are those of the response plus
    /// those of every failed attempt.
    Failed(&'a Attempt),
    /// All text so far belonged to an attempt that failed: forget it. Said only where text was shown.
    StartOver,
}

/// An attempt that failed. A chain reports each, also the last one, whose error it returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The model that was asked.
    pub model: ModelRef,
    /// The how manieth attempt with this model, from 1.
    pub number: u32,
    /// Why it failed, and what it used.
    pub error: ModelError,
    /// What comes next.
    pub next: Next,
}

/// What follows a failed attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// The same model again, after a wait.
    Retry {
        /// How long it waits.
        wait: Duration,
    },
    /// The next model of the chain.
    Fallback {
        /// Which.
        to: ModelRef,
    },
    /// Nothing: the error is returned.
    GiveUp,
}

impl fmt::Display for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Next::Retry { wait } => write!(f, "tried again after {wait:.1?}"),
            Next::Fallback { to } => write!(f, "{to} is asked instead"),
            Next::GiveUp => f.write_str("given up"),
        }
    }
}
