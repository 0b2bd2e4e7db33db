//! Processes of their own, which the hive starts from its own program for what a tool must not do inside of it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::{shell, tables};

/// A program that calls [`main`], and the arguments with which it does.
#[derive(Clone, Debug)]
pub struct Program {
    /// The program.
    pub path: PathBuf,
    /// The arguments that lead it there.
    pub arguments: Vec<OsString>,
}

impl Program {
    /// This very program, also after its file was replaced by a newer one.
    pub fn own(argument: &str) -> Program {
        Program { path: "/proc/self/exe".into(), arguments: vec![argument.into()] }
    }
}

/// What a program does that a tool has started, by its arguments without its name; `None` where a person has started it.
/// For the very beginning of `main`: a process with several threads cannot confine itself.
pub fn main(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let first = arguments.next()?;
    if first == shell::ARGUMENT {
        return Some(shell::confine::main(arguments));
    }
    (first == tables::ARGUMENT).then(tables::process::main)
}
