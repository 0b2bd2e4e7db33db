//! The teams' folders, made and deleted as a whole: under another name first, then in one rename.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use base::TeamName;
use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};

use super::config;

/// Before the name of a team whose folder is being made.
const STAGED: &str = ".spawning-";
/// Before the name of a team whose folder is being deleted.
const TRASH: &str = ".closing-";
/// What a new team's folder has, besides its configuration.
const INSIDE: [&str; 5] = ["org-rules", "team-rules", "skills", "subagents", "plugins"];
/// Where a new team finds what it was told about itself: its own rules.
const CONTEXT: &str = "team-context.md";

/// The folder that holds every team's. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Folders(Arc<Dir>);

/// What stands in the folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Folders that have the name of a team, sorted.
    pub teams: Vec<TeamName>,
    /// Names of teams of which something half made or half deleted is there.
    pub halves: Vec<TeamName>,
}

impl Folders {
    /// Opens the folder, and makes it if it is not there.
    pub fn open(root: &Path) -> Result<Folders> {
        let context = || format!("open the teams' folder {}", root.display());
        Dir::create_ambient_dir_all(root, ambient_authority()).with_context(context)?;
        Ok(Folders(Arc::new(Dir::open_ambient_dir(root, ambient_authority()).with_context(context)?)))
    }

    /// Runs work on the disk where it holds up nobody.
    pub async fn off_thread<T: Send + 'static>(
        &self,
        what: &'static str,
        work: impl FnOnce(&Folders) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let folders = self.clone();
        tokio::task::spawn_blocking(move || work(&folders)).await.context(what)?.context(what)
    }

    /// Whether anything stands where a team's folder would.
    pub fn has(&self, team: &TeamName) -> Result<bool> {
        match self.0.symlink_metadata(team.as_str()) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error).with_context(|| format!("look for the folder of {team}")),
        }
    }

    /// Makes a team's folder: whole, or not at all. It is on the disk when this returns. `false` where something stands
    /// in its place.
    pub fn make(&self, team: &TeamName, config: &str, context: Option<&str>) -> Result<bool> {
        let staged = format!("{STAGED}{team}");
        self.remove(&staged)?;
        self.0.create_dir(&staged)?;
        let dir = self.0.open_dir_nofollow(&staged)?;
        for name in INSIDE {
            dir.create_dir(name)?;
        }
        write(&dir, config::FILE, config)?;
        if let Some(context) = context {
            let rules = dir.open_dir_nofollow("team-rules")?;
            write(&rules, CONTEXT, context)?;
            sync(&rules)?;
        }
        sync(&dir)?;
        if self.has(team)? {
            self.remove(&staged)?;
            return Ok(false);
        }
        self.0.rename(&staged, &self.0, team.as_str())?;
        sync(&self.0)?;
        Ok(true)
    }

    /// Takes a team's folder out of the way, in one rename. What is to be deleted is deleted by [`Folders::sweep`].
    pub fn throw_away(&self, team: &TeamName) -> Result<()> {
        let trash = format!("{TRASH}{team}");
        self.remove(&trash)?;
        match self.0.rename(team.as_str(), &self.0, &trash) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done.with_context(|| format!("take the folder of {team} out of the way")),
        }
    }

    /// Deletes what is half made or half deleted of a team.
    pub fn sweep(&self, team: &TeamName) -> Result<()> {
        self.remove(&format!("{STAGED}{team}"))?;
        self.remove(&format!("{TRASH}{team}"))
    }

    /// What is there.
    pub fn find(&self) -> Result<Found> {
        let mut found = Found::default();
        for entry in self.0.entries()? {
            let name = entry?.file_name();
            let Some(name) = name.to_str() else { continue };
            let half = name.strip_prefix(STAGED).or_else(|| name.strip_prefix(TRASH));
            match (half.unwrap_or(name).parse(), half) {
                (Ok(team), Some(_)) => found.halves.push(team),
                (Ok(team), None) => found.teams.push(team),
                (Err(_), _) => {}
            }
        }
        found.teams.sort();
        found.halves.sort();
        found.halves.dedup();
        Ok(found)
    }

    /// What stands in a team's configuration, at most one byte more than it may have; `None` where it has none.
    pub fn config(&self, team: &TeamName) -> Result<Option<Vec<u8>>> {
        let context = || format!("read the configuration of {team}");
        let dir = match self.0.open_dir_nofollow(team.as_str()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            dir => dir.with_context(context)?,
        };
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No);
        let file = match dir.open_with(config::FILE, &options) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file.with_context(context)?,
        };
        let mut bytes = Vec::new();
        let most = u64::try_from(config::FILE_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
        file.take(most).read_to_end(&mut bytes).with_context(context)?;
        Ok(Some(bytes))
    }

    fn remove(&self, name: &str) -> Result<()> {
        match self.0.remove_dir_all(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done.with_context(|| format!("delete {name}")),
        }
    }
}

fn write(dir: &Dir, name: &str, text: &str) -> Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).follow(FollowSymlinks::No);
    let mut file = dir.open_with(name, &options)?;
    file.write_all(text.as_bytes())?;
    Ok(file.sync_all()?)
}

/// Names in a folder are on the disk only when the folder is.
fn sync(dir: &Dir) -> Result<()> {
    // The handle itself only stands for a path, and cannot be synced.
    Ok(dir.open(".")?.sync_all()?)
}
