//! One request to Discord's REST API, with its answer read by us.
//!
//! serenity's own calls throw away what a 429 says and fail on answers they cannot parse; so serenity names the
//! route, writes the request and, towards Discord itself, keeps the limits, and the answer is ours.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use serenity::http::{Http, HttpBuilder, HttpError, LightMethod, RatelimitInfo, Ratelimiter, Request, Route};
use tokio::sync::Notify;

use super::errors::Fault;
use crate::ReceiveError;

/// How long a connection may take to be made.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// How long a whole request may take, files included.
const REQUEST_LIMIT: Duration = Duration::from_secs(60);
/// What serenity's limiter holds back for longer than this comes back as a typed error instead of waiting in place.
const HELD_MAX: Duration = Duration::from_secs(6);
/// Where Discord is, as serenity writes it into its routes.
const DISCORD: &str = "https://discord.com";

tokio::task_local! {
    /// Tells the request that is being performed that the limiter is about to hold it back.
    static HELD: Arc<Held>;
}

/// One request's place for the limiter's word.
#[derive(Default)]
struct Held {
    word: Mutex<Option<(Duration, bool)>>,
    said: Notify,
}

/// The REST side of one bot.
pub(super) struct Rest {
    client: reqwest::Client,
    http: Http,
    api_url: Option<String>,
}

/// What to ask for.
pub(super) struct Call<'a> {
    method: LightMethod,
    route: Route<'a>,
    body: Option<Value>,
    files: Vec<(String, Vec<u8>)>,
    query: Vec<(&'static str, String)>,
}

impl<'a> Call<'a> {
    pub(super) fn new(method: LightMethod, route: Route<'a>) -> Self {
        Call { method, route, body: None, files: Vec::new(), query: Vec::new() }
    }

    pub(super) fn body(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }

    /// Files go beside the body, as parts of a form.
    pub(super) fn files(mut self, files: Vec<(String, Vec<u8>)>) -> Self {
        self.files = files;
        self
    }

    pub(super) fn query(mut self, name: &'static str, value: impl ToString) -> Self {
        self.query.push((name, value.to_string()));
        self
    }
}

impl Rest {
    /// `on_limit` hears of every wait that serenity's limiter makes, with the limited path; `true` for a limit on
    /// everything.
    pub(super) fn new(
        token: &SecretString,
        api_url: Option<String>,
        client: Option<reqwest::Client>,
        on_limit: impl Fn(&str, Duration, bool) + Send + Sync + 'static,
    ) -> Result<Self, ReceiveError> {
        let client = match client {
            Some(client) => client,
            None => reqwest::Client::builder()
                .connect_timeout(CONNECT_LIMIT)
                .timeout(REQUEST_LIMIT)
                // The API never redirects, and a token must not follow one.
                .redirect(reqwest::redirect::Policy::none())
                .build()
                .map_err(|fault| ReceiveError::Unreachable(format!("no HTTP client: {fault}")))?,
        };
        let mut builder = HttpBuilder::new(token.expose_secret()).client(client.clone());
        match &api_url {
            // serenity's limiter ignores the proxy's address: with one it has to be off.
            Some(url) => builder = builder.proxy(url.clone()).ratelimiter_disabled(true),
            None => {
                let prefixed = format!("Bot {}", token.expose_secret().trim().trim_start_matches("Bot "));
                let mut limiter = Ratelimiter::new(client.clone(), prefixed);
                limiter.set_ratelimit_callback(Box::new(move |info| {
                    on_limit(&info.path, info.timeout, info.global);
                    tell_held(&info);
                }));
                builder = builder.ratelimiter(limiter);
            }
        }
        Ok(Rest { client, http: builder.build(), api_url })
    }

    /// For downloads: the same connections, no token.
    pub(super) fn client(&self) -> &reqwest::Client {
        &self.client
    }

    /// The address given instead of Discord's.
    pub(super) fn api_url(&self) -> Option<&str> {
        self.api_url.as_deref()
    }

    /// Performs one request. An empty answer is `Null`.
    pub(super) async fn call(&self, call: Call<'_>) -> Result<Value, Fault> {
        let response = if !call.files.is_empty() {
            // serenity numbers the parts of a form by ids that only its own builders can set. A form is rare, our
            // own pace covers it, and a 429 comes back typed.
            self.perform_form(call).await?
        } else if let Some(limiter) = &self.http.ratelimiter {
            perform_limited(limiter, request(call)?).await?
        } else {
            let built = request(call)?.build(&self.client, self.http.token(), self.api_url.as_deref());
            let request = built.map_err(|fault| Fault::Malformed(plain(&fault)))?;
            request.send().await.map_err(|fault| of_transport(&fault))?
        };
        read(response).await
    }

