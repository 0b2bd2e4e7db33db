//! A team goes: first it takes nothing more, then its turns end, then its rows and its folder go.
//!
//! That it is closing is a row; from then on there is no way back, and a crash is finished by [`Tree::settle`].

use std::future::Future;

use anyhow::Result;
use base::TeamName;
use store::tasks::{self, StopAsked};
use store::teams::{self, State};
use store::{Bell, Conn, memory};

use super::tree::{Tree, TreeError};

/// What has gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    /// The teams, the deepest first.
    pub teams: Vec<TeamName>,
}

impl Tree {
    /// Takes a child of `parent` away, with everything that is its own, and with `cascade` everything below it too, the
    /// deepest first. It goes on to the end when whoever waits for it goes.
    ///
    /// `held` gives what is kept until the end, once nobody works with these teams any more but by their rows: it is asked
    /// when the teams are closing.
    ///
    /// # Errors
    /// Refused where it is no child, or has children itself. Then nothing was changed.
    pub async fn close<H, F>(
        &self,
        parent: &TeamName,
        name: &TeamName,
        cascade: bool,
        held: impl FnOnce(Vec<TeamName>) -> F + Send + 'static,
    ) -> Result<Closed, TreeError>
    where
        H: Send + 'static,
        F: Future<Output = Result<H, TreeError>> + Send + 'static,
    {
        let (tree, parent, name) = (self.clone(), parent.clone(), name.clone());
        let whole = async move {
            let teams = tree.begin_to_close(&parent, &name, cascade).await?;
            if !tree.ended(&teams).await? {
                let why = format!(
                    "`{name}` takes nothing more, and its running work has not ended yet: it goes at the \
                                   next start of the hive"
                );
                return Err(TreeError::Refused(why));
            }
            let _held = held(teams.clone()).await?;
            for team in &teams {
                tree.remove_whole(team).await?;
            }
            Ok(Closed { teams })
        };
        self.to_the_end("shut a team down", whole).await
    }

    /// Marks the teams, the deepest first.
    async fn begin_to_close(
        &self,
        parent: &TeamName,
        name: &TeamName,
        cascade: bool,
    ) -> Result<Vec<TeamName>, TreeError> {
        let begin = async |conn: &mut Conn| {
            if !teams::is_child(conn, parent, name).await? {
                return Ok(Err(format!("`{name}` is no child of `{parent}`")));
            }
            let mut below = teams::descendants(conn, name).await?;
            if !below.is_empty() && !cascade {
                let names: Vec<String> = below.iter().map(|team| format!("`{}`", team.name)).collect();
                return Ok(Err(format!(
                    "`{name}` has teams below it: {}. Shut them down first, or say `cascade: true` to lose them all",
                    names.join(", ")
                )));
            }
            below.reverse();
            below.extend(teams::get(conn, name).await?);
            if let Some(team) = below.iter().find(|team| team.state == State::Spawning) {
                return Ok(Err(format!("`{}` is being made: try again in a moment", team.name)));
            }
            for team in &below {
                teams::set_state(conn, &team.name, State::Closing).await?;
                tasks::drop_queue(conn, &team.name).await?;
                tasks::stop_team(conn, &team.name, StopAsked::Closing).await?;
            }
            Ok(Ok(below.into_iter().map(|team| team.name).collect()))
        };
        self.inner.db.tx("begin to close teams", begin).await?.map_err(TreeError::Refused)
    }

    /// Waits until none of these teams works. `false` where that took too long.
    async fn ended(&self, teams: &[TeamName]) -> Result<bool, TreeError> {
        let mut bell = self.inner.db.changes(Bell::Tasks);
        let until = self.inner.clock.now() + base::clock::ms(self.inner.rules.patience);
        loop {
            bell.mark_unchanged();
            if !self.still_works(teams).await? {
                return Ok(true);
            }
            if self.inner.clock.now() >= until {
                return Ok(false);
            }
            tokio::select! {
                biased;
                _ = bell.changed() => {}
                () = self.inner.clock.sleep_until(Some(until)) => {}
            }
        }
    }

    /// Whether a turn of theirs runs. What was put back into a queue meanwhile, to be tried again, goes. Where there is
    /// nothing to change, nothing is written: this waits for the very bell that a change of a task rings.
    async fn still_works(&self, teams: &[TeamName]) -> Result<bool> {
        let look = async |conn: &mut Conn| {
            let told = tasks::to_stop(conn).await?;
            let (mut runs, mut settled) = (false, true);
            for team in teams {
                let running = tasks::running_of(conn, team).await?;
                settled &= tasks::queued_of(conn, team).await? == 0;
                settled &= running.iter().all(|task| told.contains(&(*task, StopAsked::Closing)));
                runs |= !running.is_empty();
            }
            Ok((runs, settled))
        };
        let (runs, settled) = self.inner.db.read(look).await?;
        if settled {
            return Ok(runs);
        }
        let tell = async |conn: &mut Conn| {
            let mut runs = false;
            for team in teams {
                tasks::drop_queue(conn, team).await?;
                runs |= tasks::stop_team(conn, team, StopAsked::Closing).await? > 0;
            }
            Ok(runs)
        };
        self.inner.db.tx("close teams", tell).await
    }

    /// Takes everything away of a team that is closing and has no children.
    pub(super) async fn remove_whole(&self, team: &TeamName) -> Result<()> {
        let name = team.clone();
        self.inner.folders.off_thread("put a team's folder away", move |folders| folders.throw_away(&name)).await?;
        let remove = async |conn: &mut Conn| {
            memory::remove_team(conn, team).await?;
            teams::remove_belongings(conn, team).await?;
            teams::remove(conn, team).await
        };
        self.inner.db.tx("remove a team", remove).await?;
        let name = team.clone();
        self.inner.folders.off_thread("delete a team's folder", move |folders| folders.sweep(&name)).await
    }
}
