//! The vault's key as a text, and the file that nobody else can read.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use base::Secret;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::Generate;
use zeroize::Zeroizing;

/// Bytes of a key (XChaCha20).
const LENGTH: usize = 32;

/// The file in the run directory.
const FILE: &str = "vault.key";

/// The longest file that is read: a key has 65 bytes, a file with more is none.
const FILE_BYTES_MAX: u64 = 1_024;

/// A key. It is erased from memory when it is dropped.
pub struct Key(Zeroizing<[u8; LENGTH]>);

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// What was given is none.
    #[error(
        "{place} holds no vault key: 64 hexadecimal digits or 44 characters of Base64 are needed, 32 random bytes, such as `openssl rand -hex 32` prints"
    )]
    Form {
        /// The variable, or the file.
        place: String,
    },
    /// Others could have read it.
    #[error("the vault's key file {path} can be read by others (mode {mode:o}): if nobody has, run `chmod 600 {path}`")]
    Open {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// It is a link, a folder or a device.
    #[error("the vault's key file {path} is no regular file")]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// Something else.
    #[error("the vault's key file {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The keyring has none.
    #[error("the vault's key is to be in the kernel's keyring, but {why}")]
    Keyring {
        /// What is missing.
        why: String,
    },
    /// The system gives none.
    #[error("the system has no random numbers for a vault key")]
    Chance,
}

impl Key {
    /// The key that is written in a text, as 64 hexadecimal digits or as Base64. `place` is told where it is none.
    ///
    /// # Errors
    /// [`KeyError::Form`].
    pub fn read(text: &Secret, place: &str) -> Result<Key, KeyError> {
        let text = text.expose().trim();
        let bytes = from_hex(text).or_else(|| STANDARD.decode(text).ok().map(Zeroizing::new));
        let key = bytes.and_then(|bytes| <[u8; LENGTH]>::try_from(bytes.as_slice()).ok());
        key.map(|key| Key(Zeroizing::new(key))).ok_or_else(|| KeyError::Form { place: place.to_owned() })
    }

    /// A new key.
    ///
    /// # Errors
    /// [`KeyError::Chance`].
    pub fn generate() -> Result<Key, KeyError> {
        // From the system, whatever a test's chance is.
        let bytes = <[u8; LENGTH]>::try_generate().map_err(|_| KeyError::Chance)?;
        Ok(Key(Zeroizing::new(bytes)))
    }

    pub(super) fn bytes(&self) -> &[u8; LENGTH] {
        &self.0
    }

    fn hex(&self) -> Zeroizing<String> {
        Zeroizing::new(self.0.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(base::secret::REDACTED)
    }
}

/// Where the key file of a run directory is.
pub fn path(run_dir: &Path) -> PathBuf {
    run_dir.join(FILE)
}

/// The key in the file, or `None` where there is no file.
///
/// # Errors
/// Where others can read it, or it is none.
pub fn read_file(path: &Path) -> Result<Option<Key>, KeyError> {
    let fault = |source| KeyError::File { path: path.to_owned(), source };
    let named = match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other.map_err(fault)?,
    };
    if !named.is_file() {
        return Err(KeyError::NotAFile { path: path.to_owned() });
    }
    let file = File::open(path).map_err(fault)?;
    let opened = file.metadata().map_err(fault)?;
    if (opened.dev(), opened.ino()) != (named.dev(), named.ino()) {
        // It was exchanged for another one, perhaps a link, between the two looks.
        return Err(KeyError::NotAFile { path: path.to_owned() });
    }
    let mode = opened.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(KeyError::Open { path: path.to_owned(), mode });
    }
    let mut text = String::new();
    file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(fault)?;
    Key::read(&Secret::new(text), &path.display().to_string()).map(Some)
}

