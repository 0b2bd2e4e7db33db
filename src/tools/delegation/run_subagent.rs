//! `run_subagent`: a subagent of the own team works with a context of its own, and hands back its last words.
//!
//! Models see one tool for each subagent, under its own name ([`super::Subagents`]); all of them are calls of this one.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Deserialize;

use super::item::Item;
use super::limits::Limits;
use super::relay::Relay;
use super::sessions::Whom;
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Has a subagent work.
pub struct RunSubagent {
    /// The way to it.
    pub relay: Relay,
}

/// Who, and what.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunSubagentArgs {
    /// The subagent, as its file calls it.
    pub name: String,
    /// What it is to do, with everything that it has to know: it knows nothing of this conversation.
    pub task: String,
}

impl RunSubagentArgs {
    pub(super) fn items(&self, limits: &Limits) -> Result<Vec<Item>, ToolError> {
        let name = self.name.trim();
        if name.is_empty() {
            return Err(ToolError::refused("name the subagent"));
        }
        Ok(vec![Item::to(Whom::Subagent(name.to_owned()), &self.task, None, limits.work_timeout)?])
    }
}

impl Tool for RunSubagent {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("run_subagent"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/run_subagent.md")),
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
    type Args = RunSubagentArgs;
    type Output = String;

    async fn run(&self, call: &Call, args: RunSubagentArgs) -> Result<String, ToolError> {
        self.relay.ask_one(call, args.items(&self.relay.limits)?).await
    }
}
