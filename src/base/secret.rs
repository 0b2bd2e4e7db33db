//! Secrets: values that never show, and the scrubbing of texts that might hold one.

mod forms;
mod scrub;
#[cfg(test)]
mod tests;
mod view;

use std::fmt;

use secrecy::{ExposeSecret, SecretString};

pub use scrub::{Scrub, ScrubStream};

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

/// SHA-256 of a text, in hexadecimal: what is kept of something that need only be recognised.
pub fn digest(text: &str) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
