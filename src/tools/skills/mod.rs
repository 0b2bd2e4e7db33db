//! A team's written procedures: taken up, and the files beside them read and run.

mod activate_skill;
mod read_skill_file;
mod run_skill_script;
#[cfg(test)]
mod tests;

use base::TeamName;
use org::markdown::{Folder, Whose};
use org::skills::{self, Skill};

use crate::tool::ToolError;
use crate::workspace::Workspaces;

pub use activate_skill::{ActivateSkill, ActivateSkillArgs};
pub use read_skill_file::{ReadSkillFile, ReadSkillFileArgs};
pub use run_skill_script::{RunSkillScript, RunSkillScriptArgs, RunSkillScriptOutput};

/// A team's folder, and the skill of that name in it. Blocks.
///
/// # Errors
/// Says which skills there are, if that is none.
fn find(workspaces: &Workspaces, team: &TeamName, name: &str) -> Result<(Folder, Skill), ToolError> {
    let workspace = workspaces.of(team)?;
    let folder = Folder::of(workspace.root(), Whose::Team).map_err(anyhow::Error::new)?;
    // What is wrong with a skill, `hive doctor` says.
    let all = skills::load(&folder, team.as_str(), &mut Vec::new());
    let known: Vec<String> = all.iter().map(|skill| format!("`{}`", skill.name)).collect();
    let found = all.into_iter().find(|skill| skill.name.as_str() == name.trim());
    let skill = found.ok_or_else(|| {
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        ToolError::refused(format!("there is no skill `{}`; there are: {known}", base::text::headline(name, 60)))
    })?;
    Ok((folder, skill))
}
