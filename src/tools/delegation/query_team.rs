//! `query_team`: one child team answers a question at once.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Deserialize;

use super::item::Item;
use super::limits::Limits;
use super::relay::Relay;
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Asks a child team.
pub struct QueryTeam {
    /// The way to it.
    pub relay: Relay,
}

/// Whom, and what.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueryTeamArgs {
    /// The child team.
    pub team: String,
    /// The question, with everything that it has to know: it knows nothing of this conversation.
    pub query: String,
}

impl QueryTeamArgs {
    pub(super) fn items(&self, limits: &Limits) -> Result<Vec<Item>, ToolError> {
        Ok(vec![Item::to_team(&self.team, &self.query, None, limits.query_timeout)?])
    }
}

impl Tool for QueryTeam {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("query_team"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/query_team.md")),
        domain: Domain::Org,
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
    type Args = QueryTeamArgs;
    type Output = String;

    async fn run(&self, call: &Call, args: QueryTeamArgs) -> Result<String, ToolError> {
        self.relay.ask_one(call, args.items(&self.relay.limits)?).await
    }
}
