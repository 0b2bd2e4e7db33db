//! The outer process: makes the namespaces, starts the inner process, watches, and ends everything.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{getpid, set_child_subreaper, setsid};

use super::disk::Disk;
use super::governed::Governed;
use super::inner::Inside;
use super::processes::{self, Total};
use super::{INSIDE, TRIAL, control, namespaces};
use crate::shell::plan::{End, Held, Plan, Report, receive, send};
use crate::shell::rules::ShellLimits;

/// How often it is looked at what a command has. Between two looks it can have more than it may.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Does all of it.
///
/// # Errors
/// If nobody says what to run, or hears how it went.
pub(super) fn run() -> Result<()> {
    let control = control()?;
    let Some(plan) = receive::<Plan>(&control)? else { return Ok(()) };
    let mut held = Held::default();
    let end = run_plan(&control, plan, &mut held).unwrap_or_else(|error| End::Failed(format!("{error:#}")));
    // Where the hive is gone nobody hears it.
    Ok(send(&control, &Report { held, end })?)
}

fn run_plan(control: &UnixStream, plan: Plan, held: &mut Held) -> Result<End> {
    let limits = plan.limits;
    let governed = Governed::before(&plan.undone).context("look at what is governed")?;
    let mut disk = Disk::before(&limits).context("look at the workspace")?;
    let (mut inner, inside) = start(plan, held)?;
    let end = watch(control, &inside, held, &limits, &mut disk);
    // Ended already, most often. In a namespace all others end with it.
    inner.kill().ok();
    let ended = inner.wait();
    processes::end_all();
    for path in governed.undo(held.elsewhere).context("undo what was written to what is governed")? {
        // The command's own standard error is heard by whoever gave it.
        writeln!(io::stderr(), "[`{}` is governed by the hive: what was written to it is undone]", path.display()).ok();
    }
    match end.context("watch the command")? {
        Some(end) => Ok(end),
        // A command may signal the process that has the same bounds, and ends with it.
        None => Ok(match ended.map(|status| status.signal()) {
            Ok(Some(signal)) => End::Signalled(signal),
            ended => End::Failed(format!("the inner process is gone: {ended:?}")),
        }),
    }
}

fn start(plan: Plan, held: &mut Held) -> Result<(Child, UnixStream)> {
    keep_nothing_open().context("close inherited files")?;
    // A group of its own, which no signal to the hive's terminal reaches. It fails where it is one already.
    setsid().ok();
    set_child_subreaper(Some(getpid())).context("become the reaper")?;
    let workspace = std::env::current_dir().context("find the workspace")?;
    if plan.namespaces && can_enter(&plan) && namespaces::enter(plan.network).is_ok() {
        held.processes = true;
        held.network = !plan.network;
    }
    let (ours, theirs) = UnixStream::pair()?;
    let inner = Command::new("/proc/self/exe")
        .args(&plan.arguments)
        .arg(INSIDE)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .spawn()
        .context("start the inner process")?;
    send(&ours, &Inside { plan, workspace, held: *held })?;
    Ok((inner, ours))
}

/// Whether namespaces can be entered here: tried by a process that does nothing else, because some machines let a
/// process go halfway, from where it can neither go on nor back.
fn can_enter(plan: &Plan) -> bool {
    let tried = Command::new("/proc/self/exe")
        .args(&plan.arguments)
        .arg(TRIAL)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    tried.is_ok_and(|status| status.success())
}

/// Marks every inherited file but the three standard ones to be closed in what is started from here.
#[expect(unsafe_code, reason = "no crate of ours has this call")]
fn keep_nothing_open() -> io::Result<()> {
    // SAFETY: it takes numbers alone, and closes nothing in this process.
    let done = unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Waits until the command has ended, is to end, or has too much of something. `None`: the inner process has ended
/// without a word.
fn watch(
    control: &UnixStream,
    inside: &UnixStream,
    held: &mut Held,
    limits: &ShellLimits,
    disk: &mut Disk,
) -> Result<Option<End>> {
    let look_every = LOOK_EVERY.try_into().context("a tenth of a second is a time")?;
    loop {
        let mut waited = [PollFd::new(control, PollFlags::IN), PollFd::new(inside, PollFlags::IN)];
        match poll(&mut waited, Some(&look_every)) {
            Err(rustix::io::Errno::INTR) => continue,
            done => done?,
        };
        let [hive, inner] = waited.map(|fd| !fd.revents().is_empty());
        if inner {
            let report = receive::<Report>(inside)?;
            return Ok(report.map(|report| {
                *held = report.held;
                report.end
            }));
        }
        // After the plan the hive says nothing more: whatever comes is its end.
        if hive {
            return Ok(Some(End::Stopped));
        }
        if let Some(what) = exceeds(processes::total(), limits).or_else(|| disk.exceeds(limits)) {
            return Ok(Some(End::Exceeded(what)));
        }
    }
}

fn exceeds(total: Total, limits: &ShellLimits) -> Option<String> {
    if total.threads > limits.processes_max {
        Some(format!("more than {} processes", limits.processes_max))
    } else if total.resident_bytes > limits.memory_bytes_max {
        Some(format!("more than {} MiB of memory", limits.memory_bytes_max >> 20))
    } else {
        None
    }
}
