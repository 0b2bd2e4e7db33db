//! One turn's tool calls, from what the model asked to what it gets: every call has exactly one result.
//!
//! A call goes through ten steps, in this order:
//!
//! | step | where | a failure is |
//! |---|---|---|
//! | 1 parse and validate | `checks::parse` | an error result that says what is wrong |
//! | 2 permission, provenance | `checks::permit` | an error result with the rule that said no |
//! | 3 repeats | `journal::Journal::enter` | an error result that says so |
//! | 4 approval, or the tool's own question | `approval::ask` | an error result; the question outlives a restart |
//! | 5 journal: started | `journal::Journal::enter` | an error of the turn |
//! | 6 admission | `effect::admit` | an error result with `retry_after_ms` |
//! | 7 secrets | `effect::expand`, into a copy that is journaled nowhere | an error result |
//! | 8 the call | `effect::perform` | an error result; a fault of ours also ends the turn |
//! | 9 scrub, cap | `result::Bounds` | a shorter result |
//! | 10 journal: finished, audit | `journal::Journal::finish` | an error of the turn |
//!
//! A call that was cut off by a crash is found in the journal when the turn is entered again: finished, its result
//! is given again; only started, it is made again if that does no harm.

mod approval;
pub(crate) mod aside;
mod checks;
mod effect;
mod journal;
pub(crate) mod receipt;
mod result;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use base::{Clock, Scrub};
use futures::future::join_all;
use org::vault::Vault;
use serde_json::Value;
use store::{Db, audit};
use tracing::Instrument;

use crate::batches::{self, BatchLimits};
use crate::call::Call;
use crate::catalogue::Catalogue;
use crate::delegation::Line;
use crate::gate::Gates;
use crate::spec::{Partition, Spec};
use crate::workspace::Workspaces;
use approval::Approval;
use checks::Ready;
use journal::Journal;
use result::Bounds;

/// What runs tools: all of it is needed for every call.
pub struct Executor {
    /// The journal's database.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// The tools.
    pub catalogue: Arc<Catalogue>,
    /// Admission to the teams.
    pub gates: Gates,
    /// Leads the tools that ask other sessions to them.
    pub line: Line,
    /// The secrets that no result, journal or log may hold.
    pub scrub: Scrub,
    /// The secrets that stand behind placeholders.
    pub vault: Vault,
    /// Where long results go.
    pub workspaces: Workspaces,
    /// Bounds.
    pub limits: Limits,
}

/// Bounds of the calls of a turn. Each tool has its own time and length besides.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many calls run at once.
    pub batches: BatchLimits,
    /// How long a call waits to be admitted to its team.
    pub admission_patience: Duration,
    /// When a call that was not admitted may be tried again.
    pub retry_after: Duration,
    /// How often the same call with the same arguments is made in one turn.
    pub same_call_max: i64,
    /// How long a person is waited for, who is asked for an approval or by a tool.
    pub approval_patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            batches: BatchLimits::default(),
            // As long as most tools may run: whoever is in front is out by then.
            admission_patience: Duration::from_secs(30),
            retry_after: Duration::from_secs(5),
            same_call_max: 2,
            approval_patience: Duration::from_secs(30 * 60),
        }
    }
}

/// A call as the model asked for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The provider's id of the call, unique in its step.
    pub call_id: String,
    /// The tool's name as the model wrote it, which may name no tool at all.
    pub wire_name: String,
    /// The arguments, or the text that should have been JSON.
    pub input: Result<Value, String>,
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The id of the call.
    pub call_id: String,
    /// What the model gets.
    pub content: String,
    /// Whether it is a failure.
    pub is_error: bool,
}

/// What a call came to, before it is scrubbed and cut.
struct Outcome {
    content: String,
    is_error: bool,
    /// A fault of ours: the turn ends.
    broken: Option<anyhow::Error>,
}

impl Outcome {
    fn error(content: impl Into<String>) -> Self {
        Outcome { content: content.into(), is_error: true, broken: None }
    }

    /// Whether the call stays as it is, only begun: the turn is entered again, and it may be run again. That it was stopped
    /// is then nothing that the model has to hear of.
    fn is_left(&self, call: &Call, spec: &Spec) -> bool {
        call.leaving.is_cancelled() && self.is_error && self.broken.is_none() && spec.may_run_again()
    }
}

impl Executor {
    /// Runs the calls of one step, those of a batch side by side. The results are in the order of the calls.
    ///
    /// When `call.stop` is cancelled, what runs is dropped, what waits is not run, and every call still has its
    /// result, here and in the journal. Where `call.leaving` was cancelled before it, only what must not be run again has
    /// one in the journal: the turn is entered again, and runs the others.
    ///
    /// # Errors
    /// If a tool failed by a fault of ours, or the journal could not be written. Then too every call that can have a
    /// result has one in the journal, and the turn is to end.
    pub async fn run_calls(&self, call: &Call, asked: Vec<Asked>) -> Result<Vec<Done>> {
        let asked = asked.as_slice();
        let classes: Vec<Partition> = asked.iter().map(|asked| self.class(asked)).collect();
        let mut all = Vec::with_capacity(asked.len());
        let mut fault: Option<anyhow::Error> = None;
        for batch in batches::split(&classes, self.limits.batches) {
            let ended = fault.is_some();
            let calls = batch.map(async |at| self.one(call, asked, at, ended).await);
            for outcome in join_all(calls).await {
                match outcome {
                    Ok((done, broken)) => {
                        all.push(done);
                        fault = keep_first(fault, broken);
                    }
                    Err(error) => fault = keep_first(fault, Some(error)),
                }
            }
        }
        fault.map_or(Ok(all), Err)
    }

