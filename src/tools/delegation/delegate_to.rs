//! `delegate_to`: a child team does something at once, and says what came of it.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Deserialize;

use super::item::Item;
use super::limits::Limits;
use super::relay::Relay;
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Has a child team work.
pub struct DelegateTo {
    /// The way to it.
    pub relay: Relay,
}

/// Who, and what.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelegateToArgs {
    /// The child team.
    pub assignee: String,
    /// What it is to do: the goal, what it has to know, what it is to hand back, and where it stops. It knows nothing of
    /// this conversation.
    #[serde(alias = "task")]
    pub prompt: String,
    /// What sort of work it is.
    pub mode: Option<Mode>,
}

/// What sort of work is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// To find something out.
    Research,
    /// To check something.
    Verify,
    /// To make something.
    Produce,
}

impl Mode {
    /// What whoever works reads of it.
    fn words(self) -> &'static str {
        match self {
            Mode::Research => "This is research: find out and report; change nothing that others use.",
            Mode::Verify => "This is a check: report what holds and what does not; change nothing that others use.",
            Mode::Produce => "This is to be made: do it, and say where it is.",
        }
    }
}

/// Work for a child team, with what sort it is.
pub(super) fn work(
    assignee: &str,
    prompt: &str,
    mode: Option<Mode>,
    timeout_ms: Option<u64>,
    limits: &Limits,
) -> Result<Item, ToolError> {
    let item = Item::to_team(assignee, prompt, timeout_ms, limits.work_timeout)?;
    let Some(mode) = mode else { return Ok(item) };
    Ok(Item { text: format!("{}\n\n{}", item.text.trim_end(), mode.words()), ..item })
}

impl DelegateToArgs {
    pub(super) fn items(&self, limits: &Limits) -> Result<Vec<Item>, ToolError> {
        Ok(vec![work(&self.assignee, &self.prompt, self.mode, None, limits)?])
    }
}

impl Tool for DelegateTo {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("delegate_to"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/delegate_to.md")),
        domain: Domain::Delegation,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Delegate,
        ops: Ops::Target,
        effect: Effect::Once,
        destructive: false,
        timeout: Limits::CALL_TIMEOUT,
        max_result_bytes: 64 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = DelegateToArgs;
    type Output = String;

    async fn run(&self, call: &Call, args: DelegateToArgs) -> Result<String, ToolError> {
        self.relay.ask_one(call, args.items(&self.relay.limits)?).await
    }
}
