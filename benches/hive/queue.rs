//! `queue`: work is queued, claimed and ended, beside the same statements by hand; and how soon a queued task's turn
//! starts.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use base::{Clock, Moment, TaskId, TeamName, clock};
use openhive::loops::worker::LEASE;
use rusqlite::{Connection, params};
use store::tasks::{self, End, Kind, New, Origin};
use store::teams::{self, State};
use store::{Conn, Db};

use crate::Extent;
use crate::house::{self, Ear};
use crate::line::Line;
use crate::machine::Machine;
use crate::raw::{self, Level, Raw};
use crate::report::{Compared, Figure, Goal, Report};
use crate::spread::{median, percentile};

/// The teams whose queues are used, in turn.
const TEAMS: usize = 20;
/// Finished tasks in the table that is full.
const FINISHED: i64 = 1_000_000;
/// Rows of it that are written in one transaction.
const TOGETHER: i64 = 50_000;
/// What a task says.
const BODY: &str = "Look through what was merged since the last release, and write down what users will notice.";
/// From one task to the next where the start of its turn is measured: what is left of the last is over by then.
const APART: Duration = Duration::from_millis(15);
/// How long a turn may take to start.
const PATIENCE: Duration = Duration::from_secs(10);

/// The statements of the hive's own store, as text.
const ENQUEUE: &str = "INSERT INTO tasks (team, lane, kind, priority, state, body, conversation, topic, sender, giver,
    cause, continues, correlation, options, created_at, due_at)
  VALUES (?1, ?2, ?3, ?4, 'queued', ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?14) RETURNING id";
const FIND: &str = "SELECT id FROM (SELECT id, lane, priority FROM tasks WHERE state = 'queued' AND due_at <= ?2
    ORDER BY priority, id LIMIT ?3) t
  WHERE NOT EXISTS (SELECT 1 FROM tasks r WHERE r.lane = t.lane AND r.state = 'running')
    AND NOT EXISTS (SELECT 1 FROM tasks q WHERE q.lane = t.lane AND q.state = 'queued' AND q.due_at <= ?2
      AND (q.priority, q.id) < (t.priority, t.id))
  ORDER BY priority, id LIMIT ?1";
const CLAIM: &str = "UPDATE tasks SET state = 'running', leased_until = ?3, attempts = attempts + 1,
    started_at = coalesce(started_at, ?2)
  WHERE id IN (SELECT value FROM json_each(?1))
  RETURNING id, team, lane, kind, priority, body, conversation, topic, sender, giver, cause, continues, options,
    attempts, failures";
const COMPLETE: &str = "UPDATE tasks SET state = ?2, note = ?3, result = ?5, finished_at = ?4, leased_until = NULL
  WHERE id = ?1 AND state = 'running'";

/// How long so many tasks took in each step, in seconds.
#[derive(Clone, Copy, Default)]
struct Took {
    enqueue: f64,
    claim: f64,
    complete: f64,
}

impl Took {
    fn all(self) -> f64 {
        self.enqueue + self.claim + self.complete
    }
}

/// The teams of the queues.
fn names() -> Result<Vec<TeamName>> {
    (0..TEAMS).map(|number| Ok(format!("team-{number}").parse()?)).collect()
}

/// A database of a hive with these teams and so many finished tasks.
async fn make(path: &Path, finished: i64) -> Result<Db> {
    let db = Db::open(path).await?;
    let names = names()?;
    let add = async |conn: &mut Conn| {
        for name in &names {
            teams::add(conn, name, &TeamName::main(), "", State::Ready, 0).await?;
        }
        Ok(())
    };
    db.tx("add teams", add).await?;
    if finished > 0 {
        fill(&raw::connect(path)?, finished)?;
    }
    Ok(db)
}

