//! How a running turn is told to end, and how it came to its end.

use std::sync::{Arc, OnceLock};

use base::{Moment, Stop};
use tools::Call;

/// How a turn came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// There was nothing to do: another turn had taken the messages in.
    Nothing,
    /// With a reply, a result, an error that people see, or their own word to stop.
    Finished,
    /// By a fault that may pass: the task waits until then, and its turn goes on.
    Later(Moment),
    /// The hive stops: the rows say where to go on.
    Left,
}

/// Tells a running turn to end, and why.
#[derive(Clone, Debug)]
pub struct Halt {
    /// Cancelled when the turn is to end.
    pub token: Stop,
    /// Cancelled before it where the turn is entered again later: the hive stops.
    pub leaving: Stop,
    why: Arc<OnceLock<Why>>,
}

/// Why a running turn is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// A person said so.
    Person,
    /// A newer message is to be answered instead.
    Message,
    /// A newer task is to be done instead.
    Replaced,
    /// Its team goes.
    Closing,
    /// The hive stops.
    Shutdown,
}

impl Halt {
    /// Not yet.
    pub fn new() -> Self {
        Halt::with(Stop::new(), Stop::new())
    }

    /// When this call is stopped: the turn of whoever asked ends.
    pub(in crate::session) fn on(call: &Call) -> Self {
        Halt::with(call.stop.child_token(), call.leaving.clone())
    }

    fn with(token: Stop, leaving: Stop) -> Self {
        Halt { token, leaving, why: Arc::default() }
    }

    /// Now. The first reason stands.
    pub fn now(&self, why: Why) {
        if *self.why.get_or_init(|| why) == Why::Shutdown {
            self.leaving.cancel();
        }
        self.token.cancel();
    }

    /// The reason.
    pub(super) fn why(&self) -> Why {
        self.why.get().copied().unwrap_or(Why::Shutdown)
    }
}

impl Default for Halt {
    fn default() -> Self {
        Halt::new()
    }
}
