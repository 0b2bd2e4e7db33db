//! What a person types.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _};

use crate::{Arguments, Content, Text};

/// The longest message that can be typed or pasted, in bytes. What is longer is cut there.
const MESSAGE_MAX_BYTES: u64 = 1024 * 1024;

/// Messages of one or several lines: a line that ends in a back-slash goes on in the next one.
pub(super) struct Lines<R> {
    reader: R,
    message: String,
    bytes: Vec<u8>,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Lines { reader, message: String::new(), bytes: Vec::new() }
    }

    /// The next message; `None` at the end of the input.
    pub(super) async fn next(&mut self) -> io::Result<Option<&str>> {
        self.message.clear();
        loop {
            self.bytes.clear();
            let room = MESSAGE_MAX_BYTES.saturating_sub(self.message.len() as u64);
            let read = (&mut self.reader).take(room.max(1)).read_until(b'\n', &mut self.bytes).await?;
            if self.bytes.last() != Some(&b'\n') && read > 0 {
                // Either the input ends here or the rest of the line is too much.
                self.skip_line().await?;
            }
            let line = String::from_utf8_lossy(&self.bytes);
            let line = line.trim_end_matches(['\n', '\r']);
            let goes_on = read > 0 && line.ends_with('\\') && (self.message.len() as u64) < MESSAGE_MAX_BYTES;
            self.message.push_str(if goes_on { &line[..line.len() - 1] } else { line });
            if goes_on {
                self.message.push('\n');
            } else if read == 0 && self.message.trim().is_empty() {
                return Ok(None);
            } else {
                return Ok(Some(self.message.trim_end_matches('\n')));
            }
        }
    }

    async fn skip_line(&mut self) -> io::Result<()> {
        loop {
            let bytes = self.reader.fill_buf().await?;
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let count = end.map_or(bytes.len(), |end| end + 1);
            self.reader.consume(count);
            if count == 0 || end.is_some() {
                return Ok(());
            }
        }
    }
}

/// What a message means. `choice` tells what the button of a number carries, and on which message. `None` for one
/// that says nothing.
pub(super) fn read(message: &str, choice: impl FnOnce(usize) -> Option<(String, String)>) -> Option<Content> {
    let text = message.trim();
    if text.is_empty() {
        return None;
    }
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((data, message_id)) = text.parse().ok().filter(|_| is_number).and_then(choice) {
        return Some(Content::Click { data, message_id, handle: None });
    }
    let command = text.strip_prefix('/').map(|rest| rest.split_once(char::is_whitespace).unwrap_or((rest, "")));
    Some(match command {
        Some((name, rest)) if !name.is_empty() => Content::Command {
            name: name.to_lowercase(),
            arguments: Arguments::Line(rest.trim().to_owned()),
            reply_to: None,
            reply_to_sender: None,
            handle: None,
        },
        _ => Content::Text(Text { text: message.trim_end().to_owned(), ..Text::default() }),
    })
}
