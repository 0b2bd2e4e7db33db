//! Words in scripts that do not set them apart.
//!
//! The index takes a run of letters for one word, so a Chinese sentence would be one word that nobody asks for. Such
//! runs are written out as single characters and pairs of neighbours: a question finds what shares pairs with it.

/// The text as it is to be indexed, or `None` where that is the text itself.
pub fn spaced(text: &str) -> Option<String> {
    if !text.chars().any(is_unspaced) {
        return None;
    }
    let mut out = String::with_capacity(text.len() * 4);
    let mut before: Option<char> = None;
    for c in text.chars() {
        if !is_unspaced(c) {
            if before.take().is_some() {
                out.push(' ');
            }
            out.push(c);
            continue;
        }
        out.push(' ');
        if let Some(before) = before {
            out.extend([before, c, ' ']);
        }
        out.push(c);
        before = Some(c);
    }
    Some(out)
}

/// How many words a text has, as the index counts them, near enough for a chunk's length.
pub fn words(text: &str) -> usize {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).count()
}

/// Whether a character belongs to a script that is written without spaces: Thai, Lao, Myanmar, Khmer, kana, Han.
pub fn is_unspaced(c: char) -> bool {
    c.is_alphanumeric()
        && matches!(c,
            '\u{0e00}'..='\u{0eff}'
            | '\u{1000}'..='\u{109f}'
            | '\u{1780}'..='\u{17ff}'
            | '\u{3005}'..='\u{3007}'
            | '\u{3040}'..='\u{30ff}'
            | '\u{31f0}'..='\u{31ff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{ff66}'..='\u{ff9d}'
            | '\u{20000}'..='\u{323af}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_without_spaces_become_characters_and_pairs() {
        assert_eq!(spaced("plain words"), None);
        assert_eq!(spaced("会議は").as_deref(), Some(" 会 会議 議 議は は"));
        assert_eq!(spaced("port番号8080").as_deref(), Some("port 番 番号 号 8080"));
        assert_eq!(words(&spaced("会議は").unwrap()), 5);
        assert_eq!((words("don't  stop-here, 42!"), words("…")), (5, 0));
    }
}
