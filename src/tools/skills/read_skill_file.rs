//! `read_skill_file`: a text that lies beside a skill.

use std::borrow::Cow;
use std::time::Duration;

use org::skills;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Caller, find};
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};
use crate::workspace::{Workspaces, blocking};

/// Reads the files of skills.
pub struct ReadSkillFile {
    /// The teams' folders.
    pub workspaces: Workspaces,
}

/// Which one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadSkillFileArgs {
    /// The skill's name.
    pub skill: String,
    /// The file's path from the skill's folder, for example `reference/api.md`.
    pub path: String,
}

impl Tool for ReadSkillFile {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("read_skill_file"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/read_skill_file.md")),
        domain: Domain::Skill,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Read,
        ops: Ops::Daily,
        effect: Effect::ReadOnly,
        destructive: false,
        timeout: Duration::from_secs(30),
        // The longest text that is given, and the note that there is more.
        max_result_bytes: skills::TEXT_BYTES_MAX as usize + 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = ReadSkillFileArgs;
    type Output = String;

    async fn run(&self, call: &Call, args: ReadSkillFileArgs) -> Result<String, ToolError> {
        let (workspaces, caller) = (self.workspaces.clone(), Caller::from(call));
        blocking(move || {
            let (folder, skill) = find(&workspaces, &caller, &args.skill)?;
            let file = skills::read_file(&folder, &skill, &args.path);
            let file = file.map_err(|refusal| ToolError::Refused(refusal.to_string()))?;
            if file.text.is_empty() {
                return Ok("[the file is empty]".to_owned());
            }
            Ok(if file.is_cut { file.text + "\n[there is more: the file is too long]\n" } else { file.text })
        })
        .await
    }
}
