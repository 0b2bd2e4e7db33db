//! The files of a folder: bounded in size and number, in one order, and none from outside of it.
//!
//! A path is resolved by the kernel from a handle of the folder (`cap-std`): a link may lead about inside of the folder,
//! and what leads out of it is refused when it is opened. All of it blocks; the files are small.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use cap_fs_ext::{MetadataExt, OpenOptionsSyncExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};

use super::fault::Fault;

/// The longest file, in bytes: 16,000 tokens of prose, more than any prompt should spend on one.
pub const FILE_BYTES_MAX: u64 = 64 * 1_024;
/// Most files that are read of one folder.
pub const FILES_MAX: usize = 200;
/// Most entries of a folder that are looked at: there may be other files beside those that are read.
const ENTRIES_MAX: usize = 5_000;

/// Whose folder it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The owner's: no agent writes there.
    Owner,
    /// A team's: its agents write there. A file with several names is refused, because one may lie outside.
    Team,
}

/// A folder of Markdown files. Clones are the same.
#[derive(Clone, Debug)]
pub struct Folder {
    dir: Arc<Dir>,
    whose: Whose,
}

/// What an entry is, links followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    File,
    /// A folder.
    Folder,
}

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its path from the root of the folder, `skills/build-ui.md`.
    pub path: String,
    /// Its own name.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// How long the file is, in bytes.
    pub bytes: u64,
}

/// A file's text, line ends and byte order mark as everywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// Its path from the root of the folder.
    pub file: String,
    /// Its text, with `\n` at the end of lines.
    pub text: String,
}

impl Folder {
    /// Opens a folder.
    ///
    /// # Errors
    /// If it is not there or cannot be opened.
    pub fn open(path: &Path, whose: Whose) -> io::Result<Folder> {
        Ok(Folder { dir: Arc::new(Dir::open_ambient_dir(path, ambient_authority())?), whose })
    }

    /// The same of a folder that is open.
    ///
    /// # Errors
    /// If the system has no more handles.
    pub fn of(dir: &Dir, whose: Whose) -> io::Result<Folder> {
        Ok(Folder { dir: Arc::new(dir.try_clone()?), whose })
    }

    /// A folder below this one: what leads out of that one leads out.
    pub(crate) fn below(&self, path: &str) -> io::Result<Folder> {
        Ok(Folder { dir: Arc::new(self.dir.open_dir(path)?), whose: self.whose })
    }

