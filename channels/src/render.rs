//! Markdown → the pieces that a platform accepts. Pure.

#[cfg(test)]
mod tests;
mod unfinished;

use std::ops::Range;

use crate::markup::{self, Dialect, Flow, Style};
use crate::{File, FileSource, Kind, Piece, split};

/// What a host may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenderLimits {
    /// A text of more characters than this goes as its beginning and a file with the whole.
    pub file_over_chars: usize,
}

impl Default for RenderLimits {
    fn default() -> Self {
        RenderLimits { file_over_chars: 12_000 }
    }
}

/// The name of the file that holds a text too long for messages.
const FILE_NAME: &str = "reply.md";

/// The longest text under a file on Telegram, in UTF-16 units: its documented limit for a caption.
const CAPTION_UNITS_MAX: usize = 1_024;

/// What stands at the end of a text that goes on elsewhere.
const ELLIPSIS: char = '…';

/// The pieces of a finished text, in order. At least one, also for an empty text: then it is empty, and so is one
/// of nothing but white space.
///
/// On a terminal a text is one piece, however long.
pub fn pieces(kind: Kind, markdown: &str, limits: RenderLimits) -> Vec<Piece> {
    let dialect = Dialect::of(kind);
    let Some(units_max) = length_max(kind) else { return vec![whole(kind, markdown)] };
    let flow = markup::read(dialect, markdown);
    if markdown.chars().count() > limits.file_over_chars && !flow.is_blank() {
        return vec![beginning_and_file(kind, &flow, markdown, limits)];
    }
    let ranges = split::split(&flow, dialect, units_max);
    let pieces: Vec<Piece> = ranges.into_iter().map(|range| piece(&flow, dialect, range)).collect();
    if pieces.is_empty() { vec![Piece::default()] } else { pieces }
}

/// One piece that shows a text that is still being written: markup closed, within the limit, ending in `…`.
///
/// Of a text longer than one message it shows the beginning, which is what that message will say in the end.
pub fn draft(kind: Kind, markdown: &str) -> Piece {
    let dialect = Dialect::of(kind);
    let markdown = unfinished::complete(markdown);
    let Some(units_max) = length_max(kind) else {
        let mut piece = whole(kind, &markdown);
        piece.text.push(ELLIPSIS);
        piece.plain.push(ELLIPSIS);
        return piece;
    };
    to_be_continued(&markup::read(dialect, &markdown), dialect, units_max)
}

/// The length of a piece as its platform counts it, in UTF-16 units: for Telegram what remains after its entities
/// are read, for the others the text as it is.
pub fn length(kind: Kind, piece: &Piece) -> usize {
    match kind {
        Kind::Telegram => piece.plain.encode_utf16().count(),
        Kind::Discord | Kind::Console | Kind::Web => piece.text.encode_utf16().count(),
    }
}

/// The longest text that one message of a platform holds, in the units of [`length`]; `None` where there is no limit.
pub fn length_max(kind: Kind) -> Option<usize> {
    match kind {
        Kind::Discord => Some(2_000),
        Kind::Telegram => Some(4_096),
        Kind::Console | Kind::Web => None,
    }
}

fn piece(flow: &Flow, dialect: Dialect, range: Range<usize>) -> Piece {
    Piece { text: flow.write(dialect, range.clone()), plain: flow.plain()[range].to_owned(), ..Piece::default() }
}

/// Everything in one piece: as text for a terminal, as Markdown for a page, which has a reader of its own.
fn whole(kind: Kind, markdown: &str) -> Piece {
    let plain = markup::read(Dialect::Plain, markdown).plain().trim().to_owned();
    let text = if kind == Kind::Web { markup::clean(markdown).trim().to_owned() } else { plain.clone() };
    Piece { text, plain, ..Piece::default() }
}

/// The beginning as one message, and the whole as a file under it.
fn beginning_and_file(kind: Kind, flow: &Flow, markdown: &str, limits: RenderLimits) -> Piece {
    let room = match kind {
        Kind::Telegram => CAPTION_UNITS_MAX,
        Kind::Discord | Kind::Console | Kind::Web => length_max(kind).unwrap_or(usize::MAX),
    };
    // Below this the markup around a single link would not fit.
    let units_max = limits.file_over_chars.clamp(CAPTION_UNITS_MAX, room);
    let file = File { name: FILE_NAME.to_owned(), source: FileSource::Text(markdown.to_owned()) };
    Piece { files: vec![file], ..to_be_continued(flow, Dialect::of(kind), units_max) }
}

/// As much of the text as fits, with an ellipsis after it.
fn to_be_continued(flow: &Flow, dialect: Dialect, units_max: usize) -> Piece {
    let room = units_max - "\n…".encode_utf16().count();
    let Some(range) = split::first(flow, dialect, 0, room) else {
        return Piece { text: ELLIPSIS.to_string(), plain: ELLIPSIS.to_string(), ..Piece::default() };
    };
    let end = range.end - 1..range.end;
    let ends_in_block = flow.marks_in(&end).any(|mark| matches!(mark.style, Style::Pre { .. }));
    let mut piece = piece(flow, dialect, range);
    for text in [&mut piece.text, &mut piece.plain] {
        if ends_in_block {
            text.push('\n');
        }
        text.push(ELLIPSIS);
    }
    piece
}
