//! Secrets: values that never show, and the scrubbing of texts that might hold one.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use secrecy::{ExposeSecret, SecretString};

/// What stands in a text where a secret stood.
pub const REDACTED: &str = "[REDACTED]";

/// A value that neither `Debug` nor `Display` shows.
#[derive(Clone)]
pub struct Secret(SecretString);

impl Secret {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Self {
        Secret(SecretString::from(value.into()))
    }
    /// The value, for the one request that needs it.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
    /// The value in the form that crates without this one take.
    pub fn to_secret_string(&self) -> SecretString {
        self.0.clone()
    }
}

impl From<SecretString> for Secret {
    fn from(value: SecretString) -> Self {
        Secret(value)
    }
}
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}
impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

/// Takes known secrets out of texts. One is shared by the whole hive; what is added holds from then on.
///
/// A secret shorter than [`Scrub::LENGTH_MIN`] is not taken out: it would mangle ordinary text.
#[derive(Clone, Debug, Default)]
pub struct Scrub(Arc<RwLock<Vec<Needle>>>);

#[derive(Clone)]
struct Needle(String);

impl fmt::Debug for Needle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

impl Scrub {
    /// The shortest secret that is taken out of texts, in bytes.
    pub const LENGTH_MIN: usize = 8;

    /// Knows nothing yet.
    pub fn new() -> Self {
        Scrub::default()
    }

    /// Learns a secret: its plain, JSON-escaped and URL-encoded forms.
    pub fn learn(&self, secret: &Secret) {
        let value = secret.expose();
        if value.len() < Self::LENGTH_MIN {
            return;
        }
        let mut needles = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for form in [value.to_owned(), json_escaped(value), url_encoded(value)] {
            if !needles.iter().any(|known| known.0 == form) {
                needles.push(Needle(form));
            }
        }
        // The longest first: a secret inside another must not leave the other's ends standing.
        needles.sort_by_key(|needle| std::cmp::Reverse(needle.0.len()));
    }

    /// The text without the secrets.
    pub fn clean(&self, text: &str) -> String {
        let needles = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut clean = text.to_owned();
        for needle in needles.iter().filter(|needle| text.contains(&needle.0)) {
            clean = clean.replace(&needle.0, REDACTED);
        }
        clean
    }

    /// The length of the longest form that is known, in bytes: what a stream has to hold back.
    pub fn longest(&self) -> usize {
        self.0.read().unwrap_or_else(PoisonError::into_inner).first().map_or(0, |needle| needle.0.len())
    }
}

/// SHA-256 of a text, in hexadecimal: what is kept of something that need only be recognised.
pub fn digest(text: &str) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn json_escaped(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '"' => escaped.push_str("\\\""),
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            c if (c as u32) < 0x20 => escaped.push_str(&format!("\\u{:04x}", c as u32)),
            c => escaped.push(c),
        }
    }
    escaped
}

fn url_encoded(value: &str) -> String {
    let mut encoded = String::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => encoded.push(char::from(byte)),
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_shows() {
        let secret = Secret::new("hunter2hunter2");
        assert_eq!(format!("{secret:?} {secret}"), "[REDACTED] [REDACTED]");
    }

    #[test]
    fn every_form_of_a_secret_is_taken_out_and_nothing_else() {
        let scrub = Scrub::new();
        scrub.learn(&Secret::new("pa\"ss wo/rd"));
        scrub.learn(&Secret::new("short"));
        for text in ["pa\"ss wo/rd", "pa\\\"ss wo/rd", "pa%22ss%20wo%2Frd"] {
            assert_eq!(scrub.clean(&format!("<{text}>")), "<[REDACTED]>", "{text}");
        }
        assert_eq!(scrub.clean("short password"), "short password");
    }

    #[test]
    fn the_longer_of_two_nested_secrets_goes_first() {
        let scrub = Scrub::new();
        scrub.learn(&Secret::new("12345678"));
        scrub.learn(&Secret::new("abc12345678xyz"));
        assert_eq!(scrub.clean("abc12345678xyz 12345678"), "[REDACTED] [REDACTED]");
    }
}
