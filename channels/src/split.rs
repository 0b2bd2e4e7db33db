//! Where a long text is cut.

mod boundary;
#[cfg(test)]
mod tests;

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use crate::markup::{Dialect, Flow, Style};
use boundary::{Boundary, Inside, Rank};

/// Cuts a text into ranges that each fit into one message of `units_max` UTF-16 units, markup included, in order.
///
/// Cuts are made between paragraphs rather than lines, lines rather than sentences, sentences rather than words; not
/// within links, code and emphasis if there is any other place, and never within a grapheme that fits into a message
/// by itself. White space at a cut is dropped, so no range is blank; none is left of a text that is blank itself.
///
/// `units_max` must be large enough for any markup around one character: both platforms' limits are.
pub fn split(flow: &Flow, dialect: Dialect, units_max: usize) -> Vec<Range<usize>> {
    let (mut ranges, mut start) = (Vec::new(), 0);
    while let Some(range) = first(flow, dialect, start, units_max) {
        start = range.end;
        ranges.push(range);
    }
    ranges
}

/// The first of the ranges of [`split`], from `start` on. `None` where nothing but white space is left.
pub fn first(flow: &Flow, dialect: Dialect, start: usize, units_max: usize) -> Option<Range<usize>> {
    let mut start = start;
    loop {
        start = skip_blank(flow, start);
        if flow.plain()[start..].trim_start().is_empty() {
            return None;
        }
        let cut = Window::new(flow, dialect, start, units_max).cut();
        let range = trimmed(flow, start, cut);
        if !range.is_empty() {
            return Some(range);
        }
        // More white space than a message holds, in a block of code.
        start = cut;
    }
}

/// Where the next text begins. In a block of code the indent of its line is part of it.
fn skip_blank(flow: &Flow, start: usize) -> usize {
    let plain = flow.plain();
    let text = plain.len() - plain[start..].trim_start().len();
    let around = start..(text + 1).min(plain.len());
    let is_pre = |style: &Style| matches!(style, Style::Pre { .. });
    let Some(pre) = flow.marks_in(&around).find(|mark| is_pre(&mark.style) && mark.range.end > start) else {
        return text;
    };
    let from = pre.range.start.max(start);
    let line = plain[from..text.max(from)].rfind('\n').map_or(from, |at| from + at + 1);
    line.min(text)
}

/// The range without the white space at its end; empty if there is nothing else.
fn trimmed(flow: &Flow, start: usize, end: usize) -> Range<usize> {
    let text = &flow.plain()[start..end];
    if text.trim().is_empty() { start..start } else { start..start + text.trim_end().len() }
}

/// The text from one cut to where the next one must be made.
struct Window<'a> {
    flow: &'a Flow,
    dialect: Dialect,
    start: usize,
    units_max: usize,
    /// The places between graphemes at which the text before them still fits, in order.
    fitting: Vec<usize>,
    /// All that is left of the text fits.
    is_last: bool,
}

impl<'a> Window<'a> {
    fn new(flow: &'a Flow, dialect: Dialect, start: usize, units_max: usize) -> Self {
        let mut window = Window { flow, dialect, start, units_max, fitting: Vec::new(), is_last: false };
        let text = &flow.plain()[start..];
        // Markup only adds to the length, so no more characters than units can fit; white space after them is dropped.
        let far = text.char_indices().skip(units_max + 1).find(|(_, c)| !c.is_whitespace());
        let far = far.map_or(text.len(), |(at, c)| at + c.len_utf8());
        if far == text.len() && window.fits(start + far) {
            window.is_last = true;
            return window;
        }
        let mut places: Vec<usize> = text[..far].grapheme_indices(true).map(|(at, _)| start + at).skip(1).collect();
        places.retain(|at| !flow.is_in_atom(*at));
        places.truncate(places.partition_point(|at| window.fits(*at)));
        window.fitting = places;
        window
    }

    /// Whether the text up to `end` fits into one message.
    fn fits(&self, end: usize) -> bool {
        let range = trimmed(self.flow, self.start, end);
        self.flow.marks_in(&range).take(self.dialect.marks_max().saturating_add(1)).count() <= self.dialect.marks_max()
            && self.flow.write(self.dialect, range).encode_utf16().count() <= self.units_max
    }

    /// The best place for the cut.
    fn cut(&self) -> usize {
        if self.is_last {
            return self.flow.plain().len();
        }
        let Some(last) = self.fitting.last() else { return self.inside_grapheme() };
        let boundaries = boundary::rank(self.flow, self.start, &self.fitting);
        let length = last - self.start;
        for inside_max in [Inside::Nothing, Inside::Emphasis, Inside::Link, Inside::Code] {
            for (rank, share) in PREFERENCES {
                let at_least = self.start + (length as f64 * share) as usize;
                let good = |b: &&Boundary| b.rank >= rank && b.inside <= inside_max && b.at >= at_least;
                if let Some(boundary) = boundaries.iter().rev().find(good).filter(|boundary| self.fits(boundary.at)) {
                    return boundary.at;
                }
            }
        }
        // No white space at all: between words of a script that has none, if there is such a place near the end.
        let after = self.flow.plain()[*last..].graphemes(true).next().map_or(0, str::len);
        let words = self.flow.plain()[self.start..last + after].split_word_bound_indices();
        let places = words.map(|(at, _)| self.start + at);
        let word = places.rev().find(|at| *at >= self.start + length / 2 && self.fitting.binary_search(at).is_ok());
        word.unwrap_or(*last)
    }

    /// A single grapheme that does not fit: the last character that does, and at least one.
    fn inside_grapheme(&self) -> usize {
        let text = &self.flow.plain()[self.start..];
        let ends = text.char_indices().map(|(at, c)| self.start + at + c.len_utf8());
        let ends: Vec<usize> = ends.take(self.units_max + 1).collect();
        ends[ends.partition_point(|at| self.fits(*at)).saturating_sub(1)]
    }
}

/// Which cuts are taken first, and how full the message must be for that. The last one takes any.
const PREFERENCES: [(Rank, f64); 8] = [
    (Rank::Block, 0.33),
    (Rank::Line, 0.5),
    (Rank::IndentedLine, 0.5),
    (Rank::CodeGap, 0.5),
    (Rank::CodeLine, 0.5),
    (Rank::Sentence, 0.5),
    (Rank::Word, 0.0),
    (Rank::Edge, 0.0),
];
