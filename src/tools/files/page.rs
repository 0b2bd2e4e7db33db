//! A part of a text, line by line, in bounded memory however long the text or its lines are.

use std::io::{self, BufRead, BufReader, Read};

use base::Stop;

/// The longest part of a line that is shown, in bytes: a minified file has lines of megabytes.
pub const LINE_BYTES_MAX: usize = 2_000;

/// The longest page, in bytes: about 12,000 tokens.
pub const PAGE_BYTES_MAX: usize = 48 * 1_024;

/// How much of the beginning is searched for a zero byte, which no text has.
const SNIFFED_BYTES: usize = 8 * 1_024;

/// Which lines are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The first, from 1.
    pub from: u64,
    /// How many at most.
    pub lines_max: u64,
}

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub enum Page {
    /// Lines.
    Lines {
        /// Each with its number in front.
        text: String,
        /// The number of the last one; one before the first where there are none.
        last: u64,
        /// Whether there is something after it.
        more: bool,
        /// Whether some bytes were not UTF-8 and are shown as `�`.
        broken: bool,
    },
    /// It is no text.
    Binary,
    /// The work was stopped.
    Stopped,
}

/// Reads the wanted lines. Stops reading behind them.
///
/// # Errors
/// If reading fails.
pub fn read(source: impl Read, wanted: Wanted, stop: &Stop) -> io::Result<Page> {
    let mut source = BufReader::with_capacity(SNIFFED_BYTES, source);
    let mut page = Lines { wanted, number: 1, line: Vec::new(), length: 0, text: String::new(), broken: false };
    let mut first = true;
    let more = loop {
        if stop.is_cancelled() {
            return Ok(Page::Stopped);
        }
        let chunk = source.fill_buf()?;
        if std::mem::take(&mut first) && chunk.contains(&0) {
            return Ok(Page::Binary);
        }
        if chunk.is_empty() {
            break page.length > 0 && !page.end_line();
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(chunk.len(), |end| end + 1);
        if page.is_full() {
            break true;
        }
        page.take(&chunk[..end.unwrap_or(chunk.len())]);
        source.consume(used);
        if end.is_some() && !page.end_line() {
            break true;
        }
    };
    Ok(Page::Lines { text: page.text, last: page.number - 1, more, broken: page.broken })
}

struct Lines {
    wanted: Wanted,
    /// The number of the line that is being read.
    number: u64,
    /// Its beginning.
    line: Vec<u8>,
    /// Its length so far, in bytes, counting what is not kept.
    length: usize,
    text: String,
    broken: bool,
}

impl Lines {
    fn is_full(&self) -> bool {
        self.number >= self.wanted.from.saturating_add(self.wanted.lines_max)
    }

    fn take(&mut self, bytes: &[u8]) {
        self.length += bytes.len();
        if self.number >= self.wanted.from {
            let room = LINE_BYTES_MAX.saturating_sub(self.line.len());
            self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    /// Ends the line. `false` where the page has no room for it: it is the first of the next page.
    fn end_line(&mut self) -> bool {
        if self.number >= self.wanted.from {
            let shown = self.show();
            let is_first = self.text.is_empty();
            if self.text.len() + shown.len() > PAGE_BYTES_MAX && !is_first {
                return false;
            }
            self.text.push_str(&shown);
        }
        self.line.clear();
        self.length = 0;
        self.number += 1;
        true
    }

    fn show(&mut self) -> String {
        let cut = self.length - self.line.len();
        let kept = if cut > 0 { whole_characters(&self.line) } else { &self.line };
        let text = String::from_utf8_lossy(kept);
        self.broken |= matches!(text, std::borrow::Cow::Owned(_));
        let more = if cut > 0 { format!(" … [{cut} more bytes in this line]") } else { String::new() };
        format!("{:>6}|{text}{more}\n", self.number)
    }
}

/// Without a character that was cut in two at the end.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8], from: u64, lines_max: u64) -> (String, u64, bool) {
        match read(text, Wanted { from, lines_max }, &Stop::new()).unwrap() {
            Page::Lines { text, last, more, .. } => (text, last, more),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_wanted_lines_and_no_others() {
        let text = b"one\ntwo\nthree";
        for (from, lines_max, expected) in [
            (1, 9, ("     1|one\n     2|two\n     3|three\n", 3, false)),
            (2, 1, ("     2|two\n", 2, true)),
            (3, 1, ("     3|three\n", 3, false)),
            (4, 9, ("", 3, false)),
            (1, 2, ("     1|one\n     2|two\n", 2, true)),
        ] {
            let (text, last, more) = lines(text, from, lines_max);
            assert_eq!((text.as_str(), last, more), expected, "{lines_max} from {from}");
        }
        assert_eq!(lines(b"", 1, 9), (String::new(), 0, false));
        assert_eq!(lines(b"\n\n", 1, 9), ("     1|\n     2|\n".to_owned(), 2, false));
        assert_eq!(lines(b"one\n", 1, 1), ("     1|one\n".to_owned(), 1, false), "nothing is behind the last line");
    }

    #[test]
    fn a_long_line_and_a_long_text_are_cut_between_characters() {
        let long = "ä".repeat(3_000);
        let (text, ..) = lines(long.as_bytes(), 1, 9);
        assert_eq!(text, format!("     1|{} … [4000 more bytes in this line]\n", "ä".repeat(1_000)));
        let many = "0123456789\n".repeat(100_000);
        let (text, last, more) = lines(many.as_bytes(), 1, u64::MAX);
        assert!(text.len() <= PAGE_BYTES_MAX && more);
        let (next, ..) = lines(many.as_bytes(), last + 1, 1);
        assert_eq!(next, format!("{:>6}|0123456789\n", last + 1), "the next page begins where this one ended");
        let odd = format!("a{}", "ä".repeat(3_000));
        let page = read(odd.as_bytes(), Wanted { from: 1, lines_max: 1 }, &Stop::new()).unwrap();
        assert!(matches!(page, Page::Lines { broken: false, .. }), "{page:?}");
    }

    #[test]
    fn what_is_no_text_is_told() {
        assert_eq!(read(&b"PNG\0"[..], Wanted { from: 1, lines_max: 1 }, &Stop::new()).unwrap(), Page::Binary);
        let page = read(&b"caf\xe9\n"[..], Wanted { from: 1, lines_max: 1 }, &Stop::new()).unwrap();
        assert_eq!(page, Page::Lines { text: "     1|caf\u{fffd}\n".to_owned(), last: 1, more: false, broken: true });
        let stop = Stop::new();
        stop.cancel();
        assert_eq!(read(io::repeat(b'x'), Wanted { from: 1, lines_max: 1 }, &stop).unwrap(), Page::Stopped);
    }
}
