//! The call itself: let in, run within its time, stopped when the turn stops.

use std::panic::AssertUnwindSafe;

use anyhow::anyhow;
use futures::FutureExt;
use org::vault::VaultError;
use serde_json::{Value, json};

use super::checks::Ready;
use super::journal::OUTCOME_UNKNOWN;
use super::{Executor, Outcome};
use crate::asking::Reply;
use crate::call::Call;
use crate::delegation::{LAST_WORDS, Ride};
use crate::gate::{Pass, Saturated};
use crate::spec::{Effect, Ops, Spec};
use crate::tool::ToolError;

/// The right to run.
pub(super) enum Admitted {
    /// It has room of its own.
    Pass { _pass: Pass },
    /// It rides on the slot of its session.
    Ride { _ride: Ride },
    /// It needs none in its own team: it takes slots of the teams that it asks.
    Elsewhere,
}

/// Step 6: waits for room in the team.
pub(super) async fn admit(executor: &Executor, call: &Call, ready: &Ready<'_>) -> Result<Admitted, Outcome> {
    if ready.entry.spec().ops == Ops::Target {
        return Ok(Admitted::Elsewhere);
    }
    let (admission, limits) = (ready.admission, executor.limits);
    let slot = call.slot.as_ref().filter(|slot| *slot.team() == call.team);
    let enter = async {
        Ok(match slot {
            Some(slot) => Admitted::Ride { _ride: slot.ride(admission, limits.admission_patience).await? },
            None => {
                let gate = executor.gates.of(&call.team);
                Admitted::Pass { _pass: gate.enter(admission, limits.admission_patience).await? }
            }
        })
    };
    tokio::select! {
        biased;
        () = call.stop.cancelled() => Err(Outcome::error("not run: the turn was stopped")),
        entered = enter => entered.map_err(|saturated: Saturated| {
            let retry_after_ms = base::clock::ms(limits.retry_after);
            Outcome::error(json!({ "error": saturated.to_string(), "retry_after_ms": retry_after_ms }).to_string())
        }),
    }
}

/// Step 7: the arguments with secrets where their placeholders stood.
pub(super) async fn expand(executor: &Executor, call: &Call, ready: &Ready<'_>) -> Result<Value, Outcome> {
    match executor.vault.expand(&call.team, ready.input.clone()).await {
        Ok(input) => Ok(input),
        Err(VaultError::Refused(why)) => Err(Outcome::error(why.to_string())),
        Err(VaultError::Broken(error)) => Err(broken(error)),
    }
}

/// Step 8: runs it, with the reply where it has asked. Dropped when the turn stops or its time is up; a panic is a fault like any other.
pub(super) async fn perform(
    executor: &Executor,
    call: &Call,
    ready: &Ready<'_>,
    input: Value,
    reply: Option<Reply>,
) -> Outcome {
    let spec = ready.entry.spec();
    let own = Call { call_id: ready.call_id.into(), stop: call.stop.child_token(), ..call.clone() };
    // What a tool has left running elsewhere (a thread that reads a file) looks at this.
    let _stops = own.stop.clone().drop_guard();
    let work = match (ready.entry.tool.asks(), reply) {
        (Some(asking), Some(reply)) => asking.answered(&own, input, reply),
        _ => ready.entry.tool.run(&own, input),
    };
    let work = AssertUnwindSafe(work).catch_unwind();
    let stopped = async {
        call.stop.cancelled().await;
        if spec.ops == Ops::Target {
            // It has others to end, and says so itself.
            executor.clock.sleep(LAST_WORDS).await;
        }
    };
    let ended = tokio::select! {
        biased;
        () = stopped => return cut_off(spec, "the turn was stopped while this ran"),
        ended = tokio::time::timeout(spec.timeout, work) => ended,
    };
    match ended {
        Err(_) => cut_off(spec, &format!("this took longer than {}", base::clock::show_span(spec.timeout))),
        Ok(Ok(Ok(content))) => Outcome { content, is_error: false, broken: None },
        Ok(Ok(Err(ToolError::Refused(why)))) => Outcome::error(why),
        Ok(Ok(Err(ToolError::Broken(error)))) => broken(error),
        Ok(Err(panic)) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            broken(anyhow!("it panicked: {text}"))
        }
    }
}

fn cut_off(spec: &Spec, why: &str) -> Outcome {
    Outcome::error(match spec.effect {
        Effect::ReadOnly => why.to_owned(),
        Effect::Idempotent | Effect::Once => format!("{why}; {OUTCOME_UNKNOWN}"),
    })
}

fn broken(error: anyhow::Error) -> Outcome {
    let content = "this failed by a fault of the hive's own, and the turn ends here".to_owned();
    Outcome { content, is_error: true, broken: Some(error) }
}
