//! The table of docs/benchmarks.md, made from what `--json` prints.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::NAMES;
use crate::report::{Bound, Report, short, with_unit};

/// The page, and the marks between which the table stands in it.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/benchmarks.md");
const BEGIN: &str = "<!-- The table is made by `cargo bench --bench hive -- --table FILE`. -->\n";
const END: &str = "<!-- The end of the table. -->\n";

/// Puts the table made from `results` (one object a line, the last of a name counts) into the page.
pub fn write(results: &Path) -> Result<()> {
    let lines = std::fs::read_to_string(results).with_context(|| format!("read {}", results.display()))?;
    let mut reports = BTreeMap::new();
    for line in lines.lines().filter(|line| line.starts_with('{')) {
        let report: Report = serde_json::from_str(line).context("read a result")?;
        let place = NAMES.iter().position(|name| *name == report.name);
        reports.insert(place.with_context(|| format!("there is no benchmark {}", report.name))?, report);
    }
    if reports.is_empty() {
        bail!("{} has no results: it is made with --json", results.display());
    }
    let page = std::fs::read_to_string(PAGE).with_context(|| format!("read {PAGE}"))?;
    let (before, rest) = page.split_once(BEGIN).context("the page has a place for the table")?;
    let (_, after) = rest.split_once(END).context("the table has an end")?;
    let table = table(reports.values())?;
    std::fs::write(PAGE, format!("{before}{BEGIN}{table}{END}{after}")).with_context(|| format!("write {PAGE}"))
}

fn table<'a>(reports: impl Iterator<Item = &'a Report>) -> Result<String> {
    let reports: Vec<&Report> = reports.collect();
    let mut text = String::from("\n| Benchmark | Goal | Measured | |\n|---|---|---|---|\n");
    for report in &reports {
        for goal in &report.goals {
            let (sign, limit) = match goal.bound {
                Bound::AtMost(limit) => ("≤", limit),
                Bound::AtLeast(limit) => ("≥", limit),
            };
            let (limit, value) = (with_unit(limit, &goal.unit), with_unit(goal.value, &goal.unit));
            let verdict = if goal.met { "met" } else { "**missed**" };
            writeln!(text, "| {} | {} {sign} {limit} | {value} | {verdict} |", report.name, goal.what)?;
        }
    }
    text.push_str("\n| Benchmark | What | Ours | Floor | Ratio | The floor is |\n|---|---|---|---|---|---|\n");
    for report in &reports {
        for row in &report.compared {
            let (name, what, unit) = (&report.name, &row.what, &row.unit);
            let (ours, floor, ratio) = (row.ours, row.floor, row.ratio);
            writeln!(text, "| {name} | {what} | {ours} {unit} | {floor} {unit} | {ratio} | {} |", row.floor_is)?;
        }
    }
    text.push_str("\n| Benchmark | Also measured | |\n|---|---|---|\n");
    for report in &reports {
        for figure in report.also.iter().filter(|figure| figure.what != "seed") {
            writeln!(text, "| {} | {} | {} |", report.name, figure.what, with_unit(figure.value, &figure.unit))?;
        }
    }
    machines(&mut text, &reports)?;
    Ok(text)
}

/// Where the numbers come from: one line for each machine, with the sync as it was at the first of its benchmarks.
fn machines(text: &mut String, reports: &[&Report]) -> Result<()> {
    text.push('\n');
    let mut known = Vec::new();
    for report in reports {
        let machine = &report.machine;
        let same = (machine.cores, machine.system.as_str(), short(machine.memory_gib));
        if !known.contains(&same) {
            writeln!(text, "Measured on {machine}. Medians, with the lowest and the highest of the pairs.")?;
            known.push(same);
        }
    }
    if reports.iter().any(|report| report.quick) {
        text.push_str("Some of it is from a quick run, which shows that everything works and not how fast.\n");
    }
    text.push('\n');
    Ok(())
}
