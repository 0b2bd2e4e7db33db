//! A provider's bytes as an answer: server-sent events, or one JSON document from a server that does not stream.

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use eventsource_stream::{EventStreamError, Eventsource};
use futures::{Stream, StreamExt};

use crate::error::{Class, ModelError};
use crate::wire::{Answer, Flow, Reader};

/// How an answer comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As events.
    Events,
    /// As one JSON document.
    Document,
}

/// Reads a whole answer. `bytes` bounds its waits and its size and turns both into errors; however it is cut into
/// pieces, the answer is the same.
///
/// What fails after the answer is whole does not matter: some servers never close, some close rudely.
pub(crate) async fn read<R: Reader>(
    bytes: impl Stream<Item = Result<Bytes, ModelError>> + Unpin,
    form: Form,
    mut reader: R,
    text: &mut (dyn FnMut(&str) + Send),
) -> Result<Answer, ModelError> {
    let end = match form {
        Form::Events => events(bytes, &mut reader, text).await,
        Form::Document => document(bytes, &mut reader, text).await,
    };
    let usage = reader.usage();
    let error = match end {
        Err(error) if !reader.is_whole() => error,
        _ => ModelError::new(Class::Cut, "the answer ended before it was whole"),
    };
    reader.finish().ok_or(ModelError { usage, ..error })
}

async fn events<R: Reader>(
    bytes: impl Stream<Item = Result<Bytes, ModelError>> + Unpin,
    reader: &mut R,
    text: &mut (dyn FnMut(&str) + Send),
) -> Result<(), ModelError> {
    let ended = AtomicBool::new(false);
    // Some servers leave out the empty line after the last event. Given to the parser by us, it does no harm.
    let last = futures::stream::once(async {
        ended.store(true, Ordering::Relaxed);
        Ok(Bytes::from_static(b"\n\n"))
    });
    let padded = bytes.chain(last);
    futures::pin_mut!(padded);
    let mut events = padded.eventsource();
    while let Some(event) = events.next().await {
        let data = event.map_err(unreadable)?.data;
        match reader.event(&data, text) {
            Ok(Flow::More) => {}
            Ok(Flow::Done) => return Ok(()),
            // Half an event is what a cut leaves.
            Err(_) if ended.load(Ordering::Relaxed) && !is_json(&data) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

async fn document<R: Reader>(
    mut bytes: impl Stream<Item = Result<Bytes, ModelError>> + Unpin,
    reader: &mut R,
    text: &mut (dyn FnMut(&str) + Send),
) -> Result<(), ModelError> {
    let mut whole = Vec::new();
    while let Some(more) = bytes.next().await {
        whole.extend_from_slice(&more?);
    }
    let whole = String::from_utf8(whole).map_err(|_| not_utf8())?;
    reader.event(&whole, text).map(drop)
}

fn is_json(data: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(data).is_ok()
}

fn unreadable(error: EventStreamError<ModelError>) -> ModelError {
    match error {
        EventStreamError::Transport(error) => error,
        EventStreamError::Utf8(_) => not_utf8(),
        EventStreamError::Parser(_) => ModelError::new(Class::Transient, "the answer is not a stream of events"),
    }
}

fn not_utf8() -> ModelError {
    ModelError::new(Class::Transient, "the answer is not UTF-8")
}
