//! Asking other machines, under the guard and within limits.
//!
//! | file | one thing |
//! |---|---|
//! | `rules`, `error`, `trace` | the limits, why there is no answer, what happened on the way |
//! | `headers`, `redirect` | what a request carries, and what of it goes along |
//! | `exchange` | one request to one URL, at the addresses that were checked |
//! | `coding`, `media`, `markdown` | what became of the body |
//!
//! Every URL of the way is judged anew: its text, then each address of its host; the connection goes to those addresses
//! and to no others. Nothing of the environment has a say in it: no proxy, no resolver of the client's own.

mod coding;
mod error;
mod exchange;
mod headers;
mod markdown;
mod media;
mod redirect;
mod rules;
mod trace;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use tokio::time::timeout;
use url::Url;

use crate::guard::{Allowlist, Target, target};
use crate::resolve::{Resolve, SystemResolver};

pub use error::FetchError;
pub use rules::FetchRules;
pub use trace::{Hop, Trace};

use redirect::Outgoing;

/// The methods that can be asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "RFC 9110 says what they mean")]
pub enum Method {
    #[default]
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Head => "HEAD",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        }
    }

    fn takes_body(self) -> bool {
        !matches!(self, Method::Get | Method::Head)
    }
}

impl From<Method> for reqwest::Method {
    fn from(method: Method) -> reqwest::Method {
        match method {
            Method::Get => reqwest::Method::GET,
            Method::Head => reqwest::Method::HEAD,
            Method::Post => reqwest::Method::POST,
            Method::Put => reqwest::Method::PUT,
            Method::Patch => reqwest::Method::PATCH,
            Method::Delete => reqwest::Method::DELETE,
        }
    }
}

/// What is asked for.
#[derive(Clone, Default)]
pub struct Request {
    /// The URL, whole.
    pub url: String,
    /// How.
    pub method: Method,
    /// Headers, besides those that are the client's own.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<Vec<u8>>,
}

/// Without the values of headers and the body, which may be secrets.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        let body_bytes = self.body.as_ref().map(Vec::len);
        f.debug_struct("Request")
            .field("url", &self.url)
            .field("method", &self.method)
            .field("headers", &headers)
            .field("body_bytes", &body_bytes)
            .finish()
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// Where it came from, after all redirects.
    pub url: Url,
    /// Its status: an error's too.
    pub status: u16,
    /// Its headers by name, lower case. One that came several times is joined: cookies by line breaks, others by
    /// commas.
    pub headers: BTreeMap<String, String>,
    /// Its body.
    pub body: Body,
    /// Whether the end of the body is missing, because it is longer than is taken.
    pub truncated: bool,
}

/// A body as it can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Text as it came, or a page as Markdown. Empty where there was none.
    Text(String),
    /// Anything else, whole.
    File {
        /// The bytes, unpacked.
        bytes: Vec<u8>,
        /// What to call it: one part of a path, not hidden.
        name: String,
    },
}

/// Asks other machines. Clones share everything.
#[derive(Clone)]
pub struct Fetcher {
    rules: Arc<FetchRules>,
    resolver: Arc<dyn Resolve>,
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher").field("rules", &self.rules).finish_non_exhaustive()
    }
}

impl Fetcher {
    /// One that asks the system what names mean.
    pub fn new(rules: FetchRules) -> Fetcher {
        Fetcher::with_resolver(rules, Arc::new(SystemResolver))
    }

    /// One that asks `resolver` what names mean.
    pub fn with_resolver(rules: FetchRules, resolver: Arc<dyn Resolve>) -> Fetcher {
        Fetcher { rules: Arc::new(rules), resolver }
    }

    /// Its rules.
    pub fn rules(&self) -> &FetchRules {
        &self.rules
    }

