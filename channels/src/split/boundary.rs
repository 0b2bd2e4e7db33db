//! How good a place for a cut is.

use std::ops::Range;

use crate::markup::{Flow, Style};

/// A place between two graphemes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Boundary {
    pub(super) at: usize,
    pub(super) rank: Rank,
    pub(super) inside: Inside,
}

/// What ends right before a place, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// A grapheme.
    Grapheme,
    /// What is marked, or what is not: without white space, but nothing is torn.
    Edge,
    /// A word.
    Word,
    /// A sentence.
    Sentence,
    /// A line of a block of code.
    CodeLine,
    /// Such a line, and a blank one after it.
    CodeGap,
    /// A line, and the next one is indented: it belongs to what came before.
    IndentedLine,
    /// A line.
    Line,
    /// A paragraph or another block.
    Block,
}

/// What would be torn, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Inside {
    /// Nothing.
    Nothing,
    /// Emphasis, a spoiler, a heading: it is closed and opened again.
    Emphasis,
    /// A link: two where there was one.
    Link,
    /// Code within a line, perhaps within a link.
    Code,
}

/// Ranks the places, which are in order and after `start`.
pub(super) fn rank(flow: &Flow, start: usize, places: &[usize]) -> Vec<Boundary> {
    let plain = flow.plain();
    let mut boundaries: Vec<Boundary> = places
        .iter()
        .map(|at| Boundary { at: *at, rank: rank_in_text(plain, start, *at), inside: Inside::Nothing })
        .collect();
    let Some(end) = places.last() else { return boundaries };
    let is_pre = |style: &Style| matches!(style, Style::Pre { .. });
    for mark in flow.marks_in(&(start..*end)) {
        let range = &mark.range;
        if is_pre(&mark.style) {
            // Its edges are block boundaries even where the source has no blank line there.
            for boundary in between(&mut boundaries, range.start..plain.len()).iter_mut().take(2) {
                let is_edge = boundary.at == range.start || boundary.at == range.end + 1;
                boundary.rank = if is_edge && boundary.rank == Rank::Line { Rank::Block } else { boundary.rank };
            }
            for boundary in between(&mut boundaries, range.start + 1..range.end) {
                boundary.rank = rank_in_code(plain, boundary.at);
            }
            continue;
        }
        let inside = match mark.style {
            Style::Code(_) => Inside::Code,
            Style::Link { .. } | Style::Autolink { .. } => Inside::Link,
            Style::Bold | Style::Italic(_) | Style::Strike | Style::Spoiler | Style::Heading(_) => Inside::Emphasis,
            Style::Pre { .. } | Style::Quote => Inside::Nothing,
        };
        for at in [range.start, range.end] {
            for boundary in between(&mut boundaries, at..at + 1) {
                boundary.rank = boundary.rank.max(Rank::Edge);
            }
        }
        for boundary in between(&mut boundaries, range.start + 1..range.end) {
            boundary.inside = boundary.inside.max(inside);
            // Within a quote a paragraph is no more than a line.
            if mark.style == Style::Quote {
                boundary.rank = boundary.rank.min(Rank::Line);
            }
        }
        if let Style::Heading(_) = mark.style {
            // A heading stays with what it stands above.
            for boundary in between(&mut boundaries, range.end..range.end + 3) {
                boundary.rank = boundary.rank.min(Rank::Word);
            }
        }
    }
    boundaries
}

/// The boundaries at places within `range`.
fn between(boundaries: &mut [Boundary], range: Range<usize>) -> &mut [Boundary] {
    let first = boundaries.partition_point(|boundary| boundary.at < range.start);
    let last = boundaries.partition_point(|boundary| boundary.at < range.end);
    &mut boundaries[first..last.max(first)]
}

fn rank_in_text(plain: &str, start: usize, at: usize) -> Rank {
    let (before, after) = (&plain[start..at], &plain[at..]);
    let text = before.trim_end();
    let gap = &before[text.len()..];
    match gap.bytes().filter(|byte| *byte == b'\n').count() {
        // The cut is made before an indent, not in it: a list keeps its shape.
        0 if gap.is_empty() && !text.ends_with(ends_sentence_without_space) => Rank::Grapheme,
        0 if after.starts_with(char::is_whitespace) => Rank::Grapheme,
        0 if is_sentence_end(text) => Rank::Sentence,
        0 => Rank::Word,
        _ if !gap.ends_with('\n') => Rank::Word,
        1 if after.starts_with(' ') => Rank::IndentedLine,
        1 => Rank::Line,
        _ => Rank::Block,
    }
}

fn rank_in_code(plain: &str, at: usize) -> Rank {
    let before = &plain[..at];
    if before.ends_with("\n\n") {
        Rank::CodeGap
    } else if before.ends_with('\n') {
        Rank::CodeLine
    } else if before.ends_with(char::is_whitespace) && !plain[at..].starts_with(char::is_whitespace) {
        Rank::Word
    } else {
        Rank::Grapheme
    }
}

/// A full stop, perhaps with what closes after it. Languages without spaces end a sentence without one.
fn is_sentence_end(text: &str) -> bool {
    let text = text.trim_end_matches(['"', '\'', ')', ']', '”', '’', '»', '』', '」']);
    text.ends_with(['.', '!', '?', '…', '؟', '।']) || text.ends_with(ends_sentence_without_space)
}

fn ends_sentence_without_space(c: char) -> bool {
    matches!(c, '。' | '！' | '？' | '．')
}
