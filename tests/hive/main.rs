//! The hive as a whole: scenarios, crashes at every commit, hives by chance, and the shape of the code.
//!
//! | file | what |
//! |---|---|
//! | `scenarios` | the files of `tests/scenarios`, each a trial |
//! | `language/` | text → scenario |
//! | `play` → `show` | a scenario → what it should say |
//! | `world`, `stage`, `names`, `logs`, `rows` | platforms, models, ids, log and rows of one trial |
//! | `invariants` | what holds at the end of every trial |
//! | `crash` | the crash-safe scenarios, killed after each of their commits |
//! | `sim`, `improvise` | scenarios by chance |
//! | `binary/` | the real program over real sockets |
//! | `tidy/` | the shape of the code |
//!
//! `UPDATE=1 cargo test --test hive` writes the outputs of the scenarios.

mod binary;
mod improvise;
mod invariants;
mod language;
mod logs;
mod names;
mod play;
mod rows;
mod scenarios;
mod show;
mod stage;
mod world;

use libtest_mimic::{Arguments, Trial};

fn main() {
    let arguments = Arguments::from_args();
    libtest_mimic::run(&arguments, trials()).exit();
}

fn trials() -> Vec<Trial> {
    #[expect(clippy::disallowed_methods, reason = "a test is told by a variable whether to write its outputs")]
    let update = std::env::var("UPDATE").is_ok_and(|value| value == "1");
    let mut trials = scenarios::trials(update);
    trials.extend(binary::trials());
    trials
}
