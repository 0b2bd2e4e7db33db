//! `run_skill_script`: a script that lies beside a skill, confined like every command.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use base::Clock;
use org::skills::{self, Interpreter};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Caller, find};
use crate::call::Call;
use crate::shell::{RunShell, RunShellArgs, RunShellResult, ShellRules};
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};
use crate::workspace::{Workspaces, blocking};

/// Runs the scripts of skills.
pub struct RunSkillScript {
    /// What runs commands.
    pub shell: RunShell,
}

impl RunSkillScript {
    /// With what commands are run with.
    pub fn new(workspaces: Workspaces, rules: Arc<ShellRules>, clock: Clock) -> RunSkillScript {
        RunSkillScript { shell: RunShell { workspaces, rules, clock } }
    }
}

/// What to run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunSkillScriptArgs {
    /// The skill's name.
    pub skill: String,
    /// The script's path from the skill's folder, for example `scripts/check.py`.
    pub script: String,
    /// Its arguments, as they are: nothing in them is expanded.
    #[serde(default)]
    pub args: Vec<String>,
    /// What it reads from its standard input, up to 65536 bytes. Left out: nothing.
    pub stdin: Option<String>,
    /// How long it may run, in milliseconds. Left out: 120000. At most 600000.
    #[serde(alias = "timeout_ms")]
    #[schemars(range(min = 1, max = 600_000))]
    pub timeout: Option<u64>,
}

/// What it came to.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RunSkillScriptOutput {
    /// Whether it ended by itself, with code 0.
    pub ok: bool,
    /// How it ended, and what it wrote.
    #[serde(flatten)]
    pub ran: RunShellResult,
}

impl Tool for RunSkillScript {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("run_skill_script"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/run_skill_script.md")),
        domain: Domain::Skill,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Write,
        ops: Ops::Daily,
        effect: Effect::Once,
        destructive: false,
        // Both as for a command: a test compares them.
        timeout: Duration::from_secs(630),
        max_result_bytes: 100_000,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = RunSkillScriptArgs;
    type Output = RunSkillScriptOutput;

    async fn run(&self, call: &Call, args: RunSkillScriptArgs) -> Result<RunSkillScriptOutput, ToolError> {
        let (workspaces, caller) = (self.shell.workspaces.clone(), Caller::from(call));
        let (skill, script) = (args.skill.clone(), args.script.clone());
        let (folder, path, interpreter) = blocking(move || {
            let (folder, skill) = find(&workspaces, &caller, &skill)?;
            let own = skill
                .folder
                .clone()
                .ok_or_else(|| ToolError::Refused(skills::Refusal::NoFolder(skill.name.to_string()).to_string()))?;
            let files = skills::files(&folder, &skill, &mut Vec::new());
            let wanted = script.trim_start_matches("./");
            let found = files.iter().find(|file| file.path == wanted);
            let interpreter = found.and_then(|file| file.script).ok_or_else(|| no_script(wanted, &files))?;
            Ok((own, wanted.to_owned(), interpreter))
        })
        .await?;
        let command = command(&folder, &path, interpreter, &args);
        let (timeout, description) = (args.timeout, Some(format!("{path} of the skill {}", args.skill)));
        let run = RunShellArgs { command, cwd: None, timeout, description };
        let ran = self.shell.run_reading(call, run, args.stdin).await?;
        Ok(RunSkillScriptOutput { ok: ran.exit_code == Some(0), ran })
    }
}

fn no_script(wanted: &str, files: &[skills::Beside]) -> ToolError {
    let scripts: Vec<String> =
        files.iter().filter(|file| file.script.is_some()).map(|file| format!("`{}`", file.path)).collect();
    let known = if scripts.is_empty() { "none".to_owned() } else { scripts.join(", ") };
    let wanted = base::text::headline(wanted, 60);
    ToolError::refused(format!("there is no script `{wanted}` beside the skill (.py, .js, .sh); there are: {known}"))
}

/// The command for a shell. It runs in the workspace, where what the script makes belongs; the script finds its own
/// folder in a variable.
fn command(folder: &str, path: &str, interpreter: Interpreter, args: &RunSkillScriptArgs) -> String {
    let mut command = format!(
        "OPENHIVE_SKILL_NAME={} OPENHIVE_SKILL_DIR={} {} {}",
        quoted(args.skill.trim()),
        quoted(folder),
        interpreter.program(),
        quoted(&format!("{folder}/{path}"))
    );
    for argument in &args.args {
        command.push(' ');
        command.push_str(&quoted(argument));
    }
    command
}

/// A word that the shell takes as it is.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
