//! What both protocols' readers share: they are fed events and give an answer.

use serde::Deserialize;
use serde_json::Value;

use crate::error::{Class, ModelError};
use crate::refusal;
use crate::request::Block;
use crate::response::{StopReason, Usage};

/// A reader of one answer's events.
pub(crate) trait Reader {
    /// Reads the data of one event. `text` hears new words.
    fn event(&mut self, data: &str, text: &mut dyn FnMut(&str)) -> Result<Flow, ModelError>;
    /// The answer, if what was read is a whole one.
    fn finish(self) -> Option<Answer>;
    /// What the provider has counted so far.
    fn usage(&self) -> Usage;
    /// Whether [`Reader::finish`] would give an answer now: what may still come is not needed.
    fn is_whole(&self) -> bool;
}

/// Whether an answer goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// More events come.
    More,
    /// That was the last.
    Done,
}

/// An answer that was read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) content: Vec<Block>,
    pub(crate) stop: Stop,
    pub(crate) usage: Usage,
}

/// Why a provider stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// For good.
    Ended(StopReason),
    /// It wants to be asked again, with what it said so far as the last message.
    Paused,
}

/// Reads one event's JSON.
pub(crate) fn parse<T: for<'a> Deserialize<'a>>(data: &str) -> Result<T, ModelError> {
    // The fault's text may quote the data: only its place is told.
    serde_json::from_str(data).map_err(|fault| {
        let place = format!("line {}, column {}", fault.line(), fault.column());
        ModelError::new(Class::Transient, format!("an event of the answer could not be read, at its {place}"))
    })
}

/// The error that a provider tells of within an answer.
pub(crate) fn told(error: &Value) -> ModelError {
    refusal::within_stream(error)
}

/// A count that may be missing, null or absurd.
pub(crate) fn count(value: &Value, path: &str) -> Option<u64> {
    value.pointer(path).and_then(Value::as_u64)
}