/// Tasks of the last days, all of them over.
fn fill(conn: &Connection, finished: i64) -> Result<()> {
    let now = Clock::Wall.now();
    let sql = "INSERT INTO tasks (team, lane, kind, priority, state, body, giver, created_at, due_at, started_at,
                 finished_at, attempts, result)
               WITH RECURSIVE numbers (n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ?2)
               SELECT 'team-' || (n % ?3), 'team-' || (n % ?3), 'delegate', 2, 'done', ?4, 'main', ?5 + n, ?5 + n,
                 ?5 + n, ?5 + n + 5, 1, 'Written down.' FROM numbers";
    for first in (0..finished).step_by(TOGETHER as usize) {
        let last = (first + TOGETHER).min(finished);
        conn.execute(sql, params![first, last, TEAMS as i64, BODY, now - finished])?;
    }
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()))?;
    let count: i64 = conn.query_row("SELECT count(*) FROM tasks WHERE state = 'done'", (), |row| row.get(0))?;
    ensure!(count == finished, "{count} tasks are over");
    Ok(())
}

/// So many tasks through the product's own statements, a commit for each step of each.
async fn ours(db: &Db, names: &[TeamName], count: usize) -> Result<Took> {
    let (origin, main) = (Origin::default(), TeamName::main());
    let mut took = Took::default();
    for number in 0..count {
        let now = Clock::Wall.now();
        let new = New { giver: Some(&main), ..New::of(&names[number % TEAMS], Kind::Delegate, BODY, &origin) };
        let begun = Instant::now();
        let id = db.tx("queue", async |conn| tasks::give(conn, &new, now).await).await?;
        took.enqueue += begun.elapsed().as_secs_f64();
        let begun = Instant::now();
        let claimed = db.note("claim", async |conn| tasks::claim(conn, 1, now, now + clock::ms(LEASE)).await).await?;
        took.claim += begun.elapsed().as_secs_f64();
        ensure!(claimed.iter().map(|task| task.id).eq([id]), "the task was claimed");
        let end = async |conn: &mut Conn| tasks::finish_with(conn, id, End::Done, "", "Written down.", now).await;
        let begun = Instant::now();
        let ended = db.tx("end", end).await?;
        took.complete += begun.elapsed().as_secs_f64();
        ensure!(ended, "the task has ended");
    }
    Ok(took)
}

/// The same by hand.
struct Floor {
    conn: Connection,
}

impl Floor {
    /// On a hive's database, without the triggers that write down what happens.
    fn open(path: &Path) -> Result<Floor> {
        let conn = raw::connect(path)?;
        without_triggers(&conn)?;
        Ok(Floor { conn })
    }

    fn run(&self, names: &[TeamName], count: usize) -> Result<Took> {
        let mut took = Took::default();
        for number in 0..count {
            let now = Clock::Wall.now();
            let begun = Instant::now();
            let id = self.enqueue(&names[number % TEAMS], now)?;
            took.enqueue += begun.elapsed().as_secs_f64();
            let begun = Instant::now();
            self.conn.execute_batch("PRAGMA synchronous = NORMAL")?;
            let claimed = claim(&self.conn, 1, now)?;
            self.conn.execute_batch("PRAGMA synchronous = FULL")?;
            took.claim += begun.elapsed().as_secs_f64();
            ensure!(claimed == [id], "the task was claimed");
            let begun = Instant::now();
            let ended = self.complete(id, now)?;
            took.complete += begun.elapsed().as_secs_f64();
            ensure!(ended == 1, "the task has ended");
        }
        Ok(took)
    }

    fn enqueue(&self, team: &TeamName, now: Moment) -> Result<i64> {
        let (none, team) = (None::<i64>, team.as_str());
        let values = params![team, team, "delegate", 2, BODY, none, none, none, "main", none, none, none, "{}", now];
        Ok(self.conn.prepare_cached(ENQUEUE)?.query_row(values, |row| row.get(0))?)
    }

    fn complete(&self, id: i64, now: Moment) -> Result<usize> {
        Ok(self.conn.prepare_cached(COMPLETE)?.execute(params![id, "done", "", now, "Written down."])?)
    }
}

/// Takes the triggers away that write down what happens.
pub fn without_triggers(conn: &Connection) -> Result<()> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'tasks'";
    let names: rusqlite::Result<Vec<String>> = conn.prepare(sql)?.query_map((), |row| row.get(0))?.collect();
    for name in names? {
        conn.execute_batch(&format!("DROP TRIGGER \"{name}\""))?;
    }
    Ok(())
}

