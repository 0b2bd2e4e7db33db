//! Text: cutting without breaking.

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

/// `1 message`, `2 messages`.
pub fn count(number: impl Into<i64>, one: &str) -> String {
    let number = number.into();
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
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
}
