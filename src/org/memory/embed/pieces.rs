//! The embedded model: a table of word piece vectors, and their mean. It needs no network and no setting up.
//!
//! The table is distilled from all-MiniLM-L6-v2 (Apache-2.0) by `distil.py` beside this file, which also says how it
//! is laid out. It is read where it lies in the program: nothing is loaded, and pages nobody asks for stay on disk.

use anyhow::Result;
use futures::future::BoxFuture;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::super::script;
use super::{Embedder, normalise};

static TABLE: &[u8] = include_bytes!("pieces.bin");
/// `HIVEVEC1`, the number of pieces, the dimension.
const HEAD: usize = 16;
/// A longer word is no word: an id, a key, a line of base64.
const WORD_CHARS_MAX: usize = 100;
/// How many characters the pieces of a word have at least, on average.
const PIECE_CHARS_MIN: usize = 2;
/// Marks a piece that does not begin a word.
const INNER: &str = "##";

/// The embedded model.
#[derive(Clone, Copy, Debug)]
pub struct Pieces {
    count: usize,
    dimension: usize,
    names_at: usize,
    scales_at: usize,
    rows_at: usize,
}

impl Default for Pieces {
    fn default() -> Self {
        Pieces::new()
    }
}

impl Pieces {
    /// The model.
    pub fn new() -> Self {
        let (count, dimension) = (number(8), number(12));
        let names_at = HEAD + 4 * count;
        let scales_at = names_at + number(HEAD + 4 * (count - 1));
        let rows_at = scales_at + 4 * count;
        Pieces { count, dimension, names_at, scales_at, rows_at }
    }

    /// The vector of a text, of length 1; all zeros where no word of it is known.
    pub fn vector(&self, text: &str) -> Vec<f32> {
        let mut sum = vec![0.0; self.dimension];
        let plain: String = text.to_lowercase().nfd().filter(|c| !is_combining_mark(*c)).collect();
        for word in plain.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            for part in by_script(word) {
                self.add_word(part, &mut sum);
            }
        }
        normalise(&mut sum);
        sum
    }

    /// The longest piece first, again and again. A word with a part that is in no piece counts for nothing, and so
    /// does one that falls into single letters: those of an id or a slip of the keys mean nothing.
    fn add_word(&self, word: &str, sum: &mut [f32]) {
        let chars = word.chars().count();
        if chars > WORD_CHARS_MAX {
            return;
        }
        let mut found = Vec::new();
        let mut start = 0;
        while start < word.len() {
            let ends = word[start..].char_indices().map(|(at, c)| start + at + c.len_utf8());
            let inner = if start == 0 { "" } else { INNER };
            let longest = ends.rev().find_map(|end| Some((end, self.find(inner, &word[start..end])?)));
            let Some((end, piece)) = longest else { return };
            found.push(piece);
            start = end;
        }
        if found.len() > 1 && chars < found.len() * PIECE_CHARS_MIN {
            return;
        }
        for piece in found {
            let scale = f32::from_bits(bits(self.scales_at + 4 * piece));
            let row = &TABLE[self.rows_at + piece * self.dimension..][..self.dimension];
            for (number, byte) in sum.iter_mut().zip(row) {
                *number += scale * f32::from(byte.cast_signed());
            }
        }
    }

    /// The number of the piece that is called `prefix` and then `rest`.
    fn find(&self, prefix: &str, rest: &str) -> Option<usize> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = usize::midpoint(low, high);
            let wanted = prefix.bytes().chain(rest.bytes());
            match self.name(middle).iter().copied().cmp(wanted) {
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    fn name(&self, piece: usize) -> &'static [u8] {
        let start = if piece == 0 { 0 } else { number(HEAD + 4 * (piece - 1)) };
        &TABLE[self.names_at + start..self.names_at + number(HEAD + 4 * piece)]
    }
}

impl Embedder for Pieces {
    fn name(&self) -> &str {
        "minilm-l6-pieces-128"
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>>> {
        Box::pin(async move { Ok(texts.iter().map(|text| self.vector(text)).collect()) })
    }
}

/// Characters of scripts without spaces stand alone, as in the vocabulary.
fn by_script(word: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, c) in word.char_indices() {
        if script::is_unspaced(c) {
            parts.push(&word[start..at]);
            start = at + c.len_utf8();
            parts.push(&word[at..start]);
        }
    }
    parts.push(&word[start..]);
    parts.retain(|part| !part.is_empty());
    parts
}

fn bits(at: usize) -> u32 {
    u32::from_le_bytes([TABLE[at], TABLE[at + 1], TABLE[at + 2], TABLE[at + 3]])
}

fn number(at: usize) -> usize {
    bits(at) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cosine(a: &str, b: &str) -> f32 {
        let model = Pieces::new();
        model.vector(a).iter().zip(model.vector(b)).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn the_table_is_whole() {
        let model = Pieces::new();
        assert_eq!(&TABLE[..8], b"HIVEVEC1");
        assert_eq!(TABLE.len(), model.rows_at + model.count * model.dimension);
        assert!((1..model.count).all(|piece| model.name(piece - 1) < model.name(piece)));
        for word in ["database", "the", "##ing"] {
            let at = model.find("", word).unwrap();
            assert_eq!(model.name(at), word.as_bytes());
        }
        assert_eq!(model.find("", "nosuchpiece"), None);
    }

    #[test]
    fn related_texts_are_nearer_than_others() {
        for (text, near, far) in [
            ("how do I reset my password?", "Steps to change your login credentials", "The cafeteria opens at nine"),
            ("car", "automobile", "poem"),
            ("Where do we deploy the website?", "Production servers run in Frankfurt", "Anna's birthday is in May"),
            ("Café", "cafe", "coffin"),
        ] {
            assert!(
                cosine(text, near) > cosine(text, far) + 0.05,
                "{text}: {} {}",
                cosine(text, near),
                cosine(text, far)
            );
        }
    }

    proptest! {
        #[test]
        fn every_text_has_a_vector_of_length_one_or_none(text in "\\PC{0,80}") {
            let vector = Pieces::new().vector(&text);
            let length: f32 = vector.iter().map(|number| number * number).sum();
            prop_assert!(length == 0.0 || (length - 1.0).abs() < 1e-3);
        }
    }
}
