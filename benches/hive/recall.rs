//! `recall`: `memory_search` among 100,000 chunks, beside a scan of their vectors and SQLite's full-text query alone.

mod language;

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use base::{Clock, RunId, Stop, TeamName};
use org::memory::{Kind, Library};
use rusqlite::Connection;
use store::tasks::Origin;
use store::{Conn, Db};
use tools::memory::{MemorySearch, MemorySearchArgs};
use tools::{Call, Grant, Tool};

use crate::Extent;
use crate::house;
use crate::machine::Machine;
use crate::proc::resident_kib;
use crate::raw;
use crate::report::{Compared, Figure, Goal, Report};
use crate::spread::{median, percentile};
use language::{CLASSES, Language};

/// Chunks that are searched; each is an entry of its own.
const CHUNKS: usize = 100_000;
/// How many entries are saved in one transaction.
const BATCH: usize = 1_000;
/// What our median may be of the floor's.
const RATIO: f64 = 1.5;
/// What 99 of 100 searches may take, in milliseconds.
const P99_MS: f64 = 40.0;
/// How many results are wanted: what the tool gives where nobody says how many.
const RESULTS: u32 = 5;

/// What the floor needs: the vectors as the rows have them, and the index, on a connection like the hive's readers.
struct Floor {
    vectors: Vec<f32>,
    dimension: usize,
    conn: Connection,
}

impl Floor {
    fn open(path: &Path) -> Result<Floor> {
        let conn = raw::connect(path)?;
        let mut vectors = Vec::new();
        let mut statement = conn.prepare("SELECT vector FROM memory_chunks ORDER BY id")?;
        let mut rows = statement.query(())?;
        while let Some(row) = rows.next()? {
            let bytes = row.get_ref(0)?.as_blob().context("every chunk has a vector")?;
            vectors.extend(bytes.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)));
        }
        drop(rows);
        let chunks: i64 = conn.query_row("SELECT count(*) FROM memory_chunks", (), |row| row.get(0))?;
        let chunks = usize::try_from(chunks)?;
        let dimension = vectors.len() / chunks.max(1);
        ensure!(dimension > 0 && vectors.len() == chunks * dimension, "every chunk has a vector");
        drop(statement);
        Ok(Floor { vectors, dimension, conn })
    }

    /// The best product of any row with a vector.
    fn scan(&self, question: &[f32]) -> f32 {
        let product = |row: &[f32]| {
            // Several sums side by side: one alone would wait for itself, not for the memory.
            let mut sums = [0.0_f32; 16];
            for (row, question) in row.as_chunks::<16>().0.iter().zip(question.as_chunks::<16>().0) {
                for at in 0..16 {
                    sums[at] += row[at] * question[at];
                }
            }
            sums.iter().sum::<f32>()
        };
        self.vectors.chunks_exact(self.dimension).map(product).fold(f32::MIN, f32::max)
    }

    /// SQLite's own ranking for any of the words.
    fn full_text(&self, words: &[&str]) -> Result<usize> {
        let expression: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        let sql = "SELECT rowid FROM memory_fts WHERE memory_fts MATCH ?1 ORDER BY rank LIMIT ?2";
        let mut rows = self.conn.prepare_cached(sql)?;
        let found: rusqlite::Result<Vec<i64>> =
            rows.query_map((expression.join(" OR "), RESULTS), |row| row.get(0))?.collect();
        Ok(found?.len())
    }
}

/// What was measured of one class of questions, in milliseconds.
#[derive(Default)]
struct Measured {
    /// The median of each pair.
    ours: Vec<f64>,
    floor: Vec<f64>,
    scan: Vec<f64>,
    /// Every search.
    all: Vec<f64>,
}

