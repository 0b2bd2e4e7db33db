//! `dispatch`: a call of a tool that does nothing through all its steps, beside the commits that it makes.
//!
//! The product's own executor on a database file: the call is validated, permitted, counted among those of its turn,
//! journaled, admitted to its team, run, scrubbed, and journaled and audited again.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use base::{Clock, Moment, RunId, Scrub, Secret, Stop, TeamName};
use channels::{ConversationId, Kind, SenderId};
use openhive::toolkit::{self, Means};
use org::trust::Policy;
use rusqlite::{Connection, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::tasks::Origin;
use store::topics::NamedBy;
use store::{Conn, Db, calls, runs, tasks, topics};
use tools::{
    Asked, Availability, Call, Catalogue, Domain, Effect, Executor, Grant, Ops, Partition, Provenance, Source, Spec,
    Tool, ToolError,
};

use crate::Extent;
use crate::house;
use crate::machine::Machine;
use crate::raw::{self, Commits, Level, Raw};
use crate::report::{Compared, Figure, Goal, Report};
use crate::spread::{median, percentile};

/// Calls of one turn, each in a step of its own: as many as a turn may have steps.
const CALLS: i64 = 50;
/// Commits of a call: that it has started, and what came of it.
const COMMITS: u32 = 2;
/// How many secrets the hive knows. Every argument and every result is searched for all of their forms.
const SECRETS: usize = 20;

/// A tool that does nothing.
struct Nothing;

/// What it is told, which differs from call to call: the same call three times in one turn is refused.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Told {
    /// Which call it is.
    number: i64,
    /// What it is about.
    about: String,
}

#[derive(Serialize, JsonSchema)]
struct Answer {
    /// Which call it was.
    number: i64,
    /// How long what it is about is.
    length: usize,
}

impl Tool for Nothing {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("nothing"),
        aliases: &[],
        about: Cow::Borrowed("Does nothing."),
        domain: Domain::Admin,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Write,
        ops: Ops::Daily,
        effect: Effect::Once,
        destructive: false,
        timeout: Duration::from_secs(30),
        max_result_bytes: 10_000,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = Told;
    type Output = Answer;

    async fn run(&self, _: &Call, args: Told) -> Result<Answer, ToolError> {
        Ok(Answer { number: args.number, length: args.about.len() })
    }
}

/// A hive's database with turns in it.
struct House {
    executor: Executor,
    commits: Commits,
    turns: i64,
}

impl House {
    async fn open(folder: &Path) -> Result<House> {
        let run_dir = folder.join("hive");
        std::fs::create_dir_all(&run_dir)?;
        let path = run_dir.join("openhive.db");
        let (db, scrub) = (Db::open(&path).await?, Scrub::new());
        (0..SECRETS).for_each(|at| scrub.learn(&Secret::new(format!("sk-{at:02}-Zq8Wm2Rt5Yv1Xc4Nb7Lk0Jh3Gf6Ds9Pa"))));
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
        let mut executor = toolkit::build(&means).await?.executor;
        executor.catalogue = Arc::new(Catalogue::new(vec![Arc::new(Nothing)])?);
        Ok(House { executor, commits: Commits::of(&path), turns: 0 })
    }

    /// A turn that a message of somebody's began, in a conversation of its own.
    async fn turn(&mut self) -> Result<Call> {
        self.turns += 1;
        let (number, now) = (self.turns, Clock::Wall.now());
        let (run, origin) = self.executor.db.tx("begin a turn", async |conn| begin(conn, number, now).await).await?;
        let grant = Arc::new(Grant::main(false));
        Ok(Call {
            team: TeamName::main(),
            grant,
            origin,
            run,
            step: 0,
            call_id: "".into(),
            stop: Stop::new(),
            leaving: Stop::new(),
            depth: 0,
            slot: None,
        })
    }

    /// One call, in microseconds.
    async fn call(&self, turn: &Call, step: i64) -> Result<f64> {
        let call = Call { step, ..turn.clone() };
        let asked = vec![asked(step)];
        let begun = Instant::now();
        let done = self.executor.run_calls(&call, asked).await?;
        let took = begun.elapsed();
        ensure!(done.len() == 1 && !done[0].is_error, "the call failed: {done:?}");
        Ok(took.as_secs_f64() * 1e6)
    }
}

async fn begin(conn: &mut Conn, number: i64, now: Moment) -> Result<(RunId, Origin)> {
    let room = ConversationId::new(Kind::Telegram, number);
    let topic = topics::open(conn, &room, "Nothing", NamedBy::Code, now).await?;
    let sender = SenderId::new(Kind::Telegram, number);
    let origin = Origin { conversation: Some(room), topic: Some(topic), sender: Some(sender) };
    tasks::enqueue_message(conn, &origin, topic, now).await?;
    let task = tasks::claim(conn, 1, now, now + 600_000).await?.pop().context("the task can be claimed")?;
    Ok((runs::enter(conn, &task, Some(topic), now).await?.id, origin))
}

fn asked(number: i64) -> Asked {
    let input = json!({ "number": number, "about": "a few words, as many as most arguments have, and some more" });
    Asked { call_id: call_id(number), wire_name: "nothing".to_owned(), input: Ok(input) }
}

fn call_id(number: i64) -> String {
    format!("toolu_01A09q90qw90lq9178{number:02}")
}

/// The same rows by hand: the hive's tables in a file of its own, and a connection with the hive's pragmas.
struct ByHand {
    conn: Connection,
    db: Db,
    turns: i64,
}

impl ByHand {
    async fn open(folder: &Path) -> Result<ByHand> {
        let path = folder.join("by-hand.db");
        let db = Db::open(&path).await?;
        Ok(ByHand { conn: raw::connect(&path)?, db, turns: 0 })
    }

