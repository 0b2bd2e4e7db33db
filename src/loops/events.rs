//! Copies what happens to a file in each team's folder: `events.jsonl`.
//!
//! Each file says itself how far it goes, so that every line is in it exactly once whatever came between: a crash, a
//! disk that was full, a file that somebody deleted. What the rows remember of it ([`events::seen_by`]) only says where
//! to begin to look; it is moved seldom, and after the files were synced.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use base::{Clock, Moment, Tasks, TeamName, clock};
use store::events::{self, Event, Subscriber};
use store::{Bell, Db};
use tools::{LeftAt, Workspaces};

/// How long more is waited for once something has happened: a turn makes several transactions, and a file is not
/// written at each.
const GATHER: Duration = Duration::from_millis(100);
/// How often the rows are looked at where no bell rings, and files that could not be written are tried again.
const RESCAN: Duration = Duration::from_secs(60);
/// How many events are read at once.
const BATCH: u32 = 500;
/// How many events are copied before the rows remember it: so many are looked at again after a restart.
const REMEMBER_EVERY: usize = 1_000;
/// How long the rows lag behind at most where something has happened.
const REMEMBER_WITHIN: Duration = Duration::from_secs(3_600);
/// Of how many files it is known how they were left. More teams cost a look at a file's end, and nothing else.
const KNOWN_MAX: usize = 1_000;

/// What copies events.
pub struct Copying {
    /// The rows.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// The teams' folders.
    pub workspaces: Workspaces,
}

/// Runs until `tasks` is told to stop, and then copies what is left.
pub async fn run(copying: Arc<Copying>, tasks: Tasks) {
    let (stop, mut bell) = (tasks.stop_token(), copying.db.changes(Bell::Events));
    let mut copies = Copies::new(copying.clock.now());
    loop {
        let ends = stop.is_cancelled();
        bell.mark_unchanged();
        if let Err(error) = copies.round(&copying).await {
            tracing::error!("events could not be copied and are copied later: {error:#}");
        }
        if ends {
            return;
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => continue,
            _ = bell.changed() => {}
            () = copying.clock.sleep(RESCAN) => {}
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = copying.clock.sleep(GATHER) => {}
        }
    }
}

/// How far the files are. A cache: the files and the rows are the truth.
struct Copies {
    /// The last event that was looked at; `None` before the first look.
    seen: Option<i64>,
    left: BTreeMap<TeamName, LeftAt>,
    /// Teams whose files lack something.
    owed: BTreeSet<TeamName>,
    /// Teams whose files were written to since they were synced.
    unsynced: BTreeSet<TeamName>,
    /// Events since the rows were told.
    count: usize,
    remembered_at: Moment,
}

impl Copies {
    fn new(now: Moment) -> Copies {
        let (left, owed, unsynced) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        Copies { seen: None, left, owed, unsynced, count: 0, remembered_at: now }
    }

    /// Copies everything that is not in the files yet.
    async fn round(&mut self, copying: &Copying) -> Result<()> {
        let mut seen = match self.seen {
            Some(seen) => seen,
            None => copying.db.read(async |conn| events::seen_by(conn, Subscriber::Files).await).await?,
        };
        for team in std::mem::take(&mut self.owed) {
            self.copy(copying, &team, &[]).await?;
        }
        loop {
            let some = copying.db.read(async |conn| events::after(conn, seen, BATCH).await).await?;
            let Some(last) = some.last().map(|event| event.id) else { break };
            let mut by_team: BTreeMap<&str, Vec<&Event>> = BTreeMap::new();
            for event in &some {
                by_team.entry(&event.team).or_default().push(event);
            }
            for (team, events) in by_team {
                // A name that is none has no folder.
                if let Ok(team) = team.parse() {
                    self.copy(copying, &team, &events).await?;
                }
            }
            seen = last;
            self.count += some.len();
        }
        self.seen = Some(seen);
        self.remember(copying, seen).await
    }

    /// Brings the file of a team up to these events, which are the newest that were looked at. A file that cannot be
    /// written is tried again later, and keeps no other from being written.
    async fn copy(&mut self, copying: &Copying, team: &TeamName, events: &[&Event]) -> Result<()> {
        let mut file = match copying.workspaces.event_file(team, self.left.remove(team)) {
            Ok(Some(file)) => file,
            // What happened before it has a folder is written with the first that happens after.
            Ok(None) => return Ok(()),
            Err(error) => return self.owe(team, &error),
        };
        let mut done = Ok(());
        // One that is empty may be a new team's, and these events those of another that had its name.
        if file.is_as_left() && file.last() > 0 && !events.is_empty() {
            done = append(&mut file, events);
        } else {
            let newest = copying.db.read(async |conn| events::newest(conn).await).await?;
            if file.last() > newest {
                // Of another database: an older one was put back in the place of ours.
                done = file.begin_next();
            }
            while done.is_ok() {
                let from = file.last();
                let read = async |conn: &mut store::Conn| events::of_team_after(conn, team, from, BATCH).await;
                let missing = copying.db.read(read).await?;
                if missing.is_empty() {
                    break;
                }
                done = append(&mut file, &missing.iter().collect::<Vec<_>>());
            }
        }
        if let Err(error) = done {
            return self.owe(team, &error);
        }
        if self.left.len() >= KNOWN_MAX {
            self.left.clear();
        }
        self.unsynced.insert(team.clone());
        self.left.insert(team.clone(), file.leave());
        Ok(())
    }

    fn owe(&mut self, team: &TeamName, error: &io::Error) -> Result<()> {
        tracing::warn!("the events of {team} could not be written to its folder, and are written later: {error}");
        self.owed.insert(team.clone());
        Ok(())
    }

    /// Has the rows remember how far the files are, where that is due.
    async fn remember(&mut self, copying: &Copying, seen: i64) -> Result<()> {
        let now = copying.clock.now();
        let is_due = self.count >= REMEMBER_EVERY || now - self.remembered_at >= clock::ms(REMEMBER_WITHIN);
        if self.count == 0 || !is_due || !self.owed.is_empty() {
            return Ok(());
        }
        let (workspaces, unsynced, left) = (copying.workspaces.clone(), self.unsynced.clone(), self.left.clone());
        let sync = move || {
            let mut files = unsynced.iter().map(|team| workspaces.event_file(team, left.get(team).copied()));
            files.try_for_each(|file| file?.map_or(Ok(()), |file| file.sync()))
        };
        tokio::task::spawn_blocking(sync)
            .await
            .context("sync the files of events")?
            .context("sync a file of events")?;
        let note = async |conn: &mut store::Conn| events::note_seen(conn, Subscriber::Files, seen).await;
        copying.db.note("remember how far events are copied", note).await?;
        self.unsynced.clear();
        (self.count, self.remembered_at) = (0, now);
        Ok(())
    }
}

/// Writes those of a team's events that its file lacks.
fn append(file: &mut tools::EventFile, events: &[&Event]) -> io::Result<()> {
    let mut lines = String::new();
    let mut last = None;
    for event in events.iter().filter(|event| event.id > file.last()) {
        lines.push_str(&event.to_json());
        lines.push('\n');
        last = Some(event.id);
    }
    last.map_or(Ok(()), |last| file.append(&lines, last))
}

#[cfg(test)]
mod tests;
