//! Anthropic's Messages API, as pure translation: a request to bytes, a stream of events to a response.

pub(crate) mod request;
pub(crate) mod stream;
