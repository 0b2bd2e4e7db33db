//! A team comes into being: everything or nothing.
//!
//! Its row says `spawning` before anything else is there; then comes its folder, whole; then, in one transaction, its
//! scope, its secrets, its first task, the result of the call that wished for it, and that it is no longer being made. What
//! fails on the way is undone; what a crash cuts off, [`Tree::settle`] undoes.

use std::collections::BTreeMap;

use anyhow::{Context, anyhow};
use base::{Moment, RunId, Secret, TaskId, TeamName};
use store::tasks::{self, Kind, New, Origin, Priority};
use store::teams::{self, State};
use store::{Conn, calls, vault};

use super::config::TeamConfig;
use super::folder::Folders;
use super::scope::keywords;
use super::tree::{Tree, TreeError};
use crate::handbook::BOOTSTRAP;
use crate::vault::VaultError;

/// The longest text about what the team is for that its creator may give it, in characters.
const CONTEXT_CHARS_MAX: usize = 20_000;

/// A team to be.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Its name.
    pub name: TeamName,
    /// Whose child it is.
    pub parent: TeamName,
    /// What it may do. Name and parent are those above.
    pub config: TeamConfig,
    /// What it is for, in words.
    pub scope: Vec<String>,
    /// What it is told about itself. Secrets are taken out before it is written.
    pub init_context: Option<String>,
    /// Its secrets, by key.
    pub credentials: BTreeMap<String, Secret>,
    /// Where the wish came from: its first task has the same origin.
    pub origin: Origin,
    /// The call that wishes for it, if one does. Secrets of it that were put aside in the parent's vault go from there.
    pub call: Option<Wisher>,
}

/// The call that wishes for a team. Its result is written in the transaction that opens the team: until then nothing of the
/// team outlives a crash, and the call is made again.
#[derive(Clone, Debug)]
pub struct Wisher {
    /// The turn.
    pub run: RunId,
    /// The step of it.
    pub step: i64,
    /// The model's id of the call.
    pub call_id: String,
    /// What it comes to where the wish has come true, with this first task.
    pub words: fn(&Wish, TaskId) -> String,
}

/// A team that has come into being.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spawned {
    /// Its first task, which makes it ready.
    pub bootstrap: TaskId,
}

impl Tree {
    /// Makes a team. It goes on to the end when whoever waits for it goes.
    ///
    /// # Errors
    /// Refused where there can be no such team. Then nothing of it is there.
    pub async fn spawn(&self, wish: Wish) -> Result<Spawned, TreeError> {
        let tree = self.clone();
        self.to_the_end("spawn a team", async move { tree.spawn_whole(wish).await }).await
    }

    async fn spawn_whole(&self, mut wish: Wish) -> Result<Spawned, TreeError> {
        wish.credentials.values().for_each(|secret| self.inner.scrub.learn(secret));
        wish.scope = keywords(&wish.scope, self.inner.rules.scope_max, &self.inner.scrub)?;
        let config = self.file_of(&mut wish)?;
        let context = self.context(&wish)?;
        let known = self.inner.db.read(async |conn: &mut Conn| teams::get(conn, &wish.name).await).await?;
        if known.is_some() {
            return Err(TreeError::Refused(known_already(&wish.name)));
        }
        let name = wish.name.clone();
        if self.inner.folders.off_thread("look for a team's folder", move |folders| folders.has(&name)).await? {
            return Err(taken(&wish.name));
        }
        self.name(&wish).await?;
        let name = wish.name.clone();
        let tables = self.inner.tables.clone();
        let make = move |folders: &Folders| {
            let is_made = folders.make(&name, &config, context.as_deref())?;
            if is_made {
                // One that is there is none of its own, whatever left it behind.
                tables.remove(&name)?;
            }
            Ok(is_made)
        };
        let opened = match self.inner.folders.off_thread("make a team's folder", make).await {
            Ok(true) => self.open_team(&wish).await,
            Ok(false) => {
                // Not ours: only the row goes.
                self.unname(&wish.name).await?;
                return Err(taken(&wish.name));
            }
            Err(error) => Err(error.into()),
        };
        if opened.is_err() {
            self.undo_spawn(&wish.name).await?;
        }
        opened
    }

    /// The text of its configuration.
    fn file_of(&self, wish: &mut Wish) -> Result<String, TreeError> {
        wish.config.name = Some(wish.name.clone());
        wish.config.parent = Some(wish.parent.clone());
        let text = wish.config.to_yaml()?;
        // What cannot be read again must not be written.
        let again = TeamConfig::parse("config.yaml", &text).map_err(|fault| TreeError::refused(fault.to_string()))?;
        if again != wish.config || self.inner.scrub.finds_in(&text) {
            let why =
                "the configuration holds a secret, or text that cannot be kept as it is: secrets go into `credentials`";
            return Err(TreeError::refused(why));
        }
        Ok(text)
    }

