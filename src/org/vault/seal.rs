//! Encryption of one value: XChaCha20-Poly1305, a new nonce each time, and what the value belongs to bound to it.

use anyhow::{Result, anyhow};
use chacha20poly1305::aead::{Aead, Generate, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use store::vault::{Row, Sealed};
use zeroize::Zeroizing;

use super::key::Key;

/// What is encrypted with every key, to tell it from others.
const CHECK: &[u8] = b"openhive vault check 1";

/// The beginning of what is bound to a row's value; another form of it gets another number.
const ROW: &[u8] = b"openhive vault row 1";

/// Encrypts and decrypts with one key.
pub(super) struct Seal(XChaCha20Poly1305);

impl Seal {
    pub(super) fn new(key: &Key) -> Self {
        Seal(XChaCha20Poly1305::new(key.bytes().into()))
    }

    /// Encrypts the value of a row, of which everything else is set.
    pub(super) fn close(&self, row: &Row, value: &str) -> Result<Sealed> {
        self.encrypt(value.as_bytes(), &bound_to(row))
    }

    /// The value of a row. `None`: it was encrypted with another key, or as another row, or was changed.
    pub(super) fn open(&self, row: &Row) -> Option<Zeroizing<String>> {
        let bytes = self.decrypt(&row.value, &bound_to(row))?;
        Some(Zeroizing::new(String::from_utf8(bytes).ok()?))
    }

    /// What this key can be told by.
    pub(super) fn check(&self) -> Result<Sealed> {
        self.encrypt(CHECK, CHECK)
    }

    /// Whether that was made with this key.
    pub(super) fn is_checked_by(&self, check: &Sealed) -> bool {
        self.decrypt(check, CHECK).is_some_and(|bytes| bytes == CHECK)
    }

    fn encrypt(&self, msg: &[u8], aad: &[u8]) -> Result<Sealed> {
        // From the system, whatever a test's chance is: a nonce that came twice would give values away.
        let nonce = XNonce::try_generate().map_err(|error| anyhow!("the system has no random numbers: {error}"))?;
        let sealed =
            self.0.encrypt(&nonce, Payload { msg, aad }).map_err(|_| anyhow!("a value is too long to encrypt"))?;
        Ok(Sealed { nonce: nonce.to_vec(), sealed })
    }

    fn decrypt(&self, sealed: &Sealed, aad: &[u8]) -> Option<Vec<u8>> {
        let nonce = XNonce::try_from(sealed.nonce.as_slice()).ok()?;
        self.0.decrypt(&nonce, Payload { msg: &sealed.sealed, aad }).ok()
    }
}

/// A row's team, key, version and kind: no value can be moved to where it was not written, nor an old one be put back.
fn bound_to(row: &Row) -> Vec<u8> {
    let mut bound = ROW.to_vec();
    for text in [row.team.as_str(), row.key.as_str()] {
        bound.extend_from_slice(&(text.len() as u64).to_le_bytes());
        bound.extend_from_slice(text.as_bytes());
    }
    bound.extend_from_slice(&row.version.to_le_bytes());
    bound.push(u8::from(row.is_secret));
    bound
}
