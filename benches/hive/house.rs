//! A hive to measure: in this process on a platform that costs nothing, or the program itself beside it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use base::{Clock, Scrub};
use fakes::product::Setup;
use fakes::telegram::Telegram;
use futures::future::BoxFuture;
use llm::{Block, Model, ModelError, ModelRef, Models, Progress, Request, Response, Role, Sink, StopReason, Usage};
use openhive::app::{Hive, House, Minds, Parts};
use openhive::config::{self, Environment};
use store::Db;
use tempfile::TempDir;
use tokio::sync::mpsc;

use crate::line::Line;

/// How long the program may take to be connected.
pub const CONNECTED: Duration = Duration::from_secs(30);
/// Everybody may speak.
pub const OPEN_DOOR: &str = "trust: { default_policy: allow }\n";

/// A folder on the disk that the program was built on, gone when this is dropped.
pub fn folder() -> Result<TempDir> {
    tempfile::Builder::new().prefix("bench-").tempdir_in(env!("CARGO_TARGET_TMPDIR")).context("make a folder")
}

/// The program `hive` with a home in `folder`, where everybody may speak and only warnings are logged.
pub fn program(folder: &Path) -> Setup {
    Setup::new(env!("CARGO_BIN_EXE_hive"), folder).file("channels.yaml", OPEN_DOOR).set("HIVE_LOG", "warn")
}

/// Starts a hive in this process: its own loops on its own database file in `folder`, with `line` for a platform and
/// a model that repeats what was said at once.
pub async fn hive(folder: &Path, line: Arc<Line>) -> Result<Hive> {
    let run_dir = folder.join("run");
    std::fs::create_dir_all(&run_dir).context("make a directory")?;
    let db = Db::open(&run_dir.join("openhive.db")).await?;
    hive_with(folder, line, db, Arc::new(Parrot { reference: ModelRef::new("offline", "parrot"), tell: None })).await
}

/// When the model was asked.
pub type Ear = mpsc::UnboundedReceiver<Instant>;

/// A model that repeats what was said at once, and tells when it was asked.
pub fn listening() -> (Ear, Arc<dyn Model>) {
    let (tell, ear) = mpsc::unbounded_channel();
    (ear, Arc::new(Parrot { reference: ModelRef::new("offline", "parrot"), tell: Some(tell) }))
}

/// As [`hive`], with this database, which is in the folder `run` of `folder`, and this model.
pub async fn hive_with(folder: &Path, line: Arc<Line>, db: Db, mind: Arc<dyn Model>) -> Result<Hive> {
    let (data_dir, run_dir) = (folder.join("data"), folder.join("run"));
    for directory in [&data_dir, &run_dir] {
        std::fs::create_dir_all(directory).context("make a directory")?;
    }
    std::fs::write(data_dir.join("channels.yaml"), OPEN_DOOR).context("write the policy")?;
    let paths = [("HIVE_DATA_DIR", &data_dir), ("HIVE_RUN_DIR", &run_dir)];
    let environment = Environment::from_pairs(paths.map(|(name, path)| (name, path.display().to_string())));
    let config = config::load(&environment).map_err(|errors| anyhow!("{errors}"))?;
    let all = Models::new(Vec::new(), Clock::Wall, llm::Limits::STANDARD);
    let all = all.map_err(|faults| anyhow!("{faults:?}"))?;
    let minds = Minds { main: mind, output_tokens_max: 1_024, classifier: None, all: Arc::new(all) };
    let parts = Parts {
        db,
        clock: Clock::Wall,
        channels: vec![line],
        minds,
        settings: config.settings,
        policy: config.trust,
        house: House {
            data_dir,
            run_dir,
            scrub: Scrub::new(),
            vault_key: None,
            listen_every: std::time::Duration::from_secs(1),
        },
    };
    Hive::start(parts).await
}

/// Waits until Telegram is polled, and tells when it was first. Its log of requests has to be on.
pub async fn polled(telegram: &Telegram) -> Instant {
    let first = || telegram.requests_of("getUpdates").first().map(|request| request.at);
    let asked =
        || format!("these were asked: {:?}", telegram.requests().iter().map(|it| &it.method).collect::<Vec<_>>());
    telegram.wait_until(CONNECTED, asked, first).await
}

/// A model without latency that says what it was told last.
struct Parrot {
    reference: ModelRef,
    tell: Option<mpsc::UnboundedSender<Instant>>,
}

impl Model for Parrot {
    fn respond<'a>(&'a self, request: &'a Request, sink: Sink<'a>) -> BoxFuture<'a, Result<Response, ModelError>> {
        if let Some(tell) = &self.tell {
            // At the end of a benchmark nobody listens any more.
            let _ = tell.send(Instant::now());
        }
        Box::pin(async move {
            let told = request.messages.iter().rev().find(|message| message.role == Role::User);
            let words: Vec<&str> = told.into_iter().flat_map(|told| &told.content).filter_map(Block::as_text).collect();
            let text = words.join(" ");
            sink(Progress::Text(&text));
            Ok(Response {
                content: vec![Block::Text(text)],
                stop: StopReason::EndTurn,
                usage: Usage { input_tokens: 1_000, output_tokens: 10, ..Usage::default() },
                model: self.reference.clone(),
            })
        })
    }

    fn reference(&self) -> &ModelRef {
        &self.reference
    }

    fn context_window_tokens(&self) -> u64 {
        1_000_000
    }
}
