//! What the owner may change about commands.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use base::TeamName;
use serde::{Deserialize, Serialize};

use crate::process::Program;
use crate::workspace::{CONFIG, GOVERNED};

/// The teams whose commands may use the network. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Networked(Arc<RwLock<BTreeSet<TeamName>>>);

impl Networked {
    /// Whether a team's commands may, from now on.
    pub fn set(&self, team: &TeamName, granted: bool) {
        if self.has(team) == granted {
            return;
        }
        let mut teams = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if granted {
            teams.insert(team.clone())
        } else {
            teams.remove(team)
        };
    }

    /// Whether a team's commands may.
    pub fn has(&self, team: &TeamName) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).contains(team)
    }
}

/// How commands are run, and how much of the confinement must be there for them to run at all.
#[derive(Clone, Debug)]
pub struct ShellRules {
    /// The program that confines itself and runs the command ([`crate::shell::confine::main`]).
    pub launcher: Program,
    /// The teams whose commands may use the network. None by default.
    pub network: Networked,
    /// Files and folders of the machine that commands may read besides those that programs need to run.
    pub read: Vec<PathBuf>,
    /// Files and folders that no command may read even where they lie in one that it may: the run directory, the
    /// configuration, `.env`. The folder of the teams is always one of them, less the team's own.
    pub hidden: Vec<PathBuf>,
    /// Files and folders of a workspace, relative to it, that its commands may read and not write. Where commands have
    /// no namespaces, or the file is not there yet, only the door refuses this.
    pub unwritable: Vec<PathBuf>,
    /// Files of a workspace, relative to it, that nobody writes while commands run: what a command has written to one all
    /// the same is undone when it has ended.
    pub undone: Vec<PathBuf>,
    /// Whether commands get namespaces of their own where the machine allows it. `false` is for machines where they
    /// are in the way of a program that is needed.
    pub namespaces: bool,
    /// What must be confined. Where the kernel cannot, nothing is run.
    pub demand: Demand,
    /// Bounds of one command.
    pub limits: ShellLimits,
}

impl Default for ShellRules {
    fn default() -> Self {
        ShellRules {
            launcher: Program::own(super::ARGUMENT),
            network: Networked::default(),
            read: Vec::new(),
            hidden: Vec::new(),
            unwritable: GOVERNED.iter().map(PathBuf::from).collect(),
            undone: vec![CONFIG.into()],
            namespaces: true,
            demand: Demand::default(),
            limits: ShellLimits::default(),
        }
    }
}

/// What must be confined for a command to run. Everything, unless the owner says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Demand {
    /// Files: Landlock of at least ABI 3 (Linux 6.2), before which files elsewhere could be emptied.
    pub files: bool,
    /// The network, where it is not granted, and sockets of other programs: a filter of system calls.
    pub network: bool,
    /// Other processes: none can be signalled, and none outlives the call.
    pub processes: bool,
}

impl Default for Demand {
    fn default() -> Self {
        Demand { files: true, network: true, processes: true }
    }
}

/// Bounds of one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ShellLimits {
    /// How long it may run where the model does not say, in milliseconds.
    pub timeout_ms: u64,
    /// How long it may run at most, in milliseconds; no more than ten minutes, after which the tool itself is cut off.
    pub timeout_max_ms: u64,
    /// How much is kept of what it writes to each of its two streams, in bytes.
    pub output_bytes_max: usize,
    /// How many processes and threads it may have at once.
    pub processes_max: u64,
    /// How much memory all its processes may hold together, in bytes; none may allocate more alone.
    pub memory_bytes_max: u64,
    /// How long a file may become, in bytes.
    pub file_bytes_max: u64,
    /// How many files a process may have open.
    pub open_files_max: u64,
    /// How much time each process may spend computing, in seconds.
    pub cpu_s_max: u64,
    /// How much the workspace may hold, in bytes on the disk, and 1 KiB for each name. A workspace that holds more
    /// already may not grow.
    pub workspace_bytes_max: u64,
    /// How much of the workspace's disk a command leaves free for everybody else, in bytes.
    pub disk_free_bytes_min: u64,
}

impl Default for ShellLimits {
    fn default() -> Self {
        ShellLimits {
            timeout_ms: 120_000,
            timeout_max_ms: TIMEOUT_MAX_MS,
            output_bytes_max: 30_000,
            processes_max: 256,
            memory_bytes_max: 2 << 30,
            file_bytes_max: 1 << 30,
            // The default of most systems; more is asked for by databases, not by commands.
            open_files_max: 1_024,
            cpu_s_max: 600,
            workspace_bytes_max: 4 << 30,
            // Room for the database to note what happened, and for a person to mend it.
            disk_free_bytes_min: 256 << 20,
        }
    }
}

/// Ten minutes: the tool's own time is a little longer.
pub(super) const TIMEOUT_MAX_MS: u64 = 600_000;
