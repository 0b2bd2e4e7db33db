//! The worker: claims tasks and runs their sessions, one in each lane, many lanes at once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use base::{TaskId, Tasks, clock};
use store::tasks as rows;
use store::tasks::{StopAsked, Task};
use store::{Bell, Db, questions};

use crate::session::{self, Ended, Halt, Sessions, Why};

/// Most turns that run at once; a turn that only waits for somebody's answer is none of them.
const RUNNING_MAX: usize = 64;
/// Most turns that are entered at once, those that wait included: each takes memory.
const ENTERED_MAX: usize = 1_024;
/// How long a claim holds without a word from its worker. Upkeep renews it every [`super::upkeep::EVERY`].
pub const LEASE: Duration = Duration::from_secs(120);
/// A scan without a bell, for tasks that another process made.
const RESCAN: Duration = Duration::from_secs(30);

/// The turns that run now. The rows are the truth; this is how they are reached.
#[derive(Clone, Default)]
pub struct Running(Arc<Mutex<BTreeMap<TaskId, Halt>>>);

impl Running {
    fn with<T>(&self, use_it: impl FnOnce(&mut BTreeMap<TaskId, Halt>) -> T) -> T {
        use_it(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Their tasks.
    pub fn ids(&self) -> Vec<TaskId> {
        self.with(|running| running.keys().copied().collect())
    }

    /// How many there are.
    fn count(&self) -> usize {
        self.with(|running| running.len())
    }

    /// Tells all of them to end because the hive stops.
    pub fn halt_all(&self) {
        self.with(|running| running.values().for_each(|halt| halt.now(Why::Shutdown)));
    }

    /// Tells those that do nothing but wait for somebody's answer to end because the hive stops: they wait on after the
    /// next start, and nothing of theirs is cut off.
    ///
    /// # Errors
    /// Only the database's.
    pub async fn halt_waiting(&self, db: &Db) -> Result<()> {
        let waiting = db.read(async |conn| questions::waiting_tasks(conn).await).await?;
        self.with(|running| waiting.iter().filter_map(|id| running.get(id)).for_each(|halt| halt.now(Why::Shutdown)));
        Ok(())
    }
}

/// Takes a turn off the list, also where it ends by a panic.
struct Entered {
    running: Running,
    id: TaskId,
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.running.with(|running| running.remove(&self.id));
    }
}

/// Claims until `tasks` is told to stop; the turns themselves are tasks of `turns`, which the caller waits for.
pub async fn run(sessions: Arc<Sessions>, running: Running, tasks: Tasks, turns: Tasks) {
    let stop = tasks.stop_token();
    let (mut bell, mut answers) = (sessions.db.changes(Bell::Tasks), sessions.db.changes(Bell::Questions));
    loop {
        bell.mark_unchanged();
        answers.mark_unchanged();
        let due = match scan(&sessions, &running, &turns).await {
            Ok(due) => due,
            Err(error) => {
                tracing::error!("tasks could not be claimed: {error:#}");
                Some(sessions.clock.now() + 1_000)
            }
        };
        let rescan = sessions.clock.now() + clock::ms(RESCAN);
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            _ = bell.changed() => {}
            // A turn that begins to wait leaves its place to another.
            _ = answers.changed(), if running.count() >= RUNNING_MAX => {}
            () = sessions.clock.sleep_until(Some(due.unwrap_or(rescan).min(rescan))) => {}
        }
    }
}

/// Claims what can run and tells turns to end that are asked to. When to look again at the latest.
async fn scan(sessions: &Arc<Sessions>, running: &Running, turns: &Tasks) -> Result<Option<clock::Moment>> {
    let now = sessions.clock.now();
    let (found, to_stop) = sessions
        .db
        .read(async |conn| {
            let found = rows::look(conn, now).await?;
            Ok((found, if found.to_stop { rows::to_stop(conn).await? } else { Vec::new() }))
        })
        .await?;
    for (id, why) in to_stop {
        let why = match why {
            StopAsked::Person => Why::Person,
            StopAsked::Message => Why::Message,
            StopAsked::Replaced => Why::Replaced,
            StopAsked::Closing => Why::Closing,
        };
        running.with(|running| running.get(&id).inspect(|halt| halt.now(why)).is_some());
    }
    let room = if found.claimable { room(&sessions.db, running).await? } else { 0 };
    if room > 0 {
        let limit = u32::try_from(room).unwrap_or(u32::MAX);
        let claimed = sessions
            .db
            .note("claim tasks", async |conn| rows::claim(conn, limit, now, now + clock::ms(LEASE)).await)
            .await?;
        for task in claimed {
            start(sessions, running, turns, task);
        }
    }
    Ok(found.next_due)
}

/// How many turns more may be entered: who waits for an answer leaves its place to others, among them whoever is to give
/// it.
async fn room(db: &Db, running: &Running) -> Result<usize> {
    let entered = running.ids();
    if entered.len() < RUNNING_MAX {
        return Ok(RUNNING_MAX - entered.len());
    }
    let waiting = db.read(async |conn| questions::waiting_tasks(conn).await).await?;
    let at_work = entered.iter().filter(|id| waiting.binary_search(id).is_err()).count();
    Ok(RUNNING_MAX.saturating_sub(at_work).min(ENTERED_MAX.saturating_sub(entered.len())))
}

fn start(sessions: &Arc<Sessions>, running: &Running, turns: &Tasks, task: Task) {
    let (sessions, halt) = (sessions.clone(), Halt::new());
    running.with(|running| running.insert(task.id, halt.clone()));
    let entered = Entered { running: running.clone(), id: task.id };
    turns.spawn("turn", async move {
        let _entered = entered;
        let ended = session::run(&sessions, &task, &halt).await;
        match ended {
            Ok(Ended::Finished) => tracing::info!(task.id = task.id.0, "task {} of {} ended", task.id, task.lane),
            Ok(Ended::Nothing) => {}
            Ok(Ended::Later(at)) => {
                let at = clock::show(at);
                tracing::warn!(task.id = task.id.0, "task {} of {} waits until {at}", task.id, task.lane);
            }
            Ok(Ended::Left) => leave(&sessions, &task).await,
            Err(error) => {
                tracing::error!(task.id = task.id.0, "task {} could not be ended: {error:#}", task.id);
                // Its row stays as it is: the lease runs out, and the turn is entered again.
            }
        }
        // A lane is free again; the row said so already, unless the turn could not write it.
        sessions.db.ring(Bell::Tasks);
    });
}

/// The hive stops: the task waits for the next start, which enters the same turn again.
async fn leave(sessions: &Sessions, task: &Task) {
    let now = sessions.clock.now();
    let left = sessions.db.tx("leave a turn", async |conn| rows::leave(conn, task.id, now).await).await;
    match left {
        Ok(()) => tracing::info!(task.id = task.id.0, "task {} waits for the next start", task.id),
        Err(error) => tracing::warn!(task.id = task.id.0, "task {} could not be put back: {error:#}", task.id),
    }
}
