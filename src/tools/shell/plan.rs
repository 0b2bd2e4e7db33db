//! What the hive and the launcher say to each other: a plan goes in, a report comes out, each one line of JSON over
//! the socket that is the launcher's standard input. While the plan's sender keeps that socket open, the command may
//! run; when it is closed, by will or because the hive is gone, everything that the command started ends.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::rules::{Demand, ShellLimits};

/// The longest line that is read of the other side, in bytes: a command and an input of
/// [`super::run_shell::COMMAND_BYTES_MAX`] each, escaped, and the rest with room to spare.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// What is to be run, and within which bounds. The workspace is the folder in which the launcher is started.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    /// What the shell is given.
    pub command: String,
    /// What it reads from its standard input; `None`: nothing.
    pub input: Option<String>,
    /// Where it starts, relative to the workspace.
    pub folder: PathBuf,
    /// All the variables that the command sees, but for those that a shell sets by itself.
    pub environment: Vec<(String, String)>,
    /// What may be read besides what every program needs.
    pub read: Vec<PathBuf>,
    /// What may not be read wherever it lies.
    pub hidden: Vec<PathBuf>,
    /// What of the workspace may not be written.
    pub unwritable: Vec<PathBuf>,
    /// What of it is made what it was at the end.
    pub undone: Vec<PathBuf>,
    /// Whether the network may be used.
    pub network: bool,
    /// Whether it gets namespaces of its own.
    pub namespaces: bool,
    /// What must be confined.
    pub demand: Demand,
    /// Bounds.
    pub limits: ShellLimits,
    /// The arguments that lead this program to the launcher.
    pub arguments: Vec<String>,
}

/// How it went.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Report {
    /// What was confined.
    pub held: Held,
    /// How it ended.
    pub end: End,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal, which it did not get from the launcher.
    Signalled(i32),
    /// The launcher ended it, because it was told to.
    Stopped,
    /// The launcher ended it, because it had too much of something.
    Exceeded(String),
    /// It never began: this could not be confined.
    Unconfined(String),
    /// It never began: something failed.
    Failed(String),
}

/// What the kernel holds back from a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Held {
    /// The ABI of Landlock that confines its files, from 3; 0 where none does.
    pub files_abi: i32,
    /// Whether a filter refuses the system calls that it needs none of, sockets among them.
    pub calls: bool,
    /// Whether it has a network of its own with nothing in it.
    pub network: bool,
    /// Whether it has process numbers of its own, so that it sees no process but its own and leaves none behind.
    pub processes: bool,
    /// Whether Landlock keeps it from signalling other processes.
    pub signals: bool,
    /// Whether modes, owners and times of files elsewhere are out of its reach as well.
    pub elsewhere: bool,
}

impl Held {
    /// What of the demand is not held, in words.
    pub(super) fn lacks(&self, demand: Demand, network: bool) -> Option<&'static str> {
        if demand.files && self.files_abi == 0 {
            Some("files: that needs Landlock, of Linux 6.2 or newer")
        } else if demand.network && !network && !self.calls && !self.network {
            Some("the network: that needs seccomp or namespaces")
        } else if demand.network && !self.calls {
            Some("sockets of other programs: that needs seccomp")
        } else if demand.processes && !self.processes && !self.signals {
            Some("other processes: that needs namespaces, or Landlock of Linux 6.12 or newer")
        } else {
            None
        }
    }
}

/// Writes a message.
///
/// # Errors
/// If the other side is gone.
pub(super) fn send(mut to: impl Write, message: &impl Serialize) -> io::Result<()> {
    to.write_all(&line(message)?)
}

/// A message as it is written.
///
/// # Errors
/// If a path is not UTF-8.
pub(super) fn line(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

/// Reads a message; `None` where the other side is gone without one.
///
/// # Errors
/// If what comes is none.
pub(super) fn receive<M: for<'a> Deserialize<'a>>(from: impl Read) -> io::Result<Option<M>> {
    let mut line = Vec::new();
    BufReader::new(from.take(LINE_BYTES_MAX)).read_until(b'\n', &mut line)?;
    if line.is_empty() { Ok(None) } else { Ok(Some(serde_json::from_slice(&line)?)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Held =
        Held { files_abi: 3, calls: true, network: true, processes: true, signals: true, elsewhere: true };

    #[test]
    fn what_is_demanded_and_not_held_is_named() {
        let all = Demand::default();
        for (held, demand, network, expected) in [
            (ALL, all, false, None),
            (Held { elsewhere: false, network: false, ..ALL }, all, false, None),
            (Held { processes: false, ..ALL }, all, false, None),
            (Held { signals: false, ..ALL }, all, false, None),
            (Held { files_abi: 0, ..ALL }, all, false, Some("files")),
            (Held { calls: false, network: false, ..ALL }, all, false, Some("the network")),
            (Held { calls: false, ..ALL }, all, false, Some("sockets of other programs")),
            (Held { calls: false, ..ALL }, all, true, Some("sockets of other programs")),
            (Held { processes: false, signals: false, ..ALL }, all, false, Some("other processes")),
            (Held::default(), all, false, Some("files")),
            (Held::default(), Demand { files: false, ..all }, false, Some("the network")),
            (Held::default(), Demand { files: false, network: false, processes: true }, false, Some("other processes")),
            (Held::default(), Demand { files: false, network: false, processes: false }, false, None),
        ] {
            let lacks = held.lacks(demand, network);
            assert_eq!(lacks.and_then(|lacks| lacks.split(':').next()), expected, "{held:?} {demand:?} {network}");
        }
    }

    #[test]
    fn a_message_is_heard_as_it_was_sent() {
        let mut line = Vec::new();
        send(&mut line, &Report { held: ALL, end: End::Exceeded("more\nthan it may".into()) }).unwrap();
        let heard: Report = receive(&line[..]).unwrap().unwrap();
        assert_eq!((heard.held, heard.end), (ALL, End::Exceeded("more\nthan it may".into())));
        assert!(receive::<Report>(&b""[..]).unwrap().is_none(), "the other side is gone");
        assert!(receive::<Report>(&b"[]"[..]).is_err() && receive::<Report>(&line[..9]).is_err());
    }
}
