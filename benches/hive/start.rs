//! `start`: from the start of the process until both platforms are listened to: with nothing, with many old messages, and
//! with many teams and memories.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fakes::discord::Discord;
use fakes::product::Setup;
use fakes::telegram::Telegram;

use crate::Extent;
use crate::forest;
use crate::house::{self, CONNECTED};
use crate::machine::Machine;
use crate::old;
use crate::raw;
use crate::recall;
use crate::report::{Compared, Figure, Goal, Report};
use crate::spread::median;
use crate::tree;

/// The most that a start may take, in milliseconds.
const GOAL_MS: f64 = 60.0;

/// The platforms that a hive starts on.
struct Platforms {
    discord: Discord,
    telegram: Telegram,
}

/// One start, in milliseconds.
struct Started {
    /// Until Telegram was polled first.
    telegram: f64,
    /// Until Discord had accepted the identification.
    discord: f64,
}

impl Started {
    fn both(&self) -> f64 {
        self.telegram.max(self.discord)
    }
}

impl Platforms {
    /// Starts the program and stops it again.
    async fn start(&self, setup: &Setup) -> Result<Started> {
        self.telegram.log_requests(true);
        let (sessions, _) = self.discord.sessions();
        let begun = Instant::now();
        let product = setup.start();
        let identified = self.discord.until(|| (self.discord.sessions().0 > sessions).then(Instant::now), CONNECTED);
        let (polled, identified) = tokio::join!(house::polled(&self.telegram), identified);
        let identified = identified.with_context(|| format!("Discord was not identified to: {}", product.log()))?;
        let ended = product.stop().await;
        ensure!(ended.code() == Some(0), "the hive did not stop well: {}", ended.log);
        let ms = |at: Instant| (at - begun).as_secs_f64() * 1e3;
        Ok(Started { telegram: ms(polled), discord: ms(identified) })
    }
}

/// The floor: a process of the same program that only says its version, and the database opened by hand.
async fn floor_ms(setup: &Setup, database: &Path) -> Result<f64> {
    let begun = Instant::now();
    let ended = setup.run(&["--version"], "").await;
    ensure!(ended.code() == Some(0), "the program has a version: {}", ended.log);
    raw::open_and_close(database)?;
    Ok(begun.elapsed().as_secs_f64() * 1e3)
}

/// Runs it.
pub async fn run(extent: Extent) -> Result<Report> {
    let folder = house::folder()?;
    let platforms = Platforms { discord: Discord::start().await, telegram: Telegram::start().await };
    platforms.discord.forget_requests();
    let setup = |name: &str| {
        let home = house::program(&folder.path().join(name));
        home.on_discord(&platforms.discord).on_telegram(&platforms.telegram)
    };
    let messages = extent.of(100_000, 2_000);
    let filled = setup("old");
    let database = filled.run_dir().join("openhive.db");
    old::make(&database, messages).await?;
    platforms.start(&filled).await?;
    let (teams, memories) = (extent.of(10_000, 200), extent.of(100_000, 1_000));
    let hive = setup("hive");
    tree::prepare(&hive, &forest::teams(teams)?).await?;
    let hive_database = hive.run_dir().join("openhive.db");
    recall::remember(&hive_database, memories).await?;
    platforms.start(&hive).await?;

    let (mut hive_ms, mut hive_floor) = (vec![], vec![]);
    let (mut empty_ms, mut empty_floor, mut old_ms, mut old_floor) = (vec![], vec![], vec![], vec![]);
    let (mut telegram, mut discord) = (vec![], vec![]);
    for pair in 0..extent.pairs {
        let fresh = setup(&format!("empty-{pair}"));
        let started = platforms.start(&fresh).await?;
        empty_ms.push(started.both());
        telegram.push(started.telegram);
        discord.push(started.discord);
        empty_floor.push(floor_ms(&fresh, &folder.path().join(format!("empty-{pair}.db"))).await?);
        old_ms.push(platforms.start(&filled).await?.both());
        old_floor.push(floor_ms(&filled, &database).await?);
        hive_ms.push(platforms.start(&hive).await?.both());
        hive_floor.push(floor_ms(&hive, &hive_database).await?);
        // Whatever the last one left to the disk is not the next one's to wait for.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let floor_is = "the program's --version, and the database opened by hand";
    Ok(Report {
        name: "start".to_owned(),
        about: format!(
            "from the start of the process until Discord is identified to and Telegram polled, on an empty database, \
             on one with {messages} old messages, and on one with {teams} teams and {memories} memories"
        ),
        pairs: extent.pairs,
        quick: extent.quick,
        compared: vec![
            Compared::of("empty database", "ms", &empty_ms, floor_is, &empty_floor),
            Compared::of("old messages", "ms", &old_ms, floor_is, &old_floor),
            Compared::of("teams and memories", "ms", &hive_ms, floor_is, &hive_floor),
        ],
        goals: vec![
            Goal::at_most("start on an empty database", median(&empty_ms), GOAL_MS, "ms"),
            Goal::at_most("start with old messages", median(&old_ms), GOAL_MS, "ms"),
            Goal::at_most("start with teams and memories", median(&hive_ms), GOAL_MS, "ms"),
        ],
        also: vec![
            Figure::new("of that, until Telegram is polled", median(&telegram), "ms"),
            Figure::new("of that, until Discord is identified to", median(&discord), "ms"),
        ],
        machine: Machine::here(folder.path())?,
    })
}
