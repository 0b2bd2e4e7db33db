//! What a team may never run, as far as words show. It says early and in words what the kernel would refuse late and
//! without any; what it does not see, in a script or behind a variable, the kernel refuses all the same.
//!
//! | file | one thing |
//! |---|---|
//! | `verdict` | the door for outsiders: a question in, an answer out |
//! | `look` | the rules |
//! | `programs` | programs that say by their names what they are for |
//! | `paths` | what a word names of the machine, and whether it may be reached |
//! | `words` | a command in words |
//! | `writes` | whether a command writes a file |

mod look;
mod paths;
mod programs;
mod verdict;
mod words;
mod writes;

use std::path::PathBuf;

pub use verdict::verdict;

use look::Look;

/// Within which bounds a command is looked at.
#[derive(Clone, Debug)]
pub(super) struct Bounds<'a> {
    /// The workspace: an absolute path.
    pub workspace: PathBuf,
    /// The folder in it that the command starts in: an absolute path.
    pub folder: PathBuf,
    /// Whether the network is granted.
    pub network: bool,
    /// What may be read besides what every program needs.
    pub read: &'a [PathBuf],
}

/// Why a command is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The rule's name.
    pub rule: &'static str,
    /// For the model: what is refused, and what to do instead.
    pub detail: String,
}

/// Whether a rule refuses this command. What is no command at all is none of it: the shell itself says that best.
pub(super) fn refusal(command: &str, bounds: &Bounds<'_>) -> Option<Refusal> {
    Look { bounds, depth: 0 }.at(command)
}

/// Whether this command, which has a secret in it, would leave it in a file.
pub(super) fn keeps_secret(command: &str) -> Option<Refusal> {
    let detail = "a secret stands in a command that writes a file, where everybody of the team could read it: give it to \
                  the program that needs it, and write nothing";
    if writes::writes(command) { refuse("secret", detail) } else { None }
}

fn refuse(rule: &'static str, detail: impl Into<String>) -> Option<Refusal> {
    Some(Refusal { rule, detail: detail.into() })
}

#[cfg(test)]
mod tests;
