//! Lists that a model reads whole: what is long in them is shortened until they fit into a result.

use anyhow::Context;
use serde::Serialize;

use crate::tool::ToolError;

/// The list as the first of these levels makes it whose JSON has at most `bytes_max` bytes, the most generous first. Where
/// none does, as the first one makes it: then all of it stands in a file, as of every result that is too long.
///
/// # Errors
/// Where it is no JSON: a fault of ours.
pub(super) fn fitting<L: Copy, T: Serialize>(
    bytes_max: usize,
    levels: &[L],
    list: impl Fn(L) -> T,
) -> Result<T, ToolError> {
    for level in levels {
        let list = list(*level);
        if serde_json::to_vec(&list).context("write a list")?.len() <= bytes_max {
            return Ok(list);
        }
    }
    let first = levels.first().context("a list has a level")?;
    Ok(list(*first))
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
