//! A process of its own for each call.
//!
//! SQL that a model has written may take all memory, or go too deep, while SQLite only compiles it, where none of
//! SQLite's own bounds holds and nothing interrupts it. In a process of its own it ends that process and nothing else:
//! the kernel bounds its memory and its time, and a stop kills it. What it has not committed is taken back by whoever
//! opens the database next.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::thread;

use anyhow::{Context, Result, anyhow};
use base::{Stop, TeamName};
use rustix::process::{Resource, Rlimit, setrlimit};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::tables::{Answer, Ask, Failed, Limits, Tables};

use crate::process::Program;
use crate::tool::ToolError;
use crate::workspace::blocking;

/// How much memory it may have, in bytes of addresses; the program itself takes some 60 MiB of them.
const MEMORY_BYTES: u64 = 512 << 20;
/// How long it may compute, in seconds: longer than any call of a tool takes, for where nobody kills it.
const COMPUTES_S: u64 = 60;
/// Its stack, in bytes: SQLite follows what is nested by calling itself, and the longest SQL fits in here many times.
const STACK_BYTES: usize = 64 << 20;
/// The longest answer that is read of it, in bytes: the rows are bounded, the names of columns by the SQL's length.
const SAID_BYTES_MAX: u64 = 8 << 20;

/// What it is told, on one line.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Job {
    pub folder: PathBuf,
    pub team: TeamName,
    /// Whether it may change something.
    pub changes: bool,
    pub sql: String,
    pub values: Vec<Value>,
    pub rows_max: usize,
}

/// What it says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Said {
    Answer(Answer),
    Refused(String),
    Broken(String),
}

/// A process that works on a job. Dropping it ends it.
struct Working(Child);

impl Working {
    fn start(program: &Program) -> Result<Working> {
        let child = Command::new(&program.path)
            .args(&program.arguments)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // A group of its own, which no signal to the hive's terminal reaches.
            .process_group(0)
            .spawn();
        Ok(Working(child.with_context(|| format!("run {}", program.path.display()))?))
    }

    /// It has said what it had to say, or cannot any more.
    fn end(mut self) -> io::Result<ExitStatus> {
        self.0.wait()
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        // What has ended already can neither be killed nor waited for again.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Has a process of this program do a job. When `stop` is cancelled, or this is dropped, the process ends.
pub(super) async fn run(program: &Program, job: Job, stop: &Stop) -> Result<Answer, ToolError> {
    let mut working = Working::start(program).map_err(ToolError::Broken)?;
    let (input, output) = (working.0.stdin.take(), working.0.stdout.take());
    let changes = job.changes;
    let talk = blocking(move || {
        let (mut input, output) = input.zip(output).ok_or_else(|| anyhow!("a process has no pipes"))?;
        let mut line = serde_json::to_vec(&job).context("write down a job")?;
        line.push(b'\n');
        let mut said = Vec::new();
        // One that is gone before it was told everything is known by what it does not say.
        if input.write_all(&line).is_ok() {
            output.take(SAID_BYTES_MAX).read_to_end(&mut said).context("hear what a process says")?;
        }
        // Held until here: the process takes its closing as the order to end.
        drop(input);
        Ok(said)
    });
    let said = tokio::select! {
        biased;
        said = talk => said?,
        () = stop.cancelled() => {
            return Err(ToolError::refused(if changes {
                "stopped: look whether it was done before you do it again"
            } else {
                "stopped before it was done"
            }));
        }
    };
    match serde_json::from_slice(&said) {
        Ok(Said::Answer(answer)) => Ok(answer),
        Ok(Said::Refused(why)) => Err(ToolError::Refused(why)),
        Ok(Said::Broken(why)) => Err(ToolError::Broken(anyhow!("{why}"))),
        Err(_) => {
            let ended = working.end().context("wait for a process").map_err(ToolError::Broken)?;
            if said.len() as u64 == SAID_BYTES_MAX {
                let why = if changes { "it may have been done: look" } else { "ask for fewer columns" };
                return Err(ToolError::refused(format!("the answer is too long; {why}")));
            }
            // Its own bounds end it by a signal, while it compiles or runs what is not committed yet.
            Err(match ended.signal().is_some() && said.is_empty() {
                true => ToolError::refused(
                    "this takes more memory or time, or goes deeper, than one call may: ask for less at a time",
                ),
                false => ToolError::Broken(anyhow!("{} did not do it: {ended}", program.path.display())),
            })
        }
    }
}

/// What such a process does.
pub(crate) fn main() -> ExitCode {
    let done = confine().and_then(|()| work());
    if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn confine() -> Result<()> {
    let bound = |most| Rlimit { current: Some(most), maximum: Some(most) };
    setrlimit(Resource::As, bound(MEMORY_BYTES))?;
    setrlimit(Resource::Cpu, bound(COMPUTES_S))?;
    // It ends by a signal where SQL goes too deep, and nobody wants the memory of that.
    setrlimit(Resource::Core, bound(0))?;
    Ok(())
}

fn work() -> Result<()> {
    let mut input = BufReader::new(io::stdin());
    let mut line = String::new();
    input.read_line(&mut line)?;
    let job: Job = serde_json::from_str(&line)?;
    // Whoever started this keeps the other end open: with it goes the reason to go on.
    thread::Builder::new().spawn(move || {
        io::copy(&mut input, &mut io::sink()).ok();
        std::process::exit(1);
    })?;
    let worker = thread::Builder::new().stack_size(STACK_BYTES).spawn(move || done(&job))?;
    let said = worker.join().map_err(|_| anyhow!("it panicked"))?;
    let mut output = io::stdout().lock();
    serde_json::to_writer(&mut output, &said)?;
    Ok(output.flush()?)
}

fn done(job: &Job) -> Said {
    let tables = Tables::new(&job.folder, Limits::default());
    let ask = Ask { team: &job.team, sql: &job.sql, values: &job.values, rows_max: job.rows_max };
    let never = Stop::new();
    match if job.changes { tables.exec(&ask, &never) } else { tables.query(&ask, &never) } {
        Ok(answer) => Said::Answer(answer),
        Err(Failed::Refused(why)) => Said::Refused(why),
        Err(Failed::Broken(fault)) => Said::Broken(format!("{fault:#}")),
    }
}
