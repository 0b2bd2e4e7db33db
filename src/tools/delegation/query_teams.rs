//! `query_teams`: several child teams answer side by side; one that fails fails alone.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::item::{FAN_OUT_BYTES_MAX, Item, check_fan_out};
use super::limits::Limits;
use super::relay::{Relay, Said};
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Asks several child teams.
pub struct QueryTeams {
    /// The way to them.
    pub relay: Relay,
}

/// Whom, and what.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueryTeamsArgs {
    /// Up to 5 questions, each to one child team. All of them are asked at the same time.
    pub targets: Vec<Target>,
    /// How long each may take where it says nothing else, in milliseconds, up to 600000. Left out: 150000.
    pub default_timeout_ms: Option<u64>,
}

/// One of the questions.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The child team.
    pub team: String,
    /// The question, with everything that it has to know: it knows nothing of this conversation or of the others.
    pub query: String,
    /// How long it may take, in milliseconds.
    pub timeout_ms: Option<u64>,
}

/// What came of one of them.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answered {
    /// The team.
    pub team: String,
    /// Whether it has answered.
    pub ok: bool,
    /// Its answer, or why there is none: `timeout`, `saturation…`, or what went wrong.
    pub result_or_error: String,
}

impl QueryTeamsArgs {
    pub(super) fn items(&self, limits: &Limits) -> Result<Vec<Item>, ToolError> {
        check_fan_out(self.targets.len(), limits)?;
        let item = |target: &Target| {
            let timeout_ms = target.timeout_ms.or(self.default_timeout_ms);
            Item::to_team(&target.team, &target.query, timeout_ms, limits.query_timeout)
        };
        self.targets.iter().map(item).collect()
    }
}

impl Tool for QueryTeams {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("query_teams"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/query_teams.md")),
        domain: Domain::Org,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Delegate,
        ops: Ops::Target,
        effect: Effect::Once,
        destructive: false,
        timeout: Limits::CALL_TIMEOUT,
        max_result_bytes: FAN_OUT_BYTES_MAX,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = QueryTeamsArgs;
    type Output = Vec<Answered>;

    async fn run(&self, call: &Call, args: QueryTeamsArgs) -> Result<Vec<Answered>, ToolError> {
        let items = args.items(&self.relay.limits)?;
        let answered = |said: Said| Answered { team: said.whom, ok: said.ok, result_or_error: said.text };
        Ok(self.relay.ask_all(call, items).await?.into_iter().map(answered).collect())
    }
}
