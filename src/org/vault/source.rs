//! Where the vault's key comes from: the environment, the keyring that it names, or the run directory's key file.

use std::path::Path;

use anyhow::{Context, Result};
use base::Secret;
use store::vault::Sealed;

use super::key::{self, Key, KeyError};
use super::{keyring, rotate};

/// The variable that may hold the key.
pub const VARIABLE: &str = "HIVE_VAULT_KEY";

/// What the variable holds where the key is in the keyring. Shorter than any text that is taken for a secret.
pub const IN_KEYRING: &str = "keyring";

/// What the variable says.
#[derive(Debug)]
pub enum Source {
    /// This key.
    Given(Key),
    /// The one in the kernel's keyring.
    Keyring,
}

impl Source {
    /// Reads the variable.
    ///
    /// # Errors
    /// [`KeyError::Form`] where it holds neither a key nor [`IN_KEYRING`].
    pub fn read(text: &Secret) -> Result<Source, KeyError> {
        match text.expose().trim() {
            IN_KEYRING => Ok(Source::Keyring),
            _ => Key::read(text, VARIABLE).map(Source::Given),
        }
    }

    fn key(self) -> Result<Key, KeyError> {
        match self {
            Source::Given(key) => Ok(key),
            Source::Keyring => keyring::read(keyring::NAME),
        }
    }
}

/// The key that the environment gives or names, or that of the file. `check`: there is something encrypted, and this tells its key.
pub(super) fn find(from_environment: Option<&Secret>, run_dir: &Path, check: Option<&Sealed>) -> Result<Key> {
    if let Some(text) = from_environment {
        return Ok(Source::read(text)?.key()?);
    }
    let path = key::path(run_dir);
    if let Some(check) = check {
        return rotate::finish(&path, check)?.with_context(|| {
            format!(
                "the vault is encrypted, and its key is gone: set {VARIABLE} or restore {}; without it what the \
                 vault holds is lost",
                path.display()
            )
        });
    }
    match key::read_file(&path)? {
        Some(key) => Ok(key),
        None => Ok(key::make_file(&path, Key::generate()?)?),
    }
}

/// Whether there is a key file, or one that was to replace it.
pub(super) fn has_file(run_dir: &Path) -> bool {
    let path = key::path(run_dir);
    path.exists() || rotate::has_next(&path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_holds_a_key_or_says_where_it_is() {
        let read = |text: &str| Source::read(&Secret::new(text));
        for text in ["keyring", " keyring\n"] {
            assert!(matches!(read(text), Ok(Source::Keyring)), "{text:?}");
        }
        assert!(matches!(read(&"0f".repeat(32)), Ok(Source::Given(_))));
        for text in ["", "Keyring", "keyring:mine", "key ring", "0f"] {
            assert!(matches!(read(text), Err(KeyError::Form { .. })), "{text:?}");
        }
        assert!(IN_KEYRING.len() < base::Scrub::LENGTH_MIN, "a word of every day is not taken out of texts");
    }
}
