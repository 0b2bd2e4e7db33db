//! What the owner may change about commands.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;

use base::TeamName;
use serde::{Deserialize, Serialize};

/// How commands are run, and how much of the confinement must be there for them to run at all.
#[derive(Clone, Debug)]
pub struct ShellRules {
    /// The program that confines itself and runs the command ([`crate::shell::confine::main`]).
    pub launcher: Launcher,
    /// The teams whose commands may use the network. None by default.
    pub network: BTreeSet<TeamName>,
    /// Files and folders of the machine that commands may read besides those that programs need to run.
    pub read: Vec<PathBuf>,
    /// Files and folders that no command may read even where they lie in one that it may: the run directory, the
    /// configuration, `.env`. The folder of the teams is always one of them, less the team's own.
    pub hidden: Vec<PathBuf>,
    /// Files and folders of a workspace, relative to it, that its commands may read and not write. Where commands have
    /// no namespaces, or the file is not there yet, only the door refuses this.
    pub unwritable: Vec<PathBuf>,
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
            launcher: Launcher::own(),
            network: BTreeSet::new(),
            read: Vec::new(),
            hidden: Vec::new(),
            unwritable: UNWRITABLE.iter().map(PathBuf::from).collect(),
            namespaces: true,
            demand: Demand::default(),
            limits: ShellLimits::default(),
        }
    }
}

/// A program that calls [`crate::shell::confine::main`], and the arguments with which it does.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// The program.
    pub program: PathBuf,
    /// The arguments that lead it there.
    pub arguments: Vec<OsString>,
}

impl Launcher {
    /// The argument by which this program is told to be the launcher.
    pub const ARGUMENT: &'static str = "__confine";

    /// This very program, also after its file was replaced by a newer one.
    pub fn own() -> Launcher {
        Launcher { program: "/proc/self/exe".into(), arguments: vec![Launcher::ARGUMENT.into()] }
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
        }
    }
}

/// What the owner writes in a team's folder and the team does not: what it may use, and the rules above it.
pub(super) const UNWRITABLE: &[&str] = &["config.yaml", "system-rules", "admin-rules"];

/// Ten minutes: the tool's own time is a little longer.
pub(super) const TIMEOUT_MAX_MS: u64 = 600_000;
