//! The person's side of a terminal.

use std::io::Read as _;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::UnixStream;

/// The other side of [`super::Console::serve`]: joins a terminal to a running hive's socket until either side ends.
///
/// # Errors
/// Where the socket or the terminal breaks.
pub async fn attach(
    socket: UnixStream,
    mut input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
) -> std::io::Result<()> {
    let (mut from_hive, mut to_hive) = socket.into_split();
    let says = async {
        tokio::io::copy(&mut input, &mut to_hive).await?;
        to_hive.shutdown().await
    };
    let shows = tokio::io::copy(&mut from_hive, &mut output);
    tokio::pin!(says, shows);
    // The hive closes the session when the input has ended; what it says until then is still shown.
    tokio::select! {
        shown = &mut shows => shown?,
        said = &mut says => {
            said?;
            shows.await?
        }
    };
    Ok(())
}

/// What is typed. Standard input cannot be read without blocking, so a thread of its own does: it holds up nobody
/// when the process ends, as a task of the runtime would.
pub fn typed() -> impl AsyncRead + Send + Unpin + 'static {
    let (mut writer, reader) = tokio::io::duplex(8 * 1024);
    std::thread::spawn(move || {
        let mut bytes = [0; 4 * 1024];
        while let Ok(count @ 1..) = std::io::stdin().read(&mut bytes) {
            if futures::executor::block_on(writer.write_all(&bytes[..count])).is_err() {
                return;
            }
        }
    });
    reader
}
