//! The real program over real sockets: `hive` as a process, on loopback platforms, with a model behind HTTP.

mod doctoring;
mod outages;
mod prefix;
mod shell;
mod siblings;
mod starting;
mod stopping;
mod storm;
mod talking;
mod telling;
mod terminal;
mod trusting;
mod world;

use libtest_mimic::{Failed, Trial};

/// A test's name and what it does.
type Named = (&'static str, fn() -> Result<(), Failed>);

/// Every test of the process.
pub fn trials() -> Vec<Trial> {
    // The longest first: what comes last has nothing beside it.
    let all = [
        storm::ALL,
        outages::ALL,
        shell::ALL,
        stopping::ALL,
        talking::ALL,
        trusting::ALL,
        starting::ALL,
        telling::ALL,
        doctoring::ALL,
        prefix::ALL,
        siblings::ALL,
        terminal::ALL,
    ];
    let trial = |&(name, test): &Named| Trial::test(format!("binary::{name}"), test);
    all.iter().copied().flatten().map(trial).collect()
}

/// Runs a test on a runtime of its own, in real time.
///
/// # Panics
/// Where the test does.
fn real(test: impl Future<Output = ()>) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(test);
    Ok(())
}
