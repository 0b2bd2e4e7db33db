//! Markdown that breaks off in the middle, made whole for a draft.

use std::borrow::Cow;

/// The text with the marks of its last paragraph closed that were opened and not closed yet, and without the
/// beginning of a link's address. A guess: a draft is replaced in a second.
pub(super) fn complete(markdown: &str) -> Cow<'_, str> {
    if in_fence(markdown) {
        return Cow::Borrowed(markdown);
    }
    let paragraph = markdown.rfind("\n\n").map_or(0, |at| at + 2);
    let mut open = open_marks(&markdown[paragraph..]);
    let mut end = markdown.len();
    if let Some(link) = open.iter().position(|mark| mark.text == "[") {
        let at = paragraph + open[link].at;
        // `[text](http` and `[text` both become the text alone.
        let text_end = markdown[at..].find("](").map_or(end, |found| at + found);
        let inner: Vec<Mark> = open.drain(link..).skip(1).filter(|mark| paragraph + mark.at < text_end).collect();
        open.extend(inner);
        let mut text = markdown[..at].to_owned();
        text.push_str(&markdown[at + 1..text_end]);
        return Cow::Owned(close(text, &open));
    }
    // A mark with nothing behind it yet marks nothing.
    while let Some(mark) = open.last().filter(|mark| paragraph + mark.at + mark.text.len() == end) {
        end = paragraph + mark.at;
        open.pop();
    }
    if open.is_empty() && end == markdown.len() {
        return Cow::Borrowed(markdown);
    }
    Cow::Owned(close(markdown[..end].to_owned(), &open))
}

/// A mark that is open at the end of a paragraph.
struct Mark {
    at: usize,
    text: &'static str,
}

/// What may open and close within a line; longer ones first.
const MARKS: [&str; 7] = ["**", "__", "~~", "||", "*", "_", "`"];

fn close(mut text: String, open: &[Mark]) -> String {
    text.truncate(text.trim_end().len());
    open.iter().rev().for_each(|mark| text.push_str(mark.text));
    text
}

/// An odd number of fences stands before the end.
fn in_fence(markdown: &str) -> bool {
    let is_fence = |line: &&str| line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
    markdown.lines().filter(is_fence).count() % 2 == 1
}

fn open_marks(paragraph: &str) -> Vec<Mark> {
    let mut open: Vec<Mark> = Vec::new();
    let mut at = 0;
    while let Some(c) = paragraph[at..].chars().next() {
        let rest = &paragraph[at..];
        let in_code = open.last().is_some_and(|mark| mark.text == "`");
        let found = MARKS.into_iter().find(|mark| rest.starts_with(mark));
        match found {
            Some("`") if in_code => drop(open.pop()),
            _ if in_code => {}
            None if c == '\\' => {
                at += 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                continue;
            }
            None if c == '[' => open.push(Mark { at, text: "[" }),
            None if c == ']' && !rest.starts_with("](") => forget_link(&mut open),
            None if c == ')' && paragraph[..at].contains("](") => forget_link(&mut open),
            Some(text) => turn(&mut open, paragraph, at, text),
            None => {}
        }
        at += found.map_or(c.len_utf8(), str::len);
    }
    open
}

/// Closes the mark if it is open, opens it if text follows.
fn turn(open: &mut Vec<Mark>, paragraph: &str, at: usize, text: &'static str) {
    let after = paragraph[at + text.len()..].chars().next();
    let before = paragraph[..at].chars().next_back();
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    if let Some(index) = open.iter().rposition(|mark| mark.text == text) {
        open.truncate(index);
    } else if !(after.is_some_and(char::is_whitespace) || text.starts_with('_') && is_word(before)) {
        open.push(Mark { at, text });
    }
}

fn forget_link(open: &mut Vec<Mark>) {
    if let Some(index) = open.iter().rposition(|mark| mark.text == "[") {
        open.remove(index);
    }
}
