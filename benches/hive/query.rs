//! `query`: five child teams are asked at once, beside the slowest of them; and what is left when the asker stops.
//!
//! The product's own executor, its tool `query_teams` and its rows in a database file. The sessions of the children
//! are stood in for by waits of known length: what is measured is everything that the hive does around them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use base::{Clock, Moment, RunId, Scrub, Stop, TeamName};
use channels::{ConversationId, Kind, SenderId};
use futures::FutureExt;
use futures::future::BoxFuture;
use openhive::toolkit::{self, Means};
use org::trust::Policy;
use rusqlite::types::Value as Cell;
use serde_json::json;
use store::tasks::{self, New, Origin};
use store::teams::{self, State};
use store::topics::NamedBy;
use store::{Conn, Db, runs, topics};
use tools::delegation::{Question, Sessions, Unanswered};
use tools::{Asked, Call, Done, Executor, Grant};

use crate::Extent;
use crate::house;
use crate::machine::Machine;
use crate::raw;
use crate::report::{Compared, Figure, Goal, Report};
use crate::spread::{median, percentile};

/// The children, and how long each takes to answer: the slowest is not the last.
const CHILDREN: [(&str, u64); 5] = [("one", 4), ("two", 8), ("three", 16), ("four", 12), ("five", 6)];
/// Tasks that wait in each child's queue.
const QUEUED: usize = 20;

/// Sessions that wait and answer, and remember how long each took.
struct Waits {
    took: Mutex<Vec<Duration>>,
}

impl Sessions for Waits {
    fn ask<'a>(&'a self, _: &'a Call, question: Question) -> BoxFuture<'a, Result<String, Unanswered>> {
        async move {
            let begun = Instant::now();
            let name = question.whom.to_string();
            let wait = CHILDREN.iter().find(|(child, _)| *child == name).map_or(0, |(_, wait)| *wait);
            tokio::time::sleep(Duration::from_millis(wait)).await;
            self.took.lock().unwrap_or_else(PoisonError::into_inner).push(begun.elapsed());
            Ok(format!("Everything that {name} looks after is as it should be; nothing waits."))
        }
        .boxed()
    }
}

/// A hive's database with five children of the main team in it.
struct House {
    executor: Executor,
    waits: Arc<Waits>,
    /// Keeps the sessions: the line to them does not.
    _sessions: Arc<dyn Sessions>,
    path: PathBuf,
    turns: i64,
}

impl House {
    async fn open(folder: &Path) -> Result<House> {
        let run_dir = folder.join("hive");
        std::fs::create_dir_all(&run_dir)?;
        let path = run_dir.join("openhive.db");
        let (db, scrub) = (Db::open(&path).await?, Scrub::new());
        let (policy, team) = (Arc::new(Policy::default()), openhive::config::Team::default());
        let means = Means {
            db: &db,
            clock: Clock::Wall,
            run_dir: &run_dir,
            hidden: Vec::new(),
            policy: &policy,
            scrub: &scrub,
            team: &team,
            vault_key: None,
            profiles: Vec::new(),
            delegation: openhive::config::Delegation::default(),
            library: org::memory::Library::embedded(),
        };
        let executor = toolkit::build(&means).await?.executor;
        db.tx("make teams with queues", async |conn| grow(conn, Clock::Wall.now()).await).await?;
        // As the sessions of the first questions do, which are stood in for.
        for (name, _) in CHILDREN {
            executor.gates.fit(&name.parse()?, tools::Gates::DAILY_OPS_MAX);
        }
        let waits = Arc::new(Waits { took: Mutex::default() });
        let sessions: Arc<dyn Sessions> = waits.clone();
        executor.line.lead_to(&sessions);
        Ok(House { executor, waits, _sessions: sessions, path, turns: 0 })
    }

    /// A turn that a message of somebody's began, in a conversation of its own.
    async fn turn(&mut self) -> Result<Call> {
        self.turns += 1;
        let (number, now) = (self.turns, Clock::Wall.now());
        let (run, origin) = self.executor.db.tx("begin a turn", async |conn| begin(conn, number, now).await).await?;
        Ok(Call {
            team: TeamName::main(),
            grant: Arc::new(Grant::main(false)),
            origin,
            run,
            step: 1,
            call_id: "".into(),
            stop: Stop::new(),
            leaving: Stop::new(),
            depth: 0,
            slot: None,
        })
    }

    async fn ask(&self, call: &Call) -> Result<Done> {
        self.executor.run_calls(call, vec![asked()]).await?.pop().context("a call has a result")
    }

    /// One call: how long it took, and the slowest of those it asked, in milliseconds.
    async fn call(&mut self) -> Result<(f64, f64)> {
        let call = self.turn().await?;
        let begun = Instant::now();
        let done = self.ask(&call).await?;
        let took = begun.elapsed();
        let waits = std::mem::take(&mut *self.waits.took.lock().unwrap_or_else(PoisonError::into_inner));
        let whole = !done.is_error && done.content.matches("\"ok\":true").count() == CHILDREN.len();
        ensure!(whole && waits.len() == CHILDREN.len(), "a child was not asked: {}", done.content);
        let slowest = waits.into_iter().max().unwrap_or_default();
        Ok((took.as_secs_f64() * 1e3, slowest.as_secs_f64() * 1e3))
    }

