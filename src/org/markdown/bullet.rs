//! A bullet: a name, and what is said of it.

/// A bullet of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bullet {
    /// The line in its file.
    pub line: usize,
    /// Its first paragraph as plain text, on one line.
    pub text: String,
}

impl Bullet {
    /// The name, and the description, empty where there is none. Both ways of writing dashes part them, and a colon:
    /// `name — description`, `name – description`, `name - description`, `name: description`. `None` where it says
    /// that there is nothing (`none`, `n/a`, or no word at all).
    pub fn named(&self) -> Option<(&str, &str)> {
        let text = self.text.trim();
        let says_nothing = text.trim_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase();
        if says_nothing.is_empty() || ["none", "n/a", "none yet"].contains(&says_nothing.as_str()) {
            return None;
        }
        let (at, length) = separator(text).unwrap_or((text.len(), 0));
        Some((bare(&text[..at]), text[at + length..].trim()))
    }
}

/// Where a name ends, and how long what parts it from its description is, in bytes. The first of them counts.
fn separator(text: &str) -> Option<(usize, usize)> {
    for (at, c) in text.char_indices() {
        let after = &text[at + c.len_utf8()..];
        let stands_free = text[..at].ends_with(char::is_whitespace) && after.starts_with(char::is_whitespace);
        let length = match c {
            '—' | '–' => c.len_utf8(),
            '-' if stands_free => 1,
            // Two hyphens, as a dash of those who have none.
            '-' if text[..at].ends_with(char::is_whitespace) && after.starts_with("- ") => 2,
            ':' if after.is_empty() || after.starts_with(char::is_whitespace) => 1,
            _ => continue,
        };
        return Some((at, length));
    }
    // `name description` and `name (description)`: what has a space in it is no name.
    text.find(char::is_whitespace).map(|at| (at, 0))
}

/// A name without what people put around it: quotes, back-ticks, emphasis.
pub(crate) fn bare(text: &str) -> &str {
    text.trim().trim_matches(|c: char| matches!(c, '`' | '*' | '"' | '\'' | '“' | '”') || c.is_whitespace())
}
