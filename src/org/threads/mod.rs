//! Which line of talk a message belongs to, told without a model: from who speaks to whom, when and about what.
//!
//! | file | what |
//! |---|---|
//! | `assign` | [`Assigner`]: a log, line by line |
//! | `among` | [`chances`]: one message, among topics that live elsewhere |
//! | `measure` | [`agreement`] with a division that somebody marked |
//! | `irc` | plain text logs |
//! | `room`, `signs`, `weights` | what was said lately, what it tells, what each sign is worth |
//! | `people`, `words`, `form` | whom a line speaks to, what it is about, what kind of line it is |
//!
//! Everything here is pure: no clock, no chance, no files.

mod among;
mod assign;
mod form;
pub mod irc;
mod measure;
mod people;
mod room;
mod signs;
mod weights;
mod words;

pub use among::{Candidate, Chances, Choice, Message, chances};
pub use assign::{Assigner, Placement};
pub use measure::{Agreement, Judged, agreement, share};
pub use weights::Weights;

/// One line of a log, as it came.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// An id that no other line of the log has.
    pub id: &'a str,
    /// When it was written, in milliseconds since any fixed moment.
    pub at_ms: Option<i64>,
    /// Who wrote it: a name or an id. `None`: nobody, it is a line of the system.
    pub sender: Option<&'a str>,
    /// What was written.
    pub text: &'a str,
    /// The id of the line that it answers, where the platform says so.
    pub reply_to: Option<&'a str>,
    /// The people whom the platform marks as mentioned, named as `sender` names them.
    pub mentions: &'a [&'a str],
}
