//! `run_shell`: a command, in the workspace and confined to it.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use base::{Clock, Stop, TeamName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::plan::{End, Plan};
use super::rules::{ShellRules, TIMEOUT_MAX_MS};
use super::running::{self, Ran, TEMPORARY};
use super::{door, system};
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};
use crate::workspace::{Workspaces, blocking};

/// The longest command, in bytes. What is longer belongs into a file; the kernel itself takes 128 KiB.
pub(super) const COMMAND_BYTES_MAX: usize = 64 * 1024;

/// Runs commands.
pub struct RunShell {
    /// The teams' folders.
    pub workspaces: Workspaces,
    /// What the owner said about commands.
    pub rules: Arc<ShellRules>,
    /// The time.
    pub clock: Clock,
}

/// What to run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunShellArgs {
    /// The command, as for `bash -c`.
    pub command: String,
    /// The folder to run it in, relative to the workspace. Left out: the workspace.
    pub cwd: Option<String>,
    /// How long it may run, in milliseconds. Left out: 120000. At most 600000.
    #[serde(alias = "timeout_ms")]
    #[schemars(range(min = 1, max = 600_000))]
    pub timeout: Option<u64>,
    /// What it does, in a few words, for people who watch.
    pub description: Option<String>,
}

/// What a command came to.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunShellResult {
    /// The code with which it ended; null where it did not end by itself.
    pub exit_code: Option<i32>,
    /// The signal that ended it, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// Whether it was ended because its time was up.
    pub timed_out: bool,
    /// Why it was ended, where it had more of something than it may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exceeded: Option<String>,
    /// What it wrote to its standard output; of much, the beginning and the end.
    pub stdout: String,
    /// What it wrote to its standard error; of much, the beginning and the end.
    pub stderr: String,
    /// Whether something is left out of either.
    pub truncated: bool,
    /// How many bytes it wrote to its standard output.
    pub stdout_bytes: u64,
    /// How many bytes it wrote to its standard error.
    pub stderr_bytes: u64,
    /// How long it took, in milliseconds.
    pub duration_ms: i64,
}

impl Tool for RunShell {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("run_shell"),
        aliases: &["bash"],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/run_shell.md")),
        domain: Domain::Shell,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Write,
        ops: Ops::Daily,
        effect: Effect::Once,
        destructive: false,
        // The longest command, and the time to end it and to say so.
        timeout: Duration::from_millis(TIMEOUT_MAX_MS + 30_000),
        // Both streams at their bound, and what JSON adds to them.
        max_result_bytes: 100_000,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = RunShellArgs;
    type Output = RunShellResult;

    async fn run(&self, call: &Call, args: RunShellArgs) -> Result<RunShellResult, ToolError> {
        self.run_reading(call, args, None).await
    }
}

impl RunShell {
    /// Runs a command that reads this from its standard input. It is data, and no rule for commands looks at it.
    ///
    /// # Errors
    /// As a call of the tool; refused too where the input is too long.
    pub(crate) async fn run_reading(
        &self,
        call: &Call,
        args: RunShellArgs,
        input: Option<String>,
    ) -> Result<RunShellResult, ToolError> {
        let limit = self.limit(args.timeout)?;
        if args.command.trim().is_empty() {
            return Err(ToolError::refused("there is no command"));
        }
        if args.command.len() > COMMAND_BYTES_MAX || args.command.contains('\0') {
            return Err(ToolError::refused(format!(
                "a command has no NUL and at most {COMMAND_BYTES_MAX} bytes: write what is longer to a file, and run that"
            )));
        }
        let bytes = input.as_ref().map_or(0, String::len);
        if bytes > COMMAND_BYTES_MAX {
            return Err(ToolError::refused(format!(
                "`stdin` has {bytes} bytes, and may have {COMMAND_BYTES_MAX}: write it to a file, and name that as an argument"
            )));
        }
        let network = self.rules.network.has(&call.team);
        let (workspaces, team) = (self.workspaces.clone(), call.team.clone());
        let place = blocking(move || Place::find(&workspaces, &team, args.cwd.as_deref())).await?;
        let (workspace, folder) = (place.path.clone(), place.path.join(&place.folder));
        let bounds = door::Bounds { workspace, folder, network, read: &self.rules.read };
        let holds_secret = self.workspaces.finds_secret(&args.command);
        let kept = holds_secret.then(|| door::keeps_secret(&args.command)).flatten();
        if let Some(refusal) = door::refusal(&args.command, &bounds).or(kept) {
            return Err(ToolError::refused(format!("not run, by the rule `{}`: {}", refusal.rule, refusal.detail)));
        }
        let began = self.clock.now();
        let plan = Plan { input, ..self.plan(args.command, network, &place, &call.team)? };
        let ran = running::run(&self.rules.launcher, &plan, &place.root, limit, &call.stop).await?;
        result(ran, self.clock.now() - began, &call.stop)
    }

    fn limit(&self, asked_ms: Option<u64>) -> Result<Duration, ToolError> {
        let limits = &self.rules.limits;
        let most_ms = limits.timeout_max_ms.min(TIMEOUT_MAX_MS);
        match asked_ms {
            Some(0) => Err(ToolError::refused("`timeout` is at least 1 millisecond")),
            Some(asked_ms) if asked_ms > most_ms => {
                Err(ToolError::refused(format!("`timeout` is at most {most_ms} milliseconds")))
            }
            asked_ms => Ok(Duration::from_millis(asked_ms.unwrap_or(limits.timeout_ms).min(most_ms))),
        }
    }

