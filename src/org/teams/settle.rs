//! What a crash left of a team that was being made or taken away: undone or finished. At the start, before any turn runs.

use anyhow::Result;
use base::TeamName;
use store::Conn;
use store::teams::{self, State};

use super::folder::Folders;
use super::tree::{Tree, TreeError};

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// Teams that were being made: nothing of them is there any more.
    pub undone: Vec<TeamName>,
    /// Teams that were being taken away: they are gone.
    pub removed: Vec<TeamName>,
    /// Folders that belong to no team. They stay: somebody may have put them there.
    pub strangers: Vec<TeamName>,
    /// Teams without a folder: they cannot work until somebody gives them one.
    pub homeless: Vec<TeamName>,
}

impl Tree {
    /// Finishes or undoes what a crash cut off. Doing it again changes nothing.
    ///
    /// # Errors
    /// Where rows or folders cannot be read or changed.
    pub async fn settle(&self) -> Result<Settled> {
        let mut settled = Settled::default();
        // The deepest first.
        for team in self.inner.db.read(async |conn: &mut Conn| teams::unsettled(conn).await).await? {
            if team.state == State::Spawning {
                self.undo_spawn(&team.name).await.map_err(|error| match error {
                    TreeError::Broken(error) => error,
                    refused => refused.into(),
                })?;
                settled.undone.push(team.name);
            } else {
                self.remove_whole(&team.name).await?;
                settled.removed.push(team.name);
            }
        }
        self.compare(&mut settled).await?;
        for (teams, what) in [
            (&settled.undone, "was being made when the hive ended, and was undone"),
            (&settled.removed, "was being shut down when the hive ended, and is gone"),
        ] {
            teams.iter().for_each(|team| tracing::info!(%team, "the team {team} {what}"));
        }
        for (teams, what) in [
            (&settled.strangers, "there is a folder without a team"),
            (&settled.homeless, "there is a team without a folder"),
        ] {
            teams.iter().for_each(|team| tracing::warn!(%team, "{what}: {team}"));
        }
        Ok(settled)
    }

    /// Rows and folders beside one another.
    async fn compare(&self, settled: &mut Settled) -> Result<()> {
        let sweep = |folders: &Folders| {
            let found = folders.find()?;
            found.halves.iter().try_for_each(|team| folders.sweep(team))?;
            Ok(found.teams)
        };
        let folders = self.inner.folders.off_thread("look through the teams' folders", sweep).await?;
        let names = self.inner.db.read(async |conn: &mut Conn| teams::names(conn).await).await?;
        settled.strangers = strangers(&folders, &names);
        settled.homeless =
            names.into_iter().filter(|team| !team.is_main() && folders.binary_search(team).is_err()).collect();
        Ok(())
    }

    /// The folders that have the name of a team and belong to none. Changes nothing.
    ///
    /// # Errors
    /// Where rows or folders cannot be read.
    pub async fn strangers(&self) -> Result<Vec<TeamName>> {
        let find = |folders: &Folders| Ok(folders.find()?.teams);
        let folders = self.inner.folders.off_thread("look through the teams' folders", find).await?;
        let names = self.inner.db.read(async |conn: &mut Conn| teams::names(conn).await).await?;
        Ok(strangers(&folders, &names))
    }
}

/// Of these folders those that none of these teams has; both are sorted.
fn strangers(folders: &[TeamName], names: &[TeamName]) -> Vec<TeamName> {
    folders.iter().filter(|team| !team.is_main() && names.binary_search(team).is_err()).cloned().collect()
}
