//! Logs: to standard error, for people or as JSON, scrubbed of every secret that is known.

use std::io::{self, IsTerminal, Write};

use anyhow::Result;
use base::Scrub;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::config::{LogFormat, Logs};

/// Starts to log.
///
/// # Errors
/// Where the filter is none (the configuration has checked it) or something logs already.
pub(super) fn start(logs: &Logs, scrub: &Scrub) -> Result<()> {
    // Other crates' messages may hold what they were given; only their warnings are shown by default.
    let directives = match logs.filter.as_str() {
        level @ ("trace" | "debug" | "info") => format!(
            "warn,serenity=off,openhive={level},channels={level},llm={level},tools={level},org={level},store={level}"
        ),
        other => other.to_owned(),
    };
    let filter = EnvFilter::builder().parse(directives)?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(Scrubbed(scrub.clone()));
    let started = match logs.format {
        LogFormat::Human => builder.with_target(false).with_ansi(io::stderr().is_terminal()).try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    started.map_err(|error| anyhow::anyhow!("{error}"))
}

#[derive(Clone)]
struct Scrubbed(Scrub);

/// One line at a time: the subscriber writes each event with one call.
struct Line(Scrub);

impl<'a> MakeWriter<'a> for Scrubbed {
    type Writer = Line;
    fn make_writer(&'a self) -> Line {
        Line(self.0.clone())
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stderr().lock().write_all(self.0.clean(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
