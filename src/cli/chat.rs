//! `hive chat`: talk to the hive in this terminal.
//!
//! Where a hive runs on this run directory, its socket is joined; otherwise a hive runs for as long as somebody talks.

use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use anyhow::{Context, Result};

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

/// Carries lines both ways until one side ends.
async fn join(stream: UnixStream) -> Result<()> {
    stream.set_nonblocking(true).context("join the hive")?;
    let (mut from_hive, mut to_hive) = tokio::net::UnixStream::from_std(stream).context("join the hive")?.into_split();
    let (mut input, mut output) = (tokio::io::stdin(), tokio::io::stdout());
    let typed = async {
        tokio::io::copy(&mut input, &mut to_hive).await?;
        // The hive still says what it has to say, and then closes its side.
        tokio::io::AsyncWriteExt::shutdown(&mut to_hive).await?;
        std::future::pending::<std::io::Result<u64>>().await
    };
    tokio::select! {
        said = tokio::io::copy(&mut from_hive, &mut output) => said.map(|_| ()).context("the hive has closed"),
        typed = typed => typed.map(|_| ()).context("read from the terminal"),
    }
}
