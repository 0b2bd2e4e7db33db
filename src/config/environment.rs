//! The variables of the process and of `.env`: the one place that reads them.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, Read};
use std::path::Path;

use super::fault::{Fault, Log};
use super::form::Form;
use super::variables::VARIABLES;

/// What every variable of the hive's own begins with.
const OWN_PREFIX: &str = "HIVE_";

/// The variables that the hive starts with. Faults found while they were read are told by [`super::load`].
#[derive(Clone, Default)]
pub struct Environment {
    values: BTreeMap<String, String>,
    faults: Vec<Fault>,
}

impl fmt::Debug for Environment {
    /// The names alone: any value may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

impl Environment {
    /// The variables of the process and, where it has none of that name, those of the file `dotenv`, which may be
    /// missing. The file is written as `NAME=value` lines; `$NAME` in it stands for a variable's value.
    #[expect(clippy::disallowed_methods, reason = "this is the door to the process's variables")]
    pub fn from_process(dotenv: &Path) -> Self {
        Environment::from_both(std::env::vars_os(), dotenv)
    }

    /// As [`Environment::from_process`], of a process with these variables.
    pub(super) fn from_both(process: impl IntoIterator<Item = (OsString, OsString)>, dotenv: &Path) -> Self {
        let mut environment = Environment::default();
        environment.read_file(dotenv);
        for (name, value) in process {
            let Some(name) = name.to_str() else { continue };
            match value.into_string() {
                Ok(value) => {
                    environment.values.insert(name.to_owned(), value);
                }
                Err(_) if is_ours(name) => environment.fault(name, None, "is not UTF-8".to_owned()),
                Err(_) => {}
            }
        }
        environment
    }

    /// These variables and no others.
    pub fn from_pairs<N: Into<String>, V: Into<String>>(pairs: impl IntoIterator<Item = (N, V)>) -> Self {
        let values = pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Environment { values, faults: Vec::new() }
    }

    /// Whether the variable is set, if only to something wrong.
    pub(super) fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// The meaning of a variable, if it is set and well formed.
    pub(super) fn read<T>(&self, name: &str, form: &Form<T>, log: &Log) -> Option<T> {
        let text = self.values.get(name)?;
        if text.is_empty() {
            log.fault_of(name, "is set to nothing: give it a value, or take it away");
            return None;
        }
        form.read(text).map_err(|message| log.fault_of(name, message)).ok()
    }

    /// What was wrong while the variables were read.
    pub(super) fn tell_faults(&self, log: &Log) {
        self.faults.iter().for_each(|fault| log.fault(fault.clone()));
    }

    /// Refuses `HIVE_…` variables that are not ours and that `named`, names which the files gave, does not hold.
    pub(super) fn refuse_unknown(&self, named: &[String], log: &Log) {
        let names = || VARIABLES.iter().map(|variable| variable.name);
        let own = self.values.keys().filter(|name| name.starts_with(OWN_PREFIX));
        for name in own.filter(|name| !names().any(|known| known == *name) && !named.contains(name)) {
            let hint = match base::text::meant(name, names().filter(|known| known.starts_with(OWN_PREFIX))) {
                Some(known) => format!("did you mean `{known}`?"),
                None => "see `.env.example` for those there are".to_owned(),
            };
            log.fault_of(name, format!("is no variable of the hive; {hint}"));
        }
    }

    fn fault(&mut self, source: &str, line: Option<usize>, message: String) {
        self.faults.push(Fault { source: source.to_owned(), path: String::new(), line, message });
    }

    fn read_file(&mut self, path: &Path) {
        let shown = path.display().to_string();
        let text = match std::fs::read(path).map(String::from_utf8) {
            Ok(Ok(text)) => text,
            Ok(Err(_)) => return self.fault(&shown, None, "is not UTF-8".to_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.fault(&shown, None, format!("cannot be read: {error}")),
        };
        for (line, variable) in parse(&text) {
            match variable {
                Some((name, _)) if self.values.contains_key(&name) => {
                    self.fault(&shown, Some(line), format!("sets `{name}` a second time"));
                }
                Some((name, value)) => {
                    self.values.insert(name, value);
                }
                // The line is not shown: it probably holds a secret.
                None => self.fault(
                    &shown,
                    Some(line),
                    "expected `NAME=value`; put a value with blanks, quotes or backslashes in single quotes".to_owned(),
                ),
            }
        }
    }
}

fn is_ours(name: &str) -> bool {
    name.starts_with(OWN_PREFIX) || VARIABLES.iter().any(|variable| variable.name == name)
}

/// The variables of a `.env` file with the lines they end on; `None`, where it begins, for a line that is none.
fn parse(text: &str) -> Vec<(usize, Option<(String, String)>)> {
    // A last line that ends in a blank is not taken for finished without its line break.
    let text = format!("{}\n", text.strip_prefix('\u{feff}').unwrap_or(text));
    let lines_read = Cell::new(0);
    let mut found = Vec::new();
    for variable in dotenvy::from_read_iter(Lines { rest: text.as_bytes(), lines_read: &lines_read }) {
        let last = lines_read.get();
        match variable {
            Ok(variable) => found.push((last, Some(variable))),
            Err(dotenvy::Error::LineParse(seen, _)) => {
                // Quotes that never close run over the whole rest, which then ends with its last line break.
                let lines = seen.matches('\n').count() + usize::from(!seen.ends_with('\n'));
                found.push(((last + 1).saturating_sub(lines), None));
            }
            Err(_) => {
                found.push((last, None));
                break;
            }
        }
    }
    found
}

/// Gives a text out by single lines and counts them, so that whoever reads it can be asked for the line.
struct Lines<'t> {
    rest: &'t [u8],
    lines_read: &'t Cell<usize>,
}

impl Read for Lines<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let line = self.rest.iter().position(|byte| *byte == b'\n').map_or(self.rest.len(), |end| end + 1);
        let taken = line.min(buffer.len());
        buffer[..taken].copy_from_slice(&self.rest[..taken]);
        self.rest = &self.rest[taken..];
        if taken == line && taken > 0 {
            self.lines_read.set(self.lines_read.get() + 1);
        }
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_found_on_their_lines() {
        let text = "\u{feff}# a comment\nA=1\n\nexport B='two words'  # why\nC=\"x\ny\"\nD=$A \nE=don't know\nF=6\nG=\"open\nH=8";
        let variable = |name: &str, value: &str| Some((name.to_owned(), value.to_owned()));
        let expected = vec![
            (2, variable("A", "1")),
            (4, variable("B", "two words")),
            (6, variable("C", "x\ny")),
            (7, variable("D", "1")),
            (8, None),
        ];
        assert_eq!(parse(text)[..5], expected);
    }

    #[test]
    fn quotes_that_never_close_are_told_where_they_open() {
        assert_eq!(parse("A=1\nB=\"open\nC=3\n\n"), [(1, Some(("A".to_owned(), "1".to_owned()))), (2, None)]);
        assert_eq!(parse("A=\"open"), [(1, None)]);
        assert_eq!(
            parse("=1\n1A=2\njust words\nB=2"),
            [(1, None), (2, None), (3, None), (4, Some(("B".to_owned(), "2".to_owned())))]
        );
    }
}
