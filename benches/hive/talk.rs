//! People who talk over a [`Line`]: who says what when, and how long each answer takes.
//!
//! Every message carries a number, `#17`, and the model repeats what it was told, so that every answer shows what it
//! answers, also where one turn takes several messages in.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::line::{Line, Posted};

/// How long nothing may come before what is open is lost.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often the one who talks at a rate looks at the clock.
const TICK: Duration = Duration::from_millis(1);
/// Messages in one topic, then the talk goes on in a new one: every measurement sees topics of the same length.
const TALK: u64 = 20;

/// A talk that goes on from one measurement to the next.
pub struct Talk {
    line: Arc<Line>,
    posted: mpsc::UnboundedReceiver<Posted>,
    said: u64,
    /// The next topic that nobody has talked in.
    fresh: u64,
    open: HashMap<u64, Open>,
}

/// A message that is not answered yet.
struct Open {
    lane: usize,
    due: Instant,
}

/// Where a lane talks now.
#[derive(Clone, Copy)]
struct Lane {
    topic: u64,
    said: u64,
}

/// What came of one measurement.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    /// From the moment a message was due until its answer was posted, in milliseconds.
    pub latencies_ms: Vec<f64>,
    /// Answers that were posted in each second of the measurement.
    pub per_second: f64,
    /// Messages that nothing answered.
    pub lost: usize,
    /// Answers to what was answered already.
    pub doubled: usize,
    /// Messages that were not answered yet when the last was said.
    pub behind: usize,
}

impl Talk {
    /// A talk over `line`, in topics that nobody has talked in.
    pub fn new(line: Arc<Line>, posted: mpsc::UnboundedReceiver<Posted>) -> Talk {
        Talk { line, posted, said: 0, fresh: 1, open: HashMap::new() }
    }

    /// So many messages a second over so many topics, whether or not they are answered: an open loop. A message is
    /// due by the clock, so a hive that holds up the one who talks does not hide what it costs.
    pub async fn at_rate(&mut self, topics: usize, per_second: u32, lasting: Duration) -> Heard {
        let mut lanes = self.lanes(topics);
        let mut heard = Heard::default();
        let count = u64::from(per_second) * lasting.as_millis() as u64 / 1_000;
        let gap = Duration::from_secs(1) / per_second;
        let begun = Instant::now();
        let mut tick = tokio::time::interval(TICK);
        let mut sent = 0;
        while sent < count {
            tokio::select! {
                biased;
                _ = tick.tick() => {
                    while sent < count && begun + gap * sent as u32 <= Instant::now() {
                        let lane = sent as usize % topics;
                        self.say(&mut lanes, lane, begun + gap * sent as u32);
                        sent += 1;
                    }
                }
                posted = self.posted.recv() => {
                    self.hear(posted, &mut heard);
                }
            }
        }
        heard.behind = self.open.len();
        self.rest(&mut heard).await;
        heard.per_second = heard.latencies_ms.len() as f64 / begun.elapsed().as_secs_f64();
        heard
    }

    /// In each of so many topics one message after the other, each said when the one before is answered.
    pub async fn in_turns(&mut self, topics: usize, lasting: Duration) -> Heard {
        let mut lanes = self.lanes(topics);
        let mut heard = Heard::default();
        let begun = Instant::now();
        (0..topics).for_each(|lane| self.say(&mut lanes, lane, begun));
        let mut in_time = 0;
        while !self.open.is_empty() {
            let Ok(posted) = tokio::time::timeout(PATIENCE, self.posted.recv()).await else { break };
            let answered = self.hear(posted, &mut heard);
            if begun.elapsed() < lasting {
                in_time += answered.len();
                answered.into_iter().for_each(|lane| self.say(&mut lanes, lane, Instant::now()));
            }
        }
        self.rest(&mut heard).await;
        heard.per_second = in_time as f64 / lasting.as_secs_f64();
        heard
    }

    /// One message in each of these topics, some at once.
    pub async fn once_in_each(&mut self, topics: Range<u64>, at_once: usize) -> Heard {
        let mut heard = Heard::default();
        let mut lanes: Vec<Lane> = topics.map(|topic| Lane { topic, said: 0 }).collect();
        let count = lanes.len();
        let mut next = at_once.min(count);
        (0..next).for_each(|lane| self.say(&mut lanes, lane, Instant::now()));
        while !self.open.is_empty() {
            let Ok(posted) = tokio::time::timeout(PATIENCE, self.posted.recv()).await else { break };
            for _ in self.hear(posted, &mut heard) {
                if next < count {
                    self.say(&mut lanes, next, Instant::now());
                    next += 1;
                }
            }
        }
        self.rest(&mut heard).await;
        heard
    }

    fn lanes(&mut self, count: usize) -> Vec<Lane> {
        (0..count).map(|_| Lane { topic: self.fresh_topic(), said: 0 }).collect()
    }

    fn fresh_topic(&mut self) -> u64 {
        self.fresh += 1;
        self.fresh - 1
    }

    fn say(&mut self, lanes: &mut [Lane], lane: usize, due: Instant) {
        if lanes[lane].said >= TALK {
            lanes[lane] = Lane { topic: self.fresh_topic(), said: 0 };
        }
        lanes[lane].said += 1;
        self.open.insert(self.said, Open { lane, due });
        self.line.say(lanes[lane].topic, format!("#{} What do you make of this?", self.said));
        self.said += 1;
    }

    /// Takes a reply in. The lanes whose messages it answers.
    fn hear(&mut self, posted: Option<Posted>, heard: &mut Heard) -> Vec<usize> {
        let posted = posted.expect("the line lives as long as the talk");
        let mut lanes = Vec::new();
        for number in numbers(&posted.text) {
            match self.open.remove(&number) {
                Some(Open { lane, due }) => {
                    heard.latencies_ms.push(posted.at.saturating_duration_since(due).as_secs_f64() * 1e3);
                    lanes.push(lane);
                }
                None => heard.doubled += 1,
            }
        }
        lanes
    }

    /// Waits for what is still open; what does not come is lost.
    async fn rest(&mut self, heard: &mut Heard) {
        while !self.open.is_empty() {
            let Ok(posted) = tokio::time::timeout(PATIENCE, self.posted.recv()).await else { break };
            self.hear(posted, heard);
        }
        heard.lost = self.open.len();
        self.open.clear();
    }
}

/// The numbers after each `#`.
fn numbers(text: &str) -> impl Iterator<Item = u64> {
    text.split('#').skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse().ok()
    })
}
