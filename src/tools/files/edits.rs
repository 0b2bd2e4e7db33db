//! Texts that take other texts' places: exactly, literally, one or all. Pure.
//!
//! On bytes: what of a file is not UTF-8 stays as it is.

use memchr::memmem;
use schemars::JsonSchema;
use serde::Deserialize;

/// How many edits one call takes.
pub const EDITS_MAX: usize = 100;

/// One text for another.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Replacement {
    /// The text as it stands in the file, without the line numbers that `read_file` shows.
    #[serde(alias = "oldText", alias = "old_text")]
    pub old_string: String,
    /// The text that takes its place.
    #[serde(alias = "newText", alias = "new_text")]
    pub new_string: String,
    /// Whether every occurrence is replaced. Left out: there must be exactly one.
    #[serde(default, alias = "replaceAll")]
    pub replace_all: bool,
}

/// Makes the edits one after the other, each in what the one before it left. The text, and how many places changed.
///
/// In a file whose lines all end in `\r\n` the edits' lines do too: models write `\n`.
///
/// # Errors
/// Says which edit cannot be made, and why. Then none is.
pub fn apply(text: &[u8], edits: &[Replacement]) -> Result<(Vec<u8>, usize), String> {
    if edits.is_empty() || edits.len() > EDITS_MAX {
        return Err(format!("`edits` has {} entries, and takes 1 to {EDITS_MAX}", edits.len()));
    }
    let windows = ends_in_crlf(text);
    let (mut text, mut places) = (text.to_owned(), 0);
    for (at, edit) in edits.iter().enumerate() {
        let (next, changed) = one(&text, edit, windows).map_err(|why| match edits.len() {
            1 => why,
            all => format!("edit {} of {all}: {why}; nothing was changed", at + 1),
        })?;
        text = next;
        places += changed;
    }
    Ok((text, places))
}

fn one(text: &[u8], edit: &Replacement, windows: bool) -> Result<(Vec<u8>, usize), String> {
    if edit.old_string.is_empty() {
        return Err("`old_string` is empty: to make a file use `write_file`, to add to one name the text beside".into());
    }
    if edit.old_string == edit.new_string {
        return Err("`old_string` and `new_string` are the same".into());
    }
    let (old, new) = match windows {
        true => (with_crlf(&edit.old_string), with_crlf(&edit.new_string)),
        false => (edit.old_string.clone(), edit.new_string.clone()),
    };
    let (old, new) = (old.as_bytes(), new.as_bytes());
    let places: Vec<usize> = memmem::find_iter(text, old).collect();
    // Two that overlap are two places as well.
    let overlaps = || places.first().is_some_and(|first| memmem::find(&text[first + 1..], old).is_some());
    match places.len() {
        0 => return Err(not_found(text, edit)),
        1 if !edit.replace_all && overlaps() => {
            return Err(
                "`old_string` is there more than once, overlapping itself: give more of the text around it".into()
            );
        }
        many if many > 1 && !edit.replace_all => {
            return Err(format!(
                "`old_string` is there {many} times: give more of the text around the one that is meant, or set \
                 `replace_all`"
            ));
        }
        _ => {}
    }
    let mut changed = Vec::with_capacity(text.len());
    let mut from = 0;
    for at in &places {
        changed.extend_from_slice(&text[from..*at]);
        changed.extend_from_slice(new);
        from = at + old.len();
    }
    changed.extend_from_slice(&text[from..]);
    Ok((changed, places.len()))
}

/// What is most often wrong with a text that is not there.
fn not_found(text: &[u8], edit: &Replacement) -> String {
    let mut why = "`old_string` is not in the file (0 matches)".to_owned();
    let numbered = |line: &str| line.trim_start().split_once('|').is_some_and(|(n, _)| n.parse::<u64>().is_ok());
    let words = |text: &[u8]| {
        text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(&b' ')
    };
    if edit.old_string.lines().all(numbered) {
        why.push_str(": leave out the line numbers that `read_file` shows");
    } else if memmem::find(&words(text), &words(edit.old_string.as_bytes())).is_some() {
        why.push_str(": its words are, with other white space between them; copy it exactly");
    } else {
        why.push_str(": read the file again and copy the text exactly");
    }
    why
}

