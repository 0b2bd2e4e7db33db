//! `shutdown_team`: a child team goes, with everything that is its own.

use std::borrow::Cow;
use std::time::Duration;

use base::TeamName;
use org::teams::{Promise, Tree, TreeError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::named;
use crate::call::Call;
use crate::gate::{Gates, Pass};
use crate::spec::{Admission, Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// How long it waits for the end, which comes also when nobody waits for it: less than the call may take, so that its
/// answer is known.
const WAIT: Duration = Duration::from_secs(110);

/// Closes a team.
pub struct ShutdownTeam {
    /// The tree.
    pub tree: Tree,
    /// Admission to the teams: a question that a team is answering is waited for.
    pub gates: Gates,
}

/// Which.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShutdownTeamArgs {
    /// One of your children.
    pub name: String,
    /// Also everything below it. Without it a team that has children stays.
    pub cascade: Option<bool>,
}

/// What has gone.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ShutDown {
    /// Always true: a failure is an error.
    pub success: bool,
    /// The teams that are gone, the deepest first.
    pub removed: Vec<String>,
}

impl Tool for ShutdownTeam {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("shutdown_team"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/shutdown_team.md")),
        domain: Domain::Org,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Write,
        ops: Ops::Org,
        effect: Effect::Idempotent,
        destructive: true,
        timeout: Duration::from_secs(120),
        max_result_bytes: 8 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = ShutdownTeamArgs;
    type Output = ShutDown;

    async fn run(&self, call: &Call, args: ShutdownTeamArgs) -> Result<ShutDown, ToolError> {
        let name = named(&args.name)?;
        let (gates, patience) = (self.gates.clone(), self.tree.rules().patience);
        let alone = async move |teams: Vec<TeamName>| {
            let mut passes = Vec::with_capacity(teams.len());
            for team in &teams {
                let pass = gates.of(team).enter(Admission::Org, patience).await;
                let busy = |_| TreeError::Refused(format!("`{team}` takes nothing more, and still answers a question"));
                passes.push(pass.map_err(busy)?);
            }
            Ok::<Vec<Pass>, TreeError>(passes)
        };
        let promise = Promise { run: call.run, step: call.step, call_id: call.call_id.to_string(), words };
        let close = self.tree.close(&call.team, &name, args.cascade.unwrap_or(false), Some(promise), alone);
        let Ok(closed) = tokio::time::timeout(WAIT, close).await else {
            let why = "takes nothing more, and its running work has not ended yet: it goes when that has, at the latest at \
                       the next start of the hive";
            return Err(ToolError::Refused(format!("`{name}` {why}")));
        };
        Ok(shut_down(&closed?.teams))
    }
}

fn shut_down(teams: &[TeamName]) -> ShutDown {
    ShutDown { success: true, removed: teams.iter().map(ToString::to_string).collect() }
}

/// What the model gets.
fn words(teams: &[TeamName]) -> String {
    serde_json::to_string(&shut_down(teams)).expect("a boolean and names are JSON")
}
