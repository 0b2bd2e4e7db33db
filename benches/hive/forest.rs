//! A tree of many teams, twelve deep, as spawning leaves it: rows, words of their scopes, and folders.

use std::path::Path;

use anyhow::{Context, Result};
use base::{Clock, TeamName};
use org::teams::{TeamConfig, config};
use store::teams::{self, State};
use store::{Conn, Db};

/// How deep the tree is below the root.
const DEEP: usize = 12;
/// Rows written in one transaction.
const TOGETHER: usize = 1_000;
/// What a new team's folder has besides its configuration.
const INSIDE: [&str; 5] = ["org-rules", "team-rules", "skills", "subagents", "plugins"];

/// A team of the tree.
pub struct Grown {
    /// Its name.
    pub name: TeamName,
    /// Whose child it is.
    pub parent: TeamName,
    /// What it is for.
    pub description: String,
}

/// The teams of a tree of so many, parents first: every layer twice as wide as the one above it, as far as they reach,
/// and the last has the rest.
pub fn teams(count: usize) -> Result<Vec<Grown>> {
    let mut grown: Vec<Grown> = Vec::with_capacity(count);
    let mut above = 0..0;
    for layer in 1..=DEEP {
        let (first, left) = (grown.len(), count - grown.len());
        let layers_left = DEEP + 1 - layer;
        let width = if layers_left == 1 { left } else { (1 << layer).min(left.div_ceil(layers_left)) };
        for place in 0..width {
            let number = first + place;
            let parent = match above.len() {
                0 => TeamName::main(),
                wide => grown[above.start + place % wide].name.clone(),
            };
            let description = format!("Looks after part {number} of the releases, and tells when something is late.");
            grown.push(Grown { name: format!("team-{number:05}").parse()?, parent, description });
        }
        above = first..grown.len();
    }
    Ok(grown)
}

/// Puts the teams' rows into a database.
pub async fn plant(db: &Db, grown: &[Grown]) -> Result<()> {
    let now = Clock::Wall.now();
    for some in grown.chunks(TOGETHER) {
        let add = async |conn: &mut Conn| {
            for Grown { name, parent, description } in some {
                teams::add(conn, name, parent, description, State::Ready, now).await?;
                for word in ["releases", "dates", name.as_str()] {
                    teams::add_scope(conn, name, word).await?;
                }
            }
            Ok(())
        };
        db.note("plant teams", add).await?;
    }
    Ok(())
}

/// Makes the teams' folders below `run_dir`.
pub fn build(run_dir: &Path, grown: &[Grown]) -> Result<()> {
    for Grown { name, parent, description } in grown {
        let folder = run_dir.join("teams").join(name.as_str());
        for inside in INSIDE {
            std::fs::create_dir_all(folder.join(inside)).context("make a team's folder")?;
        }
        let text = TeamConfig::of_new_team(name, parent, description).to_yaml()?;
        std::fs::write(folder.join(config::FILE), text).context("write a team's configuration")?;
    }
    Ok(())
}
