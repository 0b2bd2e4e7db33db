//! Writing a file: whole or not at all, and never through a link.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, Metadata, MetadataExt, OpenOptions, Permissions, PermissionsExt};
use rustix::fs::{RenameFlags, renameat_with};
use rustix::io::Errno;

use super::seen::Mark;
use super::{Use, Workspace, explain, link, open_regular, shown};
use crate::tool::ToolError;

/// The longest file that is written, or read whole, in bytes: far more than a model can write or keep in mind.
pub const FILE_BYTES_MAX: u64 = 8 * 1_024 * 1_024;

/// What a new content is written to before it takes its place. One name is enough: one file is written at a time.
const TEMPORARY: &str = ".hive-writing";

/// The bits of a mode that a new content inherits; not those that let it run as somebody else.
const MODE_BITS: u32 = 0o777;

/// A file that is there before it is changed.
#[derive(Debug)]
pub struct Existing {
    /// What it is.
    pub mark: Mark,
    /// Its bytes. `None` where it is longer than [`FILE_BYTES_MAX`].
    pub bytes: Option<Vec<u8>>,
    permissions: Permissions,
    version: Version,
}

/// Which file stands under a name, and when it was changed last: equal where nobody has touched it, as finely as the
/// file system's clock goes.
#[derive(Debug, PartialEq, Eq)]
struct Version {
    device: u64,
    inode: u64,
    length: u64,
    /// Seconds and nanoseconds. Unlike the time of writing nobody can set it.
    changed: (i64, i64),
}

