//! A language of our own with the word frequencies of real ones, the same in every run.
//!
//! The r-th most common word has a share of about 1/r (Zipf). The most common ones are English function words, which
//! make up two fifths of a text as they do in English; all others are made of syllables.

use base::chance::Chance;

/// How many different words there are.
const WORDS: usize = 30_000;
/// Words of a text, from and to: abstracts and notes.
const LENGTH: (u64, u64) = (20, 70);
/// The questions of each class.
const QUESTIONS: usize = 40;
/// English function words, the most common ones first.
const FUNCTION_WORDS: &str = "the of and to a in is that it for was on with as be at by this have are not from or had \
                              an they which you were there been their has will when who more no if out so what up \
                              about into than them can only some could these then do its our all would";
const SYLLABLES: [&[&str]; 2] = [
    &["b", "br", "d", "f", "g", "gr", "h", "k", "l", "m", "n", "p", "pl", "r", "s", "st", "t", "tr", "v", "w"],
    &["a", "e", "i", "o", "u", "an", "er", "in", "or", "ul"],
];

/// A class of questions.
#[derive(Clone, Copy)]
pub(super) struct Class {
    /// What they ask for.
    pub(super) about: &'static str,
    /// From which words they are made: places in the list of words by frequency.
    from: usize,
    to: usize,
    /// Of how many.
    words: usize,
    /// Whether the words come as often as in texts, instead of each as often as the others.
    natural: bool,
}

/// Every class. Of 100,000 texts of 45 words, the word at place r stands in about 410,000 / r.
pub(super) const CLASSES: [Class; 5] = [
    Class { about: "rare words", from: 5_000, to: 20_000, words: 3, natural: false },
    Class { about: "words of the middle", from: 300, to: 1_000, words: 3, natural: false },
    Class { about: "common words", from: 64, to: 100, words: 4, natural: false },
    Class { about: "function words alone", from: 0, to: 40, words: 3, natural: false },
    Class { about: "whole messages", from: 0, to: WORDS, words: 40, natural: true },
];

/// A question.
pub(super) struct Question {
    /// As it is asked.
    pub(super) text: String,
    /// The words that it is asked by: without function words, where there are others.
    pub(super) asked: Vec<String>,
}

/// The words, the most common first.
pub(super) struct Language {
    words: Vec<String>,
    function_words: usize,
    /// The sum of the shares of all words up to each, in millionths of the most common word's.
    sums: Vec<u64>,
}

/// Texts, one after the other.
pub(super) struct Texts<'l> {
    language: &'l Language,
    chance: Chance,
}

impl Language {
    pub(super) fn new() -> Language {
        let mut words: Vec<String> = FUNCTION_WORDS.split_whitespace().map(str::to_owned).collect();
        let function_words = words.len();
        let mut known: std::collections::HashSet<String> = words.iter().cloned().collect();
        let chance = Chance::seeded(1);
        let pick = |of: &[&'static str]| of[chance.below(of.len() as u64) as usize];
        while words.len() < WORDS {
            let syllables = 2 + chance.below(3);
            let word: String = (0..syllables).flat_map(|_| SYLLABLES.map(pick)).collect();
            if known.insert(word.clone()) {
                words.push(word);
            }
        }
        let mut sum = 0;
        let share = |place: usize| 1_000_000 / (place as u64 + 1);
        let sums = (0..WORDS).map(|place| {
            sum += share(place);
            sum
        });
        Language { words, function_words, sums: sums.collect() }
    }

    /// The texts that are remembered.
    pub(super) fn texts(&self) -> Texts<'_> {
        Texts { language: self, chance: Chance::seeded(2) }
    }

    /// The questions of a class.
    pub(super) fn questions(&self, class: Class) -> Vec<Question> {
        let chance = Chance::seeded(3 + class.from as u64 + class.words as u64);
        let word = || match class.natural {
            true => self.word(&chance),
            false => class.from + chance.below((class.to - class.from) as u64) as usize,
        };
        let question = || {
            let places: Vec<usize> = (0..class.words).map(|_| word()).collect();
            let mut content: Vec<usize> =
                places.iter().copied().filter(|place| *place >= self.function_words).collect();
            if content.is_empty() {
                content.clone_from(&places);
            }
            content.sort_unstable();
            content.dedup();
            let text = |places: &[usize]| places.iter().map(|at| self.words[*at].clone()).collect::<Vec<_>>();
            Question { text: text(&places).join(" "), asked: text(&content) }
        };
        (0..QUESTIONS).map(|_| question()).collect()
    }

    /// A word's place, by its share.
    fn word(&self, chance: &Chance) -> usize {
        let at = chance.below(self.sums[WORDS - 1]);
        self.sums.partition_point(|sum| *sum <= at)
    }
}

impl Texts<'_> {
    /// The next one.
    pub(super) fn next(&mut self) -> String {
        let words = LENGTH.0 + self.chance.below(LENGTH.1 - LENGTH.0 + 1);
        let words = (0..words).map(|_| self.language.words[self.language.word(&self.chance)].as_str());
        words.collect::<Vec<_>>().join(" ")
    }
}
