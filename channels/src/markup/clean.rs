//! Characters that no platform shows and some refuse.

use std::borrow::Cow;

/// The text with `\n` as its only line end and without control characters other than that and the tab.
///
/// A vertical tab, a form feed and U+0085 part words, so they become a space; NUL and the rest are dropped. Format
/// characters (joiners, directions, tags) stay: scripts and emoji need them.
pub fn clean(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !text.chars().any(|c| c.is_control() && c != '\n' && c != '\t') {
        return Cow::Borrowed(text);
    }
    let mut cleaned = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => cleaned.push(c),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' => cleaned.push('\n'),
            '\u{b}' | '\u{c}' | '\u{85}' => cleaned.push(' '),
            c if c.is_control() => {}
            c => cleaned.push(c),
        }
    }
    Cow::Owned(cleaned)
}
