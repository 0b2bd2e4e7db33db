//! The call itself: let in, run within its time, stopped when the turn stops.

use std::panic::AssertUnwindSafe;

use anyhow::anyhow;
use futures::FutureExt;
use org::vault::VaultError;
use serde_json::{Value, json};

use super::checks::Ready;
use super::journal::OUTCOME_UNKNOWN;
use super::{Executor, Outcome};
use crate::call::Call;
use crate::gate::Pass;
use crate::spec::{Admission, Effect, Spec};
use crate::tool::ToolError;

/// Step 6: waits for room in the team.
pub(super) async fn admit(executor: &Executor, call: &Call, admission: Admission) -> Result<Pass, Outcome> {
    let gate = executor.gates.of(&call.team);
    let limits = executor.limits;
    tokio::select! {
        biased;
        () = call.stop.cancelled() => Err(Outcome::error("not run: the turn was stopped")),
        entered = gate.enter(admission, limits.admission_patience) => entered.map_err(|saturated| {
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

/// Step 8: runs it. Dropped when the turn stops or its time is up; a panic is a fault like any other.
pub(super) async fn perform(call: &Call, ready: &Ready<'_>, input: Value) -> Outcome {
    let spec = ready.entry.spec();
    let own = Call { stop: call.stop.child_token(), ..call.clone() };
    // What a tool has left running elsewhere (a thread that reads a file) looks at this.
    let _stops = own.stop.clone().drop_guard();
    let work = AssertUnwindSafe(ready.entry.tool.run(&own, input)).catch_unwind();
    let ended = tokio::select! {
        biased;
        () = call.stop.cancelled() => return cut_off(spec, "the turn was stopped while this ran"),
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
