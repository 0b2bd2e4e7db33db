//! A command in words, as a shell reads it: quotes taken off, operators found, what is run inside of it found as well.
//!
//! It reads what nearly every command is made of, and no more: it runs nothing, looks up no variable, and where it does
//! not understand it says so and reads on.
//!
//! | file | one thing |
//! |---|---|
//! | `commands` | between words: operators, brackets, redirections, texts that follow |
//! | `parts` | within a word: quotes, escapes, expansions, commands whose output it is |

mod commands;
mod parts;

use commands::Reader;

/// A simple command: words between two operators.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Simple {
    /// Its words, the program first; assignments before it are words as well.
    pub words: Vec<Word>,
    /// Where its streams go to and come from.
    pub redirects: Vec<Redirect>,
    /// Whether its input is the output of the one before it.
    pub piped: bool,
    /// Texts that it is given as its input.
    pub inputs: Vec<String>,
}

/// A word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// Without its quotes. What a shell would put in place of `$…` is not known: it is left as it is written.
    pub text: String,
    /// As it is written.
    pub raw: String,
    /// Whether a part of it is the output of another command.
    pub computed: bool,
}

/// A redirection to or from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Redirect {
    /// Whether the file is written.
    pub writes: bool,
    /// The file.
    pub target: Word,
}

/// What a text is made of.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Read {
    /// The simple commands, in the order in which they begin, those inside of words included.
    pub commands: Vec<Simple>,
    /// What is no command, if anything.
    pub fault: Option<&'static str>,
}

/// How deep commands may lie in one another.
const DEPTH_MAX: usize = 16;

/// Reads a command.
pub(super) fn read(text: &str) -> Read {
    let mut read = Read::default();
    read_into(text, 0, &mut read);
    read
}

fn read_into(text: &str, depth: usize, read: &mut Read) {
    if depth > DEPTH_MAX {
        read.fault = read.fault.or(Some("it is nested too deeply"));
        return;
    }
    let chars: Vec<char> = text.chars().collect();
    let mut reader =
        Reader { chars: &chars, at: 0, depth, read, now: Simple::default(), word: None, waiting: Vec::new(), open: 0 };
    reader.all();
}
