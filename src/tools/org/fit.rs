//! Lists that a model reads whole: what is long in them is shortened until they fit into a result.

use std::io::{self, Write};

use anyhow::Context;
use serde::Serialize;

use crate::tool::ToolError;

/// The list as the first of these levels makes it whose JSON has at most `bytes_max` bytes, the most generous first. Where
/// none does, as the first one makes it: then all of it stands in a file, as of every result that is too long.
///
/// # Errors
/// Where there is no level: a fault of ours.
pub(super) fn fitting<L: Copy, T: Serialize>(
    bytes_max: usize,
    levels: &[L],
    list: impl Fn(L) -> T,
) -> Result<T, ToolError> {
    let (first, shorter) = levels.split_first().context("a list has a level")?;
    let whole = list(*first);
    if fits(&whole, bytes_max) {
        return Ok(whole);
    }
    // What is too long at its shortest is so at every other level.
    if shorter.last().is_none_or(|last| !fits(&list(*last), bytes_max)) {
        return Ok(whole);
    }
    Ok(shorter.iter().map(|level| list(*level)).find(|list| fits(list, bytes_max)).unwrap_or(whole))
}

/// Whether the JSON of a list has at most so many bytes. No more of it is written than that.
fn fits<T: Serialize>(list: &T, bytes_max: usize) -> bool {
    serde_json::to_writer(Room(bytes_max), list).is_ok()
}

/// Takes so many bytes and no more.
struct Room(usize);

impl Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_shortened_no_more_than_it_must_be() {
        let list = |chars: usize| vec!["x".repeat(chars); 10];
        // Ten strings, each with quotes and a comma.
        for (bytes_max, expected) in [(1_000, 90), (931, 90), (930, 40), (331, 9), (121, 9), (120, 90)] {
            let fitted = fitting(bytes_max, &[90, 40, 9], list).unwrap();
            assert_eq!(fitted, list(expected), "{bytes_max}");
        }
    }
}
