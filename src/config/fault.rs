//! What is wrong with a configuration: every fault at once, each with its place.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// One thing that is wrong: where, what was found there, what would be right. Never shows a secret's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file (`channels.yaml`, `.env`) or the variable (`HIVE_ADMINS`).
    pub source: String,
    /// The key inside the file, `trust.channels.discord.policy`; empty for the file as a whole and for variables.
    pub path: String,
    /// The line in the file, counted from 1.
    pub line: Option<usize>,
    /// What was found and what would be right.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)?;
        if !self.path.is_empty() {
            write!(f, ": {}", self.path)?;
        }
        write!(f, ": {}", self.message)?;
        match self.line {
            Some(line) => write!(f, " (line {line})"),
            None => Ok(()),
        }
    }
}

/// Everything that is wrong, at least one thing. One line each when shown: the variables, then file by file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigErrors {
    /// Where the files were looked for.
    pub data_dir: PathBuf,
    /// What is wrong.
    pub faults: Vec<Fault>,
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = match self.faults.len() {
            1 => "1 fault".to_owned(),
            count => format!("{count} faults"),
        };
        write!(f, "{count} in the configuration (data directory `{}`):", self.data_dir.display())?;
        self.faults.iter().try_for_each(|fault| write!(f, "\n  {fault}"))
    }
}

impl std::error::Error for ConfigErrors {}

/// A key that a file may have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The file, `config.yaml`.
    pub file: String,
    /// The path in it; a name that the writer chooses stands in angle brackets: `profiles.<profile>.model`.
    pub path: String,
}

/// What the readers leave behind: faults, and the keys that they asked for.
#[derive(Default)]
pub(super) struct Log {
    faults: RefCell<Vec<Fault>>,
    keys: RefCell<BTreeMap<Key, String>>,
}

impl Log {
    /// Notes a fault; the same one twice is noted once (two profiles may read one bad variable).
    pub(super) fn fault(&self, fault: Fault) {
        let mut faults = self.faults.borrow_mut();
        if !faults.contains(&fault) {
            faults.push(fault);
        }
    }

    /// Notes a fault of a variable or of a file as a whole.
    pub(super) fn fault_of(&self, source: &str, message: impl Into<String>) {
        self.fault(Fault { source: source.to_owned(), path: String::new(), line: None, message: message.into() });
    }

    /// Notes that a reader knows `key`.
    pub(super) fn known(&self, key: Key, default: &str) {
        self.keys.borrow_mut().insert(key, default.to_owned());
    }

    /// Every key that was asked for, with its default as it would be written; empty where there is none.
    pub(super) fn keys(self) -> BTreeMap<Key, String> {
        self.keys.into_inner()
    }

    /// Every fault: first what belongs to no file of [`super::FILES`], then file by file, line by line.
    pub(super) fn faults(self) -> Vec<Fault> {
        let mut faults = self.faults.into_inner();
        faults.sort_by_key(|fault| {
            let file = super::FILES.iter().position(|file| *file == fault.source);
            file.map(|file| (file, fault.line))
        });
        faults
    }
}

/// Words of a file, each in backquotes: `` `a`, `b` or `c` ``.
pub(super) fn quoted_list(words: &[&str], joint: &str) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match words.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [rest @ .., last] => format!("{} {joint} {last}", rest.join(", ")),
    }
}

/// A value of a file as an error shows it: on one line and cut short. Not for values that may be secret.
pub(super) fn shown(text: &str) -> String {
    const CHARS_MAX: usize = 40;
    if text.is_empty() {
        return "an empty text".to_owned();
    }
    let cut: String = text.chars().take(CHARS_MAX).flat_map(char::escape_debug).collect();
    if text.chars().count() > CHARS_MAX { format!("`{cut}…`") } else { format!("`{cut}`") }
}
