//! The hive as a whole: scenarios, crashes at every commit, hives by chance, and the shape of the code.
//!
//! | file | what |
//! |---|---|
//! | `scenarios` | the files of `tests/scenarios`, each a trial |
//! | `language/` | text → scenario |
//! | `play` → `show` | a scenario → what it should say |
//! | `world`, `furnish`, `people`, `stage`, `names`, `logs`, `rows` | platforms, people, models, ids, log and rows of a trial |
//! | `invariants` | what holds at the end of every trial |
//! | `crash` | the crash-safe scenarios, killed after each of their commits |
//! | `crowd` | more conversations at once than turns may run |
//! | `sim`, `improvise` | scenarios by chance |
//! | `binary/` | the real program over real sockets |
//! | `tidy/` | the shape of the code |
//!
//! `UPDATE=1 cargo test --test hive` writes the outputs of the scenarios, `SEEDS=5000 cargo test --test hive sim` tries
//! that many hives by chance.

mod binary;
mod crash;
mod crowd;
mod fatal;
mod furnish;
mod improvise;
mod invariants;
mod language;
mod logs;
mod names;
mod people;
mod play;
mod rows;
mod scenarios;
mod show;
mod sim;
mod stage;
mod tidy;
mod world;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    // What tools need a process of their own for is done by the program that the hive is in, and here that is this one.
    tools::process::main(std::env::args_os().skip(1)).unwrap_or_else(|| {
        let arguments = Arguments::from_args();
        libtest_mimic::run(&arguments, trials()).exit_code()
    })
}

fn trials() -> Vec<Trial> {
    #[expect(clippy::disallowed_methods, reason = "a test is told by a variable whether to write its outputs")]
    let update = std::env::var("UPDATE").is_ok_and(|value| value == "1");
    #[expect(clippy::disallowed_methods, reason = "more hives by chance are wished for by a variable")]
    let seeds = std::env::var("SEEDS").ok().and_then(|count| count.parse().ok());
    let mut trials = scenarios::trials(update);
    trials.extend(language::laws::trials());
    trials.extend(crash::trials());
    trials.extend(crowd::trials());
    trials.extend(sim::trials(seeds));
    trials.extend(tidy::trials());
    trials.extend(binary::trials());
    trials
}
