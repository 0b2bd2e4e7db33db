//! `hive chat`: talk to the hive in this terminal.
//!
//! Where a hive runs on this run directory, its socket is joined; otherwise a hive runs for as long as somebody talks.

use std::io::IsTerminal;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use anyhow::{Context, Result};
use channels::console::{AtEnd, attach, typed};

use super::run::{SOCKET, Terminal, with_hive};
use super::{block_on, complain};
use crate::config::Config;

pub(super) fn run(config: Config) -> Result<ExitCode> {
    let socket = config.run_dir.join(SOCKET);
    match UnixStream::connect(&socket) {
        Ok(stream) => {
            complain("You talk to the hive that runs. /help lists commands, Ctrl-D leaves.");
            block_on(join(stream)).map(|()| ExitCode::SUCCESS)
        }
        // Nobody listens: there is no hive, or the socket is what a killed one left.
        Err(_) => with_hive(config, Terminal::Here),
    }
}

async fn join(stream: UnixStream) -> Result<()> {
    stream.set_nonblocking(true).context("join the hive")?;
    let stream = tokio::net::UnixStream::from_std(stream).context("join the hive")?;
    let at_end = if std::io::stdin().is_terminal() { AtEnd::Leave } else { AtEnd::Wait };
    attach(stream, typed(), tokio::io::stdout(), at_end).await.context("talk to the hive")
}
