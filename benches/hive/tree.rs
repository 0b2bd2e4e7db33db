//! `tree`: ten thousand teams, twelve deep: whose child a team is, the list of all of them, and what each holds.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use base::{Clock, RunId, Stop, TeamName};
use fakes::product::{Product, Setup};
use rusqlite::{Connection, params};
use serde::Serialize;
use store::tasks::Origin;
use store::{Conn, Db, teams};
use tools::org::{ListTeams, ListTeamsArgs};
use tools::{Call, Grant, Tool};

use crate::Extent;
use crate::forest::{self, Grown};
use crate::house;
use crate::machine::Machine;
use crate::proc::resident_kib;
use crate::raw;
use crate::report::{Compared, Figure, Goal, Report};
use crate::spread::median;

/// How many teams there are.
const TEAMS: usize = 10_000;
/// What one look at whose child a team is may take, in microseconds.
const CHECK_US: f64 = 2.0;
/// The list may take so often what it takes to read and write the same rows.
const RATIO: f64 = 2.0;
/// What a team at rest may hold, in KiB.
const TEAM_KIB: f64 = 2.0;
/// After this a hive without work has settled.
const SETTLED: Duration = Duration::from_secs(3);
/// How long all teams may take to do a task each.
const PATIENCE: Duration = Duration::from_secs(600);

/// A team as the list shows it, its texts where SQLite has them.
#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<&'a str>,
    description: &'a str,
    keywords: &'a [String],
    status: &'a str,
    queue_depth: i64,
}

/// Reads the rows that the list is made of by hand, and writes them as JSON. How long that is, in bytes.
fn by_hand(conn: &Connection) -> Result<usize> {
    let mut scopes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut words = conn.prepare_cached("SELECT team, keyword FROM scope_keywords ORDER BY team, keyword")?;
    let mut rows = words.query(())?;
    while let Some(row) = rows.next()? {
        scopes.entry(row.get(0)?).or_default().push(row.get(1)?);
    }
    let mut waiting: BTreeMap<String, i64> = BTreeMap::new();
    let mut depths = conn.prepare_cached("SELECT team, count(*) FROM tasks WHERE state = 'queued' GROUP BY team")?;
    let mut rows = depths.query(())?;
    while let Some(row) = rows.next()? {
        waiting.insert(row.get(0)?, row.get(1)?);
    }
    let sql = "SELECT name, parent, description, state FROM teams WHERE depth > 0 ORDER BY depth, name";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(())?;
    let mut json = Vec::new();
    while let Some(row) = rows.next()? {
        let name = row.get_ref(0)?.as_str()?;
        let shown = Row {
            name,
            parent: row.get_ref(1)?.as_str_or_null()?.filter(|parent| *parent != base::ids::MAIN),
            description: row.get_ref(2)?.as_str()?,
            keywords: scopes.get(name).map(Vec::as_slice).unwrap_or_default(),
            status: row.get_ref(3)?.as_str()?,
            queue_depth: waiting.get(name).copied().unwrap_or_default(),
        };
        json.push(if json.is_empty() { b'[' } else { b',' });
        serde_json::to_writer(&mut json, &shown)?;
    }
    json.push(b']');
    Ok(json.len())
}

/// Looks so often whether a team is another's child; every second one is not. Microseconds for each.
async fn checks(db: &Db, grown: &[Grown], count: usize) -> Result<f64> {
    let look = async |conn: &mut Conn| {
        let begun = Instant::now();
        let mut found = 0;
        for number in 0..count {
            let (parent, child) = pair(grown, number);
            found += usize::from(teams::is_child(conn, parent, child).await?);
        }
        Ok((begun.elapsed(), found))
    };
    // In a transaction, as whoever gives work looks.
    let (took, found) = db.note("look whose children they are", look).await?;
    ensure!(found == count.div_ceil(2), "{found} of {count} are children");
    Ok(took.as_secs_f64() * 1e6 / count as f64)
}

