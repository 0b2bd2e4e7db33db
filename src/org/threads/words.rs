//! What a text is about, as a few comparable words, and how rare each of them is.

use std::collections::HashMap;

/// Words that say nothing about what a text is about.
const STOP: &str = " a about after again all also am an and any anyone are as ask at be because been but by can cant \
    could couldnt did didnt do does doesnt doing dont for from get gets getting go going good got had has have havent \
    having he hello help her here hey hi him his how i id if ill im in into is isnt it its ive just know let like lol \
    make maybe me mean more much my need no not now of off ok okay on one only or other our out please really right \
    said same say see she should so some somebody someone something still such sure take tell than thank thanks that \
    thats the their them then there theres these they theyre thing things think this those though time to too try \
    trying up us use used using very want was way we well were what whats when where which while who why will with \
    wont work works would yeah yep yes yet you your youre ";

/// Endings of English words and what to put in their place, longest first.
const ENDINGS: [(&str, &str); 13] = [
    ("ations", "at"),
    ("ation", "at"),
    ("ingly", ""),
    ("ings", ""),
    ("edly", ""),
    ("ing", ""),
    ("ied", "y"),
    ("ies", "y"),
    ("ers", "er"),
    ("ed", ""),
    ("ly", ""),
    ("es", ""),
    ("s", ""),
];

/// More different words than this are not kept of one text: it bounds the work a long text can cause.
const WORDS_MAX: usize = 64;

/// Lines without any word that are imagined to have come before the first, so that not every word looks rare in the
/// first minutes.
const IMAGINED_LINES: f64 = 300.0;

/// What sharing a word is worth at most.
const WORTH_MAX: f64 = 9.0;

/// A word, by the order in which it was first met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Word(u32);

/// Every word that was met, and how many lines had it.
#[derive(Clone, Debug, Default)]
pub(super) struct Vocabulary {
    ids: HashMap<String, Word>,
    lines_with: Vec<u32>,
    lines: u32,
}

impl Vocabulary {
    /// The words of `text` that say what it is about: without endings, each once, sorted.
    pub(super) fn read(&mut self, text: &str) -> Vec<Word> {
        let mut words = Vec::new();
        for word in tokens(text).filter(|word| is_content(word)) {
            let next = Word(u32::try_from(self.lines_with.len()).expect("fewer than four billion words"));
            let id = *self.ids.entry(stem(&word)).or_insert(next);
            if id == next {
                self.lines_with.push(0);
            }
            if !words.contains(&id) {
                words.push(id);
            }
            if words.len() == WORDS_MAX {
                break;
            }
        }
        words.sort_unstable();
        words
    }

    /// Takes the words of one more line into account.
    pub(super) fn learn(&mut self, words: &[Word]) {
        self.lines += 1;
        for word in words {
            self.lines_with[word.0 as usize] += 1;
        }
    }

    /// What it is worth to share `word`: the more lines have it, the less.
    pub(super) fn worth(&self, word: Word) -> f64 {
        let with = f64::from(self.lines_with[word.0 as usize]);
        ((f64::from(self.lines) + IMAGINED_LINES) / (with + 0.5)).ln().clamp(0.0, WORTH_MAX)
    }

    /// The length of `words` as a vector of worths.
    pub(super) fn length(&self, words: &[Word]) -> f64 {
        words.iter().map(|&word| self.worth(word).powi(2)).sum::<f64>().sqrt()
    }
}

/// The words that two sorted lists share.
pub(super) fn shared<'a>(a: &'a [Word], b: &'a [Word]) -> impl Iterator<Item = Word> + 'a {
    a.iter().copied().filter(|word| b.binary_search(word).is_ok())
}

/// All words of `text` in lower case, in order. An apostrophe joins; everything else that is neither letter nor digit
/// parts.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’')
        .map(|word| word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>())
        .filter(|word| !word.is_empty())
}

fn is_content(word: &str) -> bool {
    // Of scripts without spaces a single sign can be a word.
    (word.chars().count() > 1 || !word.is_ascii()) && !STOP.contains(&format!(" {word} "))
}

/// `word` without its ending. Crude on purpose: it only has to bring the forms of a word together.
fn stem(word: &str) -> String {
    if !word.is_ascii() || word.bytes().any(|b| b.is_ascii_digit()) {
        return word.to_owned();
    }
    let cut = ENDINGS.iter().find_map(|(ending, instead)| {
        let rest = word.strip_suffix(ending).filter(|rest| rest.len() >= 3 && !rest.ends_with('s'))?;
        Some((rest, *instead))
    });
    let (rest, instead) = cut.unwrap_or((word, ""));
    let rest = rest.strip_suffix('e').filter(|rest| rest.len() >= 3).unwrap_or(rest);
    // "running" and "run", but also "installing" and "install".
    let bytes = rest.as_bytes();
    let doubled = rest.len() > 3 && bytes[rest.len() - 1] == bytes[rest.len() - 2];
    format!("{}{instead}", if doubled { &rest[..rest.len() - 1] } else { rest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_meet() {
        for (a, b) in [("installing", "installed"), ("package", "packages"), ("running", "runs"), ("tries", "tried")] {
            assert_eq!(stem(a), stem(b), "{a} {b}");
        }
        assert_ne!(stem("boot"), stem("root"));
        assert_eq!(stem("this1s"), "this1s");
    }

    #[test]
    fn only_words_with_content_are_kept_and_each_once() {
        let mut vocabulary = Vocabulary::default();
        let words = vocabulary.read("How do I install the Kernel? The kernel won't install");
        assert_eq!(words, vocabulary.read("kernels installing"));
        assert!(vocabulary.read("yes, it is — so what?!").is_empty());
        assert_eq!(vocabulary.read("日 本").len(), 2);
    }

    #[test]
    fn a_word_loses_worth_the_more_lines_have_it() {
        let mut vocabulary = Vocabulary::default();
        let words = vocabulary.read("kernel");
        let fresh = vocabulary.worth(words[0]);
        for _ in 0..50 {
            vocabulary.learn(&words);
        }
        assert!(vocabulary.worth(words[0]) < fresh);
    }

    #[test]
    fn a_long_text_costs_no_more_than_its_first_words() {
        let text: String = (0..10_000).map(|n| format!("word{n} ")).collect();
        assert_eq!(Vocabulary::default().read(&text).len(), WORDS_MAX);
    }
}
