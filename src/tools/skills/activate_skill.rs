//! `activate_skill`: takes up a written procedure of the team's. Its text becomes part of the session's prompt.

use std::borrow::Cow;
use std::time::Duration;

use base::Clock;
use schemars::JsonSchema;
use serde::Deserialize;
use store::{Conn, Db, todos};

use super::{Caller, find};
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};
use crate::workspace::{Workspaces, blocking};

/// Most skills of one turn: the text of all of them is in each of its requests.
const ACTIVE_MAX: usize = 8;

/// Takes up skills.
pub struct ActivateSkill {
    /// The database.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// The teams' folders.
    pub workspaces: Workspaces,
}

/// Which one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActivateSkillArgs {
    /// The skill's name.
    #[serde(alias = "skill", alias = "skill_name")]
    pub name: String,
}

impl Tool for ActivateSkill {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("activate_skill"),
        aliases: &["use_skill"],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/activate_skill.md")),
        domain: Domain::Skill,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Control,
        ops: Ops::Daily,
        effect: Effect::Idempotent,
        destructive: false,
        timeout: Duration::from_secs(30),
        // As long as a refusal that names the skills that there are.
        max_result_bytes: 8 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = ActivateSkillArgs;
    type Output = String;

    async fn run(&self, call: &Call, args: ActivateSkillArgs) -> Result<String, ToolError> {
        let (workspaces, caller) = (self.workspaces.clone(), Caller::from(call));
        let name = blocking(move || Ok(find(&workspaces, &caller, &args.name)?.1.name.to_string())).await?;
        let now = self.clock.now();
        let note = async |conn: &mut Conn| {
            let others = todos::active_skills(conn, call.run).await?;
            if others.len() >= ACTIVE_MAX && !others.contains(&name) {
                return Ok(Some(others));
            }
            todos::activate_skill(conn, call.run, &name, now).await?;
            Ok(None)
        };
        if let Some(others) = self.db.tx("activate a skill", note).await? {
            let others = others.join("`, `");
            return Err(ToolError::Refused(format!("this turn follows {ACTIVE_MAX} skills already: `{others}`")));
        }
        Ok(format!(
            "Taken up: the text of `{name}` stands under `--- Skills ---` of your instructions until this turn ends."
        ))
    }
}
