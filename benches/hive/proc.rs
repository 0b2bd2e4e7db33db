//! What the system knows of a process: its memory and its time on the processor.

use std::time::Duration;

use anyhow::{Context, Result};

/// The unit of processor times in `/proc/PID/stat`: `USER_HZ`, which is 100 on every architecture that Linux has
/// (proc(5), `sysconf(_SC_CLK_TCK)`).
const TICK: Duration = Duration::from_millis(10);

/// Memory that is resident, in KiB. `self` or a process id.
pub fn resident_kib(process: &str) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).context("read a process's status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("a process has resident memory")?;
    line.trim().trim_end_matches(" kB").parse().context("a size is a number")
}

/// Time on the processor so far, in user and kernel mode, of all threads that there were.
pub fn processor_time(process: &str) -> Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).context("read a process's times")?;
    // The name in parentheses may hold anything; after it the fields are numbers: utime is the 12th, stime the 13th.
    let fields: Vec<&str> = stat.rsplit_once(')').context("a process has a name")?.1.split_whitespace().collect();
    let ticks = |place: usize| -> Result<u32> {
        fields.get(place).context("a process has times")?.parse().context("a time is a number")
    };
    Ok(TICK * (ticks(11)? + ticks(12)?))
}
