//! A launcher at work: its output drained, its time measured, its end seen to.
//!
//! The launcher's socket is the line of life: when it is closed, everything that the command has started ends. So it
//! does when the call's future is dropped, and when the hive is killed.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream as StdSocket;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use base::Stop;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};

use super::ends::Ends;
use super::plan::{self, Plan, Report};
use crate::process::Program;

/// The folder of the workspace for temporary files.
pub(super) const TEMPORARY: &str = ".tmp";

/// How long a launcher that was told to end everything may take to do so, before it is killed itself.
const GRACE: Duration = Duration::from_secs(5);

/// How much is read of a stream at once, in bytes: what a pipe holds.
const PIECE_BYTES: usize = 64 * 1024;

/// What became of a command.
#[derive(Debug)]
pub(super) struct Ran {
    /// How it ended; an error where the launcher did not say.
    pub report: Result<Report>,
    /// Whether its time was up.
    pub timed_out: bool,
    /// What it wrote to its standard output.
    pub stdout: Ends,
    /// What it wrote to its standard error.
    pub stderr: Ends,
}

/// Runs a plan in `workspace`, for at most `limit`, until `stop`.
///
/// # Errors
/// If the launcher cannot be started.
pub(super) async fn run(
    launcher: &Program,
    plan: &Plan,
    workspace: impl AsFd,
    limit: Duration,
    stop: &Stop,
) -> Result<Ran> {
    let (mut child, socket) = start(launcher, workspace).context("start the launcher")?;
    let (mut said, mut control) = socket.into_split();
    let (out, err) = (child.stdout.take().context("it is a pipe")?, child.stderr.take().context("it is a pipe")?);
    let bytes_max = plan.limits.output_bytes_max;
    let (mut stdout, mut stderr, mut report) = (Ends::new(bytes_max), Ends::new(bytes_max), Vec::new());
    let line = plan::line(plan).context("write the plan")?;
    // A launcher that is gone before it was told everything is noticed below, by what it does not say.
    let told = tokio::time::timeout(GRACE, control.write_all(&line)).await;
    let (mut timed_out, mut obeyed) = (false, true);
    {
        let heard = async { said.read_to_end(&mut report).await };
        let whole = async { tokio::join!(drain(out, &mut stdout), drain(err, &mut stderr), heard) };
        let mut whole = std::pin::pin!(whole);
        let by_itself = tokio::select! {
            biased;
            () = stop.cancelled() => false,
            ended = tokio::time::timeout(limit, &mut whole) => {
                timed_out = ended.is_err();
                ended.is_ok()
            }
        };
        if !by_itself {
            // It fails where the launcher is gone already.
            control.shutdown().await.ok();
            obeyed = tokio::time::timeout(GRACE, &mut whole).await.is_ok();
        }
    }
    drop(control);
    if !obeyed {
        tracing::warn!("a command did not end when it was told to, so its launcher is killed");
        child.start_kill().context("kill the launcher")?;
    }
    let waited = tokio::time::timeout(GRACE, child.wait()).await;
    let report = plan::receive(&report[..]).context("read the launcher's report").and_then(|report: Option<Report>| {
        report.ok_or_else(|| anyhow!("the launcher said nothing of the end: told {told:?}, ended {waited:?}"))
    });
    Ok(Ran { report, timed_out, stdout, stderr })
}

fn start(launcher: &Program, workspace: impl AsFd) -> Result<(Child, UnixStream)> {
    let (ours, theirs) = StdSocket::pair().context("make a socket")?;
    ours.set_nonblocking(true).context("make a socket")?;
    // By its handle: what has this name in the meantime makes no difference.
    let workspace = format!("/proc/self/fd/{}", workspace.as_fd().as_raw_fd());
    let child = Command::new(&launcher.path)
        .args(&launcher.arguments)
        .env_clear()
        .current_dir(workspace)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("run {}", launcher.path.display()))?;
    Ok((child, UnixStream::from_std(ours).context("watch a socket")?))
}

/// Reads a stream to its end, and keeps its ends. It is read also when nothing of it is kept any more: a command whose
/// pipe is full would wait for ever.
async fn drain(mut stream: impl AsyncRead + Unpin, ends: &mut Ends) {
    let mut piece = vec![0; PIECE_BYTES];
    // A pipe that cannot be read has no more to say.
    while let Ok(length @ 1..) = stream.read(&mut piece).await {
        ends.push(&piece[..length]);
    }
}
