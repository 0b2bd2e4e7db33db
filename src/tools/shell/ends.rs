//! The beginning and the end of a stream, in bounded memory: what lies between is counted and dropped.

use std::collections::VecDeque;

/// What is kept of a stream of bytes.
///
/// Invariant: `head` and `tail` are disjoint pieces of the stream, in its order, and nothing is dropped before both
/// are full.
#[derive(Debug)]
pub(super) struct Ends {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_max: usize,
    tail_max: usize,
    bytes: u64,
}

impl Ends {
    /// Keeps at most `bytes_max` bytes: two thirds from the beginning, the rest from the end, where errors stand.
    pub(super) fn new(bytes_max: usize) -> Ends {
        let tail_max = bytes_max / 3;
        Ends { head: Vec::new(), tail: VecDeque::new(), head_max: bytes_max - tail_max, tail_max, bytes: 0 }
    }

    /// Takes the next bytes of the stream.
    pub(super) fn push(&mut self, more: &[u8]) {
        self.bytes += more.len() as u64;
        let (first, rest) = more.split_at(more.len().min(self.head_max - self.head.len()));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.tail_max)..];
        let surplus = (self.tail.len() + rest.len()).saturating_sub(self.tail_max);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }

    /// How many bytes the stream had.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many of them are not kept.
    pub(super) fn left_out(&self) -> u64 {
        self.bytes - (self.head.len() + self.tail.len()) as u64
    }

    /// The text, with a note where bytes are left out. What is not UTF-8 is shown as U+FFFD, and a character that the
    /// cut went through is left out whole.
    pub(super) fn text(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if self.left_out() == 0 {
            return String::from_utf8_lossy(&[&self.head[..], &tail].concat()).into_owned();
        }
        let head = &self.head[..whole_until(&self.head)];
        let tail = &tail[tail.iter().take(3).take_while(|byte| is_continuation(**byte)).count()..];
        let left_out = self.bytes - (head.len() + tail.len()) as u64;
        let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
        format!("{head}\n[… {left_out} bytes left out here …]\n{tail}")
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// Where the last whole character ends.
fn whole_until(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        // `None` is an unfinished character at the very end; any other fault is the stream's own.
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(bytes_max: usize, pieces: &[&[u8]]) -> Ends {
        let mut ends = Ends::new(bytes_max);
        pieces.iter().for_each(|piece| ends.push(piece));
        ends
    }

    #[test]
    fn what_fits_is_kept_as_it_is() {
        assert_eq!(of(9, &[b"abc", b"def", b"ghi"]).text(), "abcdefghi");
        assert_eq!(of(9, &[]).text(), "");
    }

    #[test]
    fn of_what_does_not_fit_the_ends_are_kept() {
        let ends = of(9, &[b"abcd", b"efgh", b"ijkl"]);
        assert_eq!(ends.text(), "abcdef\n[… 3 bytes left out here …]\njkl");
        assert_eq!((ends.bytes(), ends.left_out()), (12, 3));
    }

    #[test]
    fn a_character_that_is_cut_is_left_out_whole() {
        let ends = of(6, &["ééééé".as_bytes()]);
        assert_eq!(ends.text(), "éé\n[… 4 bytes left out here …]\né");
        let ends = of(9, &["aéééééééé".as_bytes()]);
        assert_eq!(ends.text(), "aéé\n[… 10 bytes left out here …]\né");
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..20), bytes_max in 0_usize..60
        ) {
            let whole = pieces.concat();
            let by_piece = of(bytes_max, &pieces.iter().map(Vec::as_slice).collect::<Vec<_>>());
            let at_once = of(bytes_max, &[&whole]);
            prop_assert_eq!(by_piece.text(), at_once.text());
            prop_assert_eq!(by_piece.bytes(), whole.len() as u64);
            prop_assert_eq!(by_piece.left_out(), whole.len().saturating_sub(bytes_max) as u64);
            prop_assert!(by_piece.head.len() + by_piece.tail.len() <= bytes_max);
        }
    }
}
