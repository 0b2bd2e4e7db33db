//! A team's written procedures: taken up, and the files beside them read and run.

mod activate_skill;
mod read_skill_file;
mod run_skill_script;
#[cfg(test)]
mod tests;

use base::TeamName;
use org::markdown::{Folder, Grade, Whose};
use org::skills::{self, Skill};

use crate::call::Call;
use crate::tool::ToolError;
use crate::workspace::Workspaces;

pub use activate_skill::{ActivateSkill, ActivateSkillArgs};
pub use read_skill_file::{ReadSkillFile, ReadSkillFileArgs};
pub use run_skill_script::{RunSkillScript, RunSkillScriptArgs, RunSkillScriptOutput};

/// The tools that take skills up and read what lies beside them.
pub(crate) const READS_SKILLS: [&str; 2] = ["activate_skill", "read_skill_file"];
/// The tool that runs what lies beside them.
pub(crate) const RUNS_SCRIPTS: &str = "run_skill_script";
/// Most faults of files that an error tells.
const FAULTS_TOLD_MAX: usize = 3;

/// A team's folder, and the skill of that name in it. Blocks.
///
/// # Errors
/// Says which skills the session may take up, if that is none of them, and which files are none by a fault.
fn find(workspaces: &Workspaces, call: &Caller, name: &str) -> Result<(Folder, Skill), ToolError> {
    let (team, name) = (&call.team, name.trim());
    let shown = base::text::headline(name, 60);
    let listed = |names: Vec<&str>| match names.as_slice() {
        [] => "none".to_owned(),
        names => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
    };
    if let Some(own) = &call.follows
        && !own.iter().any(|own| own == name)
    {
        let own = listed(own.iter().map(String::as_str).collect());
        return Err(ToolError::Refused(format!("`{shown}` is no skill of this subagent, which follows: {own}")));
    }
    let workspace = workspaces.of(team)?;
    let folder = Folder::of(workspace.root(), Whose::Team).map_err(anyhow::Error::new)?;
    let mut faults = Vec::new();
    let mut all = skills::load(&folder, team.as_str(), &mut faults);
    if let Some(at) = all.iter().position(|skill| skill.name.as_str() == name) {
        return Ok((folder, all.swap_remove(at)));
    }
    let there =
        |skill: &&Skill| call.follows.as_ref().is_none_or(|own| own.iter().any(|own| own == skill.name.as_str()));
    let known = listed(all.iter().filter(there).map(|skill| skill.name.as_str()).collect());
    let mut refusal = format!("there is no skill `{shown}`; there are: {known}");
    // A file that is no skill by a fault is what whoever asks for it has to mend.
    for fault in faults.iter().filter(|fault| fault.grade == Grade::Error).take(FAULTS_TOLD_MAX) {
        refusal.push_str(&format!("\n{fault}"));
    }
    Err(ToolError::Refused(refusal))
}

/// Whose session asks for a skill.
struct Caller {
    team: TeamName,
    /// The skills that it may take up, where its file names them.
    follows: Option<Vec<String>>,
}

impl From<&Call> for Caller {
    fn from(call: &Call) -> Caller {
        Caller { team: call.team.clone(), follows: call.grant.remit.as_ref().map(|remit| remit.skills.clone()) }
    }
}
