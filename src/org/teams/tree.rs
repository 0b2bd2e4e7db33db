//! What it takes to change the tree, and to know what a team may do.

use std::future::Future;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use base::{Clock, Scrub, Tasks, TeamName};
use store::tables::Tables;
use store::{Db, teams};
use tokio::sync::oneshot;

use super::config::TeamConfig;
use super::folder::Folders;
use crate::vault::Vault;

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// For whoever asked: what was wrong, and what to do instead.
    #[error("{0}")]
    Refused(String),
    /// A fault of ours.
    #[error(transparent)]
    Broken(#[from] anyhow::Error),
}

impl TreeError {
    pub(super) fn refused(text: impl Into<String>) -> Self {
        TreeError::Refused(text.into())
    }
}

/// What holds for a tree.
#[derive(Clone, Debug)]
pub struct Rules {
    /// What the root team may do: no other has more.
    pub root: TeamConfig,
    /// How deep a team may be below the root. Every level costs a look at its configuration whenever a session starts.
    pub depth_max: u32,
    /// Most words of a team's scope: all of them are told to whoever routes.
    pub scope_max: usize,
    /// How long a team that is to go is waited for, until its turns and the questions to it have ended.
    pub patience: Duration,
}

impl Default for Rules {
    fn default() -> Self {
        let root = TeamConfig { allowed_tools: vec!["*".to_owned()], ..TeamConfig::default() };
        Rules { root, depth_max: 16, scope_max: 50, patience: Duration::from_secs(10 * 60) }
    }
}

/// The tree of teams: its rows, its folders, its secrets, its databases. Clones are the same.
#[derive(Clone)]
pub struct Tree {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub db: Db,
    pub clock: Clock,
    pub vault: Vault,
    pub scrub: Scrub,
    pub folders: Folders,
    /// The teams' own databases.
    pub tables: Tables,
    pub rules: Rules,
    forgetting: Mutex<Vec<Forget>>,
    tasks: Tasks,
}

/// Forgets a team that is gone.
type Forget = Box<dyn Fn(&TeamName) + Send + Sync>;

impl Tree {
    /// The tree whose folders are in `folder`, which is made if it is not there.
    ///
    /// # Errors
    /// If that cannot be done.
    pub fn open(db: &Db, clock: Clock, vault: &Vault, scrub: &Scrub, folder: &Path, rules: Rules) -> Result<Tree> {
        let (db, vault, scrub, folders) = (db.clone(), vault.clone(), scrub.clone(), Folders::open(folder)?);
        let (tables, forgetting, tasks) = (Tables::beside(&db), Mutex::default(), Tasks::new());
        Ok(Tree { inner: Arc::new(Inner { db, clock, vault, scrub, folders, tables, rules, forgetting, tasks }) })
    }

    /// Has `forget` called with every team that has gone from now on, once its row has: for what a process remembers of a
    /// team by its name, which another team may have the next moment.
    pub fn when_gone(&self, forget: impl Fn(&TeamName) + Send + Sync + 'static) {
        self.inner.forgetting.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(forget));
    }

    /// A team's row has gone.
    pub(super) fn forget(&self, team: &TeamName) {
        self.inner.forgetting.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(|forget| forget(team));
    }

    /// Deletes a team's own database, if it has one.
    pub(super) async fn remove_database(&self, team: &TeamName) -> Result<()> {
        let (tables, name, what) = (self.inner.tables.clone(), team.clone(), "delete a team's own database");
        tokio::task::spawn_blocking(move || tables.remove(&name)).await.context(what)?.context(what)
    }

    /// What holds for it.
    pub fn rules(&self) -> &Rules {
        &self.inner.rules
    }

    /// What a team may do, as its own file says; the root's is the owner's.
    ///
    /// # Errors
    /// Refused where the file says nothing that can be understood, or is not there.
    pub async fn written(&self, team: &TeamName) -> Result<TeamConfig, TreeError> {
        if team.is_main() {
            return Ok(self.inner.rules.root.clone());
        }
        let config = self.read_file(team).await?.1;
        Ok(TeamConfig { name: Some(team.clone()), ..config })
    }

    /// What is in force of the team and of those above it, the root first: each as narrow as the one before it.
    ///
    /// # Errors
    /// Refused where there is no such team, or one of their files cannot be understood.
    pub async fn in_force(&self, team: &TeamName) -> Result<Vec<(TeamName, TeamConfig)>, TreeError> {
        let above = async |conn: &mut store::Conn| {
            Ok((teams::get(conn, team).await?.is_some(), teams::ancestors(conn, team).await?))
        };
        let (there, above) = self.inner.db.read(above).await?;
        if !there {
            return Err(TreeError::refused(format!("there is no team `{team}`")));
        }
        let mut chain: Vec<(TeamName, TeamConfig)> = Vec::with_capacity(above.len() + 1);
        for name in above.into_iter().map(|above| above.name).chain([team.clone()]) {
            let own = self.written(&name).await?;
            let config = match chain.last() {
                // Whose child it is the rows say, whatever the file does.
                Some((parent, bound)) => TeamConfig { parent: Some(parent.clone()), ..own.within(bound) },
                None => TeamConfig { parent: None, ..own },
            };
            chain.push((name, config));
        }
        Ok(chain)
    }

    /// Runs work that must not be cut off in the middle: whoever waits for it may go, and it goes on.
    pub(super) async fn to_the_end<T, W>(&self, name: &'static str, work: W) -> Result<T, TreeError>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, TreeError>> + Send + 'static,
    {
        let (tell, told) = oneshot::channel();
        self.inner.tasks.spawn(name, async move {
            if let Err(Err(error)) = tell.send(work.await) {
                // Nobody waits for the answer any more: a call that was stopped.
                tracing::warn!("{name}: {error:#}");
            }
        });
        told.await.unwrap_or_else(|_| Err(TreeError::Broken(anyhow!("{name}: it ended without a word"))))
    }
}
