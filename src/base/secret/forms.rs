//! The texts by which a secret is known: itself, and what encoders make of it.
//!
//! Escapes (JSON, URL) are not here: they leave each character a choice, so the text is decoded instead ([`super::view`]).

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

/// The shortest line of a secret of several lines that is known by itself, in bytes: lines of a key are 64 or more.
const LINE_MIN: usize = 16;

/// Every text that stands for this secret, at least `length_min` bytes long.
pub(super) fn of(secret: &str, length_min: usize) -> BTreeSet<String> {
    let mut forms = BTreeSet::new();
    for part in parts(secret).into_iter().filter(|part| part.len() >= length_min) {
        forms.insert(part.to_owned());
        forms.insert(hex(part.as_bytes(), false));
        forms.insert(hex(part.as_bytes(), true));
        forms.extend([STANDARD, URL_SAFE, STANDARD_NO_PAD, URL_SAFE_NO_PAD].map(|engine| engine.encode(part)));
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            forms.extend((0..3).map(|before| inside_base64(&engine, part.as_bytes(), before)));
        }
    }
    forms.retain(|form| form.len() >= length_min);
    forms
}

/// The secret, without the white space around it, and the lines of a key: a tool may show some of them only.
fn parts(secret: &str) -> BTreeSet<&str> {
    let lines = secret.lines().map(str::trim);
    // A line with spaces or dashes around it may be a title, or a line of any other file.
    let telling = |line: &&str| line.len() >= LINE_MIN && !line.starts_with('-') && !line.contains(char::is_whitespace);
    let mut parts: BTreeSet<&str> = BTreeSet::from([secret, secret.trim()]);
    if secret.trim().contains('\n') {
        parts.extend(lines.filter(telling));
    }
    parts
}

/// What of a longer text's Base64 depends on the secret alone, where it begins `before` bytes (mod 3) into the text.
/// The characters at either end that mix its bits with a neighbour's are not in it.
fn inside_base64(engine: &impl Engine, secret: &[u8], before: usize) -> String {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(secret);
    let encoded = engine.encode(&bytes);
    // A character is 6 bits: those that begin before the secret's first bit, and the one that ends after its last.
    let (from, to) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
    encoded[from..to].to_owned()
}

fn hex(bytes: &[u8], upper: bool) -> String {
    bytes.iter().map(|byte| if upper { format!("{byte:02X}") } else { format!("{byte:02x}") }).collect()
}

/// How long the secret is as escaped as encoders usually make it: every odd byte as `%XX`, or every odd character as
/// `\uXXXX`, whichever is longer.
pub(super) fn longest_escaped(secret: &str) -> usize {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.~".contains(c);
    let url: usize = secret.chars().map(|c| if plain(c) { 1 } else { 3 * c.len_utf8() }).sum();
    let json: usize = secret.chars().map(|c| if plain(c) { 1 } else { 6 * c.len_utf16() }).sum();
    url.max(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_known_wherever_the_secret_begins() {
        let secret = "s3cr3t-v4lue";
        let forms = of(secret, 8);
        for before in 0..6 {
            for after in 0..4 {
                let text = format!("{}{secret}{}", &"prefix"[..before], &"tail"[..after]);
                let encoded = STANDARD.encode(&text);
                assert!(forms.iter().any(|form| encoded.contains(form)), "{text}: {encoded}");
            }
        }
    }

    #[test]
    fn a_key_is_known_by_its_lines_but_not_by_its_title() {
        let key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nshort\n-----END PRIVATE KEY-----\n";
        let forms = of(key, 8);
        assert!(forms.contains("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"));
        assert!(forms.contains(key) && forms.contains(key.trim()));
        assert!(!forms.contains("-----BEGIN PRIVATE KEY-----") && !forms.contains("short"));
    }
}
