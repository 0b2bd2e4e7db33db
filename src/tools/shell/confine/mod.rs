//! The launcher: a process of its own that the hive starts for each command. It confines itself, in safe code and in a
//! fresh process, and only then runs the command.
//!
//! It is two processes. The outer one is not confined: it makes the namespaces, starts the inner one, and watches. It
//! ends everything when the hive says so or is gone, when the command has too much of something, and when the command
//! has ended: what the command left behind ends with it. The inner one confines itself, runs the command, and reports.
//! Where there are namespaces it is the first process of them, so that the kernel itself ends all others with it.

mod calls;
mod disk;
mod files;
mod governed;
mod inner;
mod namespaces;
mod outer;
mod privileges;
mod processes;

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

/// The argument by which the launcher tells itself to be the inner process.
const INSIDE: &str = "inside";
/// The argument by which the launcher tells itself to try whether it may have namespaces.
const TRIAL: &str = "trial";

/// Does what a launcher does: with `arguments`, those that follow the ones of
/// [`crate::process::Program::arguments`]. For the `main` of a program, before it starts any thread: a
/// process with several threads can have no namespace of its own.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let done = match arguments.as_slice() {
        [] => outer::run(),
        [inside] if inside == INSIDE => inner::run(),
        [trial] if trial == TRIAL => namespaces::enter(false).map_err(Into::into),
        _ => Err(anyhow::anyhow!("this is started by the hive alone")),
    };
    // Faults that can be told are told in the report; here the hive itself is gone, or was never there.
    if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The socket that is the standard input.
fn control() -> io::Result<UnixStream> {
    Ok(UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?))
}