    /// Fetches, from hosts on the list alone. What happens on the way is written to `trace`, also where it fails.
    ///
    /// # Errors
    /// If there is no answer. An answer with an error's status is one.
    pub async fn fetch(&self, asked: Request, allowed: &Allowlist, trace: &mut Trace) -> Result<Fetched, FetchError> {
        let limit = self.rules.total;
        let fetched = match timeout(limit, self.follow(asked, allowed, trace)).await {
            Ok(fetched) => fetched,
            Err(_) => Err(FetchError::TimedOut { what: "it was not done", limit }),
        };
        if let Err(error) = &fetched {
            trace.here().failure = Some(error.to_string());
        }
        fetched
    }

    /// Judges a request without asking anybody: what [`Fetcher::fetch`] would refuse before it resolves a name.
    ///
    /// # Errors
    /// As it would.
    pub fn check(&self, asked: &Request, allowed: &Allowlist) -> Result<(), FetchError> {
        self.prepare(asked, allowed).map(drop)
    }

    async fn follow(&self, asked: Request, allowed: &Allowlist, trace: &mut Trace) -> Result<Fetched, FetchError> {
        trace.hop(asked.method.as_str(), &asked.url);
        let (mut target, headers) = self.prepare(&asked, allowed)?;
        let mut outgoing = Outgoing { method: asked.method.into(), headers, body: asked.body };
        for _ in 0..=self.rules.redirects_max {
            trace.here().url = target.url().to_string();
            let addresses = exchange::addresses(self, &target, trace).await?;
            let response = exchange::send(&self.rules, &target, &addresses, &outgoing, trace).await?;
            let status = response.status().as_u16();
            let Some(location) = location(&response)? else {
                return exchange::read(&self.rules, target, response).await;
            };
            // As a browser would show it; what follows from it is judged before anything is asked.
            trace.hop(outgoing.method.as_str(), &location);
            let next = target.redirect(&location, allowed, &self.rules.guard).map_err(FetchError::Refused)?;
            outgoing.follow(status, target.url(), next.url());
            outgoing.method.as_str().clone_into(&mut trace.here().method);
            target = next;
        }
        Err(FetchError::Redirects(self.rules.redirects_max))
    }

    /// The first URL and the headers.
    fn prepare(&self, asked: &Request, allowed: &Allowlist) -> Result<(Target, HeaderMap), FetchError> {
        let bad = |words: String| Err(FetchError::BadRequest(words));
        let target = target(&asked.url, allowed, &self.rules.guard).map_err(FetchError::Refused)?;
        if target.had_credentials() {
            let words = "the URL holds a user or a password: leave them out, and set the header `Authorization` if \
                         they are needed";
            return bad(words.to_owned());
        }
        let bytes_max = self.rules.request_bytes_max;
        match &asked.body {
            Some(_) if !asked.method.takes_body() => {
                return bad(format!("{} takes no body", asked.method.as_str()));
            }
            Some(body) if body.len() > bytes_max => return bad(format!("the body is longer than {bytes_max} bytes")),
            _ => {}
        }
        let mut headers = headers::read(&asked.headers).map_err(FetchError::BadRequest)?;
        if asked.body.is_some() && !headers.contains_key(CONTENT_TYPE) {
            // What a browser says of a string.
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain;charset=UTF-8"));
        }
        Ok((target, headers))
    }
}

/// Where an answer leads; `None` for one that is an answer itself.
fn location(response: &Response) -> Result<Option<String>, FetchError> {
    if !redirect::is_redirect(response.status().as_u16()) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(LOCATION) else { return Ok(None) };
    let bad = |_| FetchError::Failed("the redirect leads to what is no URL".to_owned());
    Ok(Some(std::str::from_utf8(location.as_bytes()).map_err(bad)?.to_owned()))
}

/// Headers by name, for a model to read.
fn shown(headers: &HeaderMap) -> BTreeMap<String, String> {
    let mut shown = BTreeMap::<String, String>::new();
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        let joint = if name == "set-cookie" { "\n" } else { ", " };
        let entry = shown.entry(name.as_str().to_owned());
        entry.and_modify(|before| *before = format!("{before}{joint}{value}")).or_insert_with(|| value.into_owned());
    }
    shown
}

#[cfg(test)]
mod tests;
