//! One request to the Bot API and its answer.
//!
//! Payloads, types and method names are teloxide's, and so is the [`Bot`] that carries token, URL and connections.
//! The round trip is ours: teloxide's own sleeps ten seconds inside of each request that is answered with a fault
//! of the server, loses the HTTP status, and its errors carry the URL, which contains the token.

use std::fmt;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use teloxide::Bot;
use teloxide::requests::Payload;
use teloxide::types::ChatId;

use crate::{Kind, ReceiveError};

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(10);
/// How long an ordinary request may take as a whole.
const ORDINARY: Duration = Duration::from_secs(30);
/// How long a request that carries files may take as a whole: 50 MB at 3 Mbit/s.
const UPLOAD: Duration = Duration::from_secs(150);
/// A connection that was idle for longer is not used again. Telegram closes idle connections after about a minute,
/// and a request written to one that is just being closed is one whose outcome nobody knows.
const IDLE: Duration = Duration::from_secs(30);

/// Telegram's answer where it says no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The `error_code`, which follows HTTP.
    pub code: u16,
    /// Why, in Telegram's words.
    pub description: String,
    /// For how long nothing will be accepted.
    pub retry_after: Option<Duration>,
    /// The supergroup that the group has become.
    pub moved_to: Option<ChatId>,
}

impl Refusal {
    /// Whether the description contains `words`, in any case.
    pub(super) fn says(&self, words: &str) -> bool {
        self.description.to_ascii_lowercase().contains(&words.to_ascii_lowercase())
    }
}

/// Why a request has no result. No text in it contains the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallError {
    /// Telegram understood and refused: nothing was done.
    Refused(Refusal),
    /// It never reached Telegram, or what answered was not in a state to do anything.
    NotDone(String),
    /// It may have been carried out: the answer never came, or could not be read.
    Unknown(String),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Refused(refusal) => write!(f, "{} ({})", refusal.description, refusal.code),
            CallError::NotDone(why) | CallError::Unknown(why) => f.write_str(why),
        }
    }
}

/// The Bot API for one bot. Clones share their connections.
#[derive(Clone)]
pub(super) struct Api {
    bot: Bot,
}

/// The envelope of every answer.
#[derive(Deserialize)]
struct Envelope {
    ok: bool,
    result: Option<Box<RawValue>>,
    error_code: Option<u16>,
    description: Option<String>,
    parameters: Option<Parameters>,
}

#[derive(Deserialize)]
struct Parameters {
    retry_after: Option<u64>,
    migrate_to_chat_id: Option<i64>,
}

impl Api {
    /// Refuses a token that cannot be one and a URL that is none, before anything is sent.
    pub(super) fn new(token: &SecretString, api_url: Option<&str>) -> Result<Api, ReceiveError> {
        let token = token.expose_secret().trim();
        let character = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '_' | '-');
        if token.is_empty() || !token.chars().all(character) {
            return Err(ReceiveError::Unauthorized(Kind::Telegram, "TELEGRAM_TOKEN"));
        }
        let url = api_url.map(base_url).transpose()?;
        // A redirect would carry the token on, in the path or in the Referer header; the Bot API has none.
        let mut client = reqwest::Client::builder()
            .connect_timeout(CONNECT)
            .pool_idle_timeout(IDLE)
            .redirect(reqwest::redirect::Policy::none());
        if url.as_ref().is_some_and(is_loopback) {
            client = client.no_proxy();
        }
        let client = client.build().map_err(|error| ReceiveError::Unreachable(error.without_url().to_string()))?;
        let bot = Bot::with_client(token, client);
        Ok(Api { bot: url.into_iter().fold(bot, Bot::set_api_url) })
    }

    /// Calls a method and reads its result as `T`.
    pub(super) async fn call<P, T>(&self, payload: &P) -> Result<T, CallError>
    where
        P: Payload + Serialize + Sync,
        T: DeserializeOwned,
    {
        self.call_within(payload, ORDINARY).await
    }

    /// Calls a method that may take as long as `limit`.
    pub(super) async fn call_within<P, T>(&self, payload: &P, limit: Duration) -> Result<T, CallError>
    where
        P: Payload + Serialize + Sync,
        T: DeserializeOwned,
    {
        let request = self.bot.client().post(self.method_url(P::NAME)).json(payload).timeout(limit);
        self.exchange(request).await
    }

    /// Calls a method with a form, which may carry files.
    pub(super) async fn call_form<T>(&self, method: &str, form: reqwest::multipart::Form) -> Result<T, CallError>
    where
        T: DeserializeOwned,
    {
        let request = self.bot.client().post(self.method_url(method)).multipart(form).timeout(UPLOAD);
        self.exchange(request).await
    }

    /// Starts to fetch the file that `getFile` has called `path`.
    pub(super) async fn download(&self, path: &str) -> Result<reqwest::Response, CallError> {
        let url = self.url(&["file", &format!("bot{}", self.bot.token())], path.split('/'));
        self.bot.client().get(url).timeout(UPLOAD).send().await.map_err(|error| self.failed(error))
    }

    /// What a network error means for the request, in words without the URL.
    pub(super) fn failed(&self, error: reqwest::Error) -> CallError {
        let before_writing = error.is_connect() || error.is_builder();
        let error = error.without_url();
        let mut text = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            text = format!("{text}: {cause}");
            source = cause.source();
        }
        let text = self.without_token(text);
        if before_writing { CallError::NotDone(text) } else { CallError::Unknown(text) }
    }

    async fn exchange<T: DeserializeOwned>(&self, request: reqwest::RequestBuilder) -> Result<T, CallError> {
        let response = request.send().await.map_err(|error| self.failed(error))?;
        let status = response.status().as_u16();
        let body = response.bytes().await;
        if let Err(error) = &body
            && status >= 500
        {
            tracing::debug!(status, error = %self.without_token(error.to_string()), "the answer broke off");
        }
        match body {
            Ok(body) => read(status, &body).map_err(|error| self.scrubbed(error)),
            Err(error) if (200..300).contains(&status) => Err(self.failed(error)),
            Err(_) => Err(faulty(status)),
        }
    }

    fn method_url(&self, method: &str) -> reqwest::Url {
        self.url(&[&format!("bot{}", self.bot.token())], [method])
    }

    fn url<'a>(&self, first: &[&str], rest: impl IntoIterator<Item = &'a str>) -> reqwest::Url {
        let mut url = self.bot.api_url();
        url.path_segments_mut().expect("the URL was checked to have a path").pop_if_empty().extend(first).extend(rest);
        url
    }

    /// The last line of defence: whatever words a server or a library finds, the token is not among them.
    fn without_token(&self, text: String) -> String {
        let secret = self.bot.token().split_once(':').map_or(self.bot.token(), |(_, secret)| secret);
        if secret.is_empty() { text } else { text.replace(secret, "[token]") }
    }

    fn scrubbed(&self, error: CallError) -> CallError {
        match error {
            CallError::Refused(refusal) => {
                CallError::Refused(Refusal { description: self.without_token(refusal.description), ..refusal })
            }
            CallError::NotDone(why) => CallError::NotDone(self.without_token(why)),
            CallError::Unknown(why) => CallError::Unknown(self.without_token(why)),
        }
    }
}