    fn plan(&self, command: String, network: bool, place: &Place, team: &TeamName) -> anyhow::Result<Plan> {
        let rules = &self.rules;
        // The launcher is in another folder than the hive: what is relative would be something else there.
        let absolute = |paths: &[PathBuf]| paths.iter().map(std::path::absolute).collect::<Result<Vec<_>, _>>();
        let mut hidden = absolute(&rules.hidden).context("find what is hidden")?;
        // The other teams are beside this one.
        hidden.extend(place.path.parent().map(PathBuf::from));
        let arguments = rules.launcher.arguments.iter().map(|argument| argument.clone().into_string());
        Ok(Plan {
            command,
            input: None,
            folder: place.folder.clone(),
            environment: environment(&place.path.to_string_lossy(), team),
            read: absolute(&rules.read).context("find what may be read")?,
            hidden,
            unwritable: rules.unwritable.clone(),
            undone: rules.undone.clone(),
            network,
            namespaces: rules.namespaces,
            demand: rules.demand,
            limits: rules.limits,
            arguments: arguments.collect::<Result<_, _>>().ok().context("the launcher's arguments are text")?,
        })
    }
}

/// Where a command runs.
struct Place {
    /// A handle of the workspace.
    root: cap_std::fs::Dir,
    /// The workspace's real path.
    path: PathBuf,
    /// The folder to run in, relative to it.
    folder: PathBuf,
}

impl Place {
    fn find(workspaces: &Workspaces, team: &TeamName, cwd: Option<&str>) -> Result<Place, ToolError> {
        let workspace = workspaces.of(team)?;
        let root = workspace.open_dir(".")?;
        let path = real_path(&root).context("find the workspace")?;
        // The kernel says where it really is, whatever it is called.
        let folder = real_path(&workspace.open_dir(cwd.unwrap_or("."))?).context("find the folder")?;
        let folder = folder.strip_prefix(&path).context("a folder of the workspace is in it")?;
        // An empty path is no folder.
        Ok(Place { folder: PathBuf::from(".").join(folder), root, path })
    }
}

fn real_path(dir: &cap_std::fs::Dir) -> std::io::Result<PathBuf> {
    use std::os::fd::AsRawFd;
    std::fs::read_link(format!("/proc/self/fd/{}", dir.as_raw_fd()))
}

/// All that a command sees of variables. Nothing of the hive's own is among them.
pub(super) fn environment(workspace: &str, team: &TeamName) -> Vec<(String, String)> {
    let variables = [
        ("HOME", workspace.to_owned()),
        ("LANG", "C.UTF-8".to_owned()),
        ("PATH", system::PATH.to_owned()),
        ("SHELL", "/bin/sh".to_owned()),
        ("TERM", "dumb".to_owned()),
        ("TMPDIR", format!("{workspace}/{TEMPORARY}")),
        ("USER", team.to_string()),
    ];
    variables.map(|(name, value)| (name.to_owned(), value)).into()
}

fn result(ran: Ran, duration_ms: i64, stop: &Stop) -> Result<RunShellResult, ToolError> {
    let (exit_code, signal, exceeded) = match ran.report.map(|report| report.end) {
        Ok(End::Exited(code)) => (Some(code), None, None),
        Ok(End::Signalled(signal)) => (None, Some(signal_name(signal)), None),
        Ok(End::Exceeded(what)) => (None, None, Some(what)),
        Ok(End::Unconfined(what)) => {
            return Err(ToolError::refused(format!(
                "commands cannot be run here, because this cannot be confined: {what}"
            )));
        }
        // Ended as it was told to. Of a stopped turn nobody reads the result.
        Ok(End::Stopped) | Err(_) if ran.timed_out || stop.is_cancelled() => (None, None, None),
        Ok(End::Stopped) => return Err(anyhow::anyhow!("the launcher stopped by itself").into()),
        Ok(End::Failed(why)) => return Err(anyhow::anyhow!("run a command: {why}").into()),
        Err(error) => return Err(error.into()),
    };
    Ok(RunShellResult {
        exit_code,
        signal,
        timed_out: ran.timed_out,
        exceeded,
        truncated: ran.stdout.left_out() + ran.stderr.left_out() > 0,
        stdout_bytes: ran.stdout.bytes(),
        stderr_bytes: ran.stderr.bytes(),
        stdout: ran.stdout.text(),
        stderr: ran.stderr.text(),
        duration_ms,
    })
}

/// The name of a signal (signal(7)); the number where it has none.
fn signal_name(number: i32) -> String {
    let names = [
        (libc::SIGABRT, "SIGABRT"),
        (libc::SIGALRM, "SIGALRM"),
        (libc::SIGBUS, "SIGBUS"),
        (libc::SIGFPE, "SIGFPE"),
        (libc::SIGHUP, "SIGHUP"),
        (libc::SIGILL, "SIGILL"),
        (libc::SIGINT, "SIGINT"),
        (libc::SIGKILL, "SIGKILL"),
        (libc::SIGPIPE, "SIGPIPE"),
        (libc::SIGQUIT, "SIGQUIT"),
        (libc::SIGSEGV, "SIGSEGV"),
        (libc::SIGSYS, "SIGSYS"),
        (libc::SIGTERM, "SIGTERM"),
        (libc::SIGTRAP, "SIGTRAP"),
        (libc::SIGUSR1, "SIGUSR1"),
        (libc::SIGUSR2, "SIGUSR2"),
        (libc::SIGXCPU, "SIGXCPU"),
        (libc::SIGXFSZ, "SIGXFSZ"),
    ];
    let name = names.iter().find(|(known, _)| *known == number);
    name.map_or_else(|| format!("signal {number}"), |(_, name)| (*name).to_owned())
}
