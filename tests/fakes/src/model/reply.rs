//! What the model server answers: words, tool calls, and the many ways in which a provider fails.

use std::time::Duration;

use serde_json::Value;

/// One answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// What it says and asks for, in order.
    pub parts: Vec<Part>,
    /// In how many pieces a text and a call's arguments are streamed, at most.
    pub chunks: usize,
    /// What it claims to have used; `None` leaves the usage out, as some servers do.
    pub usage: Option<Usage>,
    /// The provider's own word for why it stopped, where it shall not follow from the content.
    pub stop: Option<String>,
    /// The wait before every event.
    pub pace: Duration,
    /// What goes wrong, if anything.
    pub fault: Option<Fault>,
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Words.
    Text(String),
    /// A tool call.
    Call {
        /// Its id; made up by the server where it is `None`.
        id: Option<String>,
        /// The tool's name.
        name: String,
        /// The arguments as the model writes them, which need not be JSON.
        arguments: String,
    },
    /// Thinking with its signature. Only Anthropic's protocol has it.
    Thinking {
        /// The thoughts.
        text: String,
        /// The signature.
        signature: String,
    },
}

/// Counted tokens. They do not overlap; where a protocol's counts do, the server adds them up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Read, and not from or to a cache.
    pub input: u64,
    /// Written.
    pub output: u64,
    /// Read from a cache.
    pub cache_read: u64,
    /// Written to a cache. OpenAI's protocol does not tell.
    pub cache_write: u64,
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// No success.
    Status(Refusal),
    /// The connection is taken and never answered.
    NoHeaders,
    /// After the headers and this many events nothing comes any more.
    SilentAfter(usize),
    /// After this many events the connection breaks.
    CutAfter(usize),
    /// After this many events the answer ends as if it were whole.
    EndAfter(usize),
    /// After this many events comes one that is not JSON.
    GarbageAfter(usize),
    /// After this many events comes an error, within the success.
    ErrorAfter(usize, Refusal),
}

/// An error as a provider tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The status.
    pub status: u16,
    /// `error.type`; with OpenAI's protocol also `error.code`.
    pub kind: String,
    /// `error.message`.
    pub message: String,
    /// Further headers.
    pub headers: Vec<(String, String)>,
}

impl Refusal {
    /// A refusal with these three.
    pub fn new(status: u16, kind: &str, message: &str) -> Self {
        Refusal { status, kind: kind.into(), message: message.into(), headers: Vec::new() }
    }
    /// 401: the key is wrong.
    pub fn unauthorized() -> Self {
        Refusal::new(401, "authentication_error", "invalid x-api-key")
    }
    /// 402: the account is empty.
    pub fn payment_required() -> Self {
        Refusal::new(402, "billing_error", "Your credit balance is too low.")
    }
    /// 429 that waiting does not help: OpenAI's word for an empty account.
    pub fn insufficient_quota() -> Self {
        Refusal::new(429, "insufficient_quota", "You exceeded your current quota.")
    }
    /// 429, with or without the seconds to wait.
    pub fn rate_limited(retry_after_s: Option<u64>) -> Self {
        let refusal = Refusal::new(429, "rate_limit_error", "This request would exceed your rate limit.");
        retry_after_s.into_iter().fold(refusal, |refusal, seconds| refusal.header("retry-after", &seconds.to_string()))
    }
    /// 500.
    pub fn internal() -> Self {
        Refusal::new(500, "api_error", "Internal server error")
    }
    /// 529: Anthropic's word for too much to do.
    pub fn overloaded() -> Self {
        Refusal::new(529, "overloaded_error", "Overloaded")
    }
    /// 404: there is no such model.
    pub fn unknown_model(model: &str) -> Self {
        Refusal::new(404, "not_found_error", &format!("model: {model}"))
    }
    /// 400: the conversation is too long.
    pub fn context_too_long() -> Self {
        Refusal::new(400, "invalid_request_error", "prompt is too long: 212500 tokens > 200000 maximum")
    }
    /// 400: the request is faulty.
    pub fn bad_request(message: &str) -> Self {
        Refusal::new(400, "invalid_request_error", message)
    }
    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

impl Reply {
    /// An answer with nothing in it, as models give at times.
    pub fn empty() -> Self {
        let usage = Some(Usage { input: 20, output: 5, cache_read: 0, cache_write: 0 });
        Reply { parts: Vec::new(), chunks: 1, usage, stop: None, pace: Duration::ZERO, fault: None }
    }
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Reply::empty().and_text(text)
    }
    /// A tool call.
    pub fn call(name: &str, arguments: &Value) -> Self {
        Reply::empty().and_call(name, arguments)
    }
    /// A refusal instead of an answer.
    pub fn refuse(refusal: Refusal) -> Self {
        Reply::empty().failing(Fault::Status(refusal))
    }
    /// More words.
    #[must_use]
    pub fn and_text(self, text: impl Into<String>) -> Self {
        self.part(Part::Text(text.into()))
    }
    /// Another tool call.
    #[must_use]
    pub fn and_call(self, name: &str, arguments: &Value) -> Self {
        self.and_raw_call(name, &arguments.to_string())
    }
    /// Another tool call, with arguments as they are written here.
    #[must_use]
    pub fn and_raw_call(self, name: &str, arguments: &str) -> Self {
        self.part(Part::Call { id: None, name: name.to_owned(), arguments: arguments.to_owned() })
    }
    /// Thinking.
    #[must_use]
    pub fn and_thinking(self, text: &str, signature: &str) -> Self {
        self.part(Part::Thinking { text: text.to_owned(), signature: signature.to_owned() })
    }
    /// Streamed in up to this many pieces.
    #[must_use]
    pub fn in_chunks(self, chunks: usize) -> Self {
        Reply { chunks: chunks.max(1), ..self }
    }
    /// With this usage, or none.
    #[must_use]
    pub fn with_usage(self, usage: Option<Usage>) -> Self {
        Reply { usage, ..self }
    }
    /// With the provider's own word for why it stopped.
    #[must_use]
    pub fn stopped(self, stop: &str) -> Self {
        Reply { stop: Some(stop.to_owned()), ..self }
    }
    /// With a wait before every event.
    #[must_use]
    pub fn paced(self, pace: Duration) -> Self {
        Reply { pace, ..self }
    }
    /// Going wrong.
    #[must_use]
    pub fn failing(self, fault: Fault) -> Self {
        Reply { fault: Some(fault), ..self }
    }
    fn part(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    pub(super) fn has_calls(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Call { .. }))
    }
}

/// `text` in up to `pieces` pieces of equal length, none of them empty and no character broken.
pub(super) fn pieces(text: &str, pieces: usize) -> Vec<&str> {
    let length = text.chars().count().div_ceil(pieces.max(1)).max(1);
    let mut rest = text;
    let mut cut = Vec::new();
    while !rest.is_empty() {
        let end = rest.char_indices().nth(length).map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        cut.push(piece);
        rest = after;
    }
    cut
}
