//! A model with patience and substitutes: retries what may pass, then asks the next model.

use std::sync::Arc;
use std::time::Duration;

use base::Clock;
use base::chance::Chance;
use base::clock::millis;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Message;
    use crate::script::{Script, Turn};

    const LIMITS: Limits = Limits { attempts_max: 3, ..Limits::STANDARD };

    struct World {
        script: Script,
        clock: Clock,
        heard: Vec<String>,
    }

    impl World {
        fn new() -> Self {
            let clock = Clock::starting_at(0);
            World { script: Script::new(clock), clock, heard: Vec::new() }
        }

        /// Asks a chain of `a` (a window of 1,000), `b` (1,000) and `c` (2,000).
        async fn ask(&mut self) -> Result<String, Class> {
            let model = |agent: &str, window| self.script.model_sized(agent, window);
            let rest = vec![model("b", 1_000), model("c", 2_000)];
            let chance = Arc::new(Chance::seeded(1));
            let chain = Chain::new(model("a", 1_000), rest, self.clock, chance, LIMITS);
            let request = Request { messages: vec![Message::user("hi")], ..Request::default() };
            let mut sink = |progress: Progress<'_>| {
                self.heard.push(match progress {
                    Progress::Text(text) => text.to_owned(),
                    Progress::StartOver => "start over".to_owned(),
                    Progress::Failed(Attempt { model, number, error, next }) => {
                        let next = match next {
                            Next::Retry { .. } => "again".to_owned(),
                            Next::Fallback { to } => to.model.clone(),
                            Next::GiveUp => "end".to_owned(),
                        };
                        format!("{}{number} {} -> {next}", model.model, error.class.name())
                    }
                });
            };
            let answer = chain.respond(&request, &mut sink).await;
            assert_eq!(self.script.unscripted(), Vec::<String>::new());
            assert_eq!(self.script.unused(), vec![], "every model was asked as often as expected");
            answer.map(|response| response.text()).map_err(|error| error.class)
        }

        fn fail(&self, agent: &str, class: Class, times: usize) {
            self.script.fail(agent, &ModelError::new(class, "scripted"), times);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_may_pass_is_tried_again_with_growing_waits() {
        for class in [
            Class::Transient,
            Class::Silent,
            Class::Cut,
            Class::RateLimited { retry_after: None },
            Class::Overloaded { retry_after: None },
        ] {
            let mut world = World::new();
            world.fail("a", class, 2);
            world.script.turn("a", Turn::say("at last"));
            assert_eq!(world.ask().await, Ok("at last".to_owned()));
            let name = class.name();
            assert_eq!(world.heard, [&format!("a1 {name} -> again"), &format!("a2 {name} -> again"), "at last"]);
            // Half a second and a second, each jittered down to no less than its half.
            let waited = world.clock.now();
            assert!((750..=1_500).contains(&waited), "{waited} ms");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_is_asked_for_is_kept_and_not_begun_where_it_is_too_long() {
        let mut world = World::new();
        world.fail("a", Class::RateLimited { retry_after: Some(Duration::from_secs(20)) }, 1);
        world.script.turn("a", Turn::say("hello"));
        assert_eq!(world.ask().await, Ok("hello".to_owned()));
        let waited = world.clock.now();
        assert!((20_000..20_500).contains(&waited), "{waited} ms");

        let mut world = World::new();
        world.fail("a", Class::RateLimited { retry_after: Some(Duration::from_secs(3_600)) }, 1);
        world.script.turn("b", Turn::say("me instead"));
        assert_eq!(world.ask().await, Ok("me instead".to_owned()));
        assert_eq!((world.clock.now(), world.heard[0].as_str()), (0, "a1 rate_limited -> b"));

        let mut world = World::new();
        world.script.slow("a", LIMITS.retry_window);
        world.fail("a", Class::Silent, 1);
        world.script.turn("b", Turn::say("me instead"));
        assert_eq!(world.ask().await, Ok("me instead".to_owned()), "a late failure is not tried again");
    }

    #[tokio::test(start_paused = true)]
    async fn what_does_not_pass_goes_to_the_next_model_at_once() {
        for class in [Class::Auth, Class::Quota, Class::Malformed] {
            let mut world = World::new();
            world.fail("a", class, 1);
            world.fail("b", class, 1);
            world.script.turn("c", Turn::say("me instead"));
            assert_eq!(world.ask().await, Ok("me instead".to_owned()));
            let name = class.name();
            assert_eq!(world.heard, [&format!("a1 {name} -> b"), &format!("b1 {name} -> c"), "me instead"]);
            assert_eq!(world.clock.now(), 0);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_conversation_that_is_too_long_only_goes_to_a_larger_model() {
        let mut world = World::new();
        world.fail("a", Class::ContextTooLong, 1);
        world.script.turn("c", Turn::say("it fits"));
        assert_eq!(world.ask().await, Ok("it fits".to_owned()));
        assert_eq!(world.heard, ["a1 context_too_long -> c", "it fits"]);

        let mut world = World::new();
        world.fail("a", Class::ContextTooLong, 1);
        world.fail("c", Class::ContextTooLong, 1);
        assert_eq!(world.ask().await, Err(Class::ContextTooLong));
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_is_asked_of_nobody_else() {
        let mut world = World::new();
        world.fail("a", Class::Refused, 1);
        assert_eq!(world.ask().await, Err(Class::Refused));
        assert_eq!(world.heard, ["a1 refused -> end"]);
    }

    #[tokio::test(start_paused = true)]
    async fn when_all_fail_the_error_is_the_first_ones_and_all_are_reported() {
        let mut world = World::new();
        world.fail("a", Class::Quota, 1);
        world.fail("b", Class::Auth, 1);
        world.fail("c", Class::Overloaded { retry_after: None }, 3);
        assert_eq!(world.ask().await, Err(Class::Quota));
        let heard = [
            "a1 quota -> b",
            "b1 auth -> c",
            "c1 overloaded -> again",
            "c2 overloaded -> again",
            "c3 overloaded -> end",
        ];
        assert_eq!(world.heard, heard);
    }

    #[tokio::test(start_paused = true)]
    async fn text_of_a_failed_attempt_is_taken_back_before_the_next() {
        let mut world = World::new();
        world.script.turn("a", Turn::say("Hel").then_cut());
        world.script.turn("a", Turn::empty().then_cut());
        world.script.turn("a", Turn::say("He").then_cut());
        world.script.turn("b", Turn::say("Hello"));
        assert_eq!(world.ask().await, Ok("Hello".to_owned()));
        let heard =
            ["Hel", "a1 cut -> again", "start over", "a2 cut -> again", "He", "a3 cut -> b", "start over", "Hello"];
        assert_eq!(world.heard, heard);
    }
}
