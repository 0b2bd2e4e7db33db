//! The scenario files: each is a trial under its own name.

use std::path::{Path, PathBuf};

use libtest_mimic::{Failed, Trial};

use crate::language::{self, Scenario};
use crate::{invariants, play};

/// Where they are.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios")
}

/// Every scenario file, sorted, as `topics/a hint wins`.
pub fn files() -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    collect(&folder(), &mut found);
    let mut named: Vec<_> = found
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(folder()).expect("it was found there").with_extension("");
            (name.display().to_string(), path)
        })
        .collect();
    named.sort();
    named
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder of the scenarios is there").flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "hive") {
            found.push(path);
        }
    }
}

/// Reads one.
pub fn load(path: &Path) -> Result<(Scenario, String), String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let shown = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(path);
    Ok((language::read(shown, &text)?, text))
}

/// A trial for each.
pub fn trials(update: bool) -> Vec<Trial> {
    files()
        .into_iter()
        .map(|(name, path)| Trial::test(format!("scenario: {name}"), move || run(&path, update)))
        .collect()
}

fn run(path: &Path, update: bool) -> Result<(), Failed> {
    let (scenario, text) = load(path)?;
    let mut played = play::play(&scenario, |_| ())?;
    let mut faults = std::mem::take(&mut played.faults);
    faults.extend(invariants::broken(&mut played));
    if played.text != text {
        if update {
            std::fs::write(path, &played.text)?;
        } else {
            faults.push(format!(
                "the outputs differ (`UPDATE=1 cargo test` writes them):\n{}",
                difference(&text, &played.text)
            ));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n").into()) }
}

/// The lines that differ, `-` as the file has them and `+` as they should be, with a line around.
pub fn difference(have: &str, should: &str) -> String {
    let (have, should): (Vec<&str>, Vec<&str>) = (have.lines().collect(), should.lines().collect());
    let common = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| pairs.take_while(|(a, b)| a == b).count();
    let start = common(&mut have.iter().zip(&should));
    let shorter = have.len().min(should.len()) - start;
    let end = common(&mut have.iter().rev().zip(should.iter().rev())).min(shorter);
    let mut shown = Vec::new();
    if let Some(before) = start.checked_sub(1) {
        shown.push(format!("  {}: {}", before + 1, have[before]));
    }
    shown.extend(
        have[start..have.len() - end].iter().enumerate().map(|(at, line)| format!("- {}: {line}", start + at + 1)),
    );
    shown.extend(should[start..should.len() - end].iter().map(|line| format!("+ {line}")));
    shown.join("\n")
}