fn checks_by_hand(conn: &Connection, grown: &[Grown], count: usize) -> Result<f64> {
    let sql = "SELECT 1 FROM teams INDEXED BY children WHERE parent = ?2 AND name = ?1";
    conn.execute_batch("BEGIN")?;
    let begun = Instant::now();
    let mut found = 0;
    let mut statement = conn.prepare(sql)?;
    for number in 0..count {
        let (parent, child) = pair(grown, number);
        found += usize::from(statement.exists([child.as_str(), parent.as_str()])?);
    }
    let took = begun.elapsed();
    drop(statement);
    conn.execute_batch("COMMIT")?;
    ensure!(found == count.div_ceil(2), "{found} of {count} are children");
    Ok(took.as_secs_f64() * 1e6 / count as f64)
}

/// A team and its parent, or, for an odd number, the team and another of its kind. Spread over the whole tree.
fn pair(grown: &[Grown], number: usize) -> (&TeamName, &TeamName) {
    // A prime larger than the tree's width visits the teams in no order of theirs.
    let child = &grown[number * 7_919 % grown.len()];
    match number % 2 {
        0 => (&child.parent, &child.name),
        _ => (&child.name, &child.name),
    }
}

/// What `list_teams` takes with its result as JSON, and what that JSON alone takes, in milliseconds, with its length.
async fn list(tool: &ListTeams, call: &Call, teams: usize) -> Result<(f64, f64, usize)> {
    let begun = Instant::now();
    let listed = tool.run(call, ListTeamsArgs { recursive: Some(true) }).await?;
    let json = serde_json::to_string(&listed)?;
    let took = begun.elapsed();
    let begun = Instant::now();
    black_box(serde_json::to_string(black_box(&listed))?);
    let alone = begun.elapsed();
    ensure!(listed.len() == teams, "{} teams are listed", listed.len());
    Ok((took.as_secs_f64() * 1e3, alone.as_secs_f64() * 1e3, json.len()))
}

fn call() -> Call {
    Call {
        team: TeamName::main(),
        grant: Arc::new(Grant::main(false)),
        origin: Origin::default(),
        run: RunId(1),
        step: 1,
        call_id: "".into(),
        stop: Stop::new(),
        leaving: Stop::new(),
        depth: 0,
        slot: None,
    }
}

/// What the program holds once it has settled, in KiB.
async fn resident(product: &Product, settled: Duration) -> Result<f64> {
    tokio::time::sleep(settled).await;
    let process = product.pid().with_context(|| format!("the hive runs: {}", product.log()))?.to_string();
    resident_kib(&process)
}

