//! `turn-overhead`: from a platform event to the posted reply, everything durable, beside the commits alone.
//!
//! The program itself with the real Telegram adapter, over sockets; a model that answers at once. Messages come so
//! far apart that the platform's rates never make one wait: latency is measured, not throughput.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fakes::model::{ModelServer, Reply};
use fakes::telegram::Telegram;

use crate::Extent;
use crate::house;
use crate::machine::Machine;
use crate::proc::processor_time;
use crate::raw::{Commits, Level, Raw};
use crate::report::{Compared, Figure, Goal, Report};
use crate::spread::median;

/// From one message to the next: twice what Telegram's rate for a whole bot asks for.
const APART: Duration = Duration::from_millis(70);
/// After this nothing of a turn is going on any more, and its floor may be measured.
const SETTLED: Duration = Duration::from_millis(25);
/// How long one reply may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Commits of a turn that only have to survive a crash of the process: that a task is claimed. A restart does it again.
/// All others survive a power cut.
const PROCESS_LEVEL: usize = 1;
/// Commits before it: the message is taken in, and placed.
const BEFORE: usize = 2;

/// The parts that one message goes through.
struct Stage {
    telegram: Telegram,
    commits: Commits,
    /// When the model was asked last.
    asked: Arc<Mutex<Option<Instant>>>,
    people: usize,
}

/// One message and its reply.
#[derive(Clone, Copy)]
struct Turn {
    /// From the event to the posted reply.
    whole_ms: f64,
    /// From the event to the question that the model gets.
    asking_ms: f64,
    /// Commits until the reply was posted.
    commits: usize,
}

impl Stage {
    /// A new person says something in a conversation of their own, which needs no classifier.
    async fn turn(&mut self) -> Result<Turn> {
        self.people += 1;
        let user = self.telegram.user(&format!("Person{}", self.people));
        let chat = self.telegram.private(user);
        let before = self.commits.count()?;
        let said = Instant::now();
        self.telegram.say(chat, user, "How are things going over there?");
        let shown = self.telegram.wait_for(chat, PATIENCE, |shown| !shown.is_empty()).await;
        let commits = self.commits.count()?.wrapping_sub(before);
        let posted = shown[0].sent_at.context("a reply was sent some time")?;
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner).take();
        let asked = asked.context("the model was asked")?;
        Ok(Turn {
            whole_ms: (posted - said).as_secs_f64() * 1e3,
            asking_ms: (asked - said).as_secs_f64() * 1e3,
            commits: commits as usize,
        })
    }
}

/// The commits of a turn with nothing around them, in milliseconds.
async fn floor_ms(raw: &mut Raw, levels: &[Level]) -> Result<f64> {
    let begun = Instant::now();
    for level in levels {
        raw.commit(*level)?;
    }
    Ok(begun.elapsed().as_secs_f64() * 1e3)
}

fn levels(commits: usize) -> Vec<Level> {
    let in_process = BEFORE..BEFORE + PROCESS_LEVEL;
    (0..commits).map(|at| if in_process.contains(&at) { Level::Process } else { Level::Power }).collect()
}

/// Runs it.
pub async fn run(extent: Extent) -> Result<Report> {
    let folder = house::folder()?;
    let (telegram, model) = (Telegram::start().await, ModelServer::start().await);
    model.record(false);
    let asked: Arc<Mutex<Option<Instant>>> = Arc::default();
    let note = asked.clone();
    model.rule_by(move |_| {
        *note.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        Some(Reply::text("All is well here, thank you. What can I do for you today?"))
    });
    let setup = house::program(folder.path()).on_telegram(&telegram).with_anthropic(&model, "a-key");
    let product = setup.start();
    let process = product.pid().context("the hive runs")?.to_string();
    let mut raw = Raw::make(folder.path())?;
    let commits = Commits::of(&setup.run_dir().join("openhive.db"));
    house::polled(&telegram).await;
    telegram.log_requests(false);
    let mut stage = Stage { telegram, commits, asked, people: 0 };

    let mut counted = Vec::new();
    for _ in 0..extent.of(30, 5) {
        counted.push(stage.turn().await?.commits as f64);
        tokio::time::sleep(APART).await;
    }
    let path = levels(median(&counted).round() as usize);
    ensure!(path.len() > BEFORE + PROCESS_LEVEL, "a turn makes more than {} commits", path.len());
    let measured = measure(&mut stage, &mut raw, &path, &process, extent).await?;
    product.stop().await;
    Ok(report(extent, &measured, path.len(), Machine::here(folder.path())?))
}

#[derive(Default)]
struct Measured {
    ours_ms: Vec<f64>,
    floor_ms: Vec<f64>,
    asking_ms: Vec<f64>,
    nothing_us: Vec<f64>,
    processor_ms: f64,
    commits_in_all: f64,
}

/// Pairs of blocks: in each, message and floor take turns.
async fn measure(stage: &mut Stage, raw: &mut Raw, path: &[Level], process: &str, extent: Extent) -> Result<Measured> {
    let each = extent.of(40, 4);
    let mut measured = Measured::default();
    let (processor, commits) = (processor_time(process)?, stage.commits.count()?);
    for _ in 0..extent.pairs {
        let (mut ours, mut floor, mut asking) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..each {
            let next = Instant::now() + APART;
            let turn = stage.turn().await?;
            tokio::time::sleep(SETTLED).await;
            floor.push(floor_ms(raw, path).await?);
            let begun = Instant::now();
            raw.nothing()?;
            measured.nothing_us.push(begun.elapsed().as_secs_f64() * 1e6);
            ours.push(turn.whole_ms);
            asking.push(turn.asking_ms);
            tokio::time::sleep_until(next.into()).await;
        }
        measured.ours_ms.push(median(&ours));
        measured.floor_ms.push(median(&floor));
        measured.asking_ms.push(median(&asking));
    }
    let turns = (extent.pairs * each) as f64;
    measured.processor_ms = (processor_time(process)? - processor).as_secs_f64() * 1e3 / turns;
    measured.commits_in_all = f64::from(stage.commits.count()?.wrapping_sub(commits)) / turns;
    Ok(measured)
}

fn report(extent: Extent, measured: &Measured, commits: usize, machine: Machine) -> Report {
    let floor_is = format!("{commits} raw commits, {PROCESS_LEVEL} of them for a crash of the process alone");
    let turn = Compared::of("event in to reply posted", "ms", &measured.ours_ms, &floor_is, &measured.floor_ms);
    let (whole, asking) = (median(&measured.ours_ms), median(&measured.asking_ms));
    Report {
        name: "turn-overhead".to_owned(),
        about: "one message through the real program and its Telegram adapter over sockets, with a model without \
                latency, everything durable"
            .to_owned(),
        pairs: extent.pairs,
        quick: extent.quick,
        goals: vec![Goal::at_most("ours ÷ floor", turn.ratio.median, 2.0, "")],
        compared: vec![turn],
        also: vec![
            Figure::new("processor time of the hive for one message", measured.processor_ms, "ms"),
            Figure::new("of the turn: until the model is asked", asking, "ms"),
            Figure::new("of the turn: from there until the reply is posted", whole - asking, "ms"),
            Figure::new("one statement that does nothing", median(&measured.nothing_us), "µs"),
            Figure::new("commits for one message, with the one after the post", measured.commits_in_all, ""),
        ],
        machine,
    }
}