/// Whether every line ends as on Windows.
fn ends_in_crlf(text: &[u8]) -> bool {
    let all = memchr::memchr_iter(b'\n', text).count();
    all > 0 && memmem::find_iter(text, b"\r\n").count() == all
}

fn with_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn edit(old: &str, new: &str) -> Replacement {
        Replacement { old_string: old.into(), new_string: new.into(), replace_all: false }
    }

    fn all(old: &str, new: &str) -> Replacement {
        Replacement { replace_all: true, ..edit(old, new) }
    }

    fn applied(text: &[u8], edits: &[Replacement]) -> Result<(String, usize), String> {
        apply(text, edits).map(|(text, places)| (String::from_utf8_lossy(&text).into_owned(), places))
    }

    #[test]
    fn texts_take_each_other_s_places() {
        for (text, edits, expected) in [
            ("one two", vec![edit("one", "1")], ("1 two", 1)),
            ("a a a", vec![all("a", "aa")], ("aa aa aa", 3)),
            ("aaa", vec![all("aa", "b")], ("ba", 1)),
            ("price: $1", vec![edit("$1", "$& $$ $0 \\1")], ("price: $& $$ $0 \\1", 1)),
            ("x\ny\n", vec![edit("y\n", "")], ("x\n", 1)),
            ("x", vec![edit("x", "y"), edit("y", "z")], ("z", 2)),
            ("a\r\nb\r\n", vec![edit("a\nb", "c\nd\ne")], ("c\r\nd\r\ne\r\n", 1)),
            ("a\r\nb\r\n", vec![edit("a\r\nb", "c\r\nd")], ("c\r\nd\r\n", 1)),
            ("a\r\nb\n", vec![edit("a\r\n", "c\n")], ("c\nb\n", 1)),
            ("no end", vec![edit("end", "End")], ("no End", 1)),
        ] {
            assert_eq!(applied(text.as_bytes(), &edits), Ok((expected.0.to_owned(), expected.1)), "{text:?}");
        }
        assert_eq!(apply(b"\xff\x00 x", &[edit("x", "y")]).unwrap().0, b"\xff\x00 y", "other bytes stay");
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_the_number_of_matches() {
        for (text, edits, expected) in [
            ("a a a", vec![edit("a", "b")], "`old_string` is there 3 times: give more"),
            ("aaa", vec![edit("aa", "b")], "`old_string` is there more than once, overlapping"),
            ("abc", vec![edit("x", "y")], "`old_string` is not in the file (0 matches): read the file again"),
            ("a  b", vec![edit("a b", "y")], "`old_string` is not in the file (0 matches): its words are"),
            (
                "a",
                vec![edit("     1|a", "y")],
                "`old_string` is not in the file (0 matches): leave out the line numbers",
            ),
            ("a", vec![edit("", "y")], "`old_string` is empty"),
            ("a", vec![all("", "y")], "`old_string` is empty"),
            ("a", vec![edit("a", "a")], "`old_string` and `new_string` are the same"),
            ("a", vec![], "`edits` has 0 entries"),
            ("a", vec![edit("a", "b"); 101], "`edits` has 101 entries"),
            ("a b", vec![edit("a", "c"), edit("a", "d")], "edit 2 of 2: `old_string` is not in the file"),
        ] {
            let refused = applied(text.as_bytes(), &edits).unwrap_err();
            assert!(refused.starts_with(expected), "{refused}");
        }
    }

    proptest! {
        #[test]
        fn every_occurrence_and_nothing_else_changes(text in "[abc\n]{0,40}", old in "[abc\n]{1,3}", new in "[abc$\n]{0,3}") {
            prop_assume!(old != new);
            let expected = text.replace(&old, &new);
            match applied(text.as_bytes(), &[all(&old, &new)]) {
                Ok((changed, places)) => {
                    prop_assert_eq!(changed, expected);
                    prop_assert_eq!(places, text.matches(&old).count());
                }
                Err(_) => prop_assert!(!text.contains(&old)),
            }
            let once = applied(text.as_bytes(), &[edit(&old, &new)]);
            let starts = (0..text.len()).filter(|at| text[*at..].starts_with(&old)).count();
            prop_assert_eq!(once.is_ok(), starts == 1);
        }
    }
}