fn base_url(text: &str) -> Result<reqwest::Url, ReceiveError> {
    let bad = |why: &str| ReceiveError::Forbidden(format!("TELEGRAM_API_URL is not usable: {why}"));
    let url = reqwest::Url::parse(text.trim()).map_err(|error| bad(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad("it must begin with https:// or http://"));
    }
    Ok(url)
}

fn is_loopback(url: &reqwest::Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// Reads an answer.
fn read<T: DeserializeOwned>(status: u16, body: &[u8]) -> Result<T, CallError> {
    let Ok(envelope) = serde_json::from_slice::<Envelope>(body) else {
        return Err(faulty(status));
    };
    if envelope.ok {
        let result = envelope.result.as_deref().map_or("null", RawValue::get);
        // The reason may quote the content of a message; its place is enough.
        return serde_json::from_str(result)
            .map_err(|error| CallError::Unknown(format!("the result could not be read (column {})", error.column())));
    }
    let code = envelope.error_code.unwrap_or(status);
    if code >= 500 {
        return Err(faulty(code));
    }
    let parameters = envelope.parameters;
    let parameter = parameters.as_ref();
    Err(CallError::Refused(Refusal {
        code,
        description: envelope.description.unwrap_or_default(),
        retry_after: parameter.and_then(|p| p.retry_after).map(Duration::from_secs),
        moved_to: parameter.and_then(|p| p.migrate_to_chat_id).map(ChatId),
    }))
}

/// An answer that is not the Bot API's own: some machine in between speaks for it. 504 and its kind mean that the
/// request went on and the answer did not come back; a good status with an unreadable body means the same.
fn faulty(status: u16) -> CallError {
    let text = format!("the server answered {status}");
    match status {
        200..300 | 408 | 504 | 520 | 524 => CallError::Unknown(text),
        _ => CallError::NotDone(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: u16, body: &str) -> Result<serde_json::Value, CallError> {
        read(status, body.as_bytes())
    }

    #[test]
    fn an_answer_is_read_for_what_it_says_of_the_request() {
        assert_eq!(answered(200, r#"{"ok":true,"result":[1]}"#), Ok(serde_json::json!([1])));
        let flood = r#"{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":7}}"#;
        let Err(CallError::Refused(refusal)) = answered(429, flood) else { panic!("not a refusal") };
        assert_eq!((refusal.code, refusal.retry_after), (429, Some(Duration::from_secs(7))));
        for (status, body) in [(502, "<html>"), (500, r#"{"ok":false,"error_code":500}"#), (404, "<html>"), (301, "")] {
            assert!(matches!(answered(status, body), Err(CallError::NotDone(_))), "{status} {body}");
        }
        for (status, body) in [(200, "<html>"), (200, ""), (504, "<html>"), (504, r#"{"ok":false}"#)] {
            assert!(matches!(answered(status, body), Err(CallError::Unknown(_))), "{status} {body}");
        }
    }

    #[test]
    fn what_cannot_be_a_token_or_a_url_is_refused_at_once() {
        let api = |token: &str, url: Option<&str>| Api::new(&token.into(), url).map(|_| ());
        assert_eq!(api("1:a", Some("http://127.0.0.1:1/x/")), Ok(()));
        for token in ["", " ", "a b", "1:a/../x", "é"] {
            assert_eq!(
                api(token, None),
                Err(ReceiveError::Unauthorized(Kind::Telegram, "TELEGRAM_TOKEN")),
                "{token:?}"
            );
        }
        for url in ["", "api.telegram.org", "ftp://x", "mailto:x"] {
            assert!(matches!(api("1:a", Some(url)), Err(ReceiveError::Forbidden(_))), "{url:?}");
        }
    }

    #[test]
    fn a_slash_at_the_end_of_the_url_changes_nothing() {
        for base in ["http://127.0.0.1:1/x", "http://127.0.0.1:1/x/"] {
            let api = Api::new(&"1:a".into(), Some(base)).unwrap();
            assert_eq!(api.method_url("GetMe").as_str(), "http://127.0.0.1:1/x/bot1:a/GetMe");
        }
    }
}
