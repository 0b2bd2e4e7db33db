//! `update_team`: what a child team is for, in keywords.

use std::borrow::Cow;
use std::time::Duration;

use org::teams::Tree;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::named;
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Changes a team's scope.
pub struct UpdateTeam {
    /// The tree.
    pub tree: Tree,
}

/// How.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateTeamArgs {
    /// One of your children.
    pub team: String,
    /// Keywords to add.
    pub scope_add: Option<Vec<String>>,
    /// Keywords to take away. One that is in both lists goes.
    pub scope_remove: Option<Vec<String>>,
}

/// What it is for now.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TeamUpdated {
    /// Always true: a failure is an error.
    pub success: bool,
    /// The keywords, sorted. There is always one.
    pub scope: Vec<String>,
}

impl Tool for UpdateTeam {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("update_team"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/update_team.md")),
        domain: Domain::Org,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Write,
        ops: Ops::Org,
        effect: Effect::Idempotent,
        destructive: false,
        timeout: Duration::from_secs(15),
        max_result_bytes: 8 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = UpdateTeamArgs;
    type Output = TeamUpdated;

    async fn run(&self, call: &Call, args: UpdateTeamArgs) -> Result<TeamUpdated, ToolError> {
        let team = named(&args.team)?;
        let (add, remove) = (args.scope_add.unwrap_or_default(), args.scope_remove.unwrap_or_default());
        let scope = self.tree.rescope(&call.team, &team, &add, &remove).await?;
        Ok(TeamUpdated { success: true, scope })
    }
}
