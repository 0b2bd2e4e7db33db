//! What else a path's text could mean to whoever decodes, unescapes or cleans it. Pure.
//!
//! The kernel takes a path as it is: `%2e%2e%2f` is an odd name to it, not a way up. A file's name does not stay with
//! the kernel, though: it goes into scripts, links and other programs. A text that leads out of a folder under any
//! common reading is therefore no path for us, whatever the kernel would make of it.

use std::collections::BTreeSet;

/// How many readings of one text are looked at. Real names have one to four; a text with more is a riddle.
const READINGS_MAX: usize = 256;

/// The shortest hexadecimal escape's length is 3: each round of decoding shortens a text, and this many rounds undo
/// what anybody encodes in earnest.
const ROUNDS_MAX: usize = 8;

/// The other readings of `given`, without itself, sorted. `None` where there are too many to look at.
pub fn of(given: &str) -> Option<Vec<String>> {
    if is_plain(given) {
        return Some(Vec::new());
    }
    let mut known = BTreeSet::from([given.to_owned()]);
    let mut newest = vec![given.to_owned()];
    for _ in 0..ROUNDS_MAX {
        let mut next = Vec::new();
        for text in &newest {
            for reading in READERS.iter().map(|reader| reader(text)) {
                if !known.contains(&reading) {
                    known.insert(reading.clone());
                    next.push(reading);
                }
            }
            if known.len() > READINGS_MAX {
                return None;
            }
        }
        if next.is_empty() {
            break;
        }
        newest = next;
    }
    known.remove(given);
    Some(known.into_iter().collect())
}

/// Whether nothing in the text could be read in another way: most paths.
fn is_plain(given: &str) -> bool {
    let odd = |c: char| !c.is_ascii() || matches!(c, '%' | '\\' | '&' | ':');
    !given.contains(odd) && !given.contains("..") && !given.contains("0x") && !given.contains("0X")
}

/// Everything that somebody may do to a text on its way.
const READERS: [fn(&str) -> String; 11] = [
    percent_decoded,
    percent_decoded_without_rest,
    percent_decoded_by_arithmetic,
    percent_decoded_blindly,
    unescaped,
    plain_characters,
    without_ways_up,
    without_backslashes,
    without_mixed_separators,
    without_parameters,
    without_scheme,
];

/// `%2e` and `%u002e`; sequences of UTF-8 that are longer than need be count as what they mean.
fn percent_decoded(text: &str) -> String {
    lenient_utf8(&percent_bytes(text, hex_digit), follows)
}

/// The same by a decoder that drops what it does not understand: stray percent signs, bytes that are not ASCII.
fn percent_decoded_without_rest(text: &str) -> String {
    let bytes = percent_bytes(text, hex_digit);
    if bytes == text.as_bytes() {
        return text.to_owned();
    }
    bytes.into_iter().filter(|byte| byte.is_ascii() && *byte != b'%').map(char::from).collect()
}

/// The same by a decoder that does not look whether digits are digits: `%1u` is 1 × 16 + 30, a dot.
fn percent_decoded_by_arithmetic(text: &str) -> String {
    lenient_utf8(&percent_bytes(text, any_digit), follows)
}

/// The same by a decoder that does not look whether bytes may follow each other: `%e0%40%ae` is a dot.
fn percent_decoded_blindly(text: &str) -> String {
    let bytes = percent_bytes(text, hex_digit);
    if bytes == text.as_bytes() { text.to_owned() } else { lenient_utf8(&bytes, |_| true) }
}

fn percent_bytes(text: &str, digit: fn(u8) -> Option<u32>) -> Vec<u8> {
    let bytes = text.as_bytes();
    let number = |digits: &[u8]| digits.iter().try_fold(0_u32, |sum, byte| Some(sum * 16 + digit(*byte)?));
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let wide = matches!(rest, [b'%', b'u' | b'U', ..]).then(|| rest.get(2..6).and_then(number)).flatten();
        if let Some(c) = wide.and_then(char::from_u32) {
            decoded.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            at += 6;
        } else if let Some(byte) = (rest[0] == b'%').then(|| rest.get(1..3).and_then(number)).flatten() {
            decoded.push((byte & 0xff) as u8);
            at += 3;
        } else {
            decoded.push(rest[0]);
            at += 1;
        }
    }
    decoded
}

