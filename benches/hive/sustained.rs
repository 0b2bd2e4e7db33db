//! `sustained`: a thousand messages a second over two hundred topics, and how much sharing commits brings.
//!
//! On a platform that costs nothing, because the real ones let thirty or fifty messages a second through.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use channels::Content;

use crate::Extent;
use crate::house;
use crate::line::Line;
use crate::machine::Machine;
use crate::raw::Raw;
use crate::report::{Compared, Figure, Goal, Report};
use crate::spread::{median, percentile};
use crate::talk::{Heard, Talk};

/// How many topics are talked in.
const TOPICS: usize = 200;
/// Messages a second that are offered.
const RATE: u32 = 1_000;
/// Messages that may be open when the last is said: what comes in a tenth of a second. With more, it falls behind.
const BEHIND_MAX: f64 = 100.0;
/// Topics whose throughput is compared with that of one.
const MANY: usize = 64;

/// What one path came to, once for each pair.
#[derive(Default)]
struct Path {
    p50_ms: Vec<f64>,
    p99_ms: Vec<f64>,
    /// Answers a second with a message open in each of [`TOPICS`], of [`MANY`] and of one.
    all: Vec<f64>,
    many: Vec<f64>,
    one: Vec<f64>,
    lost: usize,
    doubled: usize,
    behind: Vec<f64>,
}

impl Path {
    async fn measure(&mut self, talk: &mut Talk, extent: Extent) {
        let lasting = extent.of(Duration::from_secs(2), Duration::from_millis(300));
        let offered = talk.at_rate(TOPICS, RATE, lasting).await;
        self.p50_ms.push(percentile(&offered.latencies_ms, 0.5));
        self.p99_ms.push(percentile(&offered.latencies_ms, 0.99));
        self.behind.push(offered.behind as f64);
        self.account(&offered);
        for (topics, throughput) in [(TOPICS, &mut self.all), (MANY, &mut self.many), (1, &mut self.one)] {
            let heard = talk.in_turns(topics, lasting).await;
            throughput.push(heard.per_second);
            self.lost += heard.lost;
            self.doubled += heard.doubled;
        }
    }

    fn account(&mut self, heard: &Heard) {
        self.lost += heard.lost;
        self.doubled += heard.doubled;
    }

    /// How much more many topics come to than one.
    fn sharing(&self) -> Vec<f64> {
        self.many.iter().zip(&self.one).map(|(many, one)| many / one).collect()
    }
}

/// Runs it.
pub async fn run(extent: Extent) -> Result<Report> {
    let folder = house::folder()?;
    let (line, posted) = Line::new();
    let hive = house::hive(folder.path(), line.clone()).await?;
    let mut our_talk = Talk::new(line, posted);
    let (line, posted) = Line::new();
    let raw = Raw::make(folder.path())?;
    let echo = tokio::spawn(echo(line.clone(), raw));
    let mut floor_talk = Talk::new(line, posted);
    let warm_up = extent.of(Duration::from_secs(1), Duration::from_millis(100));
    our_talk.in_turns(MANY, warm_up).await;
    floor_talk.in_turns(MANY, warm_up).await;
    let (mut ours, mut floor) = (Path::default(), Path::default());
    for _ in 0..extent.pairs {
        ours.measure(&mut our_talk, extent).await;
        floor.measure(&mut floor_talk, extent).await;
    }
    hive.stop().await;
    echo.abort();
    Ok(report(extent, &ours, &floor, Machine::here(folder.path())?))
}

/// The floor: every batch of messages is one commit, its answers are another, and nothing else is done.
async fn echo(line: Arc<Line>, raw: Raw) -> Result<()> {
    loop {
        let events = line.next().await;
        raw.commit_together(events.len())?;
        raw.commit_together(events.len())?;
        for event in events {
            if let Content::Text(said) = event.content {
                line.post(said.text);
            }
        }
    }
}

fn report(extent: Extent, ours: &Path, floor: &Path, machine: Machine) -> Report {
    let floor_is = "two shared raw commits for each batch of messages, one with a row in, one with a row out";
    let compared = |what: &str, unit: &str, pick: fn(&Path) -> &Vec<f64>| {
        Compared::of(what, unit, pick(ours), floor_is, pick(floor))
    };
    let tails: Vec<f64> = ours.p99_ms.iter().zip(&ours.p50_ms).map(|(p99, p50)| p99 / p50).collect();
    let behind = Goal::at_most("messages open when the last was said", median(&ours.behind), BEHIND_MAX, "");
    // Where messages queue up all of them wait, and the slowest are no longer slow beside the others.
    let tail = Goal::at_most("p99 ÷ p50 at that rate, which only counts while it keeps up", median(&tails), 5.0, "");
    let tail = Goal { met: tail.met && behind.met, ..tail };
    Report {
        name: "sustained".to_owned(),
        about: format!(
            "{RATE} messages a second over {TOPICS} topics, on a platform and with a model that cost nothing; \
             and what {MANY} topics come to beside one"
        ),
        pairs: extent.pairs,
        quick: extent.quick,
        compared: vec![
            compared("p50 at that rate", "ms", |path| &path.p50_ms),
            compared("p99 at that rate", "ms", |path| &path.p99_ms),
            compared("answers a second, 200 topics", "/s", |path| &path.all),
            compared("answers a second, 64 topics", "/s", |path| &path.many),
            compared("answers a second, 1 topic", "/s", |path| &path.one),
        ],
        goals: vec![
            Goal::at_least("answers a second over 200 topics", median(&ours.all), f64::from(RATE), "/s"),
            tail,
            behind,
            Goal::at_most("messages lost", ours.lost as f64, 0.0, ""),
            Goal::at_most("answers doubled", ours.doubled as f64, 0.0, ""),
            Goal::at_least("64 topics ÷ 1 topic, full sync", median(&ours.sharing()), 6.0, ""),
        ],
        also: vec![Figure::new("64 topics ÷ 1 topic on the floor", median(&floor.sharing()), "")],
        machine,
    }
}
