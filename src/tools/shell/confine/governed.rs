//! Files of the workspace that no team writes, for machines whose kernel does not keep a command from it: what it wrote
//! there is undone when it has ended.

use std::fs::{File, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};

/// The longest such file that is kept, in bytes. They are written by hand.
const BYTES_MAX: u64 = 1 << 20;

/// The name under which a file is written before it takes its own.
const DRAFT: &str = ".hive-undo";

/// What was there before the command.
pub(super) struct Governed {
    workspace: Dir,
    files: Vec<(PathBuf, Before)>,
}

#[derive(PartialEq)]
enum Before {
    /// Nothing.
    Absent,
    /// A file, and its mode.
    Content(Vec<u8>, u32),
}

impl Governed {
    /// Looks at these files of the current folder, which is the workspace.
    ///
    /// # Errors
    /// If a file cannot be read, so that nothing could be undone.
    pub(super) fn before(paths: &[PathBuf]) -> io::Result<Governed> {
        let workspace = Dir::open_ambient_dir(".", ambient_authority())?;
        let mut files = Vec::new();
        for path in paths {
            files.extend(look(&workspace, path)?.map(|before| (path.clone(), before)));
        }
        Ok(Governed { workspace, files })
    }

    /// Makes everything what it was, once no process of the command is left. What had been changed. `kept`: the kernel
    /// has kept the files that were there, so that whoever changed one was not the command.
    ///
    /// # Errors
    /// If something cannot be made what it was.
    pub(super) fn undo(&self, kept: bool) -> io::Result<Vec<&Path>> {
        let mut undone = Vec::new();
        for (path, before) in self.files.iter().filter(|(_, before)| !kept || *before == Before::Absent) {
            // What cannot be read is not what it was either.
            let same = look(&self.workspace, path).is_ok_and(|now| now.as_ref() == Some(before));
            let is_folder = self.workspace.symlink_metadata(path).is_ok_and(|found| found.is_dir());
            // A folder where there was nothing counts for nothing.
            if same || is_folder && *before == Before::Absent {
                continue;
            }
            if is_folder {
                self.workspace.remove_dir_all(path)?;
            }
            self.put(path, before)?;
            undone.push(path.as_path());
        }
        Ok(undone)
    }

    fn put(&self, path: &Path, before: &Before) -> io::Result<()> {
        match before {
            Before::Absent => self.workspace.remove_file(path),
            Before::Content(bytes, mode) => {
                match self.workspace.remove_file(DRAFT) {
                    Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
                let mut options = OpenOptions::new();
                options.write(true).create_new(true).follow(FollowSymlinks::No);
                let mut draft = self.workspace.open_with(DRAFT, &options)?.into_std();
                draft.write_all(bytes)?;
                draft.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(*mode))?;
                draft.sync_all()?;
                self.workspace.rename(DRAFT, &self.workspace, path)
            }
        }
    }
}

/// What is there; `None` of what is neither a file nor nothing.
fn look(workspace: &Dir, path: &Path) -> io::Result<Option<Before>> {
    match workspace.symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Some(Before::Absent)),
        Err(error) => return Err(error),
        Ok(found) if !found.is_file() => return Ok(None),
        Ok(_) => {}
    }
    let mut options = OpenOptions::new();
    // A pipe that has taken its place would block for ever.
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let file: File = workspace.open_with(path, &options)?.into_std();
    let permissions: Permissions = file.metadata()?.permissions();
    let mut bytes = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(io::Error::other(format!("{} is longer than {BYTES_MAX} bytes", path.display())));
    }
    Ok(Some(Before::Content(bytes, std::os::unix::fs::PermissionsExt::mode(&permissions))))
}
