//! What agents may use in a turn that no admin caused, always as rows and files say.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use base::{Clock, TeamName};
use org::teams::{TeamConfig, Tree};
use store::{Bell, Conn, Db, grants, toolboxes};
use tokio::sync::watch;
use tools::org::child_grant;
use tools::{Catalogue, Grant, Toolbox};

use crate::config::Team;

/// What agents may use, always as the rows say: a toolbox that is changed and a tool that is granted hold from the main
/// agent's next step on, and from a team's next turn. Where nothing has changed, nothing of the main agent's is read.
pub struct Rights {
    db: Db,
    catalogue: Arc<Catalogue>,
    team: Team,
    cached: Mutex<Cached>,
}

struct Cached {
    bell: watch::Receiver<u64>,
    /// The bell's count when these rows were read.
    rung: u64,
    held: Arc<Grant>,
}

impl Rights {
    /// Of a hive whose rows are these. The built-in toolboxes are made what this program says.
    ///
    /// # Errors
    /// Where the configuration names a toolbox that there is not.
    pub async fn open(db: &Db, clock: Clock, catalogue: &Arc<Catalogue>, team: &Team) -> Result<Rights> {
        let (mut bell, grant) = (db.changes(Bell::Tools), main_grant(db, clock, team).await?);
        let (rung, held) = (*bell.borrow_and_update(), Arc::new(grant));
        let (db, catalogue, team) = (db.clone(), catalogue.clone(), team.clone());
        Ok(Rights { db, catalogue, team, cached: Mutex::new(Cached { bell, rung, held }) })
    }

    /// What the main agent may use now in a turn that no admin caused.
    ///
    /// # Errors
    /// Only the database's.
    pub async fn now(&self) -> Result<Arc<Grant>> {
        let rung = {
            let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
            // Where the bell's other end is gone, the database is closed: nothing changes any more.
            if !cached.bell.has_changed().unwrap_or(false) {
                return Ok(cached.held.clone());
            }
            *cached.bell.borrow_and_update()
        };
        let read = async |conn: &mut Conn| grant_of(conn, &self.team).await;
        let found = match self.db.read(read).await {
            Ok(found) => found,
            Err(error) => {
                // Asked again, it must look again.
                self.cached.lock().unwrap_or_else(PoisonError::into_inner).bell.mark_changed();
                return Err(error);
            }
        };
        for name in &found.missing {
            tracing::warn!("there is no toolbox `{name}` any more, which config.yaml names: it grants nothing");
        }
        let held = Arc::new(found.grant);
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        // Of two that read at once, whoever read the newer rows wins.
        if rung >= cached.rung {
            (cached.rung, cached.held) = (rung, held.clone());
        }
        Ok(held)
    }

    /// What the main agent may use in a turn that no admin caused, read on this connection.
    ///
    /// # Errors
    /// Only the database's.
    pub async fn read(&self, conn: &mut Conn) -> Result<Grant> {
        Ok(grant_of(conn, &self.team).await?.grant)
    }

    /// The tools.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }
}

/// What the rows say.
struct Found {
    grant: Grant,
    /// Toolboxes that the configuration names and that there are not.
    missing: Vec<String>,
    /// The names of those there are.
    known: Vec<String>,
}

/// What the configuration and the rows let the main agent have in a turn that no admin caused. A toolbox that there is
/// not grants nothing.
async fn grant_of(conn: &mut Conn, team: &Team) -> Result<Found> {
    let all = toolboxes::list(conn).await?;
    let direct = grants::of_team(conn, &TeamName::main()).await?.into_iter().map(|granted| granted.tool).collect();
    let mut missing = Vec::new();
    let mut chosen = Vec::new();
    for name in team.toolboxes.iter().flatten() {
        match all.iter().find(|toolbox| toolbox.name == *name) {
            Some(toolbox) => chosen.push(Toolbox { name: toolbox.name.clone(), tools: toolbox.tools.clone() }),
            None => missing.push(name.clone()),
        }
    }
    let toolboxes = team.toolboxes.is_some().then_some(chosen);
    let grant = Grant { allowed_tools: team.allowed_tools.clone(), toolboxes, direct, ..Grant::main(false) };
    Ok(Found { grant, missing, known: all.into_iter().map(|toolbox| toolbox.name).collect() })
}

async fn main_grant(db: &Db, clock: Clock, team: &Team) -> Result<Grant> {
    let (built_in, now) = (tools::toolboxes::built_in()?, clock.now());
    db.tx("seed the toolboxes", async |conn| toolboxes::seed(conn, &built_in, now).await).await?;
    let Found { grant, missing, known } = db.read(async |conn| grant_of(conn, team).await).await?;
    if let Some(name) = missing.first() {
        bail!("config.yaml, team.toolboxes: there is no toolbox `{name}`; there are: {}", known.join(", "));
    }
    Ok(grant)
}

/// What a team may do, and its agent with it.
pub struct OfTeam {
    /// Its configuration, as narrow as those above it make it.
    pub config: TeamConfig,
    /// The teams above it, the root first.
    pub above: Vec<TeamName>,
    /// What its agent may use in a turn that no admin caused.
    pub held: Arc<Grant>,
}

impl Rights {
    /// What a team's agent may use now. Each team's is made from that of the one above it.
    ///
    /// # Errors
    /// Where there is no such team, or a configuration on the way to it cannot be understood.
    pub async fn of_team(&self, tree: &Tree, name: &TeamName) -> Result<OfTeam> {
        let chain = tree.in_force(name).await.with_context(|| format!("read what the team {name} may do"))?;
        let mut held = self.now().await?;
        let (toolboxes, direct) = match chain.len() {
            1 => (Vec::new(), Vec::new()),
            _ => {
                let read = async |conn: &mut Conn| {
                    let mut direct = Vec::with_capacity(chain.len());
                    for (team, _) in chain.iter().skip(1) {
                        direct.push(grants::of_team(conn, team).await?);
                    }
                    Ok((toolboxes::list(conn).await?, direct))
                };
                self.db.read(read).await?
            }
        };
        for ((_, config), direct) in chain.iter().skip(1).zip(direct) {
            let direct = direct.into_iter().map(|granted| granted.tool).collect();
            held = Arc::new(child_grant(&self.catalogue, &held, config, &toolboxes, direct));
        }
        let mut above: Vec<TeamName> = chain.iter().map(|(team, _)| team.clone()).collect();
        above.pop();
        let (_, config) = chain.into_iter().next_back().context("a chain ends with its team")?;
        Ok(OfTeam { config, above, held })
    }
}
