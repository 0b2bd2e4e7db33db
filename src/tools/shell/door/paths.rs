//! Whether a word names a file that a command may not reach. By its words alone: no file is looked at.

use std::path::{Path, PathBuf};

use super::Bounds;
use super::words::Word;
use crate::shell::system;

/// What programs find in place of files: their own streams, and what the kernel says of them.
const OWN: &[&str] = &["/dev/fd", "/dev/stderr", "/dev/stdin", "/dev/stdout", "/dev/tty", "/proc/self"];

/// The first folders of the paths of a usual machine, by which a path is told from other text with a slash in front.
const TOPS: &[&str] = &[
    "app",
    "bin",
    "boot",
    "config",
    "data",
    "dev",
    "etc",
    "home",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "lost+found",
    "media",
    "mnt",
    "nix",
    "opt",
    "private",
    "proc",
    "root",
    "run",
    "sbin",
    "srv",
    "sys",
    "tmp",
    "usr",
    "Users",
    "var",
    "Volumes",
    "workspace",
];

/// What a path is to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// It may read and write it.
    Own,
    /// It may read it.
    ReadOnly,
    /// It may do neither.
    Outside,
}

/// Where a command stands, and what it may reach.
pub(super) struct Place<'a> {
    bounds: &'a Bounds<'a>,
    /// The current folder, where it is known.
    folder: Option<PathBuf>,
}

impl<'a> Place<'a> {
    pub(super) fn new(bounds: &'a Bounds<'a>) -> Place<'a> {
        Place { bounds, folder: Some(bounds.folder.to_owned()) }
    }

    /// Goes into another folder. `None`: home.
    pub(super) fn go(&mut self, to: Option<&Word>) {
        let path = to.map_or_else(|| Some(self.bounds.workspace.to_owned()), |word| self.resolve(&word.text));
        self.folder = path.filter(|path| !path.to_string_lossy().contains(['$', '*', '?', '[']));
    }

    /// What a word names, if it names a path. `surely`: where it stands only a path can stand.
    pub(super) fn reach(&self, word: &Word, surely: bool) -> Option<(PathBuf, Reach)> {
        let text = &*word.text;
        if is_of_windows(&word.raw) || is_of_windows(text) {
            return Some((PathBuf::from(text), Reach::Outside));
        }
        let may_be = surely || self.looks_like_one(text);
        // The value of an option, or of `dd of=`, or of an upload `@file`.
        let value = text.split_once('=').map(|(_, value)| value).filter(|_| !text.starts_with(['/', '.', '~', '$']));
        let value = value.or_else(|| text.strip_prefix('@')).or_else(|| glued(text));
        if let Some(value) = value.filter(|value| self.looks_like_one(value)) {
            return self.of(value);
        }
        if may_be { self.of(text) } else { None }
    }

    fn looks_like_one(&self, text: &str) -> bool {
        if text.starts_with("~") || text.starts_with("$HOME") || text.starts_with("${HOME}") || climbs(text) {
            return true;
        }
        let Some(rest) = text.strip_prefix('/') else { return false };
        let top = rest.split('/').next().unwrap_or("");
        let own_top = self.bounds.workspace.iter().nth(1).is_some_and(|own| own == top);
        rest.is_empty() || own_top || TOPS.contains(&top) || top == "*" || top == "."
    }

    fn of(&self, text: &str) -> Option<(PathBuf, Reach)> {
        // A home that is not the workspace is somebody else's.
        if text.starts_with('~') && !matches!(text.as_bytes().get(1), None | Some(b'/' | b'+')) {
            return Some((PathBuf::from(text), Reach::Outside));
        }
        let path = self.resolve(text)?;
        let reach = self.judge(&path);
        Some((path, reach))
    }

    /// The absolute path, as its words say; `None` where the current folder is not known and matters.
    fn resolve(&self, text: &str) -> Option<PathBuf> {
        let home = &self.bounds.workspace;
        let of_home = ["~+", "~", "$HOME", "${HOME}"]
            .into_iter()
            .find_map(|name| text.strip_prefix(name).filter(|rest| rest.is_empty() || rest.starts_with('/')));
        let path = match of_home {
            Some(rest) => home.join(rest.trim_start_matches('/')),
            None if text.starts_with('$') => return None,
            None if text.starts_with('/') => PathBuf::from(text),
            None => self.folder.as_ref()?.join(text),
        };
        Some(system::tidy(&path))
    }

    fn judge(&self, path: &Path) -> Reach {
        // What a shell would put there decides where it leads: only the part before is known.
        let known: PathBuf = path.iter().take_while(|part| !part.to_string_lossy().contains('$')).collect();
        if path.starts_with(&self.bounds.workspace) || known == Path::new("/") && path != known {
            return Reach::Own;
        }
        let below = |list: &[&str]| list.iter().any(|allowed| path.starts_with(allowed));
        let granted = self.bounds.read.iter().any(|allowed| path.starts_with(allowed));
        if below(system::SINKS) || below(OWN) || path == Path::new("/dev") {
            Reach::Own
        } else if granted
            || [system::PROGRAMS, system::SETTINGS, system::SOURCES, system::KERNEL].into_iter().any(below)
            || (self.bounds.network && below(system::NAMES))
        {
            Reach::ReadOnly
        } else {
            Reach::Outside
        }
    }
}

/// `..` at the front: what comes of it depends on where it stands.
fn climbs(text: &str) -> bool {
    text.split('/').any(|part| part == "..")
}

/// The path in `-I/usr/include` or `-f/etc/passwd`.
fn glued(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('-')?;
    let mut chars = rest.chars();
    chars.next().filter(char::is_ascii_alphabetic)?;
    Some(chars.as_str()).filter(|value| value.starts_with('/'))
}

/// `C:\…`, `\\server\…`, `%SYSTEMROOT%\…`.
fn is_of_windows(text: &str) -> bool {
    let bytes = text.trim_start_matches(['"', '\'']).as_bytes();
    let drive = bytes.len() >= 3 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' && bytes[2] == b'\\';
    drive || bytes.starts_with(b"\\\\") && bytes.len() > 4 || bytes.first() == Some(&b'%') && text.contains("%\\")
}
