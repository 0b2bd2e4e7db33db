//! The inner process: confines itself, runs the command, reports how it ended.

use std::fs;
use std::io::{self, Seek, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, set_parent_process_death_signal, wait};
use serde::{Deserialize, Serialize};

use super::{calls, control, files, namespaces, privileges};
use crate::shell::plan::{End, Held, Plan, Report, receive, send};

/// The shells that are looked for.
const SHELLS: &[&str] = &["/bin/bash", "/usr/bin/bash", "/bin/sh"];

/// What the outer process says to the inner one.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Inside {
    /// What the hive said.
    pub plan: Plan,
    /// The workspace's real path.
    pub workspace: PathBuf,
    /// What the outer process has confined already.
    pub held: Held,
}

/// Runs the command, and reports.
///
/// # Errors
/// If nobody says what to run, or hears how it went.
pub(super) fn run() -> Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let control = control()?;
    let Some(inside) = receive::<Inside>(&control)? else { return Ok(()) };
    let mut held = inside.held;
    let input = input(inside.plan.input.as_deref()).context("hand over the input")?;
    let end = match confined(&inside, &mut held).and_then(|()| start(&inside.plan, input, held)) {
        Ok(Started::Running(pid)) => last(pid)?,
        Ok(Started::Lacks(what)) => End::Unconfined(what),
        Err(error) => End::Failed(format!("{error:#}")),
    };
    Ok(send(&control, &Report { held, end })?)
}

/// What the command reads: a file without a name, which is gone with whoever has it open.
fn input(text: Option<&str>) -> io::Result<Stdio> {
    let Some(text) = text else { return Ok(Stdio::null()) };
    let mut file = fs::File::from(memfd_create("input", MemfdFlags::CLOEXEC)?);
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(Stdio::from(file))
}

enum Started {
    Running(Pid),
    Lacks(String),
}

/// Confines this process, as far as this kernel can.
fn confined(inside: &Inside, held: &mut Held) -> Result<()> {
    let plan = &inside.plan;
    let mut own_processes = false;
    if held.processes {
        // Both may be forbidden where namespaces are not, and what they add is no demand: `docs/shell.md` says so.
        held.elsewhere = namespaces::write_only_in(&inside.workspace, &plan.unwritable).is_ok();
        own_processes = namespaces::show_own_processes().is_ok();
        if own_processes {
            namespaces::bound_processes(plan.limits.processes_max).context("bound the processes")?;
        }
    }
    // For temporary files. It may be there, and if it cannot be made the command will say so itself.
    fs::create_dir(crate::shell::running::TEMPORARY).ok();
    privileges::limit(&plan.limits).context("set bounds")?;
    privileges::drop_all().context("give up privileges")?;
    files::confine(plan, own_processes, held)?;
    held.calls = calls::filter(plan.network).is_ok();
    Ok(())
}

fn start(plan: &Plan, input: Stdio, held: Held) -> Result<Started> {
    if let Some(what) = held.lacks(plan.demand, plan.network) {
        return Ok(Started::Lacks(what.to_owned()));
    }
    let shell = SHELLS.iter().find(|shell| Path::new(shell).exists()).context("there is no shell")?;
    let child = Command::new(shell)
        .arg("-c")
        .arg(&plan.command)
        .env_clear()
        .envs(plan.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(&plan.folder)
        .stdin(input)
        .process_group(0)
        .spawn()
        .with_context(|| format!("run {shell}"))?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    Ok(Started::Running(pid.context("a process has a number")?))
}

/// Waits for the command. Orphans of it that end before are children of this process, and need somebody to wait.
fn last(pid: Pid) -> io::Result<End> {
    loop {
        let ended = wait(WaitOptions::empty())?;
        if let Some((_, status)) = ended.filter(|(ended, _)| *ended == pid) {
            return Ok(end(status));
        }
    }
}

fn end(status: WaitStatus) -> End {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => End::Exited(code),
        (None, Some(signal)) => End::Signalled(signal),
        (None, None) => End::Failed("it ended in no known way".to_owned()),
    }
}
