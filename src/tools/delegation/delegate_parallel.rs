//! `delegate_parallel`: several pieces of work at once, for several child teams or for one.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::delegate_to::{Mode, work};
use super::item::{FAN_OUT_BYTES_MAX, Item, check_fan_out};
use super::limits::Limits;
use super::relay::{Relay, Said};
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Has several work side by side.
pub struct DelegateParallel {
    /// The way to them.
    pub relay: Relay,
}

/// Who, and what: either `branches`, or one `assignee` with `tasks`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelegateParallelArgs {
    /// Up to 5 pieces of work, each for one child team. All of them start at the same time.
    pub branches: Option<Vec<Branch>>,
    /// In the place of `branches`: the child team that does all of `tasks`, each in a session of its own.
    pub assignee: Option<String>,
    /// What it is to do in each of them.
    pub tasks: Option<Vec<String>>,
    /// What sort of work it is, where a branch says nothing else.
    pub mode: Option<Mode>,
    /// How long each may take where it says nothing else, in milliseconds, up to 600000, which is also what holds where
    /// this is left out.
    pub default_timeout_ms: Option<u64>,
}

/// One of the pieces.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// The child team.
    pub assignee: String,
    /// What it is to do, with everything that it has to know: it knows nothing of this conversation or of the others.
    #[serde(alias = "task")]
    pub prompt: String,
    /// What sort of work it is.
    pub mode: Option<Mode>,
    /// How long it may take, in milliseconds.
    pub timeout_ms: Option<u64>,
}

/// What came of one of them.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Delegated {
    /// The team.
    pub assignee: String,
    /// Whether it has handed something back.
    pub ok: bool,
    /// What it said, or why it said nothing: `timeout`, `saturation…`, or what went wrong.
    pub result_or_error: String,
}

impl DelegateParallelArgs {
    pub(super) fn items(&self, limits: &Limits) -> Result<Vec<Item>, ToolError> {
        let default_ms = self.default_timeout_ms;
        match (&self.branches, &self.assignee, &self.tasks) {
            (Some(branches), None, None) => {
                check_fan_out(branches.len(), limits)?;
                let item = |branch: &Branch| {
                    let (mode, timeout_ms) = (branch.mode.or(self.mode), branch.timeout_ms.or(default_ms));
                    work(&branch.assignee, &branch.prompt, mode, timeout_ms, limits)
                };
                branches.iter().map(item).collect()
            }
            (None, Some(assignee), Some(tasks)) => {
                check_fan_out(tasks.len(), limits)?;
                tasks.iter().map(|task| work(assignee, task, self.mode, default_ms, limits)).collect()
            }
            _ => Err(ToolError::refused("give either `branches`, or an `assignee` with its `tasks`")),
        }
    }
}

impl Tool for DelegateParallel {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("delegate_parallel"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/delegate_parallel.md")),
        domain: Domain::Delegation,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Control,
        ops: Ops::Target,
        effect: Effect::Once,
        destructive: false,
        timeout: Limits::CALL_TIMEOUT,
        max_result_bytes: FAN_OUT_BYTES_MAX,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = DelegateParallelArgs;
    type Output = Vec<Delegated>;

    async fn run(&self, call: &Call, args: DelegateParallelArgs) -> Result<Vec<Delegated>, ToolError> {
        let items = args.items(&self.relay.limits)?;
        let delegated = |said: Said| Delegated { assignee: said.whom, ok: said.ok, result_or_error: said.text };
        Ok(self.relay.ask_all(call, items).await?.into_iter().map(delegated).collect())
    }
}
