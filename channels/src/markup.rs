//! Markdown, read once: the text that people see, and beside it what marks it.
//!
//! A [`Flow`] is flat: one string, and ranges of it that carry a [`Style`]. A text can therefore be cut anywhere and
//! each part written by itself, with every mark closed at its end and opened again in the next part.

mod clean;
mod dialect;
mod read;
mod spoiler;
mod table;
#[cfg(test)]
mod tests;
mod write;

use std::ops::Range;

pub use clean::clean;
pub use dialect::Dialect;
pub use read::read;

/// A text as people see it, and what marks it. Made by [`read`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    plain: String,
    /// By start, the outer before the inner. They nest: two either lie apart or one holds the other.
    marks: Vec<Mark>,
    /// For each mark the furthest end so far, so that the marks of a range are found without a look at all.
    reach: Vec<usize>,
    /// By start; they do not touch each other.
    atoms: Vec<Atom>,
}

/// A range of the text and its style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// In bytes of the plain text. Not empty.
    pub range: Range<usize>,
    /// What it looks like.
    pub style: Style,
}

/// How a range looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Style {
    /// Strong emphasis.
    Bold,
    /// Emphasis, with the character that marked it in the source.
    Italic(char),
    /// Struck out.
    Strike,
    /// Hidden until it is touched.
    Spoiler,
    /// Code within a line, with the back-ticks that may stand around it.
    Code(&'static str),
    /// A link.
    Link {
        /// Where to, fit to stand in the dialect's markup.
        url: String,
    },
    /// A URL that is its own text, in angle brackets.
    Autolink {
        /// Where to.
        url: String,
    },
    /// A heading, 1 to 6.
    Heading(u8),
    /// A block of code.
    Pre {
        /// The language, empty where none is named.
        language: String,
    },
    /// A block quote.
    Quote,
}

/// A range whose markup is not its plain text encoded, and that is never cut: an escaped character.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Atom {
    range: Range<usize>,
    raw: String,
}

impl Flow {
    /// A text that is shown as it is.
    pub fn verbatim(text: impl Into<String>) -> Self {
        Flow { plain: text.into(), ..Flow::default() }
    }

    fn new(plain: String, mut marks: Vec<Mark>, atoms: Vec<Atom>) -> Self {
        // Marks come in the order of their ends, so the outer of two equal ones comes later.
        marks.reverse();
        marks.sort_by_key(|mark| (mark.range.start, std::cmp::Reverse(mark.range.end)));
        let reach = marks.iter().scan(0, |reach, mark| {
            *reach = mark.range.end.max(*reach);
            Some(*reach)
        });
        Flow { reach: reach.collect(), plain, marks, atoms }
    }

    /// The text without any markup.
    pub fn plain(&self) -> &str {
        &self.plain
    }

    /// Whether there is anything to see.
    pub fn is_blank(&self) -> bool {
        self.plain.chars().all(char::is_whitespace)
    }

    /// The marks that share at least one byte with the range, the outer before the inner.
    pub fn marks_in(&self, range: &Range<usize>) -> impl Iterator<Item = &Mark> {
        let first = self.reach.partition_point(|reach| *reach <= range.start);
        let last = self.marks.partition_point(|mark| mark.range.start < range.end);
        let start = range.start;
        self.marks[first..last.max(first)].iter().filter(move |mark| mark.range.end > start)
    }

    /// The range as one text in the dialect's markup. Both ends must be character boundaries.
    pub fn write(&self, dialect: Dialect, range: Range<usize>) -> String {
        write::write(self, dialect, range)
    }

    /// Whether `at` lies within something that must not be cut.
    pub fn is_in_atom(&self, at: usize) -> bool {
        let next = self.atoms.partition_point(|atom| atom.range.end <= at);
        self.atoms.get(next).is_some_and(|atom| atom.range.start < at)
    }

    fn atoms_in(&self, range: &Range<usize>) -> &[Atom] {
        let first = self.atoms.partition_point(|atom| atom.range.start < range.start);
        let last = self.atoms.partition_point(|atom| atom.range.end <= range.end);
        &self.atoms[first..last.max(first)]
    }
}
