//! A model with patience and substitutes: retries what may pass, then asks the next model.

use std::sync::Arc;
use std::time::Duration;

use base::clock::millis;
use base::Clock;
use base::chance::Chance;
use futures::future::BoxFuture;

use crate::error::{Class, ModelError};
use crate::limits::Limits;
use crate::model::{Attempt, Model, Next, Progress, Sink};
use crate::request::{ModelRef, Request};
use crate::response::Response;

/// Models that are asked in order.
///
/// | class | same model again | next model |
/// |---|---|---|
/// | rate limited, overloaded | after the wait it asks for, else the backoff | yes |
/// | transient, silent, cut | after the backoff | yes |
/// | auth, quota, malformed | no | yes |
/// | context too long | no | where its window is larger than the one that was too small |
/// | refused | no | no |
///
/// A wait that would end after [`Limits::retry_window`] is not begun. When all models have failed, the error is that
/// of the first, which is the one that was asked for; the others are in the reported attempts.
pub struct Chain {
    first: Arc<dyn Model>,
    rest: Vec<Arc<dyn Model>>,
    clock: Clock,
    chance: Arc<Chance>,
    limits: Limits,
}

impl Chain {
    /// `first`, and the models to ask where it cannot answer.
    pub fn new(
        first: Arc<dyn Model>,
        rest: Vec<Arc<dyn Model>>,
        clock: Clock,
        chance: Arc<Chance>,
        limits: Limits,
    ) -> Self {
        Chain { first, rest, clock, chance, limits }
    }

    async fn ask(&self, request: &Request, sink: Sink<'_>) -> Result<Response, ModelError> {
        let mut shown = Shown { sink, text: false };
        let mut rest = self.rest.iter();
        let mut model = &self.first;
        let mut first_error = None;
        // The largest window that is known to be too small.
        let mut too_small_tokens = 0;
        loop {
            let (number, error) = match self.patiently(model, request, &mut shown).await {
                Ok(response) => return Ok(response),
                Err(failed) => failed,
            };
            if error.class == Class::ContextTooLong {
                too_small_tokens = too_small_tokens.max(model.context_window_tokens());
            }
            let next = match error.class {
                Class::Refused => None,
                _ => rest.find(|next| next.context_window_tokens() > too_small_tokens),
            };
            let then = next.map_or(Next::GiveUp, |next| Next::Fallback { to: next.reference().clone() });
            shown.failed(model.reference(), number, &error, then);
            let error = first_error.get_or_insert(error);
            match next {
                Some(next) => model = next,
                None => return Err(error.clone()),
            }
        }
    }

    /// Asks one model until it answers or waiting will not help. An error comes with its attempt's number.
    async fn patiently(
        &self,
        model: &Arc<dyn Model>,
        request: &Request,
        shown: &mut Shown<'_>,
    ) -> Result<Response, (u32, ModelError)> {
        let began = self.clock.now();
        let mut number = 1;
        loop {
            shown.begin();
            let error = match model.respond(request, &mut |progress| shown.pass(progress)).await {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            let wait = error.class.retry_after().map_or_else(|| self.backoff(number), |asked| self.politely(asked));
            let waited = millis(self.clock.now().saturating_sub(began)).saturating_add(wait);
            if !error.class.passes() || number >= self.limits.attempts_max || waited > self.limits.retry_window {
                return Err((number, error));
            }
            shown.failed(model.reference(), number, &error, Next::Retry { wait });
            self.clock.sleep(wait).await;
            number += 1;
        }
    }

    /// Doubled with every failure, and jittered down to half, so that many hives do not come back at once.
    fn backoff(&self, failures: u32) -> Duration {
        let doubled = 2u32.saturating_pow(failures.saturating_sub(1));
        let whole = self.limits.backoff_first.saturating_mul(doubled).min(self.limits.backoff_max);
        whole / 2 + self.jitter(whole / 2)
    }

    /// Never earlier than asked, and a little later: everyone who was refused was told the same.
    fn politely(&self, asked: Duration) -> Duration {
        asked.saturating_add(self.jitter(self.limits.backoff_first))
    }

    fn jitter(&self, most: Duration) -> Duration {
        Duration::from_millis(self.chance.below(u64::try_from(most.as_millis()).unwrap_or(u64::MAX)))
    }
}

impl Model for Chain {
    fn respond<'a>(&'a self, request: &'a Request, sink: Sink<'a>) -> BoxFuture<'a, Result<Response, ModelError>> {
        Box::pin(self.ask(request, sink))
    }

    fn reference(&self) -> &ModelRef {
        self.first.reference()
    }

    fn context_window_tokens(&self) -> u64 {
        self.first.context_window_tokens()
    }
}

/// What the caller has been shown.
struct Shown<'a> {
    sink: Sink<'a>,
    /// Whether text stands that a new attempt would repeat.
    text: bool,
}

impl Shown<'_> {
    fn begin(&mut self) {
        if std::mem::take(&mut self.text) {
            (self.sink)(Progress::StartOver);
        }
    }

    fn pass(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::Text(_) => self.text = true,
            Progress::StartOver => self.text = false,
            Progress::Failed(_) => {}
        }
        (self.sink)(progress);
    }

    fn failed(&mut self, model: &ModelRef, number: u32, error: &ModelError, next: Next) {
        let attempt = Attempt { model: model.clone(), number, error: error.clone(), next };
        tracing::debug!(
            model = %attempt.model, class = attempt.error.class.name(), attempt = number,
            "the model {} did not answer: {}", attempt.model, attempt.error
        );
        (self.sink)(Progress::Failed(&attempt));
    }
}
