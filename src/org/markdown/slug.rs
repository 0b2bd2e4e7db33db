//! Names of skills and subagents: they become names of files and of tools.

use std::fmt;

/// The longest slug, in bytes: a provider takes 64 for a tool, and a team's name may stand in front.
const BYTES_MAX: usize = 48;

/// A name such as `react-dev`: lower-case letters and digits, in words with a single `-` or `_` between them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slug(Box<str>);

impl Slug {
    /// What the form is, for a sentence.
    pub const FORM: &'static str = "1 to 48 lower-case letters and digits with single `-` or `_` between them";

    /// The slug that this text is.
    pub fn parse(text: &str) -> Option<Slug> {
        let of_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let word = |word: &str| !word.is_empty() && word.chars().all(of_word);
        (text.len() <= BYTES_MAX && text.split(['-', '_']).all(word)).then(|| Slug(text.into()))
    }

    /// The slug that a name for people comes to: `React Dev (v2)` is `react-dev-v2`. Nothing for a name in which other
    /// letters than a to z stand: leaving them out would make one name of two.
    pub fn of(text: &str) -> Option<Slug> {
        if text.chars().any(|c| c.is_alphanumeric() && !c.is_ascii()) || text.contains(['/', '\\']) {
            return None;
        }
        let mut slug = String::new();
        for c in text.chars() {
            match c {
                c if c.is_ascii_alphanumeric() => slug.push(c.to_ascii_lowercase()),
                '_' if !slug.is_empty() && !slug.ends_with(['-', '_']) => slug.push('_'),
                _ if !slug.is_empty() && !slug.ends_with(['-', '_']) => slug.push('-'),
                _ => {}
            }
        }
        Slug::parse(slug.trim_end_matches(['-', '_']))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
