//! Markdown → the pieces that a platform accepts. Pure.

use crate::{Kind, Piece};

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

/// The pieces of a finished text, in order. At least one, also for an empty text.
pub fn pieces(kind: Kind, markdown: &str, limits: RenderLimits) -> Vec<Piece> {
    let _ = (kind, limits);
    vec![Piece { text: markdown.to_owned(), plain: markdown.to_owned(), ..Piece::default() }]
}

/// One piece that shows a text that is still being written: markup closed, within the limit, ending in `…`.
pub fn draft(kind: Kind, markdown: &str) -> Piece {
    pieces(kind, markdown, RenderLimits::default()).remove(0)
}
