//! Server-sent events, read piece by piece: each byte is looked at once, however the stream is cut.
//!
//! Of an event only its data is told, for both protocols repeat its name in there. The published parser for this
//! (`eventsource-stream` 0.2.3) panics on a byte order mark and reads a long line anew with every piece.

use crate::error::{Class, ModelError};
use crate::wire::Flow;

/// A reader of events.
#[derive(Default)]
pub(crate) struct Events {
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// The data of the event that has not ended yet; `None` without a data line.
    data: Option<String>,
    /// Whether the last byte was a carriage return, which a line feed may belong to.
    after_return: bool,
    /// Whether a line has ended yet. Only the first may begin with a byte order mark.
    begun: bool,
}

impl Events {
    /// Reads a piece. `each` is told the data of every event that ends in it, and says whether to go on.
    pub(crate) fn feed(
        &mut self,
        piece: &[u8],
        each: &mut dyn FnMut(&str) -> Result<Flow, ModelError>,
    ) -> Result<Flow, ModelError> {
        let mut rest = piece;
        while !rest.is_empty() {
            if std::mem::take(&mut self.after_return) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.line.extend_from_slice(rest);
                break;
            };
            self.line.extend_from_slice(&rest[..end]);
            self.after_return = rest[end] == b'\r';
            rest = &rest[end + 1..];
            if self.end_line(each)? == Flow::Done {
                return Ok(Flow::Done);
            }
        }
        Ok(Flow::More)
    }

    /// The stream has ended: what stands without an empty line after it. Servers leave that out, and a cut leaves
    /// half an event here.
    pub(crate) fn rest(mut self) -> Option<String> {
        // Half a character at the end is a cut as well.
        self.read_line().ok()?;
        self.data
    }

    fn end_line(&mut self, each: &mut dyn FnMut(&str) -> Result<Flow, ModelError>) -> Result<Flow, ModelError> {
        if !self.line.is_empty() {
            self.read_line()?;
            return Ok(Flow::More);
        }
        self.begun = true;
        match self.data.take() {
            Some(data) => each(&data),
            None => Ok(Flow::More),
        }
    }

    /// Takes a line that is not empty. Comments and all fields but the data are passed over.
    fn read_line(&mut self) -> Result<(), ModelError> {
        let line = std::str::from_utf8(&self.line)
            .map_err(|_| ModelError::new(Class::Transient, "the answer is not UTF-8"))?;
        let line = if self.begun { line } else { line.strip_prefix('\u{feff}').unwrap_or(line) };
        self.begun = true;
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        if field == "data" {
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            }
        }
        self.line.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_events_as_the_standard_says() {
        for (stream, expected, rest) in [
            ("", &[][..], None),
            ("data: a\n\ndata:b\n\n", &["a", "b"], None),
            ("data: a\ndata: b\n\n", &["a\nb"], None),
            ("data\n\ndata:\n\n", &["", ""], None),
            ("data:  a \n\n", &[" a "], None),
            (": comment\nevent: x\nid: 1\nretry: 5\nnothing\n\n\n\n", &[], None),
            ("\u{feff}data: a\n\n\u{feff}data: b\n\n", &["a"], None),
            ("data: a\r\rdata: b\r\n\r\ndata: c\n\r\n", &["a", "b", "c"], None),
            ("data: a\n\ndata: b\n", &["a"], Some("b")),
            ("data: a\n\ndata: b", &["a"], Some("b")),
        ] {
            let mut seen: Vec<String> = Vec::new();
            let mut events = Events::default();
            let mut each = |data: &str| {
                seen.push(data.to_owned());
                Ok(Flow::More)
            };
            assert_eq!(events.feed(stream.as_bytes(), &mut each), Ok(Flow::More));
            assert_eq!(seen, expected, "{stream:?}");
            assert_eq!(events.rest().as_deref(), rest, "{stream:?}");
        }
    }
}
