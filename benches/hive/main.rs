//! What the hive costs, each number beside its floor, measured in the same run:
//! `cargo bench --bench hive -- [NAME…] [--json] [--quick]`. See docs/benchmarks.md.
#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time on real tasks")]

mod agent;
mod dispatch;
mod forest;
mod guard;
mod house;
mod kill;
mod line;
mod machine;
mod memory;
mod old;
mod pacing;
mod proc;
mod query;
mod queue;
mod raw;
mod recall;
mod report;
mod revival;
mod spread;
mod start;
mod sustained;
mod table;
mod talk;
mod tree;
mod turn_overhead;

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Parser;

use report::Report;

/// Measures the hive beside its floors.
#[derive(Parser)]
struct Arguments {
    /// Which benchmarks; all of them where none is named.
    names: Vec<String>,
    /// One JSON object for each benchmark, instead of words.
    #[arg(long)]
    json: bool,
    /// Fewer and shorter measurements: shows that everything works, not how fast.
    #[arg(long)]
    quick: bool,
    /// Measures nothing: writes the table of docs/benchmarks.md from what `--json` has printed into this file.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["names", "json", "quick"])]
    table: Option<PathBuf>,
    /// What `cargo bench` says to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
    /// The process in which `memory` lets topics grow: this one, started by itself.
    #[arg(long, hide = true, num_args = 2, value_names = ["PAIRS", "TOPICS"])]
    resident: Option<Vec<usize>>,
}

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Pairs of our path and its floor, one after the other.
    pub pairs: usize,
    /// Whether the numbers only show that everything works.
    pub quick: bool,
}

impl Extent {
    /// `whole`, or `quick` where it has to be quick.
    pub fn of<T>(self, whole: T, quick: T) -> T {
        if self.quick { quick } else { whole }
    }
}

/// The benchmarks, in the order in which they run.
const NAMES: [&str; 14] = [
    "turn-overhead",
    "sustained",
    "memory",
    "start",
    "kill",
    "pacing",
    "recall",
    "dispatch",
    "guard",
    "query",
    "queue",
    "tree",
    "revival",
    "agent",
];

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if let Some(results) = &arguments.table {
        return table::write(results);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    if let Some([pairs, topics]) = arguments.resident.as_deref() {
        return runtime.block_on(memory::resident(*pairs, *topics));
    }
    for name in &arguments.names {
        if !NAMES.contains(&name.as_str()) {
            bail!("there is no benchmark `{name}`; there are: {}", NAMES.join(", "));
        }
    }
    let mut output = std::io::stdout().lock();
    if cfg!(debug_assertions) {
        writeln!(std::io::stderr(), "this is a debug build: its numbers say nothing")?;
    }
    let extent = Extent { pairs: if arguments.quick { 2 } else { 7 }, quick: arguments.quick };
    for name in NAMES {
        if arguments.names.is_empty() || arguments.names.iter().any(|wanted| wanted == name) {
            let report = runtime.block_on(measure(name, extent))?;
            match arguments.json {
                true => writeln!(output, "{}", serde_json::to_string(&report)?)?,
                false => write!(output, "{report}")?,
            }
            output.flush()?;
        }
    }
    Ok(())
}

async fn measure(name: &str, extent: Extent) -> Result<Report> {
    match name {
        "turn-overhead" => turn_overhead::run(extent).await,
        "sustained" => sustained::run(extent).await,
        "memory" => memory::run(extent).await,
        "start" => start::run(extent).await,
        "kill" => kill::run(extent).await,
        "pacing" => pacing::run(extent).await,
        "recall" => recall::run(extent).await,
        "dispatch" => dispatch::run(extent).await,
        "guard" => guard::run(extent).await,
        "query" => query::run(extent).await,
        "queue" => queue::run(extent).await,
        "tree" => tree::run(extent).await,
        "revival" => revival::run(extent).await,
        "agent" => agent::run(extent).await,
        other => bail!("there is no benchmark `{other}`"),
    }
}
