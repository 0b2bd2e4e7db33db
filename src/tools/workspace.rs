//! Teams' folders, and the only way into them.
//!
//! A path is resolved by the kernel, component by component, from a handle of the folder (`cap-std`): nothing that is
//! checked by name first and used by name later, so nothing to exchange in between. `..`, absolute paths and links
//! that lead out are refused; a link at the end of a path is not followed at all, and on the way to a file that is
//! written none is. A file with several names is refused: one of them may lie outside.
//!
//! | file | one thing |
//! |---|---|
//! | `path`, `readings` | what a path's words say, and what else they could mean: pure |
//! | `replace` | writing a file: whole or not at all |
//! | `seen` | who has read what: a file is read before it is changed |
//! | `event_file` | the copy of a team's events |
//! | `outgoing` | files on their way to a conversation |

mod event_file;
mod outgoing;
mod path;
mod readings;
mod replace;
mod seen;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use base::{Moment, Scrub, TeamName};
use cap_fs_ext::{DirExt, FollowSymlinks, MetadataExt, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, OpenOptions};

use crate::tool::ToolError;

pub use event_file::{EVENT_FILES, EventFile, LeftAt};
pub use path::{CONFIG, GOVERNED, PathRules, Use, inside, plain};
pub use replace::{Existing, FILE_BYTES_MAX};
pub use seen::{Mark, Reader};

/// The folder of a workspace that long results are written to.
pub const RESULTS: &str = ".results";

/// How much of a path an error shows, in characters.
const PATH_SHOWN_CHARS: usize = 200;

/// The folder that holds every team's. Clones are the same.
#[derive(Clone, Debug)]
pub struct Workspaces {
    root: Arc<Dir>,
    /// As it really is, and as it was given: a model may have seen either.
    names: Arc<[PathBuf]>,
    rules: Arc<PathRules>,
    seen: Arc<Mutex<seen::Seen>>,
    /// Held while a file is compared and replaced: sessions of one team share its folder.
    writing: Arc<Mutex<()>>,
    /// What is never written to a file of a team, nor sent as one.
    secrets: Scrub,
}

/// One team's folder.
#[derive(Debug)]
pub struct Workspace {
    dir: Dir,
    names: Vec<PathBuf>,
    rules: Arc<PathRules>,
    writing: Arc<Mutex<()>>,
    secrets: Scrub,
}

impl Workspaces {
    /// Opens the folder `root`, and makes it if it is not there. What teams may not write is as [`PathRules`] has it
    /// by default.
    ///
    /// # Errors
    /// If that cannot be done.
    pub fn open(root: &Path) -> Result<Workspaces> {
        Workspaces::governed(root, PathRules::default())
    }

    /// The same with rules of the owner's.
    ///
    /// # Errors
    /// If the folder cannot be opened or made.
    pub fn governed(root: &Path, rules: PathRules) -> Result<Workspaces> {
        let context = || format!("open the teams' folder {}", root.display());
        Dir::create_ambient_dir_all(root, ambient_authority()).with_context(context)?;
        let dir = Dir::open_ambient_dir(root, ambient_authority()).with_context(context)?;
        let real = root.canonicalize().with_context(context)?;
        Ok(Workspaces {
            root: Arc::new(dir),
            names: Arc::new([real, root.to_owned()]),
            rules: Arc::new(rules),
            seen: Arc::default(),
            writing: Arc::default(),
            secrets: Scrub::new(),
        })
    }

    /// Keeps these secrets, and those that are learnt later, out of files: a placeholder in a tool's arguments stands for
    /// a secret that its team never sees, and in a file it would.
    #[must_use]
    pub fn keeping_out(self, secrets: &Scrub) -> Workspaces {
        Workspaces { secrets: secrets.clone(), ..self }
    }

    /// Whether a secret stands in a text, in any form.
    pub fn finds_secret(&self, text: &str) -> bool {
        self.secrets.finds_in(text)
    }

    /// The folder of a team; made if it is not there.
    ///
    /// # Errors
    /// If that cannot be done, or a link stands in its place.
    pub fn of(&self, team: &TeamName) -> Result<Workspace> {
        let context = || format!("open the folder of the team {team}");
        match self.root.create_dir(team.as_str()) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error).with_context(context),
            _ => {}
        }
        let dir = self.root.open_dir_nofollow(team.as_str()).with_context(context)?;
        Ok(Workspace {
            dir,
            names: self.names.iter().map(|name| name.join(team.as_str())).collect(),
            rules: self.rules.clone(),
            writing: self.writing.clone(),
            secrets: self.secrets.clone(),
        })
    }

    /// Deletes long results and copies of sent files that were written before `before`. How many went.
    ///
    /// Blocks: call it where that is no harm.
    ///
    /// # Errors
    /// If the teams' folder cannot be read. What cannot be deleted is left for the next time.
    pub fn sweep_results(&self, before: Moment) -> Result<usize> {
        let before = UNIX_EPOCH + Duration::from_millis(u64::try_from(before).unwrap_or(0));
        let mut gone = 0;
        for team in self.root.entries().context("read the teams' folder")?.flatten() {
            let Ok(dir) = self.root.open_dir_nofollow(team.file_name()) else { continue };
            let swept = if team.file_name() == outgoing::FOLDER { Ok(dir) } else { dir.open_dir_nofollow(RESULTS) };
            gone += swept.map_or(0, |swept| sweep(&swept, before));
        }
        Ok(gone)
    }
}