    async fn perform_form(&self, call: Call<'_>) -> Result<reqwest::Response, Fault> {
        let mut form = reqwest::multipart::Form::new();
        if let Some(body) = call.body {
            let json = reqwest::multipart::Part::text(body.to_string()).mime_str("application/json");
            form = form.part("payload_json", json.expect("a fixed media type parses"));
        }
        for (id, (name, bytes)) in call.files.into_iter().enumerate() {
            let part = reqwest::multipart::Part::bytes(bytes).file_name(name);
            form = form.part(format!("files[{id}]"), part);
        }
        let path = call.route.path();
        let base = self.api_url.as_deref().map_or(DISCORD, |url| url.trim_end_matches('/'));
        let url = path.replacen(DISCORD, base, 1);
        let request = self.client.request(call.method.reqwest_method(), url).multipart(form);
        let request = request.header(reqwest::header::AUTHORIZATION, self.http.token());
        let request = request.header(reqwest::header::USER_AGENT, serenity::constants::USER_AGENT);
        request.send().await.map_err(|fault| of_transport(&fault))
    }
}

/// serenity's form of a call without files.
fn request(call: Call<'_>) -> Result<Request<'_>, Fault> {
    let body = match call.body {
        Some(body) => Some(serde_json::to_vec(&body).map_err(|fault| Fault::Malformed(fault.to_string()))?),
        None => None,
    };
    let request = Request::new(call.route, call.method).body(body);
    Ok(if call.query.is_empty() { request } else { request.params(Some(call.query)) })
}

/// Through serenity's limiter. What it would hold for long is let go: held back, it has not been sent.
async fn perform_limited(limiter: &Ratelimiter, request: Request<'_>) -> Result<reqwest::Response, Fault> {
    let held = Arc::new(Held::default());
    let performed = HELD.scope(held.clone(), limiter.perform(request));
    tokio::select! {
        biased;
        (retry_after, everything) = held.too_long() => Err(Fault::Limited { retry_after, everything }),
        response = performed => response.map_err(|fault| of_serenity(&fault)),
    }
}

impl Held {
    async fn too_long(&self) -> (Duration, bool) {
        loop {
            self.said.notified().await;
            if let Some(word) = *self.word.lock().expect("never panics while held") {
                return word;
            }
        }
    }
}

/// The limiter calls this from within the request that it is about to hold.
fn tell_held(info: &RatelimitInfo) {
    if info.timeout <= HELD_MAX {
        return;
    }
    // Outside of a request of ours there is nobody to tell.
    let _outside = HELD.try_with(|held| {
        *held.word.lock().expect("never panics while held") = Some((info.timeout, info.global));
        held.said.notify_one();
    });
}

async fn read(response: reqwest::Response) -> Result<Value, Fault> {
    let status = response.status();
    let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
    let retry_after = header("retry-after").and_then(|seconds| seconds.parse().ok());
    let global = header("x-ratelimit-global").is_some();
    let body = response.bytes().await;
    if !status.is_success() {
        // Without its body a refusal is still a refusal.
        return Err(Fault::of_answer(status.as_u16(), &body.unwrap_or_default(), retry_after, global));
    }
    let body = body.map_err(|fault| Fault::Unanswered(format!("the answer was cut: {}", plain(&fault))))?;
    if body.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(&body).map_err(|_| Fault::Unanswered("the answer is not JSON".to_owned()))
}

fn of_serenity(fault: &serenity::Error) -> Fault {
    match fault {
        serenity::Error::Http(HttpError::Request(fault)) => of_transport(fault),
        other => Fault::Malformed(plain(other)),
    }
}

/// Only a connection that was never made proves that nothing was carried out.
fn of_transport(fault: &reqwest::Error) -> Fault {
    if fault.is_connect() {
        Fault::Unsent(plain(fault))
    } else if fault.is_builder() {
        Fault::Malformed(plain(fault))
    } else {
        Fault::Unanswered(plain(fault))
    }
}

/// The innermost reason, which unlike reqwest's own text names no address: an interaction's token is part of one.
fn plain(fault: &(dyn std::error::Error + 'static)) -> String {
    let mut innermost = fault;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    match innermost.downcast_ref::<reqwest::Error>() {
        Some(fault) if fault.is_timeout() => "timed out".to_owned(),
        Some(_) => "the request failed".to_owned(),
        None => innermost.to_string(),
    }
}
