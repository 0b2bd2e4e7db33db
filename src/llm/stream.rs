//! A provider's bytes as an answer: server-sent events, or one JSON document from a server that does not stream.

use bytes::Bytes;
use futures::{Stream, StreamExt};

use crate::error::{Class, ModelError};
use crate::sse::Events;
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
    mut bytes: impl Stream<Item = Result<Bytes, ModelError>> + Unpin,
    reader: &mut R,
    text: &mut (dyn FnMut(&str) + Send),
) -> Result<(), ModelError> {
    let mut events = Events::default();
    while let Some(piece) = bytes.next().await {
        if events.feed(&piece?, &mut |data| reader.event(data, text))? == Flow::Done {
            return Ok(());
        }
    }
    let Some(rest) = events.rest() else { return Ok(()) };
    match reader.event(&rest, text) {
        // Half an event is what a cut leaves; what is whole says what it says.
        Err(_) if !is_json(&rest) => Ok(()),
        read => read.map(drop),
    }
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

fn not_utf8() -> ModelError {
    ModelError::new(Class::Transient, "the answer is not UTF-8")
}