/// Claims by hand; the ids. A statement is over when all its rows were seen.
pub fn claim(conn: &Connection, limit: u32, now: Moment) -> Result<Vec<i64>> {
    let mut find = conn.prepare_cached(FIND)?;
    let found: rusqlite::Result<Vec<i64>> = find.query_map(params![limit, now, 256], |row| row.get(0))?.collect();
    let found = serde_json::to_string(&found?)?;
    let mut statement = conn.prepare_cached(CLAIM)?;
    let rows = statement.query_map(params![found, now, now + clock::ms(LEASE)], |row| {
        let (_team, _lane, _body): (String, String, String) = (row.get(1)?, row.get(2)?, row.get(5)?);
        row.get(0)
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// All tasks in one transaction: what the statements cost where no commit does, in seconds.
async fn ours_together(db: &Db, names: &[TeamName], count: usize) -> Result<f64> {
    let (origin, main, now) = (Origin::default(), TeamName::main(), Clock::Wall.now());
    let begun = Instant::now();
    let work = async |conn: &mut Conn| {
        for number in 0..count {
            let new = New { giver: Some(&main), ..New::of(&names[number % TEAMS], Kind::Delegate, BODY, &origin) };
            let id: TaskId = tasks::give(conn, &new, now).await?;
            let claimed = tasks::claim(conn, 1, now, now + clock::ms(LEASE)).await?;
            ensure!(claimed.len() == 1, "the task was claimed");
            ensure!(tasks::finish_with(conn, id, End::Done, "", "Written down.", now).await?, "it has ended");
        }
        Ok(())
    };
    db.note("all at once", work).await?;
    Ok(begun.elapsed().as_secs_f64())
}

fn floor_together(floor: &Floor, names: &[TeamName], count: usize) -> Result<f64> {
    let now = Clock::Wall.now();
    let begun = Instant::now();
    floor.conn.execute_batch("PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE")?;
    for number in 0..count {
        let id = floor.enqueue(&names[number % TEAMS], now)?;
        ensure!(claim(&floor.conn, 1, now)? == [id], "the task was claimed");
        ensure!(floor.complete(id, now)? == 1, "it has ended");
    }
    floor.conn.execute_batch("COMMIT; PRAGMA synchronous = FULL")?;
    Ok(begun.elapsed().as_secs_f64())
}

/// A hive whose model tells when it is asked.
struct Hive {
    hive: openhive::app::Hive,
    db: Db,
    ear: Ear,
}

impl Hive {
    async fn start(folder: &Path) -> Result<Hive> {
        let (line, _) = Line::new();
        let run_dir = folder.join("run");
        std::fs::create_dir_all(&run_dir)?;
        let db = make(&run_dir.join("openhive.db"), 0).await?;
        for name in names()? {
            let team = run_dir.join("teams").join(name.as_str());
            std::fs::create_dir_all(&team)?;
            std::fs::write(team.join(org::teams::config::FILE), format!("name: {name}\nparent: main\n"))?;
        }
        let (ear, mind) = house::listening();
        let hive = house::hive_with(folder, line, db.clone(), mind).await?;
        Ok(Hive { hive, db, ear })
    }

    /// From the moment a task is to be queued until the model is asked in its turn, in milliseconds.
    async fn start_of_turn(&mut self, team: &TeamName) -> Result<f64> {
        let (origin, main, now) = (Origin::default(), TeamName::main(), Clock::Wall.now());
        let new = New { giver: Some(&main), ..New::of(team, Kind::Trigger, BODY, &origin) };
        let begun = Instant::now();
        self.db.tx("queue", async |conn| tasks::give(conn, &new, now).await).await?;
        let asked = tokio::time::timeout(PATIENCE, self.ear.recv()).await.context("the turn has started")?;
        let took = asked.context("the model lives")? - begun;
        tokio::time::sleep(APART).await;
        Ok(took.as_secs_f64() * 1e3)
    }
}

#[derive(Default)]
struct Measured {
    /// Tasks a second, by step, and their floors.
    ours: [Vec<f64>; 4],
    floor: [Vec<f64>; 4],
    full: [Vec<f64>; 4],
    together: Vec<f64>,
    together_floor: Vec<f64>,
    start_ms: Vec<f64>,
    start_floor_ms: Vec<f64>,
    starts: Vec<f64>,
}

fn rates(into: &mut [Vec<f64>; 4], took: Took, count: usize) {
    for (rates, took) in into.iter_mut().zip([took.enqueue, took.claim, took.complete, took.all()]) {
        rates.push(count as f64 / took);
    }
}

/// Runs it.
pub async fn run(extent: Extent) -> Result<Report> {
    let folder = house::folder()?;
    let at = |name: &str| folder.path().join(name);
    let finished = extent.of(FINISHED, 5_000);
    let (empty, full) = (make(&at("empty.db"), 0).await?, make(&at("full.db"), finished).await?);
    drop(make(&at("floor.db"), 0).await?);
    let (floor, names) = (Floor::open(&at("floor.db"))?, names()?);
    let mut hive = Hive::start(&at("hive")).await?;
    let mut raw = Raw::make(folder.path())?;
    let mut measured = Measured::default();
    let count = extent.of(1_000, 30);
    // Statements are compiled at their first use, and pages read.
    for db in [&empty, &full] {
        ours(db, &names, 20).await?;
    }
    floor.run(&names, 20)?;
    hive.start_of_turn(&names[0]).await?;
    for _ in 0..extent.pairs {
        rates(&mut measured.ours, ours(&empty, &names, count).await?, count);
        rates(&mut measured.floor, floor.run(&names, count)?, count);
        rates(&mut measured.full, ours(&full, &names, count).await?, count);
        measured.together.push(count as f64 / ours_together(&empty, &names, count).await?);
        measured.together_floor.push(count as f64 / floor_together(&floor, &names, count)?);
        let (mut starts, mut floors) = (Vec::new(), Vec::new());
        for number in 0..extent.of(60, 5) {
            starts.push(hive.start_of_turn(&names[number % TEAMS]).await?);
            let begun = Instant::now();
            raw.commit(Level::Power)?;
            raw.commit(Level::Process)?;
            floors.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        measured.start_ms.push(median(&starts));
        measured.start_floor_ms.push(median(&floors));
        measured.starts.extend(starts);
    }
    hive.hive.stop().await;
    Ok(report(extent, finished, &measured, Machine::here(folder.path())?))
}

fn report(extent: Extent, finished: i64, measured: &Measured, machine: Machine) -> Report {
    let steps = ["enqueue", "claim", "complete", "all three"];
    let floor_is = "the same statements by hand, on the same tables without the triggers that write down what happens";
    let (mut compared, mut goals) = (Vec::new(), Vec::new());
    for (at, step) in steps.into_iter().enumerate() {
        let pair = Compared::of(step, "/s", &measured.ours[at], floor_is, &measured.floor[at]);
        goals.push(Goal::at_least(&format!("{step}, ours ÷ floor"), pair.ratio.median, 0.6, ""));
        compared.push(pair);
    }
    for (at, step) in steps.into_iter().enumerate() {
        let what = format!("{step}, {finished} finished tasks in the table");
        let pair = Compared::of(&what, "/s", &measured.full[at], "the same without them", &measured.ours[at]);
        goals.push(Goal::at_least(&format!("{what} ÷ none"), pair.ratio.median, 0.9, ""));
        compared.push(pair);
    }
    let together = "all three, in one transaction for all tasks";
    compared.push(Compared::of(together, "/s", &measured.together, floor_is, &measured.together_floor));
    let start = "from the queueing to the start of the turn";
    let commits = "two raw commits: that it is queued, and that it is claimed";
    compared.push(Compared::of(start, "ms", &measured.start_ms, commits, &measured.start_floor_ms));
    goals.push(Goal::at_most(&format!("{start}, p50"), median(&measured.starts), 5.0, "ms"));
    Report {
        name: "queue".to_owned(),
        about:
            "tasks are queued, claimed and ended, one after the other, each step a commit; and how soon the model is \
                asked in the turn of a task that was queued"
                .to_owned(),
        pairs: extent.pairs,
        quick: extent.quick,
        compared,
        goals,
        also: vec![Figure::new(&format!("{start}, p99"), percentile(&measured.starts, 0.99), "ms")],
        machine,
    }
}