/// Deletes the files of a folder that were written before `before`.
fn sweep(folder: &Dir, before: SystemTime) -> usize {
    let Ok(files) = folder.entries() else { return 0 };
    let is_old = |file: &cap_std::fs::DirEntry| {
        let written = file.metadata().and_then(|metadata| metadata.modified());
        written.is_ok_and(|at| at.into_std() < before)
    };
    files.flatten().filter(|file| is_old(file) && folder.remove_file(file.file_name()).is_ok()).count()
}

impl Workspace {
    /// The path inside the workspace that `given` names, for this use.
    ///
    /// # Errors
    /// If it may not be used so, as far as its words show; the kernel says the rest when it is opened.
    pub fn path(&self, given: &str, usage: Use) -> Result<PathBuf, ToolError> {
        inside(&self.names, given, usage, &self.rules).map_err(|refusal| ToolError::Refused(refusal.detail))
    }

    /// The folder itself, to walk through.
    pub fn root(&self) -> &Dir {
        &self.dir
    }

    /// Opens a file to read from. Anything but a regular file with one name is refused.
    ///
    /// # Errors
    /// Says what stands in the way.
    pub fn open_file(&self, given: &str) -> Result<(File, Metadata), ToolError> {
        let path = self.path(given, Use::Read)?;
        open_regular(&self.dir, &path, given)
    }

    /// Opens a folder to look into.
    ///
    /// # Errors
    /// Says what stands in the way.
    pub fn open_dir(&self, given: &str) -> Result<Dir, ToolError> {
        let path = self.path(given, Use::List)?;
        let seen = self.dir.symlink_metadata(&path).map_err(|error| explain(given, &error))?;
        if seen.is_symlink() {
            return Err(link(&self.dir, &path, given));
        }
        if !seen.is_dir() {
            return Err(ToolError::refused(format!("{} is not a folder: use `read_file`", shown(given))));
        }
        self.dir.open_dir_nofollow(&path).map_err(|error| explain(given, &error))
    }

    /// Writes a long result to a file of its own, and says how a tool finds it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_result(&self, name: &str, text: &str) -> io::Result<String> {
        match self.dir.create_dir(RESULTS) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let results = self.dir.open_dir_nofollow(RESULTS)?;
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).follow(FollowSymlinks::No);
        io::Write::write_all(&mut results.open_with(name, &options)?, text.as_bytes())?;
        Ok(format!("{RESULTS}/{name}"))
    }
}

/// Opens a file of a folder that was opened before. See [`Workspace::open_file`].
fn open_regular(dir: &Dir, path: &Path, given: &str) -> Result<(File, Metadata), ToolError> {
    let fail = |error: io::Error| explain(given, &error);
    // A look first, so that a device is never opened; what counts is what is asked of the open file below.
    let seen = dir.symlink_metadata(path).map_err(fail)?;
    if seen.is_symlink() {
        return Err(link(dir, path, given));
    }
    let mut options = OpenOptions::new();
    // A pipe without a writer would block for ever.
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    if seen.is_file() {
        let file = dir.open_with(path, &options).map_err(fail)?;
        let metadata = file.metadata().map_err(fail)?;
        if metadata.is_file() && metadata.nlink() > 1 {
            let why = "has several names (hard links), and one of them may lie outside of the workspace: use a copy";
            return Err(ToolError::refused(format!("{} {why}", shown(given))));
        }
        if metadata.is_file() {
            return Ok((file, metadata));
        }
    }
    let what = if seen.is_dir() { "a folder: use `list_directory`" } else { "neither a file nor a folder" };
    Err(ToolError::refused(format!("{} is {what}", shown(given))))
}

fn link(dir: &Dir, path: &Path, given: &str) -> ToolError {
    let target = dir.read_link_contents(path).ok().filter(|target| target.is_relative());
    let target = target.map_or("elsewhere".to_owned(), |target| format!("to {}", shown(&target.to_string_lossy())));
    ToolError::refused(format!("{} is a link {target}, and links are not followed: name the file itself", shown(given)))
}

/// Runs file work where it holds up nobody. It cannot be interrupted: it looks at the call's stop token by itself.
///
/// # Errors
/// Those of the work; a panic in it is a fault of ours.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| ToolError::Broken(anyhow::Error::new(error).context("work on a file")))?
}

/// A path for an error: on one line, not too long.
pub fn shown(path: &str) -> String {
    format!("`{}`", base::text::cut(&printable(path), PATH_SHOWN_CHARS))
}

/// A name on one line: line breaks and other control characters are written as escapes.
pub fn printable(name: &str) -> String {
    let escape = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    name.chars().map(escape).collect()
}

/// What a model can do about a failed look at a path.
pub fn explain(given: &str, error: &io::Error) -> ToolError {
    let given_shown = shown(given);
    ToolError::refused(match error.kind() {
        io::ErrorKind::NotFound => format!("there is no {given_shown} in the workspace"),
        // The sandbox's own refusal carries no number; the system's does.
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => return outside(given),
        io::ErrorKind::PermissionDenied => format!("{given_shown} may not be read"),
        io::ErrorKind::NotADirectory => format!("a part of {given_shown} is a file, not a folder"),
        io::ErrorKind::InvalidFilename | io::ErrorKind::InvalidInput => format!("{given_shown} is not a path"),
        kind => format!("{given_shown} cannot be read: {kind}"),
    })
}

fn outside(given: &str) -> ToolError {
    ToolError::refused(format!("{} is outside of the workspace", shown(given)))
}

#[cfg(test)]
mod tests;