    fn context(&self, wish: &Wish) -> Result<Option<String>, TreeError> {
        let Some(context) = wish.init_context.as_deref().map(str::trim).filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let chars = context.chars().count();
        if chars > CONTEXT_CHARS_MAX {
            let why = format!("init_context has {chars} characters, and may have {CONTEXT_CHARS_MAX}: shorten it");
            return Err(TreeError::refused(why));
        }
        Ok(Some(format!("{}\n", self.inner.scrub.clean(context))))
    }

    /// The row, before anything else.
    async fn name(&self, wish: &Wish) -> Result<(), TreeError> {
        let (now, depth_max) = (self.inner.clock.now(), self.inner.rules.depth_max);
        let (name, parent) = (&wish.name, &wish.parent);
        let add = async |conn: &mut Conn| {
            let above = teams::get(conn, parent).await?.with_context(|| format!("the team {parent} is gone"))?;
            if matches!(above.state, State::Spawning | State::Closing) {
                return Ok(Some(format!("`{parent}` is closing, and gets no more teams")));
            }
            if above.depth >= depth_max {
                return Ok(Some(format!("`{parent}` is {depth_max} teams below the main one: no team may be deeper")));
            }
            let added = teams::add(conn, name, parent, &wish.config.description, State::Spawning, now).await?;
            Ok((!added).then(|| known_already(name)))
        };
        match self.inner.db.tx("name a team", add).await? {
            Some(refusal) => Err(TreeError::Refused(refusal)),
            None => Ok(()),
        }
    }

    /// Everything else that is rows.
    async fn open_team(&self, wish: &Wish) -> Result<Spawned, TreeError> {
        let now = self.inner.clock.now();
        let open = async |conn: &mut Conn| {
            if !teams::move_on(conn, &wish.name, State::Spawning, State::Bootstrapping).await? {
                return Err(anyhow!("the team {} was taken away while it was made", wish.name));
            }
            for keyword in &wish.scope {
                teams::add_scope(conn, &wish.name, keyword).await?;
            }
            for (key, secret) in &wish.credentials {
                let put = self.inner.vault.put_secret(conn, &wish.name, key, secret, wish.parent.as_str()).await;
                match put {
                    Ok(_) => {}
                    Err(VaultError::Broken(error)) => return Err(error),
                    // The transaction must not stand: the error carries the words out.
                    Err(VaultError::Refused(why)) => return Err(anyhow::Error::new(why)),
                }
            }
            let task = New {
                priority: Priority::Critical,
                giver: Some(&wish.parent),
                cause: wish.call.as_ref().map(|call| call.run),
                ..New::of(&wish.name, Kind::Bootstrap, BOOTSTRAP, &wish.origin)
            };
            let bootstrap = tasks::give(conn, &task, now).await?;
            self.answer(conn, wish, bootstrap, now).await?;
            Ok(Spawned { bootstrap })
        };
        self.inner.db.tx("open a team", open).await.map_err(|error| {
            match error.downcast_ref::<crate::vault::Refusal>() {
                Some(why) => TreeError::refused(format!("credentials: {why}")),
                None => TreeError::Broken(error),
            }
        })
    }

    /// Writes down what the call comes to that wished for it, whose secrets have a place of their own now.
    async fn answer(&self, conn: &mut Conn, wish: &Wish, bootstrap: TaskId, now: Moment) -> anyhow::Result<()> {
        let Some(Wisher { run, step, call_id, words }) = &wish.call else { return Ok(()) };
        for row in vault::list(conn, &wish.parent, &vault::handed(*run, *step, call_id)).await? {
            self.inner.vault.remove(conn, &wish.parent, &row.key).await?;
        }
        let result = self.inner.scrub.clean(&words(wish, bootstrap));
        let sender = wish.origin.sender.as_ref();
        let made = calls::Made { team: &wish.parent, sender, run: *run, step: *step, call_id };
        calls::settle(conn, made, &result, now).await?;
        Ok(())
    }

    /// Takes back what there is of a team that is being made.
    pub(super) async fn undo_spawn(&self, name: &TeamName) -> Result<(), TreeError> {
        let team = name.clone();
        let delete = move |folders: &Folders| {
            folders.throw_away(&team)?;
            folders.sweep(&team)
        };
        self.inner.folders.off_thread("delete a team's folder", delete).await?;
        self.unname(name).await
    }

    async fn unname(&self, name: &TeamName) -> Result<(), TreeError> {
        self.inner.db.tx("take a team back", async |conn: &mut Conn| teams::remove(conn, name).await).await?;
        Ok(())
    }
}

fn known_already(name: &TeamName) -> String {
    format!("there is a team `{name}` already: choose another name")
}

fn taken(name: &TeamName) -> TreeError {
    TreeError::refused(format!(
        "there is a folder `{name}` among the teams' folders that belongs to no team: choose another name, or have a \
         person move it away"
    ))
}
