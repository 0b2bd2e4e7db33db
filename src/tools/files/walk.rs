//! Through the folders of a workspace, from handle to handle: no link is followed, and a folder that is exchanged for
//! one meanwhile leads nowhere.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Component, Path, PathBuf};

use base::Stop;
use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, Metadata, OpenOptions};
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::tool::ToolError;
use crate::workspace::{EVENT_FILES, Use, Workspace, explain};

/// How many entries one walk looks at.
const LOOKED_AT_MAX: usize = 200_000;

/// How deep a walk goes below where it begins: each level holds a handle open, and several walks may run at once.
const DEPTH_MAX: usize = 50;

/// Files of patterns for what is not worth a look. The later one wins.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// How much of such a file is read, in bytes.
const IGNORE_BYTES_MAX: u64 = 64 * 1_024;

/// What is walked past.
#[derive(Clone, Copy, Debug, Default)]
pub struct Passing {
    /// Also what `.gitignore` and `.ignore` name.
    pub ignored: bool,
    /// Also names that begin with a dot; of `.git` only where the walk begins inside it.
    pub hidden: bool,
}

/// A file that was found. Only regular files are.
pub struct Found<'a> {
    /// The folder it is in.
    pub dir: &'a Dir,
    /// Its name there.
    pub name: &'a OsStr,
    /// Its path from the workspace.
    pub path: &'a Path,
    /// Its path from where the walk began.
    pub below: &'a Path,
    /// What was seen of it.
    pub metadata: &'a Metadata,
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Everything was seen.
    Whole,
    /// Whoever was shown the files had enough.
    Enough,
    /// There was too much, or the time was up.
    Cut,
}

/// Shows every file below the folder `start`, each folder sorted by name.
///
/// # Errors
/// If `start` is no folder of the workspace. What cannot be read further inside is passed over.
pub fn walk(
    workspace: &Workspace,
    start: &str,
    passing: Passing,
    stop: &Stop,
    visit: &mut dyn FnMut(&Found<'_>) -> ControlFlow<()>,
) -> Result<Ended, ToolError> {
    let path = workspace.path(start, Use::List)?;
    let dir = workspace.open_dir(start)?;
    let path = if path == Path::new(".") { PathBuf::new() } else { path };
    let start_path = path.clone();
    let mut walk = Walk { passing, stop, visit, ignores: Vec::new(), looked_at: 0, deeper: false, start: start_path };
    walk.rules_above(workspace, &path);
    match walk.folder(&dir, &path, 0) {
        Ok(ControlFlow::Continue(())) => Ok(if walk.deeper { Ended::Cut } else { Ended::Whole }),
        Ok(ControlFlow::Break(ended)) => Ok(ended),
        Err(error) => Err(explain(start, &error)),
    }
}

struct Walk<'a> {
    passing: Passing,
    stop: &'a Stop,
    visit: &'a mut dyn FnMut(&Found<'_>) -> ControlFlow<()>,
    /// The patterns of the folders on the way here, outermost first.
    ignores: Vec<Gitignore>,
    looked_at: usize,
    /// Some folder lies deeper than the walk goes.
    deeper: bool,
    start: PathBuf,
}

impl Walk<'_> {
    /// Takes in the patterns of the folders above where the walk begins.
    fn rules_above(&mut self, workspace: &Workspace, start: &Path) {
        let mut above = PathBuf::new();
        for part in start.components() {
            let Component::Normal(name) = part else { return };
            let dir = if above.as_os_str().is_empty() {
                workspace.root().try_clone()
            } else {
                workspace.root().open_dir(&above)
            };
            if let Ok(dir) = dir {
                self.ignores.push(self.rules(&dir, &above));
            }
            above.push(name);
        }
    }

    /// The patterns that a folder has.
    fn rules(&self, dir: &Dir, path: &Path) -> Gitignore {
        if self.passing.ignored {
            return Gitignore::empty();
        }
        // As if the workspace were the root of everything: the patterns know no other folder.
        let mut builder = GitignoreBuilder::new(Path::new("/").join(path));
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No).nonblock(true);
        for name in IGNORE_FILES {
            let Ok(file) = dir.open_with(name, &options) else { continue };
            if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
                continue;
            }
            let mut text = Vec::new();
            if file.take(IGNORE_BYTES_MAX).read_to_end(&mut text).is_err() {
                continue;
            }
            for line in String::from_utf8_lossy(&text).lines() {
                // A line that is no pattern hides nothing; the lines around it still count.
                builder.add_line(None, line.trim_start_matches('\u{feff}')).ok();
            }
        }
        builder.build().unwrap_or_else(|_| Gitignore::empty())
    }

    fn folder(&mut self, dir: &Dir, path: &Path, depth: usize) -> std::io::Result<ControlFlow<Ended>> {
        let mut entries = Vec::new();
        for entry in dir.entries()? {
            self.looked_at += 1;
            if self.looked_at > LOOKED_AT_MAX || self.stop.is_cancelled() {
                return Ok(ControlFlow::Break(Ended::Cut));
            }
            // What went away meanwhile is not there.
            let Ok(entry) = entry else { continue };
            let Ok(metadata) = entry.metadata() else { continue };
            entries.push((entry.file_name(), metadata));
        }
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        self.ignores.push(self.rules(dir, path));
        let walked = self.entries(dir, path, &entries, depth);
        self.ignores.pop();
        Ok(walked)
    }

    fn entries(
        &mut self,
        dir: &Dir,
        path: &Path,
        entries: &[(OsString, Metadata)],
        depth: usize,
    ) -> ControlFlow<Ended> {
        for (name, metadata) in entries {
            if self.stop.is_cancelled() {
                return ControlFlow::Break(Ended::Cut);
            }
            let path = path.join(name);
            if self.is_passed_over(name, &path, metadata.is_dir()) {
                continue;
            }
            if metadata.is_file() {
                let below = path.strip_prefix(&self.start).unwrap_or(&path);
                let found = Found { dir, name, path: &path, below, metadata };
                if (self.visit)(&found).is_break() {
                    return ControlFlow::Break(Ended::Enough);
                }
            } else if metadata.is_dir() && depth >= DEPTH_MAX {
                self.deeper = true;
            } else if metadata.is_dir() {
                let Ok(inner) = dir.open_dir_nofollow(name) else { continue };
                if let Ok(ControlFlow::Break(ended)) = self.folder(&inner, &path, depth + 1) {
                    return ControlFlow::Break(ended);
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// The innermost pattern that speaks of a path decides; then whether it is hidden.
    fn is_passed_over(&self, name: &OsStr, path: &Path, is_dir: bool) -> bool {
        let path = Path::new("/").join(path);
        let spoken = self.ignores.iter().rev().map(|ignore| ignore.matched(&path, is_dir)).find(|said| !said.is_none());
        if let Some(said) = spoken {
            return said.is_ignore();
        }
        // What an agent looks for is not what it did, which stands in the copies of its events.
        let is_copy = EVENT_FILES.iter().any(|copy| path == Path::new("/").join(copy));
        let hidden = is_copy || name.as_encoded_bytes().starts_with(b".");
        hidden && (!self.passing.hidden || name == ".git")
    }
}
