//! Files of a team's workspace: one file per tool, and what they share.
//!
//! | file | one thing |
//! |---|---|
//! | `page` | a part of a text, in bounded memory |
//! | `change`, `edits` | changing a file that was read; texts for other texts |
//! | `walk`, `pattern`, `hits`, `time_limit` | searching many files, within bounds |
//! | `guard` | what the tools would say of a path: pure |

mod attach_file;
mod change;
mod edit_file;
mod edits;
mod glob;
mod grep;
mod guard;
mod hits;
mod list_directory;
mod multi_edit;
mod page;
mod pattern;
mod read_file;
mod time_limit;
mod walk;
mod write_file;

pub use attach_file::{AttachFile, AttachFileArgs};
pub use change::Pen;
pub use edit_file::{Edit, EditArgs};
pub use edits::Replacement;
pub use glob::{Glob, GlobArgs};
pub use grep::{Grep, GrepArgs, OutputMode};
pub use guard::verdict;
pub use list_directory::{List, ListArgs};
pub use multi_edit::{MultiEdit, MultiEditArgs};
pub use read_file::{Read, ReadArgs};
pub use write_file::{Write, WriteArgs};

#[cfg(test)]
mod tests;
