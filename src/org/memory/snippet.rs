//! The part of a chunk that shows why it was found.

/// The longest snippet, in characters.
const CHARS: usize = 500;
/// How many characters are shown before the first word that was asked for.
const BEFORE: usize = 120;

/// At most 500 characters of a text, from a little before the first of the words.
pub(crate) fn of(text: &str, words: &[String]) -> String {
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    if chars.len() <= CHARS {
        return text.to_owned();
    }
    let asked = first(text, words).map_or(0, |at| chars.partition_point(|(byte, _)| *byte < at));
    let from = asked.saturating_sub(BEFORE).min(chars.len() - CHARS + 1);
    if from == 0 {
        return base::text::cut(text, CHARS);
    }
    // Not from the middle of a word, where a word begins soon.
    let word =
        chars[from..asked.max(from)].iter().position(|(_, c)| c.is_whitespace()).map_or(from, |at| from + at + 1);
    format!("…{}", base::text::cut(&text[chars[word].0..], CHARS - 1))
}

/// Where the first word of a text stands that begins like one of these.
fn first(text: &str, words: &[String]) -> Option<usize> {
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (c.is_alphanumeric(), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                let here = text[from..at].to_lowercase();
                if words.iter().any(|word| alike(&here, word)) {
                    return Some(from);
                }
                start = None;
            }
            _ => {}
        }
    }
    None
}

/// Whether two words are one up to their endings.
fn alike(a: &str, b: &str) -> bool {
    let common = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let longer = a.chars().count().max(b.chars().count());
    common > 0 && common + 3 >= longer && common * 2 >= longer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_shows_what_was_asked_for() {
        let filler = "filler words ".repeat(60);
        let text = format!("{filler}deployments run häufig from Frankfurt {filler}");
        for (asked, shown) in [("deployment", "deployments run"), ("nothing", "filler"), ("frankfurt", "Frankfurt")] {
            let snippet = of(&text, &[asked.to_owned()]);
            assert!(snippet.contains(shown), "{asked}: {snippet}");
            assert!(snippet.chars().count() <= CHARS);
        }
        assert_eq!(of("short", &["x".to_owned()]), "short");
        for length in [499, 500, 501, 5_000] {
            assert!(of(&"é".repeat(length), &["é".to_owned()]).chars().count() <= CHARS, "{length}");
        }
    }
}
