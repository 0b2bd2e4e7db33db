//! What kind of line it is, as far as its form tells: a question, a greeting, an answer.

use super::words::tokens;

/// First words that make a question by themselves.
const ASKS: [&str; 8] = ["how", "what", "whats", "why", "where", "which", "who", "when"];
/// First words that make a question of a line of more than three words.
const ASKS_LONG: [&str; 6] = ["can", "does", "do", "is", "are", "anyone"];
const GREETINGS: [&str; 12] =
    ["hi", "hello", "hey", "hiya", "greetings", "morning", "evening", "hola", "howdy", "yo", "heya", "hullo"];
const TIMES_OF_DAY: [&str; 4] = ["morning", "evening", "day", "afternoon"];
const REACTIONS: [&str; 36] = [
    "yes", "yeah", "yep", "yup", "ya", "no", "nope", "nah", "ok", "okay", "k", "kk", "oh", "ah", "ahh", "aha", "lol",
    "haha", "hehe", "heh", "cool", "nice", "great", "right", "sure", "true", "thanks", "thx", "ty", "hmm", "hm",
    "well", "sorry", "same", "exactly", "indeed",
];
const ONWARD: [&str; 14] =
    ["and", "but", "so", "it", "its", "or", "then", "also", "that", "thats", "because", "they", "still", "which"];
const THANKS: [&str; 5] = ["thanks", "thank", "thx", "ty", "cheers"];
const EVERYBODY: [&str; 8] = ["anyone", "anybody", "someone", "somebody", "everyone", "guys", "folks", "all"];

/// Only so many words are looked at.
const WORDS_READ: usize = 60;

/// What kind of line it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Form {
    /// It asks.
    pub question: bool,
    /// It opens with a greeting.
    pub greeting: bool,
    /// It opens with a word that reacts to something: yes, no, ok, lol.
    pub reaction: bool,
    /// It thanks.
    pub thanks: bool,
    /// It speaks to everybody: "anyone", "how do I", "is there", "I have …".
    pub plea: bool,
    /// It calls a bot: `!help`.
    pub command: bool,
    /// It opens with a word that goes on: and, but, so, it.
    pub onward: bool,
    /// It has a link.
    pub link: bool,
    /// How many words it has, at most [`WORDS_READ`].
    pub words: usize,
}

impl Form {
    /// Reads `text`, from which an addressee's name was taken off the start.
    pub(super) fn of(text: &str) -> Form {
        let words: Vec<String> = tokens(text).take(WORDS_READ).collect();
        let at = |n: usize| words.get(n).map_or("", String::as_str);
        let (first, second) = (at(0), at(1));
        let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
        Form {
            question: text.contains('?') || ASKS.contains(&first) || ASKS_LONG.contains(&first) && words.len() > 3,
            greeting: GREETINGS.contains(&first) || first == "good" && TIMES_OF_DAY.contains(&second),
            reaction: REACTIONS.contains(&first),
            thanks: has(&THANKS),
            plea: has(&EVERYBODY)
                || first == "how" && ["do", "can", "to", "would", "should"].contains(&second)
                || first == "is" && second == "there"
                || first == "i" && ["have", "need", "want", "am", "cant", "just"].contains(&second) && words.len() > 6,
            command: text.trim_start().starts_with('!') && words.len() < 12,
            onward: ONWARD.contains(&first),
            link: text.contains("://") || text.contains("www."),
            words: words.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_common_lines() {
        let base = Form::default();
        for (text, form) in [
            ("", base),
            ("hello", Form { greeting: true, words: 1, ..base }),
            ("Good morning all", Form { greeting: true, plea: true, words: 3, ..base }),
            ("how do I mount it", Form { question: true, plea: true, words: 5, ..base }),
            ("is it", Form { words: 2, ..base }),
            ("is it plugged in", Form { question: true, words: 4, ..base }),
            ("ok, thx", Form { reaction: true, thanks: true, words: 2, ..base }),
            ("!paste", Form { command: true, words: 1, ..base }),
            ("but see www.a.org", Form { onward: true, link: true, words: 5, ..base }),
        ] {
            assert_eq!(Form::of(text), form, "{text:?}");
        }
    }
}
