//! The one HTTP client: sends, waits no longer than allowed, and turns refusals into our errors.

use std::error::Error;
use std::sync::OnceLock;
use std::time::Duration;

use base::{Clock, Scrub};
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Response, Url};
use tokio::time::timeout;

use crate::error::{Class, ModelError};
use crate::limits::Limits;
use crate::refusal;
use crate::stream::Form;

/// How much of a refusal's body is read. What matters of it is a line.
const REFUSAL_SIZE_MAX_BYTES: usize = 64 << 10;

/// How long a finished answer's connection may take to show its end, so that the next request can reuse it.
const CLOSING: Duration = Duration::from_millis(20);

/// The client with its bounds.
#[derive(Debug)]
pub(crate) struct Http {
    limits: Limits,
    clock: Clock,
    /// Knows every profile's key.
    scrub: Scrub,
    /// Made when first needed, for most hives need one of the two.
    outside: OnceLock<Client>,
    loopback: OnceLock<Client>,
}

/// An accepted request's answer.
pub(crate) struct Accepted {
    pub(crate) form: Form,
    /// The body. Its waits and its size are bounded.
    pub(crate) bytes: BoxStream<'static, Result<Bytes, ModelError>>,
}

impl Http {
    pub(crate) fn new(limits: Limits, clock: Clock, scrub: Scrub) -> Self {
        Http { limits, clock, scrub, outside: OnceLock::new(), loopback: OnceLock::new() }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Takes keys out of a text that came from outside.
    pub(crate) fn clean(&self, error: ModelError) -> ModelError {
        ModelError { text: self.scrub.clean(&error.text), ..error }
    }

    /// Posts JSON.
    pub(crate) async fn post(&self, url: &Url, headers: &HeaderMap, body: Vec<u8>) -> Result<Accepted, ModelError> {
        let request = self.client(url)?.post(url.clone()).headers(headers.clone());
        let request = request.header(CONTENT_TYPE, HeaderValue::from_static("application/json")).body(body);
        self.send(request).await
    }

    /// Asks whether an address answers us at all, and with a success.
    pub(crate) async fn check(&self, url: &Url, headers: &HeaderMap) -> Result<(), ModelError> {
        self.send(self.client(url)?.get(url.clone()).headers(headers.clone())).await.map(drop)
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Result<Accepted, ModelError> {
        let limit = self.limits.headers;
        let response = match timeout(limit, request.send()).await {
            Ok(response) => response.map_err(not_sent)?,
            Err(_) => return Err(silent("no answer began", limit)),
        };
        let status = response.status();
        let headers = response.headers().clone();
        if !status.is_success() {
            let body = refusal_body(bounded(response, REFUSAL_SIZE_MAX_BYTES, self.limits.idle)).await;
            return Err(refusal::of_status(status.as_u16(), &headers, &body, self.clock.now()));
        }
        let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("");
        let form = if kind.starts_with("application/json") { Form::Document } else { Form::Events };
        Ok(Accepted { form, bytes: bounded(response, self.limits.answer_size_max_bytes, self.limits.idle) })
    }

    /// The client for `url`. A proxy of the environment is for the world outside, never for this machine's servers.
    fn client(&self, url: &Url) -> Result<&Client, ModelError> {
        let host = url.host_str().unwrap_or("").trim_matches(['[', ']']);
        let here = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
        let place = if here { &self.loopback } else { &self.outside };
        if let Some(client) = place.get() {
            return Ok(client);
        }
        let builder = Client::builder()
            .connect_timeout(self.limits.connect)
            .user_agent(concat!("openhive/", env!("CARGO_PKG_VERSION")))
            // A redirect would carry the key to whoever it names.
            .redirect(reqwest::redirect::Policy::none());
        let builder = if here { builder.no_proxy() } else { builder };
        let client = builder.build().map_err(not_sent)?;
        Ok(place.get_or_init(|| client))
    }
}

/// Reads what is left of a finished answer, so that its connection can be used again. A server that keeps it open
/// loses it.
pub(crate) async fn close(mut bytes: BoxStream<'static, Result<Bytes, ModelError>>) {
    let rest = async { while let Some(Ok(_)) = bytes.next().await {} };
    // Either way the answer is ours: the connection is all that is at stake.
    let _ = timeout(CLOSING, rest).await;
}

/// The body, each piece waited for no longer than `idle`, all of them together no larger than `size_max_bytes`.
fn bounded(response: Response, size_max_bytes: usize, idle: Duration) -> BoxStream<'static, Result<Bytes, ModelError>> {
    let pieces = stream::try_unfold((response, 0usize), move |(mut response, size)| async move {
        let piece = match timeout(idle, response.chunk()).await {
            Ok(piece) => piece.map_err(broken_off)?,
            Err(_) => return Err(silent("the answer went silent", idle)),
        };
        let Some(piece) = piece else { return Ok(None) };
        let size = size.saturating_add(piece.len());
        if size > size_max_bytes {
            let text = format!("the answer is larger than {size_max_bytes} bytes");
            return Err(ModelError::new(Class::Malformed, text));
        }
        Ok(Some((piece, (response, size))))
    });
    pieces.boxed()
}

/// As much of a refusal's body as comes. The status alone says enough where none does.
async fn refusal_body(mut bytes: BoxStream<'static, Result<Bytes, ModelError>>) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(Ok(piece)) = bytes.next().await {
        body.extend_from_slice(&piece);
    }
    body
}

fn silent(what: &str, limit: Duration) -> ModelError {
    ModelError::new(Class::Silent, format!("{what} within {limit:?}"))
}

fn not_sent(error: reqwest::Error) -> ModelError {
    let (class, what) = match () {
        () if error.is_builder() => (Class::Malformed, "the request could not be made"),
        () if error.is_connect() => (Class::Transient, "no connection"),
        () => (Class::Transient, "the request failed"),
    };
    ModelError::new(class, format!("{what}: {}", cause(&error)))
}

fn broken_off(error: reqwest::Error) -> ModelError {
    ModelError::new(Class::Cut, format!("the answer broke off: {}", cause(&error)))
}

/// The innermost cause. The outer ones name the address, which may hold a password.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    match cause.downcast_ref::<reqwest::Error>() {
        Some(_) => "no further reason".to_owned(),
        None => cause.to_string(),
    }
}
