//! Text: cutting without breaking, and the word that was meant.

/// At most `chars` characters of `text`, with `…` as the last where something was cut off.
pub fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        None => text.to_owned(),
        Some(_) if chars == 0 => String::new(),
        Some(_) => {
            let end = text.char_indices().nth(chars - 1).map_or(0, |(at, _)| at);
            format!("{}…", &text[..end])
        }
    }
}

/// The first line that is not empty, cut to `chars`.
pub fn headline(text: &str, chars: usize) -> String {
    cut(text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or(""), chars)
}

/// What somebody wrote, cut to `chars`, to be quoted within a line: what cannot be seen in it is written out.
pub fn quoted(text: &str, chars: usize) -> String {
    let escape = |c: char| if is_unseen(c) { c.escape_default().to_string() } else { c.to_string() };
    cut(text, chars).chars().map(escape).collect()
}

/// Whether a character shows nothing, moves what others show, or turns its direction. The joiners that some scripts are
/// written with do not count, nor does the blank.
pub fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}'
        )
}

/// `1 message`, `2 messages`.
pub fn count(number: impl Into<i64>, one: &str) -> String {
    let number = number.into();
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}

/// The word of `known` that was probably meant by `word`, if one is near enough.
pub fn meant<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let word = word.to_ascii_lowercase();
    // A third of the letters may be wrong: enough for `polcy`, too little to offer `model` for `token`.
    let far = (word.chars().count() / 3).max(1);
    let near = |candidate: &str| {
        let candidate = candidate.to_ascii_lowercase();
        // `watched` was begun and not finished, `tokens` goes on too long; both are longer than a third off.
        let begins = word.len() >= 3 && (candidate.starts_with(&word) || word.starts_with(&candidate));
        if begins { 0 } else { strsim::osa_distance(&word, &candidate) }
    };
    let best = known.into_iter().map(|candidate| (near(candidate), candidate)).min_by_key(|(distance, _)| *distance);
    best.filter(|(distance, _)| *distance <= far).map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_keeps_whole_characters() {
        assert_eq!(cut("häuser", 6), "häuser");
        assert_eq!(cut("häuser", 3), "hä…");
        assert_eq!(cut("x", 0), "");
        assert_eq!(headline("\n\n  two words\nmore", 5), "two …");
        assert_eq!((count(1, "day"), count(0, "day")), ("1 day".into(), "0 days".into()));
    }

    #[test]
    fn a_quotation_hides_nothing() {
        assert_eq!(quoted("häuser in a row", 9), "häuser i…");
        assert_eq!(quoted("a\n\u{1b}[2J\u{202e}b\u{200b}", 60), "a\\n\\u{1b}[2J\\u{202e}b\\u{200b}");
        assert!(!is_unseen(' ') && !is_unseen('\u{200d}') && !is_unseen('…'));
    }

    #[test]
    fn a_word_that_is_nearly_another_means_that_one() {
        let known = ["max_steps", "description", "model"];
        for (word, expected) in [
            ("max_step", Some("max_steps")),
            ("MAX_STEPS", Some("max_steps")),
            ("descripton", Some("description")),
            ("desc", Some("description")),
            ("token", None),
            ("", None),
        ] {
            assert_eq!(meant(word, known), expected, "{word}");
        }
    }
}