    /// A call whose turn stops while the children work: how long until it has its result, in milliseconds, and how many
    /// rows of the queues differ from before.
    async fn abort(&mut self) -> Result<(f64, usize)> {
        let call = self.turn().await?;
        let before = self.queues()?;
        ensure!(before.len() >= QUEUED * CHILDREN.len(), "{} rows", before.len());
        let stopped = async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            call.stop.cancel();
            Instant::now()
        };
        let (done, stopped) = tokio::join!(self.ask(&call), stopped);
        let took = stopped.elapsed();
        ensure!(done?.is_error, "it was not stopped");
        self.waits.took.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let after = self.queues()?;
        let changed = before.iter().filter(|row| !after.contains(row)).count();
        Ok((took.as_secs_f64() * 1e3, changed + after.len().abs_diff(before.len())))
    }

    /// Every column of every task of a child.
    fn queues(&self) -> Result<Vec<Vec<Cell>>> {
        let conn = raw::connect(&self.path)?;
        let mut statement = conn.prepare("SELECT * FROM tasks WHERE team <> 'main' ORDER BY id")?;
        let columns = statement.column_count();
        let rows = statement.query_map([], |row| (0..columns).map(|at| row.get::<_, Cell>(at)).collect())?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}

async fn grow(conn: &mut Conn, now: Moment) -> Result<()> {
    for (name, _) in CHILDREN {
        let child: TeamName = name.parse()?;
        teams::add(conn, &child, &TeamName::main(), "", State::Ready, now).await?;
        for number in 0..QUEUED {
            let (body, origin) = (format!("Task {number}."), Origin::default());
            tasks::give(conn, &New::of(&child, tasks::Kind::Delegate, &body, &origin), now).await?;
        }
    }
    Ok(())
}

async fn begin(conn: &mut Conn, number: i64, now: Moment) -> Result<(RunId, Origin)> {
    let room = ConversationId::new(Kind::Telegram, number);
    let topic = topics::open(conn, &room, "Teams", NamedBy::Code, now).await?;
    let origin =
        Origin { conversation: Some(room), topic: Some(topic), sender: Some(SenderId::new(Kind::Telegram, 1)) };
    // More urgent than what the children have to do, so that it is what is claimed.
    tasks::enqueue_message(conn, &origin, topic, now).await?;
    let task = tasks::claim(conn, 1, now, now + 600_000).await?.pop().context("the task can be claimed")?;
    ensure!(task.team.is_main(), "a task of {} was claimed", task.team);
    Ok((runs::enter(conn, &task, Some(topic), now).await?.id, origin))
}

fn asked() -> Asked {
    let targets: Vec<_> = CHILDREN.iter().map(|(name, _)| json!({ "team": name, "query": "How are you?" })).collect();
    let input = json!({ "targets": targets });
    Asked { call_id: "toolu_01A09q90qw90lq917835lq9".to_owned(), wire_name: "query_teams".to_owned(), input: Ok(input) }
}

#[derive(Default)]
struct Measured {
    wall_ms: Vec<f64>,
    slowest_ms: Vec<f64>,
    beside_ms: Vec<f64>,
    abort_ms: Vec<f64>,
    changed: usize,
}

/// Runs it.
pub async fn run(extent: Extent) -> Result<Report> {
    let folder = house::folder()?;
    let mut house = House::open(folder.path()).await?;
    // Statements are compiled at their first use.
    house.call().await?;
    let mut measured = Measured::default();
    for _ in 0..extent.pairs {
        let (mut wall, mut slowest) = (Vec::new(), Vec::new());
        for _ in 0..extent.of(150, 10) {
            let (took, waited) = house.call().await?;
            wall.push(took);
            slowest.push(waited);
            measured.beside_ms.push(took - waited);
        }
        measured.wall_ms.push(median(&wall));
        measured.slowest_ms.push(median(&slowest));
        for _ in 0..extent.of(10, 2) {
            let (took, changed) = house.abort().await?;
            measured.abort_ms.push(took);
            measured.changed += changed;
        }
    }
    Ok(report(extent, &measured, Machine::here(folder.path())?))
}

fn report(extent: Extent, measured: &Measured, machine: Machine) -> Report {
    let floor_is = "the slowest of the five";
    Report {
        name: "query".to_owned(),
        about: "five child teams asked at once: the rules, the slots, the events and the journal around their answers"
            .to_owned(),
        pairs: extent.pairs,
        quick: extent.quick,
        compared: vec![Compared::of("one call", "ms", &measured.wall_ms, floor_is, &measured.slowest_ms)],
        goals: vec![
            Goal::at_most("one call less its slowest child, p99", percentile(&measured.beside_ms, 0.99), 2.0, "ms"),
            Goal::at_most("rows of the children's queues that a stop changed", measured.changed as f64, 0.0, ""),
        ],
        also: vec![
            Figure::new("one call less its slowest child, p50", median(&measured.beside_ms), "ms"),
            Figure::new(
                "from a stop to the call's result, the slowest of a hundred",
                percentile(&measured.abort_ms, 0.99),
                "ms",
            ),
        ],
        machine,
    }
}
