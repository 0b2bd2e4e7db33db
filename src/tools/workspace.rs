//! Teams' folders, and the only way into them.
//!
//! A path is resolved by the kernel, component by component, from a handle of the folder (`cap-std`): nothing that is
//! checked by name first and used by name later, so nothing to exchange in between. `..`, absolute paths and links
//! that lead out are refused; a link at the end of a path is not followed at all.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context, Result};
use base::{Moment, TeamName};
use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, OpenOptions};

use crate::tool::ToolError;

/// The folder of a workspace that long results are written to.
pub const RESULTS: &str = ".results";

/// The longest path that is looked at, in bytes (`PATH_MAX` of Linux).
const PATH_BYTES_MAX: usize = 4_096;

/// How much of a path an error shows, in characters.
const PATH_SHOWN_CHARS: usize = 200;

/// The folder that holds every team's. Clones are the same.
#[derive(Clone, Debug)]
pub struct Workspaces {
    root: Arc<Dir>,
    /// As it was given, and as it really is: a model may have seen either.
    names: Arc<[PathBuf]>,
}

/// One team's folder.
#[derive(Debug)]
pub struct Workspace {
    dir: Dir,
    names: Vec<PathBuf>,
}

impl Workspaces {
    /// Opens the folder `root`, and makes it if it is not there.
    ///
    /// # Errors
    /// If that cannot be done.
    pub fn open(root: &Path) -> Result<Workspaces> {
        let context = || format!("open the teams' folder {}", root.display());
        Dir::create_ambient_dir_all(root, ambient_authority()).with_context(context)?;
        let dir = Dir::open_ambient_dir(root, ambient_authority()).with_context(context)?;
        let real = root.canonicalize().with_context(context)?;
        Ok(Workspaces { root: Arc::new(dir), names: Arc::new([real, root.to_owned()]) })
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
        Ok(Workspace { dir, names: self.names.iter().map(|name| name.join(team.as_str())).collect() })
    }

    /// Deletes long results that were written before `before`, in every team's folder. How many went.
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
            let Ok(results) = dir.open_dir_nofollow(RESULTS) else { continue };
            let Ok(files) = results.entries() else { continue };
            for file in files.flatten() {
                let written = file.metadata().and_then(|metadata| metadata.modified());
                let old = written.is_ok_and(|at| at.into_std() < before);
                gone += usize::from(old && results.remove_file(file.file_name()).is_ok());
            }
        }
        Ok(gone)
    }
}

impl Workspace {
    /// The path inside the workspace that `given` names. An absolute one may begin with the workspace's own path.
    ///
    /// # Errors
    /// If it names something outside, as far as its words show; the kernel says the rest when it is opened.
    pub fn path(&self, given: &str) -> Result<PathBuf, ToolError> {
        if given.len() > PATH_BYTES_MAX || given.contains('\0') {
            return Err(ToolError::refused(format!("{} is not a path", shown(given))));
        }
        let given_path = Path::new(given);
        let inside = if given_path.is_absolute() {
            let inside = self.names.iter().find_map(|name| given_path.strip_prefix(name).ok());
            inside.ok_or_else(|| outside(given))?
        } else {
            given_path
        };
        // Without `.` and a slash at the end, which would have a link at the end followed.
        let path: PathBuf = inside.components().filter(|part| !matches!(part, Component::CurDir)).collect();
        Ok(if path.as_os_str().is_empty() { PathBuf::from(".") } else { path })
    }

    /// Opens a file to read from. Anything but a regular file is refused.
    ///
    /// # Errors
    /// Says what stands in the way.
    pub fn open_file(&self, given: &str) -> Result<(File, Metadata), ToolError> {
        let path = self.path(given)?;
        let fail = |error: io::Error| explain(given, &error);
        // A look first, so that a device is never opened; what counts is what is asked of the open file below.
        let seen = self.dir.symlink_metadata(&path).map_err(fail)?;
        if seen.is_symlink() {
            return Err(self.link(given, &path));
        }
        let mut options = OpenOptions::new();
        // A pipe without a writer would block for ever.
        options.read(true).follow(FollowSymlinks::No).nonblock(true);
        if seen.is_file() {
            let file = self.dir.open_with(&path, &options).map_err(fail)?;
            let metadata = file.metadata().map_err(fail)?;
            if metadata.is_file() {
                return Ok((file, metadata));
            }
        }
        let what = if seen.is_dir() { "a folder: use `list`" } else { "neither a file nor a folder" };
        Err(ToolError::refused(format!("{} is {what}", shown(given))))
    }

    /// Opens a folder to look into.
    ///
    /// # Errors
    /// Says what stands in the way.
    pub fn open_dir(&self, given: &str) -> Result<Dir, ToolError> {
        let path = self.path(given)?;
        let seen = self.dir.symlink_metadata(&path).map_err(|error| explain(given, &error))?;
        if seen.is_symlink() {
            return Err(self.link(given, &path));
        }
        if !seen.is_dir() {
            return Err(ToolError::refused(format!("{} is not a folder: use `read`", shown(given))));
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

    fn link(&self, given: &str, path: &Path) -> ToolError {
        let target = self.dir.read_link_contents(path).ok().filter(|target| target.is_relative());
        let target = target.map_or("elsewhere".to_owned(), |target| format!("to {}", shown(&target.to_string_lossy())));
        ToolError::refused(format!(
            "{} is a link {target}, and links are not followed: name the file itself",
            shown(given)
        ))
    }
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