impl Version {
    fn of(metadata: &Metadata) -> Version {
        Version {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// Where a file is to be.
struct Place<'a> {
    given: &'a str,
    parent: Dir,
    name: &'a str,
}

impl Workspace {
    /// Reads the file that `given` names, if it is there, lets `decide` make its new content of it, and writes that.
    /// Nobody else of this hive writes in between. The file's path in the workspace, and what `decide` said of it.
    ///
    /// The new content replaces the old one in one step: whoever opens the file sees one or the other, also after a
    /// crash. The file keeps its mode, and links to it stay with the old content. Where `decide` gives no content,
    /// nothing is written.
    ///
    /// # Errors
    /// Says what stands in the way, or what `decide` said against it.
    pub fn change<T>(
        &self,
        given: &str,
        make_folders: bool,
        decide: impl FnOnce(&Path, Option<&Existing>) -> Result<(Option<Vec<u8>>, T), ToolError>,
    ) -> Result<(PathBuf, T), ToolError> {
        let path = self.path(given, Use::Write)?;
        let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
        let (name, folders) = parts.split_last().ok_or_else(|| ToolError::refused("there is no name to write to"))?;
        if *name == TEMPORARY {
            return Err(ToolError::refused(format!("{} is a name that the hive uses: take another", shown(given))));
        }
        let _one = self.writing.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let place = self.folder(given, folders, false)?.map(|parent| Place { given, parent, name });
        let existing = place.as_ref().map(Place::look).transpose()?.flatten();
        let (content, said) = decide(&path, existing.as_ref())?;
        let Some(content) = content else { return Ok((path, said)) };
        if content.len() as u64 > FILE_BYTES_MAX {
            return Err(ToolError::refused(format!(
                "a file may have {FILE_BYTES_MAX} bytes, and this one would be longer"
            )));
        }
        self.refuse_secrets(&content, existing.as_ref())?;
        let place = match place {
            Some(place) => place,
            None if make_folders => {
                let made = self.folder(given, folders, true)?;
                let parent =
                    made.ok_or_else(|| ToolError::refused(format!("the folder of {} went away", shown(given))))?;
                Place { given, parent, name }
            }
            None => return Err(ToolError::refused(format!("the folder of {} is not there", shown(given)))),
        };
        place.put(&content, existing.as_ref())?;
        Ok((path, said))
    }

    /// No secret comes into a file. One that somebody else put there may stay.
    fn refuse_secrets(&self, content: &[u8], existing: Option<&Existing>) -> Result<(), ToolError> {
        let holds_one = |bytes: &[u8]| self.secrets.finds_in(&String::from_utf8_lossy(bytes));
        let was_there = || existing.and_then(|existing| existing.bytes.as_deref()).is_some_and(holds_one);
        if holds_one(content) && !was_there() {
            return Err(ToolError::refused(
                "a secret would stand in the file, where everybody of the team could read it: name the secret by its \
                 placeholder where it is used, in the arguments of the tool that sends it",
            ));
        }
        Ok(())
    }

    /// The folder that these names lead to, one after the other, through no link. `None` where one is not there and
    /// is not to be made.
    fn folder(&self, given: &str, names: &[&str], make: bool) -> Result<Option<Dir>, ToolError> {
        let fail = |error: io::Error| explain(given, &error);
        let mut dir = self.dir.try_clone().map_err(fail)?;
        for name in names {
            if make {
                match dir.create_dir(name) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(fail(error)),
                    _ => {}
                }
            }
            dir = match dir.open_dir_nofollow(name) {
                Ok(inner) => inner,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => {
                    let is_link = dir.symlink_metadata(name).is_ok_and(|seen| seen.is_symlink());
                    return Err(if is_link { link(&dir, Path::new(name), name) } else { fail(error) });
                }
            };
        }
        Ok(Some(dir))
    }
}

impl Place<'_> {
    /// What is there.
    fn look(&self) -> Result<Option<Existing>, ToolError> {
        let path = Path::new(self.name);
        match self.parent.symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            _ => {}
        }
        let (mut file, metadata) = open_regular(&self.parent, path, self.given)?;
        let permissions = metadata.permissions();
        if permissions.readonly() {
            return Err(ToolError::refused(format!("{} is marked as read-only", shown(self.given))));
        }
        let (mark, bytes) = Mark::read(&mut file, &metadata).map_err(|error| explain(self.given, &error))?;
        Ok(Some(Existing { mark, bytes, permissions, version: Version::of(&metadata) }))
    }

    /// Puts a content there.
    fn put(&self, content: &[u8], existing: Option<&Existing>) -> Result<(), ToolError> {
        let fail = |error: io::Error| {
            // What a person may have to do something about; the model is told what it can know.
            tracing::warn!("a file of a workspace could not be written: {error}");
            ToolError::refused(format!("{} cannot be written: {}", shown(self.given), error.kind()))
        };
        let done = self.put_whole(content, existing);
        if done.is_err() {
            // It may not have been made; and if it stays, the next write takes it away.
            self.parent.remove_file(TEMPORARY).ok();
        }
        done.map_err(|error| {
            if error.kind() == io::ErrorKind::AlreadyExists {
                let done = if existing.is_some() { "changed" } else { "made" };
                return ToolError::refused(format!(
                    "{} was {done} by somebody meanwhile: read it first",
                    shown(self.given)
                ));
            }
            fail(error)
        })
    }

    fn put_whole(&self, content: &[u8], existing: Option<&Existing>) -> io::Result<()> {
        match self.parent.remove_file(TEMPORARY) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).follow(FollowSymlinks::No);
        let mut file = self.parent.open_with(TEMPORARY, &options)?;
        file.write_all(content)?;
        if let Some(existing) = existing {
            file.set_permissions(Permissions::from_mode(existing.permissions.mode() & MODE_BITS))?;
        }
        // Before it takes the old one's place: a power cut must not leave a name without a content.
        file.sync_all()?;
        if let Some(existing) = existing {
            // Nobody of the hive writes meanwhile, but a command may.
            let now = self.parent.symlink_metadata(self.name).map(|metadata| Version::of(&metadata));
            if now.ok().as_ref() != Some(&existing.version) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            return self.parent.rename(TEMPORARY, &self.parent, self.name);
        }
        match renameat_with(&self.parent, TEMPORARY, &self.parent, self.name, RenameFlags::NOREPLACE) {
            // A file system that cannot be asked for this: nobody of the hive writes at the same time.
            Err(Errno::INVAL | Errno::NOSYS) => self.parent.rename(TEMPORARY, &self.parent, self.name),
            done => Ok(done?),
        }
    }
}