fn hex_digit(byte: u8) -> Option<u32> {
    char::from(byte).to_digit(16)
}

fn any_digit(byte: u8) -> Option<u32> {
    char::from(byte).to_digit(36)
}

/// Whether a byte may follow another in UTF-8.
fn follows(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// UTF-8 by its arithmetic alone: `C0 AF` is a slash, and so are `E0 80 AF` and `C0 2F`.
fn lenient_utf8(bytes: &[u8], may_follow: fn(u8) -> bool) -> String {
    let mut text = String::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&lead, after)) = rest.split_first() {
        let (follow, bits) = match lead {
            0xc0..=0xdf => (1, lead & 0x1f),
            0xe0..=0xef => (2, lead & 0x0f),
            0xf0..=0xf7 => (3, lead & 0x07),
            0xf8..=0xfb => (4, lead & 0x03),
            0xfc..=0xfd => (5, lead & 0x01),
            _ => (0, lead),
        };
        let tail = &after[..follow.min(after.len())];
        // A lead byte without what should follow it: what stands there counts by itself.
        let whole = tail.len() == follow && tail.iter().all(|byte| may_follow(*byte));
        if follow == 0 || !whole {
            if lead.is_ascii() {
                text.push(char::from(lead));
            } else {
                text.push(char::REPLACEMENT_CHARACTER);
            }
            rest = after;
            if follow > 0 && after.first().is_some_and(u8::is_ascii) {
                // The replacement above would hide a dot or a slash behind a broken lead byte.
                text.pop();
            }
            continue;
        }
        let code = tail.iter().fold(u32::from(bits), |code, byte| (code << 6) | u32::from(byte & 0x3f));
        text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        rest = &after[follow..];
    }
    text
}

/// Escapes of programming languages and of HTML: `\x2e`, `\u002e`, `\056`, `&#46;`, `&#x2e;`, `&period;`, and the bare
/// `0x2e` of dots and separators.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (decoded, used) = escape(rest).unwrap_or((c, c.len_utf8()));
        out.push(decoded);
        rest = &rest[used..];
    }
    out
}

/// The escape at the beginning of a text, and its length in bytes.
fn escape(text: &str) -> Option<(char, usize)> {
    const NAMED: [(&str, char); 10] = [
        ("&period;", '.'),
        ("&sol;", '/'),
        ("&bsol;", '\\'),
        ("&apos;", '\''),
        ("&quot;", '"'),
        ("&lt;", '<'),
        ("&gt;", '>'),
        ("&colon;", ':'),
        ("&nbsp;", ' '),
        // Last: what it frees is read in the next round.
        ("&amp;", '&'),
    ];
    if let Some((name, c)) = NAMED.iter().find(|(name, _)| text.starts_with(name)) {
        return Some((*c, name.len()));
    }
    let bytes = text.as_bytes();
    let character = |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
    if let Some(entity) = text.strip_prefix("&#") {
        let digits = entity.split(';').next().filter(|digits| digits.len() < 9 && entity.len() > digits.len())?;
        let c = match digits.strip_prefix(['x', 'X']) {
            Some(hex) => character(hex, 16)?,
            None => character(digits, 10)?,
        };
        return Some((c, 2 + digits.len() + 1));
    }
    let fixed = |start: usize, digits: usize, radix| {
        Some((character(text.get(start..start + digits)?, radix)?, start + digits))
    };
    match bytes {
        [b'\\', b'x' | b'X', ..] => fixed(2, 2, 16),
        [b'\\', b'u' | b'U', ..] => fixed(2, 4, 16),
        [b'\\', b'0'..=b'3', ..] => fixed(1, 3, 8),
        [b'0', b'x' | b'X', ..] => fixed(2, 2, 16).filter(|(c, _)| matches!(c, '.' | '/' | '\\')),
        _ => None,
    }
}

