//! The person's side of a terminal.

use std::io::Read as _;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::UnixStream;

/// How long the end of a piped input waits for the answer to its last line.
const ANSWER: Duration = Duration::from_secs(120);
/// How long a silence after that has to be before nothing more is waited for.
const QUIET: Duration = Duration::from_secs(2);

/// What the end of the input means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtEnd {
    /// The person leaves: Ctrl-D.
    Leave,
    /// Somebody piped a question in, and wants its answer.
    Wait,
}

/// The other side of [`super::Console::serve`]: joins a terminal to a running hive's socket until either side ends.
///
/// # Errors
/// Where the socket or the terminal breaks.
pub async fn attach(
    socket: UnixStream,
    mut input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
    at_end: AtEnd,
) -> std::io::Result<()> {
    let (mut from_hive, mut to_hive) = socket.into_split();
    let (mut typed, mut said) = (vec![0; 4 * 1024], vec![0; 4 * 1024]);
    // The answer to the last line is still owed.
    let (mut open, mut owed) = (true, false);
    loop {
        let patience = if owed { ANSWER } else { QUIET };
        tokio::select! {
            biased;
            count = from_hive.read(&mut said) => match count? {
                0 => return Ok(()),
                count => {
                    output.write_all(&said[..count]).await?;
                    output.flush().await?;
                    owed = false;
                }
            },
            count = input.read(&mut typed), if open => match count? {
                0 if at_end == AtEnd::Leave => return Ok(()),
                0 => open = false,
                count => {
                    to_hive.write_all(&typed[..count]).await?;
                    owed = true;
                }
            },
            () = tokio::time::sleep(patience), if !open => return Ok(()),
        }
    }
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
