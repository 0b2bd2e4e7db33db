//! What is wrong with the teams: their configurations, rules, skills and subagents, with file and line.

use std::collections::BTreeMap;

use anyhow::Result;
use base::{Clock, TeamName};
use llm::Models;
use org::handbook::{self, Handbook};
use org::markdown::{Fault, Folder, Grade, Whose};
use org::rules::{self, Cascade, Place, Role, Rule};
use org::teams::{TeamConfig, TreeError};
use store::teams::{State, Team};
use store::{Conn, Db, teams, toolboxes};
use tools::ActiveSet;
use tools::org::heritage;

use super::Findings;
use super::charters::{self, Ground, Known};
use crate::cli::explain;
use crate::cli::run::open;
use crate::config::Config;
use crate::toolkit::{Kit, Rights};

/// Looks at the owner's rules and at every team, the root first.
pub(super) async fn look(config: &Config, models: Option<&Models>, found: &mut Findings) -> Result<()> {
    let db = open(config).await?;
    let kit = match explain::kit(config, &db).await {
        Ok(kit) => kit,
        Err(error) => return found.bad(&format!("tools: {error:#}")),
    };
    let rights = match Rights::open(&db, Clock::Wall, &kit.executor.catalogue, &config.settings.team).await {
        Ok(rights) => rights,
        Err(error) => return found.bad(&format!("tools: {error:#}")),
    };
    let mut tour =
        Tour { config, kit: &kit, rights: &rights, read: BTreeMap::new(), faults: Vec::new(), owner: Vec::new() };
    tour.owner = rules::owner(&config.data_dir, &mut tour.faults);
    tour.faults.extend(Cascade::too_long(&tour.owner));
    let (rows, toolboxes) = rows(&db).await?;
    let ground = Ground { catalogue: &kit.executor.catalogue, toolboxes: &toolboxes, models };
    let mut homeless = Vec::new();
    for row in &rows {
        match row.state {
            State::Spawning => found.note(&format!("team {}: it is being made", row.name))?,
            State::Closing => found.note(&format!("team {}: it is being shut down", row.name))?,
            _ if !tour.team(&ground, row).await? => homeless.push(&row.name),
            _ => {}
        }
    }
    for name in homeless {
        found.bad(&format!("team {name}: there is no folder teams/{name}"))?;
    }
    for name in kit.tree.strangers().await? {
        found.note(&format!(
            "teams/{name}: it belongs to no team: take the folder away, or spawn a team of another name"
        ))?;
    }
    tell(&tour.faults, tour.read.len(), found)
}

/// Every team, parents before their children, and the names of the toolboxes.
async fn rows(db: &Db) -> Result<(Vec<Team>, Vec<String>)> {
    db.read(async |conn: &mut Conn| {
        let root = teams::get(conn, &TeamName::main()).await?;
        let below = teams::descendants(conn, &TeamName::main()).await?;
        let toolboxes = toolboxes::list(conn).await?.into_iter().map(|toolbox| toolbox.name).collect();
        Ok((root.into_iter().chain(below).collect(), toolboxes))
    })
    .await
}

/// The way through the tree.
struct Tour<'a> {
    config: &'a Config,
    kit: &'a Kit,
    rights: &'a Rights,
    owner: Vec<Rule>,
    /// What was read so far. A team's parent is there, if it has a folder.
    read: BTreeMap<TeamName, Read>,
    faults: Vec<Fault>,
}

/// What was read of a team.
struct Read {
    book: Handbook,
    /// The teams above it, the root first.
    above: Vec<TeamName>,
    /// What is in force of its configuration, and the tools that it can hand on; `None` where a file on the way to it
    /// cannot be understood.
    in_force: Option<(TeamConfig, ActiveSet)>,
}

impl Tour<'_> {
    /// Looks at a team's folder. `false` where there is none.
    async fn team(&mut self, ground: &Ground<'_>, row: &Team) -> Result<bool> {
        let name = &row.name;
        let folder = self.config.run_dir.join("teams").join(name.as_str());
        let Ok(folder) = Folder::open(&folder, Whose::Team) else { return Ok(false) };
        // The tools that its agent has are not the question: a name that any tool has is taken.
        let book = Handbook::read(&folder, name, |name| ground.catalogue.by_name(name).is_some());
        let parent = row.parent.as_ref().and_then(|parent| self.read.get(parent));
        let above: Vec<TeamName> = match (&row.parent, parent) {
            (Some(name), Some(parent)) => parent.above.iter().chain([name]).cloned().collect(),
            _ => Vec::new(),
        };
        let cascade = self.cascade(&book, &above);
        self.faults.extend(handbook::faults(&book, &cascade));
        let is_followed = row.parent.is_none() || self.charter(ground, row, &book).await?;
        let in_force = if is_followed { self.in_force(name).await? } else { None };
        self.read.insert(name.clone(), Read { book, above, in_force });
        Ok(true)
    }

    fn cascade(&self, book: &Handbook, above: &[TeamName]) -> Cascade {
        let books = above.iter().filter_map(|name| self.read.get(name));
        let above: Vec<&[Rule]> = books.map(|read| read.book.org_rules.as_slice()).collect();
        let role = if book.team.is_main() { Role::Main } else { Role::Team };
        let (org, own) = (book.org_rules.as_slice(), book.team_rules.as_slice());
        Cascade::of(&Place { team: &book.team, role, owner: &self.owner, above: &above, org, own, unread: &[] })
    }

    /// Looks at a team's configuration. `false` where it cannot be understood.
    async fn charter(&mut self, ground: &Ground<'_>, row: &Team, book: &Handbook) -> Result<bool> {
        let written = match self.kit.tree.file_of_team(&row.name).await {
            Ok(written) => written,
            Err(TreeError::Refused(why)) => {
                let (file, message) = why.split_once(": ").unwrap_or((&why, "it cannot be read"));
                self.faults.push(Fault::error(file, None, message));
                return Ok(false);
            }
            Err(TreeError::Broken(error)) => return Err(error),
        };
        let above = row.parent.as_ref().and_then(|parent| self.read.get(parent));
        let above = above.and_then(|read| read.in_force.as_ref()).map(|(config, tools)| (config, tools));
        let subagents = book.subagents.iter().map(|subagent| subagent.name.as_str()).collect();
        self.faults.extend(charters::faults(ground, &Known { row, subagents, above }, &written));
        Ok(true)
    }

    /// `None` where a file above the team's cannot be understood, which was told there.
    async fn in_force(&self, name: &TeamName) -> Result<Option<(TeamConfig, ActiveSet)>> {
        match self.rights.of_team(&self.kit.tree, name).await {
            Ok(of_team) => {
                let tools = self.kit.executor.catalogue.entries().map(|entry| entry.spec());
                Ok(Some((of_team.config, heritage(tools, &of_team.held))))
            }
            Err(error) if error.downcast_ref::<TreeError>().is_some() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn tell(faults: &[Fault], teams: usize, found: &mut Findings) -> Result<()> {
    for fault in faults {
        match fault.grade {
            Grade::Error => found.bad(&fault.to_string())?,
            Grade::Warning => found.note(&fault.to_string())?,
        }
    }
    if faults.is_empty() {
        let what = if teams == 1 { "the main team's files".to_owned() } else { format!("the files of {teams} teams") };
        found.good(&format!("{what} and the owner's rules"))?;
    }
    Ok(())
}
