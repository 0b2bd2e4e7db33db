//! `revival`: a start that finds a long queue and many tasks that were under way, until the first of them is claimed
//! again, beside the statements alone.

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, ensure};
use base::{Clock, Moment, clock};
use channels::render::RenderLimits;
use openhive::loops::recovery;
use openhive::loops::worker::LEASE;
use rusqlite::{Connection, params};
use store::{Db, tasks};

use crate::Extent;
use crate::house;
use crate::machine::Machine;
use crate::queue;
use crate::raw;
use crate::report::{Compared, Goal, Report};

/// Tasks that wait.
const QUEUED: usize = 100_000;
/// Tasks that were under way.
const LEASED: usize = 1_000;
/// Most tasks that are claimed at once: as many turns as a hive runs.
const CLAIMED: u32 = 64;
/// Our first claim may take so often what the floor's takes.
const RATIO: f64 = 3.0;

/// A database as a kill leaves it: every team that worked has a task under way, and many that wait.
fn make(path: &Path, queued: usize, leased: usize) -> Result<()> {
    let conn = raw::connect(path)?;
    let now = Clock::Wall.now();
    conn.execute_batch("BEGIN")?;
    let team = "INSERT INTO teams (name, parent, depth, state, created_at)
                VALUES (?1, 'main', 1, 'ready', ?2)";
    let task = "INSERT INTO tasks (team, lane, kind, priority, state, body, giver, created_at, due_at)
                VALUES (?1, ?1, 'delegate', ?2, 'queued', 'Look through what was merged.', 'main', ?3, ?3)";
    for number in 0..leased {
        conn.prepare_cached(team)?.execute(params![format!("team-{number}"), now])?;
    }
    for number in 0..leased + queued {
        let (name, priority) = (format!("team-{}", number % leased), if number < leased { 1 } else { 2 });
        conn.prepare_cached(task)?.execute(params![name, priority, now])?;
    }
    conn.execute_batch("COMMIT")?;
    cut(&conn, leased)
}

/// Cuts the hive off: the oldest task of every team is under way, and nothing else is.
fn cut(conn: &Connection, leased: usize) -> Result<()> {
    let back = "UPDATE tasks SET state = 'queued', leased_until = NULL WHERE state = 'running'";
    conn.execute(back, ())?;
    let run = "UPDATE tasks SET state = 'running', attempts = 1, due_at = created_at, started_at = created_at,
                 leased_until = created_at + 120000 WHERE id <= ?1";
    let under_way = conn.execute(run, [i64::try_from(leased)?])?;
    ensure!(under_way == leased, "{under_way} tasks are under way");
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()))?;
    Ok(())
}

/// Opens the database as a start does, recovers, and claims: in milliseconds, without the opening.
async fn ours(path: &Path, leased: usize) -> Result<f64> {
    let db = Db::open(path).await?;
    let render = RenderLimits::default();
    let begun = Instant::now();
    let found = recovery::run(&db, Clock::Wall, render).await?;
    let now = Clock::Wall.now();
    let seen = db.read(async |conn| tasks::look(conn, now).await).await?;
    let until = now + clock::ms(LEASE);
    let claimed = db.note("claim tasks", async |conn| tasks::claim(conn, CLAIMED, now, until).await).await?;
    let took = begun.elapsed();
    ensure!(found == leased && seen.claimable, "{found} tasks were put back");
    ensure!(claimed.len() == CLAIMED as usize, "{} tasks were claimed", claimed.len());
    Ok(took.as_secs_f64() * 1e3)
}

/// The same by hand: one statement puts back what was under way, one claims.
fn floor(path: &Path, leased: usize) -> Result<f64> {
    let conn = raw::connect(path)?;
    let now: Moment = Clock::Wall.now();
    let begun = Instant::now();
    let back = "UPDATE tasks SET state = 'queued', leased_until = NULL, due_at = ?1 WHERE state = 'running'";
    let found = conn.execute(back, [now])?;
    conn.execute_batch("PRAGMA synchronous = NORMAL")?;
    let claimed = queue::claim(&conn, CLAIMED, now)?;
    let took = begun.elapsed();
    ensure!(found == leased && claimed.len() == CLAIMED as usize, "{found} put back, {} claimed", claimed.len());
    Ok(took.as_secs_f64() * 1e3)
}

/// Runs it.
pub async fn run(extent: Extent) -> Result<Report> {
    let folder = house::folder()?;
    let (queued, leased) = (extent.of(QUEUED, 2_000), extent.of(LEASED, 100));
    let (hive, by_hand) = (folder.path().join("hive.db"), folder.path().join("floor.db"));
    for path in [&hive, &by_hand] {
        drop(Db::open(path).await?);
        make(path, queued, leased)?;
    }
    queue::without_triggers(&raw::connect(&by_hand)?)?;
    let (mut ours_ms, mut floor_ms) = (Vec::new(), Vec::new());
    for _ in 0..extent.pairs {
        for path in [&hive, &by_hand] {
            cut(&raw::connect(path)?, leased)?;
        }
        ours_ms.push(ours(&hive, leased).await?);
        floor_ms.push(floor(&by_hand, leased)?);
    }
    let floor_is = "one statement that puts back what was under way and one that claims, by hand, on the same tables \
                    without the triggers that write down what happens";
    let pair = Compared::of("until the first claim", "ms", &ours_ms, floor_is, &floor_ms);
    Ok(Report {
        name: "revival".to_owned(),
        about: format!("a start that finds {queued} tasks that wait and {leased} that were under way"),
        pairs: extent.pairs,
        quick: extent.quick,
        goals: vec![Goal::at_most("until the first claim, ours ÷ floor", pair.ratio.median, RATIO, "")],
        compared: vec![pair],
        also: Vec::new(),
        machine: Machine::here(folder.path())?,
    })
}