/// Has every team do a task, and waits until all are over.
async fn work(database: &Path, teams: usize) -> Result<()> {
    let conn = raw::connect(database)?;
    let sql = "INSERT INTO tasks (team, lane, kind, priority, state, body, created_at, due_at)
               SELECT name, name, 'trigger', 2, 'queued', 'Say whether something is late.', ?1, ?1
               FROM teams WHERE depth > 0";
    let given = conn.execute(sql, params![Clock::Wall.now()])?;
    ensure!(given == teams, "{given} tasks were given");
    let begun = Instant::now();
    loop {
        let open = "SELECT count(*) FROM tasks WHERE state IN ('queued', 'running')";
        let open: i64 = conn.query_row(open, (), |row| row.get(0))?;
        if open == 0 {
            break;
        }
        ensure!(begun.elapsed() < PATIENCE, "{open} tasks are not over");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let failed: i64 = conn.query_row("SELECT count(*) FROM tasks WHERE state <> 'done'", (), |row| row.get(0))?;
    ensure!(failed == 0, "{failed} tasks were not done");
    Ok(())
}

/// What the teams hold, in KiB.
#[derive(Default)]
struct Held {
    /// The program with the teams, and without any.
    with: Vec<f64>,
    without: Vec<f64>,
    /// With the teams once each of them has done a task, and once each has done another.
    worked: f64,
    again: f64,
}

async fn held(folder: &Path, extent: Extent, grown: &[Grown]) -> Result<Held> {
    let settled = extent.of(SETTLED, Duration::from_millis(500));
    let setup = |name: &str| house::program(&folder.join(name)).set("HIVE_LOG", "info");
    let (full, empty) = (setup("full"), setup("empty"));
    prepare(&full, grown).await?;
    let mut held = Held::default();
    for _ in 0..extent.pairs {
        for (setup, into) in [(&full, &mut held.with), (&empty, &mut held.without)] {
            let product = setup.start();
            into.push(resident(&product, settled).await?);
            product.stop().await;
        }
    }
    let product = full.start();
    let database = full.run_dir().join("openhive.db");
    work(&database, grown.len()).await?;
    held.worked = resident(&product, settled).await?;
    work(&database, grown.len()).await?;
    held.again = resident(&product, settled).await?;
    product.stop().await;
    Ok(held)
}

/// A home with these teams in it.
pub async fn prepare(setup: &Setup, grown: &[Grown]) -> Result<()> {
    std::fs::create_dir_all(setup.run_dir())?;
    let db = Db::open(&setup.run_dir().join("openhive.db")).await?;
    forest::plant(&db, grown).await?;
    forest::build(&setup.run_dir(), grown)
}

#[derive(Default)]
struct Measured {
    check_us: Vec<f64>,
    check_floor_us: Vec<f64>,
    list_ms: Vec<f64>,
    list_floor_ms: Vec<f64>,
    json_ms: Vec<f64>,
}

/// Runs it.
pub async fn run(extent: Extent) -> Result<Report> {
    let folder = house::folder()?;
    let grown = forest::teams(extent.of(TEAMS, 300))?;
    let path = folder.path().join("tree.db");
    let db = Db::open(&path).await?;
    forest::plant(&db, &grown).await?;
    let (conn, call, tool) = (raw::connect(&path)?, call(), ListTeams { db: db.clone() });
    // Statements are compiled at their first use, and pages read; the hive has two connections to read from.
    for _ in 0..2 {
        checks(&db, &grown, 100).await?;
        list(&tool, &call, grown.len()).await?;
    }
    by_hand(&conn)?;
    let mut measured = Measured::default();
    let count = extent.of(20_000, 200);
    for _ in 0..extent.pairs {
        measured.check_us.push(checks(&db, &grown, count).await?);
        measured.check_floor_us.push(checks_by_hand(&conn, &grown, count)?);
        let (mut lists, mut floors, mut jsons) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..extent.of(15, 2) {
            let (took, alone, bytes) = list(&tool, &call, grown.len()).await?;
            lists.push(took);
            jsons.push(alone);
            let begun = Instant::now();
            let bytes_by_hand = by_hand(&conn)?;
            floors.push(begun.elapsed().as_secs_f64() * 1e3);
            ensure!(bytes == bytes_by_hand, "the floor writes {bytes_by_hand} bytes, the tool {bytes}");
        }
        measured.list_ms.push(median(&lists));
        measured.list_floor_ms.push(median(&floors));
        measured.json_ms.push(median(&jsons));
    }
    drop((db, tool));
    let held = held(folder.path(), extent, &grown).await?;
    Ok(report(extent, grown.len(), &measured, &held, Machine::here(folder.path())?))
}

fn report(extent: Extent, teams: usize, measured: &Measured, held: &Held, machine: Machine) -> Report {
    let check = "whose child a team is";
    let checks = Compared::of(
        check,
        "µs",
        &measured.check_us,
        "the same statement by hand, compiled once",
        &measured.check_floor_us,
    );
    let list = "list_teams, everything below, as JSON";
    let by_hand = "the same rows read by hand and written as JSON";
    let lists = Compared::of(list, "ms", &measured.list_ms, by_hand, &measured.list_floor_ms);
    let without = "the same program without teams";
    let resident = Compared::of("resident with all teams at rest", "KiB", &held.with, without, &held.without);
    let each = |kib: f64| (kib - median(&held.without)) / teams as f64;
    Report {
        name: "tree".to_owned(),
        about: format!("{teams} teams, twelve deep"),
        pairs: extent.pairs,
        quick: extent.quick,
        goals: vec![
            Goal::at_most(&format!("{check}, p50"), median(&measured.check_us), CHECK_US, "µs"),
            Goal::at_most("list_teams ÷ floor", lists.ratio.median, RATIO, ""),
            Goal::at_most("each team at rest since the start", each(median(&held.with)), TEAM_KIB, "KiB"),
            Goal::at_most("each team at rest that has worked", each(held.worked), TEAM_KIB, "KiB"),
        ],
        also: vec![
            Figure::new("list_teams: its JSON alone, from values in memory", median(&measured.json_ms), "ms"),
            Figure::new("each team at rest that has worked twice", each(held.again), "KiB"),
        ],
        compared: vec![checks, lists, resident],
        machine,
    }
}
