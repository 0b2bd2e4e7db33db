//! Commands of the machine, confined by the kernel to the workspace of the team that gives them.
//!
//! | file | one thing |
//! |---|---|
//! | `run_shell` | the tool |
//! | `rules` | what the owner may change: [`ShellRules`] |
//! | `plan` | what the hive and the launcher say to each other |
//! | `running` | a launcher at work: its output drained, its time measured, its end seen to |
//! | `ends` | the beginning and the end of a stream, in bounded memory |
//! | `confine` | the launcher: a process of its own that confines itself and then runs the command |
//! | `system` | what of the machine's files a program needs to run |
//! | `support` | what this machine can do of it: [`Support`] |
//! | `door` | what a team may never run, as far as words show: [`verdict`] |
//!
//! The kernel keeps the bounds; the door only says early, and in words, what would fail.

mod door;
mod ends;
mod plan;
mod rules;
mod run_shell;
mod running;
mod support;
mod system;

pub mod confine;

/// The argument by which a program is told to be the launcher.
pub(crate) const ARGUMENT: &str = "__confine";

pub use door::verdict;
pub use rules::{Demand, Networked, ShellLimits, ShellRules};
pub use run_shell::{RunShell, RunShellArgs, RunShellResult};
pub use support::Support;

#[cfg(test)]
mod tests;
