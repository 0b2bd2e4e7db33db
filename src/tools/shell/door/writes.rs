//! Whether a command writes a file, as far as words show. A secret in such a command would stay where its team can read
//! it; where it goes only to a program, it does not.

use super::look::body;
use super::programs;
use super::words::{Simple, read};
use crate::shell::system;

/// How deep texts in a command are looked at as commands.
const DEPTH_MAX: usize = 8;

/// Whether a part of the command writes a file.
pub(super) fn writes(command: &str) -> bool {
    any_writes(command, 0)
}

fn any_writes(command: &str, depth: usize) -> bool {
    depth > DEPTH_MAX || read(command).commands.iter().any(|command| one_writes(command, depth))
}

fn one_writes(command: &Simple, depth: usize) -> bool {
    let is_file = |target: &str| !system::SINKS.contains(&target) && !target.starts_with("/dev/std");
    let redirected = command.redirects.iter().any(|redirect| redirect.writes && is_file(&redirect.target.text));
    let program = body(&command.words).first().map(|word| word.text.rsplit('/').next().unwrap_or(""));
    // A text of several words may be a command that is given to another shell.
    let texts = command.words.iter().map(|word| &word.text).chain(&command.inputs);
    redirected
        || program.is_some_and(|program| programs::WRITERS.contains(&program))
        || texts.filter(|text| text.contains(char::is_whitespace)).any(|text| any_writes(text, depth + 1))
}