    /// How a call may overlap. One that will be refused runs nothing; it is alone, like everything unknown.
    fn class(&self, asked: &Asked) -> Partition {
        self.catalogue.by_wire(&asked.wire_name).map_or(Partition::Write, |entry| entry.spec().partition)
    }

    /// One call of a step. `ended`: an earlier one has ended the turn.
    async fn one(&self, call: &Call, step: &[Asked], at: usize, ended: bool) -> Result<(Done, Option<anyhow::Error>)> {
        let asked = &step[at];
        if step[..at].iter().any(|earlier| earlier.call_id == asked.call_id) {
            // The journal knows a call by its id: there can be no row for a second one.
            let content = format!("not run: two calls of this step have the id `{}`", asked.call_id);
            return Ok((Done { call_id: asked.call_id.clone(), content, is_error: true }, None));
        }
        let known = self.catalogue.by_wire(&asked.wire_name).map(|entry| entry.spec().name.to_string());
        // A name that names no tool is a text of the model's like any other.
        let unknown = || base::text::cut(&self.scrub.clean(&asked.wire_name), crate::wire::LENGTH_MAX);
        let name = known.unwrap_or_else(unknown);
        let span = tracing::info_span!(
            "tool", tool.name = %name, team = %call.team, run = %call.run, step = call.step
        );
        self.steps(call, at, asked, &name, ended).instrument(span).await
    }

    /// Its ten steps.
    async fn steps(
        &self,
        call: &Call,
        at: usize,
        asked: &Asked,
        name: &str,
        ended: bool,
    ) -> Result<(Done, Option<anyhow::Error>)> {
        let journal = Journal::of(self, call, asked);
        if call.leaving.is_cancelled() && !ended {
            return Ok((journal.left(), None));
        }
        let ready = match self.ready(call, asked, ended) {
            Ok(ready) => ready,
            Err(refusal) => {
                tracing::debug!("{name} was refused: {}", self.scrub.clean(&refusal));
                return Ok((journal.refuse(name, &refusal).await?, None));
            }
        };
        let reply = match approval::ask(self, call, &ready).await? {
            Approval::Granted(reply) => reply,
            Approval::Refused(why) => return Ok((journal.refuse(name, &why).await?, None)),
            Approval::Stopped => return Ok((journal.left(), None)),
        };
        if let Some(known) = journal.enter(&ready).await? {
            return Ok((known, None));
        }
        let outcome = match effect::admit(self, call, &ready).await {
            Ok(pass) => {
                let outcome = match effect::expand(self, call, &ready).await {
                    Ok(input) => effect::perform(self, call, &ready, input, reply).await,
                    Err(refused) => refused,
                };
                drop(pass);
                outcome
            }
            Err(refused) => refused,
        };
        if outcome.is_left(call, ready.entry.spec()) {
            tracing::debug!("{name} is run again when the turn goes on");
            return Ok((journal.left(), None));
        }
        let bounds = Bounds { executor: self, call, at, bytes_max: ready.entry.spec().max_result_bytes };
        let content = bounds.fit(self.scrub.clean(&outcome.content)).await;
        let done = Done { call_id: asked.call_id.clone(), content, is_error: outcome.is_error };
        let came = if done.is_error { audit::Outcome::Failed } else { audit::Outcome::Done };
        let done = journal.finish(&ready.entry.spec().name, done, came).await?;
        let took_ms = journal.took_ms();
        tracing::debug!(took_ms, is_error = done.is_error, bytes = done.content.len(), "{name} has ended");
        Ok((done, outcome.broken.map(|error| error.context(format!("run the tool {name}")))))
    }

    /// Steps 1 and 2: everything that can be said of a call without looking at the journal.
    fn ready<'a>(&'a self, call: &Call, asked: &'a Asked, ended: bool) -> Result<Ready<'a>, String> {
        if ended {
            return Err("not run: an earlier call failed, and the turn has ended".to_owned());
        }
        if call.stop.is_cancelled() {
            return Err("not run: the turn was stopped".to_owned());
        }
        let ready = checks::parse(&self.catalogue, &call.grant, asked)?;
        checks::permit(&self.catalogue, &ready, &call.grant)?;
        Ok(ready)
    }
}

/// Of several faults the first ends the turn; the others are told here, or nobody would hear of them.
fn keep_first(first: Option<anyhow::Error>, other: Option<anyhow::Error>) -> Option<anyhow::Error> {
    match (first, other) {
        (Some(first), Some(other)) => {
            tracing::error!("another call of the same step failed as well: {other:#}");
            Some(first)
        }
        (first, other) => first.or(other),
    }
}

#[cfg(test)]
mod public_json;
#[cfg(test)]
mod tests;
