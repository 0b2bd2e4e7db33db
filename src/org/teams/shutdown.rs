//! A team goes: first it takes nothing more, then its turns end, then its folder, its database and its rows go.
//!
//! That it is closing is a row; from then on there is no way back, and a crash is finished by [`Tree::settle`].

use std::future::Future;

use anyhow::Result;
use base::{RunId, TeamName};
use store::tasks::{self, StopAsked};
use store::teams::{self, State};
use store::{Bell, Conn, calls};

use super::tree::{Tree, TreeError};

/// How many tasks of a team, and turns in which it was only asked, go in one transaction: each may have thousands of rows
/// of its own, and everybody else who writes waits meanwhile.
const WORK_AT_ONCE: u32 = 100;

/// The call that wants teams gone. What it comes to is written down in the transaction from which on there is no way back:
/// a crash after that is finished by [`Tree::settle`], and the call is not made again.
#[derive(Clone, Debug)]
pub struct Promise {
    /// The turn.
    pub run: RunId,
    /// The step of it.
    pub step: i64,
    /// The model's id of the call.
    pub call_id: String,
    /// What it comes to where these teams are gone, the deepest first.
    pub words: fn(&[TeamName]) -> String,
}

/// What has gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    /// The teams, the deepest first.
    pub teams: Vec<TeamName>,
}

impl Tree {
    /// Takes a child of `parent` away, with everything that is its own, and with `cascade` everything below it too, the
    /// deepest first. It goes on to the end when whoever waits for it goes. `promise` is the call that wants it, if one does.
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
        promise: Option<Promise>,
        held: impl FnOnce(Vec<TeamName>) -> F + Send + 'static,
    ) -> Result<Closed, TreeError>
    where
        H: Send + 'static,
        F: Future<Output = Result<H, TreeError>> + Send + 'static,
    {
        let (tree, parent, name) = (self.clone(), parent.clone(), name.clone());
        let whole = async move {
            let teams = tree.begin_to_close(&parent, &name, cascade, promise.as_ref()).await?;
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
        promise: Option<&Promise>,
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
            let names: Vec<TeamName> = below.into_iter().map(|team| team.name).collect();
            if let Some(Promise { run, step, call_id, words }) = promise {
                calls::promise(conn, *run, *step, call_id, &words(&names)).await?;
            }
            Ok(Ok(names))
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

    /// Takes everything away of a team that is closing and has no children. Its row goes last: while it is there, what was
    /// cut off is found again.
    pub(super) async fn remove_whole(&self, team: &TeamName) -> Result<()> {
        let name = team.clone();
        self.inner.folders.off_thread("put a team's folder away", move |folders| folders.throw_away(&name)).await?;
        self.remove_database(team).await?;
        let some = async |conn: &mut Conn| teams::remove_some_work(conn, team, WORK_AT_ONCE).await;
        while self.inner.db.tx("remove some work of a team", some).await? {}
        self.inner.db.tx("remove a team", async |conn: &mut Conn| teams::remove(conn, team).await).await?;
        self.forget(team);
        let name = team.clone();
        self.inner.folders.off_thread("delete a team's folder", move |folders| folders.sweep(&name)).await
    }
}