/// Writes a key to a file that is not there yet, readable by its owner alone. It is there whole or not at all; where
/// another process was faster, that one's key is given.
///
/// # Errors
/// Where the file cannot be written, or the other's not be read.
pub fn make_file(path: &Path, key: Key) -> Result<Key, KeyError> {
    let fault = |source| KeyError::File { path: path.to_owned(), source };
    // Of no name that a crash may have left: a process in a container has the same number each time.
    let draft = path.with_extension(format!("key.{}", &Key::generate()?.hex()[..16]));
    let made = write_new(&draft, &key).and_then(|()| std::fs::hard_link(&draft, path));
    let removed = std::fs::remove_file(&draft);
    match made {
        Ok(()) => {
            removed.map_err(fault)?;
            sync_folder(path).map_err(fault)?;
            Ok(key)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.exists() => {
            read_file(path)?.ok_or_else(|| fault(ErrorKind::NotFound.into()))
        }
        Err(error) => Err(fault(error)),
    }
}

/// A new file with the key, which only its owner can read from its first byte on.
pub(super) fn write_new(path: &Path, key: &Key) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(key.hex().as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()
}

/// Makes the names in a file's folder survive a power cut.
pub(super) fn sync_folder(path: &Path) -> std::io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

fn from_hex(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let digits = text.as_bytes();
    if digits.len() != 2 * LENGTH || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    digits.chunks(2).map(byte).collect::<Option<Vec<u8>>>().map(Zeroizing::new)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_key_is_read_as_hexadecimal_and_as_base64_and_nothing_else() {
        let hex = "00ff".repeat(16);
        let base64 = STANDARD.encode([0, 255].repeat(16));
        for text in [hex.clone(), hex.to_uppercase(), format!(" {hex}\n"), base64] {
            assert_eq!(Key::read(&Secret::new(text), "it").unwrap().bytes()[..2], [0, 255]);
        }
        for text in ["", "correct horse battery staple", &hex[2..], &format!("{hex}00"), &hex.replace('f', "g")] {
            let error = Key::read(&Secret::new(text), "HIVE_VAULT_KEY").unwrap_err().to_string();
            assert!(error.starts_with("HIVE_VAULT_KEY holds no vault key: 64 hexadecimal digits"), "{error}");
            assert!(text.is_empty() || !error.contains(text), "{error}");
        }
        assert_eq!(format!("{:?}", Key::generate().unwrap()), "[REDACTED]");
    }

    #[test]
    fn a_key_file_is_its_owners_alone_and_made_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = path(folder.path());
        assert!(read_file(&path).unwrap().is_none());
        let made = make_file(&path, Key::generate().unwrap()).unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        assert_eq!(read_file(&path).unwrap().unwrap().bytes(), made.bytes());
        let second = make_file(&path, Key::generate().unwrap()).unwrap();
        assert_eq!(second.bytes(), made.bytes(), "who comes second takes the first one's");
        let names: Vec<_> = folder.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["vault.key"], "no draft is left");
    }

    #[test]
    fn a_key_file_that_others_can_read_or_that_is_none_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = path(folder.path());
        make_file(&path, Key::generate().unwrap()).unwrap();
        for mode in [0o640, 0o604, 0o620, 0o644, 0o777] {
            path.metadata().unwrap();
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let error = read_file(&path).unwrap_err().to_string();
            assert!(error.contains(&format!("can be read by others (mode {mode:o})")), "{error}");
        }
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let elsewhere = folder.path().join("elsewhere");
        std::fs::rename(&path, &elsewhere).unwrap();
        symlink(&elsewhere, &path).unwrap();
        assert!(matches!(read_file(&path), Err(KeyError::NotAFile { .. })));
        std::fs::remove_file(&path).unwrap();
        write_new(&path, &Key::generate().unwrap()).unwrap();
        std::fs::write(&path, "").unwrap();
        assert!(matches!(read_file(&path), Err(KeyError::Form { .. })));
        assert!(matches!(make_file(&path, Key::generate().unwrap()), Err(KeyError::Form { .. })), "not overwritten");
    }
}
