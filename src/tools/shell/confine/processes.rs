//! Which processes a command has, and the end of them all.

use std::collections::BTreeMap;
use std::fs;

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, wait};

/// What the kernel says of a process.
struct Process {
    parent: i32,
    threads: u64,
    resident_bytes: u64,
}

/// What all processes of a command have together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Total {
    /// Processes and their threads.
    pub threads: u64,
    /// Memory, in bytes. What several share is counted for each.
    pub resident_bytes: u64,
}

/// What the command has now. Where a namespace shows only its own processes in `/proc`, this process is none of them,
/// and all of them are the command's; else they are those below this one.
pub(super) fn total() -> Total {
    let all = all();
    let counted = if shows_us() { below_us(&all) } else { all.keys().copied().collect() };
    counted.iter().fold(Total::default(), |total, pid| Total {
        threads: total.threads + all[pid].threads,
        resident_bytes: total.resident_bytes + all[pid].resident_bytes,
    })
}

/// Ends every process below this one, and waits for them. Their orphans have become children of this one, which is
/// their reaper, so that the round is done when there is no child left.
pub(super) fn end_all() {
    loop {
        // The numbers of a namespace name other processes here; the kernel ends those with its first one.
        let below = if shows_us() { below_us(&all()) } else { Vec::new() };
        for pid in below {
            if let Some(pid) = Pid::from_raw(pid) {
                // One that has just ended by itself needs no signal.
                kill_process(pid, Signal::KILL).ok();
            }
        }
        // What was started in between is in the next round. The kernel ends what was signalled; this waits for one.
        if wait(WaitOptions::empty()).is_err() {
            return;
        }
    }
}

/// Whether `/proc` is of the namespace that this process is in.
fn shows_us() -> bool {
    fs::read_link("/proc/self").is_ok()
}

/// Every process that can be seen.
fn all() -> BTreeMap<i32, Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| Some((pid, process(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?))).collect()
}

/// Reads `/proc/PID/stat` (proc_pid_stat(5)). The name in brackets may hold anything, brackets too.
fn process(stat: &str) -> Option<Process> {
    let (_, fields) = stat.rsplit_once(')')?;
    // The first of them is the third of the file.
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).copied();
    Some(Process {
        parent: field(4)?.parse().ok()?,
        threads: field(20)?.parse().ok()?,
        resident_bytes: field(24)?.parse::<u64>().ok()?.saturating_mul(rustix::param::page_size() as u64),
    })
}

fn below_us(all: &BTreeMap<i32, Process>) -> Vec<i32> {
    below(getpid().as_raw_nonzero().get(), all)
}

fn below(root: i32, all: &BTreeMap<i32, Process>) -> Vec<i32> {
    let mut found = vec![root];
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        found.extend(all.iter().filter(|(_, process)| process.parent == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    found.split_off(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_is_no_field() {
        let stat = "42 (a) S 7 (b)) S 41 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 3 0 100 4096 5 0";
        let process = process(stat).unwrap();
        assert_eq!((process.parent, process.threads), (41, 3));
        assert_eq!(process.resident_bytes, 5 * rustix::param::page_size() as u64);
        assert!(super::process("42 (a").is_none());
        assert!(super::process("42 (a) S 1").is_none());
    }

    #[test]
    fn processes_are_below_their_parents_and_theirs() {
        let process = |parent| Process { parent, threads: 1, resident_bytes: 0 };
        let all = BTreeMap::from([(1, process(0)), (2, process(1)), (3, process(2)), (4, process(1)), (5, process(3))]);
        assert_eq!(below(2, &all), [3, 5]);
        assert_eq!(below(1, &all), [2, 4, 3, 5]);
        assert_eq!(below(5, &all), [] as [i32; 0]);
    }
}
