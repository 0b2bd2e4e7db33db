//! Words that say nothing about what a question is about.
//!
//! They stay in the index and are left out of questions: each stands in half of all chunks, which costs much and
//! tells little. A question of nothing else is asked as it is.

/// English function words, sorted: the closed classes (articles, pronouns, prepositions, conjunctions, auxiliaries)
/// and what a cut at the apostrophe leaves of contractions.
const WORDS: &[&str] = &[
    "a",
    "about",
    "above",
    "after",
    "again",
    "against",
    "all",
    "also",
    "am",
    "an",
    "and",
    "any",
    "are",
    "as",
    "at",
    "be",
    "because",
    "been",
    "before",
    "being",
    "below",
    "between",
    "both",
    "but",
    "by",
    "can",
    "could",
    "d",
    "did",
    "do",
    "does",
    "doing",
    "don",
    "down",
    "during",
    "each",
    "few",
    "for",
    "from",
    "further",
    "had",
    "has",
    "have",
    "having",
    "he",
    "her",
    "here",
    "hers",
    "herself",
    "him",
    "himself",
    "his",
    "how",
    "i",
    "if",
    "in",
    "into",
    "is",
    "it",
    "its",
    "itself",
    "just",
    "ll",
    "m",
    "me",
    "more",
    "most",
    "my",
    "myself",
    "no",
    "nor",
    "not",
    "now",
    "of",
    "off",
    "on",
    "once",
    "only",
    "or",
    "other",
    "our",
    "ours",
    "ourselves",
    "out",
    "over",
    "own",
    "re",
    "s",
    "same",
    "she",
    "should",
    "so",
    "some",
    "such",
    "t",
    "than",
    "that",
    "the",
    "their",
    "theirs",
    "them",
    "themselves",
    "then",
    "there",
    "these",
    "they",
    "this",
    "those",
    "through",
    "to",
    "too",
    "under",
    "until",
    "up",
    "us",
    "ve",
    "very",
    "was",
    "we",
    "were",
    "what",
    "when",
    "where",
    "which",
    "while",
    "who",
    "whom",
    "why",
    "will",
    "with",
    "would",
    "you",
    "your",
    "yours",
    "yourself",
    "yourselves",
];

/// The words of a question, lower-case, each once, in order, without those that say nothing, unless all say nothing.
pub fn content_words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let mut words: Vec<&str> = Vec::new();
    for word in lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if !words.contains(&word) {
            words.push(word);
        }
        if words.len() == WORDS_MAX {
            break;
        }
    }
    let says_something = |word: &&&str| WORDS.binary_search(word).is_err();
    let content: Vec<String> = words.iter().filter(says_something).map(|word| (*word).to_owned()).collect();
    if content.is_empty() { words.into_iter().map(str::to_owned).collect() } else { content }
}

/// How many different words of a question are looked at: whole messages are asked too.
const WORDS_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_asked_by_its_content() {
        assert!(WORDS.is_sorted());
        for (question, words) in [
            ("What's the deploy host?", vec!["deploy", "host"]),
            ("who are you", vec!["who", "are", "you"]),
            ("\"E1234\" AND (port:8080)", vec!["e1234", "port", "8080"]),
            ("Häuser häuser", vec!["häuser"]),
            ("?!… 🦀", vec![]),
        ] {
            assert_eq!(content_words(question), words, "{question}");
        }
        let long: String = (0..1_000).map(|number| format!("w{number} ")).collect();
        assert_eq!(content_words(&long).len(), WORDS_MAX);
    }
}
