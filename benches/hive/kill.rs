//! `kill`: a thousand messages on both platforms while the process is killed twenty times.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use fakes::storm::{self, Plan};

use crate::Extent;
use crate::house;
use crate::machine::Machine;
use crate::report::{Figure, Goal, Report};

/// Runs it. Nothing is compared here: what counts is that nothing is lost and nothing doubled.
pub async fn run(extent: Extent) -> Result<Report> {
    let folder = house::folder()?;
    let plan = Plan {
        program: PathBuf::from(env!("CARGO_BIN_EXE_hive")),
        folder: folder.path().join("storm"),
        messages: extent.of(1_000, 60),
        conversations: extent.of(40, 4),
        kills: extent.of(20, 2),
        between_kills: (Duration::from_millis(300), Duration::from_millis(3_000)),
        one_slow_in: 25,
        seed: std::process::id().into(),
        patience: Duration::from_secs(180),
    };
    let came = storm::run(&plan).await;
    let none = |what: &str, count: usize| Goal::at_most(what, count as f64, 0.0, "");
    Ok(Report {
        name: "kill".to_owned(),
        about: format!(
            "{} messages on Discord and Telegram while the process is killed {} times at random moments",
            came.messages, came.kills
        ),
        pairs: 0,
        quick: extent.quick,
        compared: Vec::new(),
        goals: vec![
            none("messages lost", came.lost.len()),
            none("replies doubled on Discord", came.twice_on_discord.len()),
            none("replies doubled on Telegram without a word", came.twice_on_telegram.len()),
            none("turns given up", came.given_up),
        ],
        also: vec![
            Figure::new("ambiguous sends on Telegram, sent again with a mark", came.marked_repeats as f64, ""),
            Figure::new("of those, really there twice", came.true_repeats as f64, ""),
            Figure::new("from the first message to the last answer", came.took.as_secs_f64(), "s"),
            Figure::new("seed", plan.seed as f64, ""),
        ],
        machine: Machine::here(folder.path())?,
    })
}
