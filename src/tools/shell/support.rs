//! What this machine can do to confine a command: found out by confining one.

use std::fmt;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use base::{Stop, TeamName};
use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::plan::{End, Held, Plan};
use super::rules::{Demand, ShellRules};
use super::{run_shell, running};

/// How long the trial may take.
const TRIAL_MAX: Duration = Duration::from_secs(10);

/// What this machine can do. Shown, it is a few plain sentences for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Support {
    held: Held,
    demand: Demand,
}

impl Support {
    /// Runs a command that does nothing, in `folder`, and asks what was confined of it.
    ///
    /// # Errors
    /// If it could not be run at all.
    pub async fn probe(rules: &ShellRules, folder: &std::path::Path) -> Result<Support> {
        let context = || format!("look at {}", folder.display());
        let dir = Dir::open_ambient_dir(folder, ambient_authority()).with_context(context)?;
        let arguments = rules.launcher.arguments.iter().map(|argument| argument.to_string_lossy().into_owned());
        let plan = Plan {
            input: None,
            command: ":".to_owned(),
            folder: ".".into(),
            environment: run_shell::environment(&folder.to_string_lossy(), &TeamName::main()),
            read: rules.read.clone(),
            hidden: rules.hidden.clone(),
            unwritable: rules.unwritable.clone(),
            undone: rules.undone.clone(),
            network: false,
            namespaces: rules.namespaces,
            demand: Demand { files: false, network: false, processes: false },
            limits: rules.limits,
            arguments: arguments.collect(),
        };
        let ran = running::run(&rules.launcher, &plan, &dir, TRIAL_MAX, &Stop::new()).await?;
        let report = ran.report?;
        if report.end != End::Exited(0) {
            bail!("a command that does nothing ended otherwise: {:?}", report.end);
        }
        Ok(Support { held: report.held, demand: rules.demand })
    }

    /// What the rules demand and this machine cannot do, in words: nothing is run then.
    pub fn lacks(&self) -> Option<&'static str> {
        self.held.lacks(self.demand, false)
    }
}

impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Held { files_abi, calls, network, processes, signals, elsewhere } = self.held;
        match files_abi {
            0 => f.write_str("files are not confined (no Landlock of Linux 6.2 or newer)")?,
            abi => write!(f, "files are confined (Landlock ABI {abi})")?,
        }
        let sentence = |held: bool, yes: &'static str, no: &'static str| if held { yes } else { no };
        f.write_str(sentence(elsewhere, ", modes and owners elsewhere too", ", but not modes and owners elsewhere"))?;
        f.write_str(match (calls, network) {
            (true, true) => "; the network is refused twice (seccomp, namespace)",
            (true, false) => "; the network is refused (seccomp)",
            (false, true) => "; the network is refused (namespace), sockets of other programs are not",
            (false, false) => "; the network is not refused",
        })?;
        f.write_str(match (processes, signals) {
            (true, _) => "; other processes are out of sight, and none outlives its command (namespace)",
            (false, true) => "; other processes cannot be signalled, and those of a command are looked for and ended",
            (false, false) => "; other processes of the same user can be signalled",
        })?;
        match self.lacks() {
            None => f.write_str("; commands can be run"),
            Some(what) => write!(f, "; commands are refused, because the rules demand to confine {what}"),
        }
    }
}
