//! A model behind HTTP: one request, one answer, no retries ([`crate::Chain`] does those).

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt;
use futures::future::BoxFuture;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use tokio::time::timeout;

use crate::anthropic::request::Thinking;
use crate::anthropic::stream::MessageReader;
use crate::error::{Class, ModelError};
use crate::http::{Http, close};
use crate::model::{Model, Progress, Sink};
use crate::openai::request::Dialect;
use crate::openai::stream::CompletionReader;
use crate::profile::{Auth, Endpoint, Profile, Wire, endpoint};
use crate::request::{Message, ModelRef, Request, Role};
use crate::response::{Response, StopReason, Usage};
use crate::wire::{Answer, Stop};
use crate::{anthropic, openai, stream};

/// How often a provider that pauses its answer is asked to go on.
const PAUSES_MAX: u32 = 5;

/// How often a request is put differently after a server did not take its form.
const CORRECTIONS_MAX: u32 = 3;

/// A model of a profile.
pub(crate) struct Remote {
    reference: ModelRef,
    wire: Wire,
    url: Url,
    headers: HeaderMap,
    context_window_tokens: u64,
    output_tokens_max: u32,
    http: Arc<Http>,
    /// What the server is known to take. Only OpenAI's protocol has dialects.
    dialect: Mutex<Dialect>,
}

/// How a request is put.
#[derive(Clone, Copy)]
struct Form {
    dialect: Dialect,
    thinking: Thinking,
}

impl Remote {
    /// The profile's model `model`. Fails where the profile cannot be used, with the reason.
    pub(crate) fn new(profile: &Profile, model: &str, http: Arc<Http>) -> Result<Self, String> {
        let url = endpoint(profile, Endpoint::Answer).map_err(|error| error.to_string())?;
        Ok(Remote {
            reference: ModelRef::new(&profile.name, model),
            wire: profile.wire,
            headers: headers(profile)?,
            context_window_tokens: profile.context_window_tokens,
            output_tokens_max: profile.output_tokens_max,
            http,
            dialect: Mutex::new(Dialect::guess(url.host_str().unwrap_or(""))),
            url,
        })
    }

    async fn whole(&self, request: &Request, sink: Sink<'_>) -> Result<Response, ModelError> {
        let mut request = Cow::Borrowed(request);
        let mut content = Vec::new();
        let mut usage = Usage::default();
        for _ in 0..=PAUSES_MAX {
            let answer = self.corrected(&request, sink).await;
            let answer = answer.map_err(|error| ModelError { usage: usage + error.usage, ..error })?;
            usage += answer.usage;
            content.extend(answer.content.iter().cloned());
            if let Stop::Ended(stop) = answer.stop {
                return Ok(Response { content, stop, usage, model: self.reference.clone() });
            }
            request.to_mut().messages.push(Message { role: Role::Assistant, content: answer.content });
        }
        // It pauses for ever: what it said is the answer.
        Ok(Response { content, stop: StopReason::EndTurn, usage, model: self.reference.clone() })
    }

    /// Asks, and asks again in another form where the server did not take this one.
    async fn corrected(&self, request: &Request, sink: Sink<'_>) -> Result<Answer, ModelError> {
        let mut form = Form { dialect: self.dialect(), thinking: Thinking::Keep };
        for _ in 0..CORRECTIONS_MAX {
            match self.once(request, form, sink).await {
                Err(error) if error.class == Class::Malformed => match self.correction(form, &error.text) {
                    Some(better) => form = better,
                    None => return Err(error),
                },
                done => return done,
            }
        }
        self.once(request, form, sink).await
    }

    fn correction(&self, form: Form, refusal: &str) -> Option<Form> {
        match self.wire {
            Wire::Anthropic => {
                let about_thinking = refusal.contains("thinking") || refusal.contains("signature");
                let kept = form.thinking == Thinking::Keep;
                (kept && about_thinking).then_some(Form { thinking: Thinking::Drop, ..form })
            }
            Wire::OpenAi => {
                let dialect = form.dialect.corrected(refusal)?;
                *self.dialect.lock().unwrap_or_else(PoisonError::into_inner) = dialect;
                Some(Form { dialect, ..form })
            }
        }
    }

    fn dialect(&self) -> Dialect {
        *self.dialect.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn once(&self, request: &Request, form: Form, sink: Sink<'_>) -> Result<Answer, ModelError> {
        let (model, tokens) = (&self.reference, self.output_tokens_max);
        let body = match self.wire {
            Wire::Anthropic => anthropic::request::body(request, model, tokens, form.thinking),
            Wire::OpenAi => openai::request::body(request, model, tokens, form.dialect),
        };
        let mut accepted = self.http.post(&self.url, &self.headers, body).await?;
        let mut text = |more: &str| sink(Progress::Text(more));
        let bytes = accepted.bytes.by_ref();
        let answer = match self.wire {
            Wire::Anthropic => stream::read(bytes, accepted.form, MessageReader::new(model.clone()), &mut text).await,
            Wire::OpenAi => stream::read(bytes, accepted.form, CompletionReader::new(model.clone()), &mut text).await,
        }?;
        close(accepted.bytes).await;
        Ok(answer)
    }
}

impl Model for Remote {
    fn respond<'a>(&'a self, request: &'a Request, sink: Sink<'a>) -> BoxFuture<'a, Result<Response, ModelError>> {
        Box::pin(async move {
            let limit = self.http.limits().total;
            let answer = timeout(limit, self.whole(request, sink)).await;
            let late = || Err(ModelError::new(Class::Cut, format!("the answer was not whole within {limit:?}")));
            answer.unwrap_or_else(|_| late()).map_err(|error| self.http.clean(error))
        })
    }

    fn reference(&self) -> &ModelRef {
        &self.reference
    }

    fn context_window_tokens(&self) -> u64 {
        self.context_window_tokens
    }
}

/// Asks a profile's server for its models: proves address and key, costs nothing.
pub(crate) async fn check(profile: &Profile, http: &Http) -> Result<(), ModelError> {
    let unusable = |why: String| ModelError::new(Class::Malformed, why);
    let url = endpoint(profile, Endpoint::Models).map_err(|error| unusable(error.to_string()))?;
    let headers = headers(profile).map_err(unusable)?;
    http.check(&url, &headers).await.map_err(|error| http.clean(error))
}

/// What every request to a profile's server carries.
pub(crate) fn headers(profile: &Profile) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    if profile.wire == Wire::Anthropic {
        headers.insert(HeaderName::from_static("anthropic-version"), HeaderValue::from_static("2023-06-01"));
    }
    let Some(key) = &profile.key else { return Ok(headers) };
    let bad_key = |_| format!("the key of profile `{}` has a character that no key has", profile.name);
    let bearer = || HeaderValue::try_from(format!("Bearer {}", key.expose()));
    let (name, value) = match (profile.wire, profile.auth) {
        (Wire::Anthropic, Auth::ApiKey) => (HeaderName::from_static("x-api-key"), HeaderValue::try_from(key.expose())),
        (Wire::Anthropic, Auth::OAuthBearer) => {
            // Without it the provider does not look at the token.
            let beta = HeaderValue::from_static("oauth-2025-04-20");
            headers.insert(HeaderName::from_static("anthropic-beta"), beta);
            (AUTHORIZATION, bearer())
        }
        (Wire::OpenAi, _) => (AUTHORIZATION, bearer()),
    };
    let mut value = value.map_err(bad_key)?;
    value.set_sensitive(true);
    headers.insert(name, value);
    Ok(headers)
}
