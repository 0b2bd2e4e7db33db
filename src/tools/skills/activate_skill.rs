//! `activate_skill`: takes up a written procedure of the team's.

use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

use base::Clock;
use org::skills;
use schemars::JsonSchema;
use serde::Deserialize;
use store::{Conn, Db, todos};

use super::find;
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};
use crate::workspace::{Workspace, Workspaces, blocking};

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
        // The longest file of a skill, and its list of files.
        max_result_bytes: 96 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = ActivateSkillArgs;
    type Output = String;

    async fn run(&self, call: &Call, args: ActivateSkillArgs) -> Result<String, ToolError> {
        let (workspaces, team) = (self.workspaces.clone(), call.team.clone());
        let (name, text) = blocking(move || {
            let (folder, skill) = find(&workspaces, &team, &args.name)?;
            let workspace = workspaces.of(&team)?;
            let body = skill.body_for(team.as_str(), |tool| is_plugin(&workspace, tool));
            let beside = skills::files(&folder, &skill, &mut Vec::new());
            Ok((skill.name.to_string(), body + &listed(&beside)))
        })
        .await?;
        let now = self.clock.now();
        let note = async |conn: &mut Conn| todos::activate_skill(conn, call.run, &name, now).await;
        self.db.tx("activate a skill", note).await?;
        Ok(text)
    }
}

/// Whether the team has a plugin of this name. What it may do is decided where it is called.
fn is_plugin(workspace: &Workspace, tool: &str) -> bool {
    let path = Path::new("plugins").join(format!("{tool}.ts"));
    workspace.root().symlink_metadata(path).is_ok_and(|found| found.is_file())
}

/// The files beside a skill, for the end of its text.
fn listed(files: &[skills::Beside]) -> String {
    if files.is_empty() {
        return String::new();
    }
    let mut text = "\n\nFiles beside this skill (`read_skill_file`, and `run_skill_script` for scripts):\n".to_owned();
    for file in files {
        let script = if file.script.is_some() { ", a script" } else { "" };
        text.push_str(&format!("- {} ({} bytes{script})\n", crate::workspace::printable(&file.path), file.bytes));
    }
    text
}
