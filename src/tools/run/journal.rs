//! A call's row: written before the effect, finished after it, and read back when the turn is entered again.

use anyhow::{Context, Result};
use base::Moment;
use store::audit::{self, Decision, Outcome};
use store::calls::{self, State};

use super::checks::Ready;
use super::{Asked, Done, Executor};
use crate::call::Call;

/// What a model is told of a call that may or may not have had its effect.
pub(super) const OUTCOME_UNKNOWN: &str = "interrupted, outcome unknown: look before you do it again";

/// The longest refusal, in characters: it may quote what the model wrote, which may be long.
const REFUSAL_CHARS_MAX: usize = 2_000;

/// The journal, for one call.
pub(super) struct Journal<'a> {
    pub executor: &'a Executor,
    pub call: &'a Call,
    pub asked: &'a Asked,
    /// When the model's call was looked at first.
    began: Moment,
    /// The arguments as they are kept: the same text for the same arguments, whatever their order, without secrets.
    arguments: String,
}

impl<'a> Journal<'a> {
    /// Of a call that is looked at for the first time now.
    pub fn of(executor: &'a Executor, call: &'a Call, asked: &'a Asked) -> Self {
        let arguments = executor.without_secrets(asked);
        Journal { executor, call, asked, began: executor.clock.now(), arguments }
    }

    /// How long ago the model's call was looked at first, in milliseconds.
    pub fn took_ms(&self) -> i64 {
        (self.executor.clock.now() - self.began).max(0)
    }

    /// Steps 3 and 5: counts how often this very call was made in the turn, and says that it is about to be made.
    /// `Some` where it has a result already or must not be made.
    pub async fn enter(&self, ready: &Ready<'_>) -> Result<Option<Done>> {
        let spec = ready.entry.spec();
        let repeated = self.done(
            format!(
                "`{}` was called with these very arguments {} times in this turn already and was not run again: use \
                 what it answered, or do something else",
                spec.name, self.executor.limits.same_call_max
            ),
            true,
        );
        let (before, call_id) = (self.executor.limits.same_call_max, &self.asked.call_id);
        let (run, step, now) = (self.call.run, self.call.step, self.executor.clock.now());
        let write = async |conn: &mut store::Conn| {
            let repeats = calls::repeats(conn, run, &spec.name, &self.arguments).await?;
            if !calls::start(conn, run, step, call_id, &spec.name, &self.arguments, now).await? {
                return Ok(Some(calls::get(conn, run, step, call_id).await?));
            }
            if repeats >= before {
                calls::finish(conn, run, step, call_id, true, &repeated.content, now).await?;
                let why = Decision::Refused("called with the same arguments before".to_owned());
                audit::append(conn, &self.audited(&spec.name, why, Outcome::NotRun, now), now).await?;
                return Ok(Some(calls::get(conn, run, step, call_id).await?));
            }
            Ok(None)
        };
        match self.executor.db.tx("start a tool call", write).await? {
            None => Ok(None),
            Some(row) => {
                let row = row.context("a call has no row although it was started")?;
                self.recall(row, spec.may_run_again()).await
            }
        }
    }

    /// Writes the row of a call that is not made at all, and so both of its ends at once.
    pub async fn refuse(&self, name: &str, refusal: &str) -> Result<Done> {
        let done = self.done(base::text::cut(&self.executor.scrub.clean(refusal), REFUSAL_CHARS_MAX), true);
        let call_id = &self.asked.call_id;
        let (run, step, now) = (self.call.run, self.call.step, self.executor.clock.now());
        let write = async |conn: &mut store::Conn| {
            if calls::start(conn, run, step, call_id, name, &self.arguments, now).await? {
                calls::finish(conn, run, step, call_id, true, &done.content, now).await?;
                let why = Decision::Refused(done.content.clone());
                audit::append(conn, &self.audited(name, why, Outcome::NotRun, now), now).await?;
                return Ok(None);
            }
            calls::get(conn, run, step, call_id).await
        };
        match self.executor.db.tx("refuse a tool call", write).await? {
            None => Ok(done),
            Some(row) => Ok(self.recall(row, false).await?.unwrap_or(done)),
        }
    }

    /// What a call comes to that the turn goes on with once it is entered again: told, and not written down.
    pub fn left(&self) -> Done {
        self.done("not run: the turn was stopped".to_owned(), true)
    }

    /// Step 10. What was written before, by a tool that writes its result where it has its effect, stays: it is what the
    /// model gets, whatever cut the call off afterwards.
    pub async fn finish(&self, tool: &str, done: Done, outcome: Outcome) -> Result<Done> {
        let (run, step, now) = (self.call.run, self.call.step, self.executor.clock.now());
        let write = async |conn: &mut store::Conn| {
            if !calls::finish(conn, run, step, &done.call_id, done.is_error, &done.content, now).await?
                && let Some(row) = calls::get(conn, run, step, &done.call_id).await?
            {
                return Ok(Some(row));
            }
            audit::append(conn, &self.audited(tool, Decision::Allowed, outcome, now), now).await?;
            Ok(None)
        };
        let written = self.executor.db.tx("finish a tool call", write).await?;
        Ok(written.map_or(done, |row| self.done(row.result, row.is_error)))
    }

    /// A row that was there before: of a turn that is entered again. `None` where the call is to be made again.
    async fn recall(&self, row: calls::Call, may_run_again: bool) -> Result<Option<Done>> {
        if row.state != State::Started {
            return Ok(Some(self.done(row.result, row.is_error)));
        }
        if !row.result.is_empty() {
            tracing::info!("{} was cut off, and has been finished since", row.tool);
            let done = self.done(row.result, false);
            return self.finish(&row.tool, done, Outcome::Done).await.map(Some);
        }
        if may_run_again {
            tracing::info!("{} was cut off and is run again", row.tool);
            return Ok(None);
        }
        tracing::warn!("{} was cut off, and nobody knows whether it had its effect", row.tool);
        let done = self.done(OUTCOME_UNKNOWN.to_owned(), true);
        self.finish(&row.tool, done, Outcome::Unknown).await.map(Some)
    }

    fn audited(&self, tool: &str, decision: Decision, outcome: Outcome, now: Moment) -> audit::Entry {
        audit::Entry {
            team: self.call.team.clone(),
            tool: tool.to_owned(),
            sender: self.call.origin.sender.clone(),
            run: self.call.run,
            step: self.call.step,
            call_id: self.asked.call_id.clone(),
            arguments: self.arguments.clone(),
            decision,
            outcome,
            duration_ms: (now - self.began).max(0),
        }
    }

    fn done(&self, content: String, is_error: bool) -> Done {
        Done { call_id: self.asked.call_id.clone(), content, is_error }
    }
}