/// Characters that look or are folded like ASCII ones become those, and what nobody sees goes: `．．／` is `../`.
fn plain_characters(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // The full-width forms lie in the order of ASCII.
            '\u{ff01}'..='\u{ff5e}' => out.extend(char::from_u32(u32::from(c) - 0xfee0)),
            '\u{2024}' | '\u{fe52}' | '\u{ff61}' | '\u{3002}' | '\u{0701}' | '\u{0702}' => out.push('.'),
            '\u{2025}' => out.push_str(".."),
            '\u{2026}' => out.push_str("..."),
            '\u{2044}' | '\u{2215}' | '\u{29f8}' | '\u{1735}' => out.push('/'),
            // For private use: some code pages make a slash of them.
            '\u{e000}'..='\u{f8ff}' => out.push('/'),
            '\u{2216}' | '\u{29f5}' | '\u{29f9}' | '\u{fe68}' => out.push('\\'),
            '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{3000}' => out.push(' '),
            // Not shown at all; some file systems leave them out when they compare names.
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' => {}
            '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}' => {}
            _ => out.push(c),
        }
    }
    out
}

/// What a filter leaves that takes each `../` out once: `....//` becomes `../`.
fn without_ways_up(text: &str) -> String {
    text.replace("../", "").replace("..\\", "")
}

/// What is left where backslashes escape.
fn without_backslashes(text: &str) -> String {
    text.replace('\\', "")
}

/// What is left where a run of both separators is taken for noise: `.\/\./` becomes `../`.
fn without_mixed_separators(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(['/', '\\']) {
        out.push_str(&rest[..start]);
        let length = rest[start..].find(|c| c != '/' && c != '\\').unwrap_or(rest.len() - start);
        let run = &rest[start..start + length];
        // In front of a dot only: `a\/b` is a folder written with care.
        let mixed = run.contains('/') && run.contains('\\') && rest[start + length..].starts_with('.');
        if !mixed {
            out.push_str(run);
        }
        rest = &rest[start + length..];
    }
    out.push_str(rest);
    out
}

/// What a web server leaves that takes parameters for no part of a name: `..;x=1/` becomes `../`.
fn without_parameters(text: &str) -> String {
    let name = |part: &str| part.split(';').next().unwrap_or("").to_owned();
    text.split('/').map(name).collect::<Vec<_>>().join("/")
}

/// What a URL names, and what stands behind a Windows drive: `file:/etc`, `php://filter/x`, `C:/x` are none of ours.
fn without_scheme(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once(':') else { return text.to_owned() };
    let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(letters);
    let is_file = scheme.eq_ignore_ascii_case("file") || scheme.len() == 1 || rest.starts_with("//");
    if is_scheme && is_file { rest.to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(text: &str) -> Vec<String> {
        of(text).unwrap_or_else(|| panic!("{text} has too many readings"))
    }

    #[test]
    fn a_way_up_is_found_in_every_disguise() {
        for text in [
            "%2e%2e%2f",
            "%252e%252e%252f",
            "%25252e%25252e%25252f",
            "%%32%65%%32%65%%32%66",
            "%u002e%u002e%u2215",
            "%uff0e%uff0e%uff0f",
            "%c0%ae%c0%ae%c0%af",
            "%e0%80%ae%e0%80%ae%e0%80%af",
            "..%c0%2f",
            "..%bg%qf",
            "%1u%1u%1v",
            "0x2e0x2e0x2f",
            "&#46;&#x2e;&sol;",
            r"\x2e\u002e\057",
            "．．／",
            ".\u{200b}./",
            "‥⁄",
            "..%uEFC8",
            "%e0%40%ae.%c0%2f",
            "..%ff/",
            "..%3b/",
            "..;/",
            "..;a=1/",
            "....//",
            "..././",
            r".\./",
            r".\/\./",
            "file:../",
            "c:../",
        ] {
            assert!(readings(text).iter().any(|reading| reading == "../"), "{text}: {:?}", readings(text));
        }
    }

    #[test]
    fn most_names_have_one_reading() {
        for text in ["notes/today.md", ".env.example", "a b", "-rf", "x*y?.txt", "", "CON", "a;b|c", "$lib/x"] {
            assert_eq!(readings(text), Vec::<String>::new(), "{text}");
        }
        assert_eq!(readings("100%.txt"), Vec::<String>::new());
        assert_eq!(readings("a%20b"), ["a b"]);
    }

    #[test]
    fn a_riddle_ends() {
        let riddle = r"%c0%2525ae&#37;2e\x25．..\/".repeat(140);
        assert!(of(&riddle).is_none_or(|readings| !readings.is_empty()));
    }
}
