//! `hive eval threads`: the placing of lines in topics for outsiders. The format is in `docs/doors.md`.

mod time;

use std::collections::BTreeMap;
use std::io::{BufRead, Write};

use anyhow::Result;
use org::threads::{Assigner, Judged, Line, Placement, Weights, agreement, irc, share};
use serde_json::{Map, Value, json};

use super::jsonl;
use time::Time;

/// How a log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One JSON object a line.
    Jsonl,
    /// Plain text: `[12:18] <nick> text`.
    Irc,
}

/// Reads one line of talk a line, writes its topic, and, where topics were marked, how well they agree.
///
/// Lines are placed when they are read: nothing that comes later changes an answer.
///
/// # Errors
/// Only where `input` cannot be read or `output` not written. A line that cannot be understood gets an error as its
/// answer and belongs to no topic.
pub fn threads(input: impl BufRead, format: Format, mut output: impl Write) -> Result<()> {
    let mut logs = Logs::default();
    jsonl::each_line(input, |number, line| {
        // Counted from 0, as reply links of such logs do.
        let number = number - 1;
        let said = match format {
            Format::Jsonl => jsonl::object(line).and_then(|object| Said::from_object(object, number)),
            Format::Irc => Ok(Said::from_irc(line, number)),
        };
        let answer =
            said.and_then(|said| logs.place(said)).unwrap_or_else(|error| json!({"id": number, "error": error}));
        jsonl::write(&mut output, &answer)
    })?;
    if let Some(summary) = logs.summary() {
        jsonl::write(&mut output, &json!({ "summary": summary }))?;
    }
    Ok(output.flush()?)
}

/// One line as it was read.
struct Said {
    id: Value,
    log: Option<String>,
    time: Option<Time>,
    sender: Option<String>,
    text: String,
    reply_to: Option<String>,
    mentions: Vec<String>,
    gold: Option<String>,
}

impl Said {
    fn from_irc(line: &str, number: usize) -> Said {
        let read = irc::read(line);
        Said {
            id: number.into(),
            log: None,
            time: read.minute_of_day.map(Time::OfDay),
            sender: read.sender.map(str::to_owned),
            text: read.text.to_owned(),
            reply_to: None,
            mentions: Vec::new(),
            gold: None,
        }
    }

    /// Other fields than these may be there: logs carry much that says nothing about topics.
    fn from_object(mut object: Map<String, Value>, number: usize) -> Result<Said, String> {
        let mut take = |names: &[&str]| {
            let found = names.iter().find(|name| object.contains_key(**name))?;
            let value = object.remove(*found).filter(|value| !value.is_null())?;
            Some(((*found).to_owned(), value))
        };
        let expected = |name: &str, value: &Value, expected: &str| {
            format!("{name}: found {}, expected {expected}", jsonl::kind_of(value))
        };
        let id = take(&["id"]);
        let (log, reply_to, gold) = (take(&["log"]), take(&["reply_to"]), take(&["topic"]));
        let sender = take(&["sender", "user", "author", "nick"]);
        let time = take(&["at_ms", "at", "time", "timestamp", "ts"]);
        let mentions = take(&["mentions"]);
        let text = match take(&["text", "message", "content"]) {
            Some((_, Value::String(text))) => text,
            Some((name, other)) => return Err(expected(&name, &other, "text")),
            None => return Err("text: is missing".to_owned()),
        };
        let word = |field: Option<(String, Value)>| match field {
            None => Ok(None),
            Some((name, value)) => {
                jsonl::id_text(&value).map(Some).ok_or_else(|| expected(&name, &value, "text or a whole number"))
            }
        };
        let time = match time {
            None => None,
            Some((name, value)) => Some(Time::read(&name, &value)?),
        };
        let mentions = match mentions {
            None => Vec::new(),
            Some((name, Value::Array(list))) => {
                let names: Option<Vec<String>> = list.iter().map(jsonl::id_text).collect();
                names.ok_or_else(|| format!("{name}: expected a list of names or ids"))?
            }
            Some((name, other)) => return Err(expected(&name, &other, "a list")),
        };
        let id = match id {
            None => number.into(),
            Some((_, value)) if jsonl::id_text(&value).is_some() => value,
            Some((name, other)) => return Err(expected(&name, &other, "text or a whole number")),
        };
        let (log, reply_to, gold, sender) = (word(log)?, word(reply_to)?, word(gold)?, word(sender)?);
        let mut said = Said { id, log, time, sender, text, reply_to, mentions, gold };
        said.take_apart();
        Ok(said)
    }

    /// A log whose lines are kept whole in `text`, time and name included, is taken apart here.
    fn take_apart(&mut self) {
        self.sender = self.sender.take().filter(|sender| !sender.trim().is_empty());
        if self.sender.is_some() {
            return;
        }
        let whole = std::mem::take(&mut self.text);
        let read = irc::read(&whole);
        self.sender = read.sender.map(str::to_owned);
        self.time = self.time.or(read.minute_of_day.map(Time::OfDay));
        self.text = read.text.to_owned();
    }
}