    async fn turn(&mut self) -> Result<RunId> {
        self.turns += 1;
        let (number, now) = (self.turns, Clock::Wall.now());
        Ok(self.db.tx("begin a turn", async |conn| begin(conn, number, now).await).await?.0)
    }

    /// The rows of one call in as many transactions as the executor makes, in microseconds.
    fn call(&self, run: RunId, step: i64) -> Result<f64> {
        let (id, digest) = (call_id(step), "0".repeat(64));
        let arguments = asked(step).input.map_err(anyhow::Error::msg)?.to_string();
        let result = json!({ "number": step, "length": 58 }).to_string();
        let now = Clock::Wall.now();
        let begun = Instant::now();
        self.conn
            .prepare_cached(
                "INSERT INTO tool_calls (run, step, call_id, tool, arguments, state, started_at)
                 VALUES (?1, ?2, ?3, 'nothing', ?4, 'started', ?5)",
            )?
            .execute(params![run.0, step, id, arguments, now])?;
        self.conn.prepare_cached("BEGIN IMMEDIATE")?.raw_execute()?;
        self.conn
            .prepare_cached(
                "UPDATE tool_calls SET state = 'finished', is_error = 0, result = ?4, finished_at = ?5
                 WHERE run = ?1 AND step = ?2 AND call_id = ?3",
            )?
            .execute(params![run.0, step, id, result, now])?;
        self.conn
            .prepare_cached(
                "INSERT INTO audit (at, team, tool, sender, run, step, call_id, arguments_digest, decision, reason,
                   outcome, duration_ms, previous, hash)
                 VALUES (?1, 'main', 'nothing', 'telegram:1', ?2, ?3, ?4, ?5, 'allowed', '', 'done', 0, ?5, ?5)",
            )?
            .execute(params![now, run.0, step, id, digest])?;
        self.conn.prepare_cached("COMMIT")?.raw_execute()?;
        Ok(begun.elapsed().as_secs_f64() * 1e6)
    }
}

/// So many commits of one row each, in microseconds.
fn plain(raw: &mut Raw) -> Result<f64> {
    let begun = Instant::now();
    for _ in 0..COMMITS {
        raw.commit(Level::Power)?;
    }
    Ok(begun.elapsed().as_secs_f64() * 1e6)
}

#[derive(Default)]
struct Measured {
    ours_us: Vec<f64>,
    floor_us: Vec<f64>,
    plain_us: Vec<f64>,
    all_us: Vec<f64>,
}

/// Runs it.
pub async fn run(extent: Extent) -> Result<Report> {
    let folder = house::folder()?;
    let mut house = House::open(folder.path()).await?;
    let (mut hand, mut raw) = (ByHand::open(folder.path()).await?, Raw::make(folder.path())?);
    // What the product logs by default, to nobody.
    let log = tracing_subscriber::fmt().with_max_level(tracing::Level::INFO).with_writer(std::io::sink).finish();
    let _logs = tracing::subscriber::set_default(log);
    // Statements are compiled at their first use, and files grow.
    pair(&mut house, &mut hand, &mut raw, 1).await?;
    let mut measured = Measured::default();
    for _ in 0..extent.pairs {
        let one = pair(&mut house, &mut hand, &mut raw, extent.of(10, 1)).await?;
        measured.ours_us.push(median(&one.ours_us));
        measured.floor_us.push(median(&one.floor_us));
        measured.plain_us.push(median(&one.plain_us));
        measured.all_us.extend(one.ours_us);
    }
    Ok(report(extent, &measured, Machine::here(folder.path())?))
}

/// Turns in which a call, its rows by hand and plain commits follow each other.
async fn pair(house: &mut House, hand: &mut ByHand, raw: &mut Raw, turns: usize) -> Result<Measured> {
    let mut measured = Measured::default();
    for _ in 0..turns {
        let (turn, run) = (house.turn().await?, hand.turn().await?);
        let before = house.commits.count()?;
        for step in 1..=CALLS {
            measured.ours_us.push(house.call(&turn, step).await?);
            measured.floor_us.push(hand.call(run, step)?);
            measured.plain_us.push(plain(raw)?);
        }
        let commits = house.commits.count()?.wrapping_sub(before);
        ensure!(i64::from(commits) == i64::from(COMMITS) * CALLS, "{commits} commits for {CALLS} calls");
        let rows = house.executor.db.read(async |conn| calls::of_run(conn, turn.run).await).await?;
        ensure!(rows.iter().filter(|row| row.state == calls::State::Finished).count() as i64 == CALLS, "a row lacks");
    }
    Ok(measured)
}

fn report(extent: Extent, measured: &Measured, machine: Machine) -> Report {
    let floor_is = format!("its rows by hand with plain SQLite: {COMMITS} commits that survive a power cut");
    let whole = Compared::of("one call", "µs", &measured.ours_us, &floor_is, &measured.floor_us);
    let (ours, floor) = (median(&measured.ours_us), median(&measured.floor_us));
    Report {
        name: "dispatch".to_owned(),
        about: "a call of a tool that does nothing: validated, permitted, journaled, admitted, run, scrubbed, audited"
            .to_owned(),
        pairs: extent.pairs,
        quick: extent.quick,
        goals: vec![Goal::at_most("ours ÷ floor", whole.ratio.median, 2.0, "")],
        compared: vec![whole],
        also: vec![
            Figure::new("of one call: beside its commits", ours - floor, "µs"),
            Figure::new("one call, the slowest of a hundred", percentile(&measured.all_us, 0.99), "µs"),
            Figure::new("as many commits of one row each", median(&measured.plain_us), "µs"),
            Figure::new("ours ÷ as many commits of one row each", ours / median(&measured.plain_us), ""),
        ],
        machine,
    }
}