    /// The entries of a folder below this one (`""` for this one), sorted by the bytes of their names; without those
    /// whose names begin with a dot. A folder that is not there has none.
    pub fn list(&self, below: &str, faults: &mut Vec<Fault>) -> Vec<Listed> {
        let entries = match self.dir.read_dir(if below.is_empty() { "." } else { below }) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
            Err(error) => {
                faults.push(Fault::error(&shown(below), None, why(&error)));
                return Vec::new();
            }
        };
        let mut names = Vec::new();
        for entry in entries.take(ENTRIES_MAX + 1) {
            let Ok(entry) = entry else { continue };
            match entry.file_name().into_string() {
                Ok(name) if name.starts_with('.') => {}
                Ok(name) => names.push(name),
                Err(name) => {
                    let path = joined(below, &shown(&name.to_string_lossy()));
                    faults.push(Fault::error(&path, None, "its name is not UTF-8: rename it"));
                }
            }
        }
        if names.len() > ENTRIES_MAX {
            let message = format!("there are more than {ENTRIES_MAX} entries, and not all of them are looked at");
            faults.push(Fault::error(&shown(below), None, message));
        }
        names.sort();
        names.into_iter().filter_map(|name| self.entry(below, name, faults)).collect()
    }

    /// What an entry is. `None`, with a fault, for one that leads out, and for pipes and devices.
    fn entry(&self, below: &str, name: String, faults: &mut Vec<Fault>) -> Option<Listed> {
        let path = joined(below, &name);
        let metadata = match self.dir.metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) => {
                faults.push(Fault::error(&shown(&path), None, why(&error)));
                return None;
            }
        };
        let kind = match () {
            () if metadata.is_file() => Kind::File,
            () if metadata.is_dir() => Kind::Folder,
            () => {
                faults.push(Fault::error(&shown(&path), None, "it is neither a file nor a folder: take it away"));
                return None;
            }
        };
        Some(Listed { path, name, kind, bytes: metadata.len() })
    }

    /// The texts of the files `*.md` directly in a folder below this one, sorted by the bytes of their names.
    pub fn texts(&self, below: &str, faults: &mut Vec<Fault>) -> Vec<Text> {
        let listed = self.list(below, faults);
        let (files, folders): (Vec<_>, Vec<_>) =
            listed.into_iter().filter(is_markdown).partition(|entry| entry.kind == Kind::File);
        for folder in folders {
            let message = "it is a folder, and only files are read: rename it, or move its files up";
            faults.push(Fault::warning(&shown(&folder.path), None, message));
        }
        if files.len() > FILES_MAX {
            let message = format!(
                "there are {} files, and the first {FILES_MAX} by name are read: put some together",
                files.len()
            );
            faults.push(Fault::error(&shown(below), None, message));
        }
        files.iter().take(FILES_MAX).filter_map(|file| self.text(&file.path, faults)).collect()
    }

    /// The text of one file. `None` where it is not there, and, with a fault, where it cannot be read.
    pub fn text(&self, path: &str, faults: &mut Vec<Fault>) -> Option<Text> {
        let file = shown(path);
        let read = match self.bytes(path, FILE_BYTES_MAX) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                faults.push(Fault::error(&file, None, why(&error)));
                return None;
            }
        };
        if read.is_cut {
            let message = format!("it is longer than {} KiB: shorten it, or part it", FILE_BYTES_MAX / 1_024);
            faults.push(Fault::error(&file, None, message));
            return None;
        }
        let text = as_text(read.bytes).map_err(|(line, message)| faults.push(Fault::error(&file, line, message)));
        Some(Text { file, text: text.ok()? })
    }

    /// The bytes of a regular file, at most `max` of them.
    ///
    /// # Errors
    /// If there is none, or it may not be read.
    pub(crate) fn bytes(&self, path: &str, max: u64) -> io::Result<Bytes> {
        let file = self.regular(path)?;
        let mut bytes = Vec::new();
        file.take(max + 1).read_to_end(&mut bytes)?;
        let is_cut = bytes.len() as u64 > max;
        bytes.truncate(usize::try_from(max).unwrap_or(usize::MAX));
        Ok(Bytes { bytes, is_cut })
    }

    fn regular(&self, path: &str) -> io::Result<File> {
        let mut options = OpenOptions::new();
        // A pipe without a writer would block for ever.
        options.read(true).nonblock(true);
        let file = self.dir.open_with(path, &options)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        if self.whose == Whose::Team && metadata.nlink() > 1 {
            let message = "it has several names (hard links), and one may lie outside of the folder: write it anew";
            return Err(io::Error::other(message));
        }
        Ok(file)
    }
}

/// What was read of a file.
pub(crate) struct Bytes {
    pub(crate) bytes: Vec<u8>,
    /// Whether there is more.
    pub(crate) is_cut: bool,
}

fn is_markdown(entry: &Listed) -> bool {
    Path::new(&entry.name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}

/// A file's bytes as text, or the line and what is wrong with them.
pub(crate) fn as_text(bytes: Vec<u8>) -> Result<String, (Option<usize>, String)> {
    let line_of = |before: &[u8]| Some(before.iter().filter(|byte| **byte == b'\n').count() + 1);
    let text = String::from_utf8(bytes).map_err(|error| {
        let line = line_of(&error.as_bytes()[..error.utf8_error().valid_up_to()]);
        (line, "it is not UTF-8 from here on: save it as UTF-8".to_owned())
    })?;
    if let Some(at) = text.find('\0') {
        return Err((line_of(&text.as_bytes()[..at]), "there is a zero byte here: save it as UTF-8 text".to_owned()));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    Ok(text.replace("\r\n", "\n").replace('\r', "\n"))
}

fn why(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "it is a link to nothing: take it away".to_owned(),
        _ if is_outside(error) => "it is a link that leads out of the folder: put the file itself here".to_owned(),
        io::ErrorKind::PermissionDenied => "it may not be read: change its permissions".to_owned(),
        io::ErrorKind::NotADirectory => "it is a file where a folder belongs".to_owned(),
        // Ours, which says what to do.
        io::ErrorKind::Other if error.raw_os_error().is_none() => error.to_string(),
        kind => format!("it cannot be read: {kind}"),
    }
}

/// Whether the sandbox refused it: its own refusal carries no number, the system's does.
pub(crate) fn is_outside(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

fn joined(below: &str, name: &str) -> String {
    if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") }
}

/// A path on one line, not too long; a folder's own is `.`.
pub(crate) fn shown(path: &str) -> String {
    let escape = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    let path: String = path.chars().map(escape).collect();
    if path.is_empty() { ".".to_owned() } else { base::text::cut(&path, 200) }
}