/// Runs it.
pub async fn run(extent: Extent) -> Result<Report> {
    let folder = house::folder()?;
    let path = folder.path().join("openhive.db");
    let language = Language::new();
    let chunks = extent.of(CHUNKS, 2_000);
    let began = Instant::now();
    fill(&path, &language, chunks).await?;
    let filled = began.elapsed();

    // As after a start: nothing is in memory but what the system keeps of the file.
    let db = Db::open(&path).await?;
    let library = Library::embedded();
    let tool = MemorySearch { db: db.clone(), clock: Clock::Wall, library: library.clone() };
    let before_kib = resident_kib("self")?;
    let began = Instant::now();
    search(&tool, &language.questions(CLASSES[0])[0].text).await?;
    let first_ms = began.elapsed().as_secs_f64() * 1e3;
    let held_mb = (resident_kib("self")? - before_kib) * 1_024.0 / 1e6;

    let floor = Floor::open(&path)?;
    let mut measured = Vec::new();
    for class in CLASSES {
        let questions = language.questions(class);
        let questions = &questions[..extent.of(questions.len(), 3)];
        measured.push(measure(&tool, &floor, &library, questions, extent.pairs).await?);
    }
    let mut compared = Vec::new();
    let mut goals = Vec::new();
    let floor_is = "a scan of the vectors as the rows have them, and SQLite's full-text query alone";
    for (class, measured) in CLASSES.iter().zip(&measured) {
        let pair = Compared::of(class.about, "ms", &measured.ours, floor_is, &measured.floor);
        goals.push(Goal::at_most(&format!("p50 ÷ floor, {}", class.about), pair.ratio.median, RATIO, ""));
        goals.push(Goal::at_most(&format!("p99, {}", class.about), percentile(&measured.all, 0.99), P99_MS, "ms"));
        compared.push(pair);
    }
    let scans: Vec<f64> = measured.iter().flat_map(|measured| measured.scan.iter().copied()).collect();
    Ok(Report {
        name: "recall".to_owned(),
        about: format!("memory_search among {chunks} chunks with vectors of {} numbers", floor.dimension),
        pairs: extent.pairs,
        quick: extent.quick,
        compared,
        goals,
        also: vec![
            Figure::new("of the floor: the scan of the vectors", median(&scans), "ms"),
            Figure::new("the first search after a start, which reads the vectors", first_ms, "ms"),
            Figure::new("what the process has grown by then", held_mb, "MB"),
            Figure::new("saving one entry, its vector included", filled.as_secs_f64() * 1e3 / chunks as f64, "ms"),
        ],
        machine: Machine::here(folder.path())?,
    })
}

/// Saves so many entries of one chunk each in a database that is made for it, in the words of a language of our own.
pub async fn remember(path: &Path, chunks: usize) -> Result<()> {
    fill(path, &Language::new(), chunks).await
}

/// Saves so many entries of one chunk each, as `memory_save` does.
async fn fill(path: &Path, language: &Language, chunks: usize) -> Result<()> {
    let (db, library, team) = (Db::open(path).await?, Library::embedded(), TeamName::main());
    let mut texts = language.texts();
    for from in (0..chunks).step_by(BATCH) {
        let mut drafts = Vec::with_capacity(BATCH);
        for number in from..chunks.min(from + BATCH) {
            let (key, text) = (format!("entry{number}"), texts.next());
            drafts.push(org::memory::draft(&library, &key, &text, Kind::Context).await?);
        }
        let keep = async |conn: &mut Conn| {
            for draft in &drafts {
                org::memory::save(conn, &team, draft, None, None, Clock::Wall.now()).await??;
            }
            Ok(())
        };
        db.note("save entries", keep).await?;
    }
    Ok(())
}

/// Pairs of blocks: in each, our search and the floor take turns.
async fn measure(
    tool: &MemorySearch,
    floor: &Floor,
    library: &Library,
    questions: &[language::Question],
    pairs: usize,
) -> Result<Measured> {
    let mut measured = Measured::default();
    for _ in 0..pairs {
        let (mut ours, mut floors, mut scans) = (Vec::new(), Vec::new(), Vec::new());
        for question in questions {
            let vector = library.embedder().embed(std::slice::from_ref(&question.text)).await?.remove(0);
            let began = Instant::now();
            let found = search(tool, &question.text).await?;
            ours.push(began.elapsed().as_secs_f64() * 1e3);
            ensure!(found > 0, "`{}` finds something", question.text);
            let began = Instant::now();
            black_box(floor.scan(black_box(&vector)));
            scans.push(began.elapsed().as_secs_f64() * 1e3);
            let words: Vec<&str> = question.asked.iter().map(String::as_str).collect();
            ensure!(black_box(floor.full_text(&words)?) > 0, "`{}` finds something", question.text);
            floors.push(began.elapsed().as_secs_f64() * 1e3);
        }
        measured.ours.push(median(&ours));
        measured.floor.push(median(&floors));
        measured.scan.push(median(&scans));
        measured.all.extend(ours);
    }
    Ok(measured)
}

/// One call of the tool. How much it found.
async fn search(tool: &MemorySearch, text: &str) -> Result<usize> {
    let call = Call {
        team: TeamName::main(),
        grant: Arc::new(Grant::main(false)),
        origin: Origin { conversation: None, topic: None, sender: None },
        run: RunId(1),
        step: 1,
        call_id: "".into(),
        stop: Stop::new(),
        leaving: Stop::new(),
        depth: 0,
        slot: None,
    };
    let args = MemorySearchArgs { query: text.to_owned(), max_results: Some(RESULTS) };
    Ok(tool.run(&call, args).await.map_err(|error| anyhow::anyhow!("{error:?}"))?.len())
}