/// The logs of one input, each by itself.
#[derive(Default)]
struct Logs {
    by_name: BTreeMap<String, Log>,
    judged: Vec<Judged>,
    links: Links,
    answers: usize,
}

/// How many of the given answers stay within one marked topic.
#[derive(Default)]
struct Links {
    given: usize,
    good: usize,
}

struct Log {
    number: usize,
    assigner: Assigner,
    clock: irc::Clock,
    lines: BTreeMap<String, Placed>,
    gold: BTreeMap<String, usize>,
}

/// What is remembered of a line that was placed: its id as it came, and the topic that was marked.
struct Placed {
    id: Value,
    gold: Option<usize>,
}

impl Logs {
    fn place(&mut self, said: Said) -> Result<Value, String> {
        let name = said.log.clone().unwrap_or_default();
        let number = self.by_name.len();
        let log = self.by_name.entry(name).or_insert_with(|| Log {
            number,
            assigner: Assigner::new(Weights::learned()),
            clock: irc::Clock::default(),
            lines: BTreeMap::new(),
            gold: BTreeMap::new(),
        });
        let id = jsonl::id_text(&said.id).unwrap_or_default();
        if log.lines.contains_key(&id) {
            return Err(format!("id: `{}` was the id of an earlier line", base::text::cut(&id, 60)));
        }
        let mentions: Vec<&str> = said.mentions.iter().map(String::as_str).collect();
        let placement = log.assigner.place(&Line {
            id: &id,
            at_ms: match said.time {
                Some(Time::OfDay(minute)) => log.clock.at_ms(Some(minute)),
                Some(Time::Moment(at_ms)) => Some(at_ms),
                None => log.clock.at_ms(None),
            },
            sender: said.sender.as_deref(),
            text: &said.text,
            reply_to: said.reply_to.as_deref(),
            mentions: &mentions,
        });
        let answered = placement.answers.as_ref().and_then(|answers| log.lines.get(answers));
        let marked = log.gold.len();
        let gold = said.gold.map(|gold| *log.gold.entry(gold).or_insert(marked));
        if let Some(gold) = gold {
            self.judged.push(Judged { log: log.number, gold, given: placement.topic });
            if let Some(marked) = answered.and_then(|answered| answered.gold) {
                self.links.given += 1;
                self.links.good += usize::from(marked == gold);
            }
        }
        self.answers += 1;
        let answer = shown(&said.id, said.log.as_deref(), &placement, answered.map(|answered| &answered.id));
        log.lines.insert(id, Placed { id: said.id, gold });
        Ok(answer)
    }

    /// How well the given topics agree with the marked ones; `None` if none was marked.
    fn summary(&self) -> Option<Value> {
        if self.judged.is_empty() {
            return None;
        }
        let figures = agreement(&self.judged);
        Some(json!({
            "lines": self.answers,
            "judged": figures.lines,
            "logs": self.by_name.len(),
            "variation_of_information": rounded(figures.variation_of_information),
            "one_to_one": rounded(figures.one_to_one),
            "exact_precision": rounded(figures.exact_precision),
            "exact_recall": rounded(figures.exact_recall),
            "exact_f1": rounded(figures.exact_f1),
            "pair_precision": rounded(figures.pair_precision),
            "pair_recall": rounded(figures.pair_recall),
            "link_precision": rounded(share(self.links.good, self.links.given)),
        }))
    }
}

fn shown(id: &Value, log: Option<&str>, placement: &Placement, answered: Option<&Value>) -> Value {
    let mut answer = json!({
        "id": id,
        "topic": format!("t{}", placement.topic + 1),
        "reply_to": answered,
        "confidence": rounded(placement.confidence),
    });
    if let (Some(log), Value::Object(fields)) = (log, &mut answer) {
        fields.insert("log".to_owned(), log.into());
    }
    answer
}

/// Four digits: more would pretend to a precision that the model does not have.
fn rounded(figure: f64) -> f64 {
    (figure * 10_000.0).round() / 10_000.0
}

/// Scores memory on a collection, in a database that is thrown away, and prints JSON.
///
/// # Errors
/// If the collection cannot be read, or holds no question that has an answer.
pub fn memory(folder: &std::path::Path) -> Result<std::process::ExitCode> {
    let collection = org::memory::eval::read(folder)?;
    let scratch = std::env::temp_dir().join(format!("hive-eval-{}", std::process::id()));
    std::fs::create_dir_all(&scratch)?;
    let report = super::block_on(async {
        let db = store::Db::open(&scratch.join("memory.db")).await?;
        org::memory::eval::run(&collection, &db, &org::memory::Library::embedded()).await
    });
    std::fs::remove_dir_all(&scratch)?;
    super::print(&serde_json::to_string_pretty(&report?)?)?;
    Ok(std::process::ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests;
