//! The machine that the numbers come from, in words that name nobody.

use std::fmt;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::spread::median;

/// What matters of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Processor cores that the system shows.
    pub cores: usize,
    /// Memory, in GiB.
    pub memory_gib: f64,
    /// The system and its architecture.
    pub system: String,
    /// How long the disk takes to make 4 KiB durable (fdatasync), in microseconds: the median of many.
    pub sync_us: f64,
}

impl Machine {
    /// This one, with its disk as `folder` has it.
    pub fn here(folder: &Path) -> Result<Machine> {
        let cores = std::thread::available_parallelism().context("count the cores")?.get();
        let memory = std::fs::read_to_string("/proc/meminfo").context("read how much memory there is")?;
        let total = memory.lines().find_map(|line| line.strip_prefix("MemTotal:")).context("the memory's size")?;
        let kib: f64 = total.trim().trim_end_matches(" kB").parse().context("the memory's size is a number")?;
        Ok(Machine {
            cores,
            memory_gib: (kib / 1_048_576.0).round(),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            sync_us: sync_us(folder)?.round(),
        })
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Machine { cores, memory_gib, system, sync_us } = self;
        write!(f, "{cores} cores, {memory_gib} GiB, {system}, a sync of 4 KiB takes {sync_us} µs")
    }
}

/// What one durable write costs here at the least.
fn sync_us(folder: &Path) -> Result<f64> {
    const TIMES: usize = 200;
    let mut file = tempfile::tempfile_in(folder).context("make a file")?;
    let block = [7_u8; 4096];
    let mut took = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&block)?;
        let begun = Instant::now();
        file.sync_data().context("sync a file")?;
        took.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    Ok(median(&took))
}
