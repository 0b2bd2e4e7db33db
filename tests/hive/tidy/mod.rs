//! The shape of the code: what compiles and is wrong all the same.
//!
//! Every check returns how much it has looked at; one that saw nothing has failed.

mod arrows;
mod doors;
mod sources;
mod words;

use libtest_mimic::{Failed, Trial};

/// What a check comes to: how many things it looked at, and what is wrong with them.
struct Findings {
    seen: usize,
    wrong: Vec<String>,
}

type Check = fn() -> Findings;

const CHECKS: &[(&str, Check)] = &[
    ("packages depend only on packages to their left", arrows::between_packages),
    ("modules of the hive depend only on modules to their left", arrows::between_modules),
    ("each crate of the outside world has its owners", doors::by_manifest),
    ("only the owners of tasks spawn", doors::spawning),
    ("every file says what it is for", words::openings),
    ("nothing unwraps outside tests", words::unwraps),
    ("no name hides what it names", words::names),
    ("lints are expected with a reason, tests are not ignored", words::attributes),
    ("functions fit a screen", words::functions),
    ("every prompt is somebody's", words::prompts),
    ("no text names a machine", words::machines),
    ("every scenario begins with its sentence", words::scenarios),
];

/// A trial for each check.
pub fn trials() -> Vec<Trial> {
    CHECKS.iter().map(|(name, check)| Trial::test(format!("tidy: {name}"), move || verdict(check()))).collect()
}

fn verdict(Findings { seen, wrong }: Findings) -> Result<(), Failed> {
    if seen == 0 {
        return Err("it has looked at nothing".into());
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}
