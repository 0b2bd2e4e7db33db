//! Long texts in pieces that one vector can stand for.

use super::script;

/// The longest chunk, in words. A vector is a mean over words: the more words, the less it says.
pub const WORDS_MAX: usize = 200;
/// How many words of the end of a chunk the next one begins with again, so that no thought is cut everywhere.
const OVERLAP: usize = 30;
/// The longest chunk, in bytes, for texts whose words are longer than words are.
const BYTES_MAX: usize = 8_000;

/// Cuts a text: between paragraphs where it can, else between sentences, else between words, else anywhere.
///
/// Every character that is not white space is in some chunk; no chunk is empty or longer than [`WORDS_MAX`] words.
pub fn chunks(text: &str) -> Vec<String> {
    let mut packer = Packer::default();
    for paragraph in text.split("\n\n") {
        for piece in pieces(paragraph.trim()) {
            packer.add(piece);
        }
        packer.paragraph_ends();
    }
    packer.finish()
}

/// A paragraph as pieces that fit into a chunk each.
fn pieces(paragraph: &str) -> Vec<&str> {
    if paragraph.is_empty() {
        return Vec::new();
    }
    if fits(paragraph) {
        return vec![paragraph];
    }
    let mut out = Vec::new();
    for sentence in cut_after(paragraph, is_end_of_sentence) {
        if fits(sentence) {
            out.push(sentence);
            continue;
        }
        for word in cut_after(sentence, char::is_whitespace) {
            if fits(word) { out.push(word) } else { out.extend(cut_anywhere(word)) }
        }
    }
    out.into_iter().filter(|piece| !piece.trim().is_empty()).collect()
}

fn fits(text: &str) -> bool {
    text.len() <= BYTES_MAX && length(text) <= WORDS_MAX
}

/// Words; in a script without spaces each character is one.
fn length(text: &str) -> usize {
    let unspaced = text.chars().filter(|c| script::is_unspaced(*c)).count();
    script::words(text) + unspaced
}

fn is_end_of_sentence(c: char) -> bool {
    matches!(c, '\n' | '.' | '!' | '?' | '。' | '！' | '？' | '।')
}

fn cut_after(text: &str, ends: impl Fn(char) -> bool) -> Vec<&str> {
    text.split_inclusive(ends).collect()
}

fn cut_anywhere(word: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let (mut start, mut count) = (0, 0);
    for (at, _) in word.char_indices() {
        if count == WORDS_MAX / 2 {
            out.push(&word[start..at]);
            (start, count) = (at, 0);
        }
        count += 1;
    }
    out.push(&word[start..]);
    out
}

#[derive(Default)]
struct Packer {
    done: Vec<String>,
    /// The chunk that is being filled.
    open: String,
    open_words: usize,
    /// Whether it holds more than what it took over from the one before.
    fresh: bool,
    between: &'static str,
}

impl Packer {
    fn add(&mut self, piece: &str) {
        let words = length(piece);
        if self.fresh && (self.open_words + words > WORDS_MAX || self.open.len() + piece.len() > BYTES_MAX) {
            self.close();
        }
        // What was taken over gives way where the new piece needs the room.
        if !self.fresh && (self.open_words + words > WORDS_MAX || self.open.len() + piece.len() > BYTES_MAX) {
            self.open.clear();
            self.open_words = 0;
        }
        if !self.open.is_empty() {
            self.open.push_str(self.between);
        }
        self.open.push_str(piece);
        self.open_words += words;
        self.fresh = true;
        self.between = "";
    }

    fn paragraph_ends(&mut self) {
        self.between = "\n\n";
    }

    fn close(&mut self) {
        let tail = tail(&self.open).to_owned();
        self.done.push(std::mem::take(&mut self.open).trim().to_owned());
        self.open_words = length(&tail);
        self.open = tail;
        self.fresh = false;
    }

    fn finish(mut self) -> Vec<String> {
        if self.fresh {
            self.done.push(self.open.trim().to_owned());
        }
        self.done.retain(|chunk| !chunk.is_empty());
        self.done
    }
}

/// The last words of a chunk.
fn tail(text: &str) -> &str {
    let mut start = text.len();
    for (at, c) in text.char_indices().rev() {
        if c.is_whitespace() && length(&text[at..]) > OVERLAP {
            return &text[start..];
        }
        if c.is_whitespace() {
            start = at + c.len_utf8();
        }
        if text.len() - at > BYTES_MAX / 8 {
            break;
        }
    }
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_short_text_is_one_chunk() {
        assert_eq!(chunks("one\n\ntwo"), ["one\n\ntwo"]);
        assert!(chunks(" \n\n ").is_empty());
    }

    #[test]
    fn every_kind_of_long_text_is_cut() {
        let paragraphs = "A paragraph of exactly seven words here.\n\n".repeat(60);
        let one_paragraph = "Many sentences and no end of it. ".repeat(200);
        let one_sentence = "word ".repeat(1_000);
        let one_word = "x".repeat(50_000);
        let no_spaces = "会議は明日の午後三時に始まります。".repeat(60);
        for text in [paragraphs, one_paragraph, one_sentence, one_word, no_spaces] {
            let cut = chunks(&text);
            assert!(cut.len() > 1, "{}", &text[..30]);
            assert!(cut.iter().all(|chunk| fits(chunk)), "{}", &text[..30]);
        }
    }

    #[test]
    fn a_chunk_begins_with_the_end_of_the_one_before() {
        let text: String = (0..300).map(|number| format!("n{number} ")).collect();
        let cut = chunks(&text);
        assert_eq!(cut.len(), 2);
        assert!(cut[0].ends_with("n199") && cut[1].starts_with("n170 ") && cut[1].ends_with("n299"), "{cut:?}");
    }

    proptest! {
        #[test]
        fn nothing_is_lost(text in "([a-z]{1,9}[ .\n]{0,3}|会|\\PC){0,600}") {
            let cut = chunks(&text);
            prop_assert!(cut.iter().all(|chunk| fits(chunk) && !chunk.trim().is_empty()));
            let all: String = cut.concat();
            let mut rest = all.chars().filter(|c| !c.is_whitespace());
            // Overlaps only add: what was written is a subsequence of what is kept.
            for c in text.chars().filter(|c| !c.is_whitespace()) {
                prop_assert!(rest.any(|kept| kept == c));
            }
        }
    }
}
