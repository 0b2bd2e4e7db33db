//! Patterns for names: `*` is any run of characters, `?` is any one, everything else is itself.

/// Whether the whole of `text` matches. Upper and lower case differ.
///
/// At worst `pattern × text` in time: only the last `*` is ever tried again.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut read) = (0, 0);
    // Behind the last star, and how far the text was read when that star began to take characters.
    let mut star: Option<(usize, usize)> = None;
    while read < text.len() {
        match (pattern.get(at), star) {
            (Some('*'), _) => {
                star = Some((at + 1, read));
                at += 1;
            }
            (Some(wanted), _) if *wanted == '?' || *wanted == text[read] => {
                at += 1;
                read += 1;
            }
            (_, Some((behind, taken))) => {
                star = Some((behind, taken + 1));
                at = behind;
                read = taken + 1;
            }
            _ => return false,
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}

/// Whether a pattern is a plain name.
pub fn is_plain(pattern: &str) -> bool {
    !pattern.contains(['*', '?'])
}

/// What stands before the first wildcard.
pub fn literal_start(pattern: &str) -> &str {
    pattern.split(['*', '?']).next().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, slow and plain.
    fn by_definition(pattern: &[char], text: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('*', rest)) => (0..=text.len()).any(|skip| by_definition(rest, &text[skip..])),
            Some(('?', rest)) => !text.is_empty() && by_definition(rest, &text[1..]),
            Some((c, rest)) => text.first() == Some(c) && by_definition(rest, &text[1..]),
        }
    }

    proptest! {
        #[test]
        fn it_is_what_it_is_defined_to_be(pattern in "[ab.*?]{0,7}", text in "[ab.]{0,7}") {
            let (p, t): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
            prop_assert_eq!(matches(&pattern, &text), by_definition(&p, &t), "{} {}", pattern, text);
        }
    }

    #[test]
    fn many_stars_take_no_longer() {
        let text = "a".repeat(20_000);
        assert!(!matches(&("*a".repeat(500) + "b"), &text));
        assert!(matches(&"*a".repeat(500), &text));
    }
}
