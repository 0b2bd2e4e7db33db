//! The vault's key in the keyring that the kernel keeps for a user or a session (keyrings(7)): in no file, in no
//! variable, in no core of another process.
//!
//! The kernel forgets it when the machine is started anew. So the hive only reads it there, and never makes one that
//! would be nowhere else: whoever starts the hive puts it there first, from where they keep it.

use base::Secret;
use linux_keyutils::{KeyError as Fault, KeyRing, KeyRingIdentifier};
use zeroize::Zeroizing;

use super::key::{Key, KeyError};

/// What the key is called there; its type is `user`.
pub(super) const NAME: &str = "openhive-vault";

/// The keyrings that are searched: that of the session, which leads to the others as a rule, and the user's own.
const RINGS: [KeyRingIdentifier; 2] = [KeyRingIdentifier::Session, KeyRingIdentifier::User];

/// The key of this name.
///
/// # Errors
/// Says in words what is missing: the keyring, the key, or the right to read it.
pub(super) fn read(name: &str) -> Result<Key, KeyError> {
    let search = |ring| KeyRing::from_special_id(ring, false)?.search(name);
    let mut fault = Fault::KeyDoesNotExist;
    for found in RINGS.map(search) {
        match found.and_then(|key| key.read_to_vec()).map(Zeroizing::new) {
            Ok(bytes) => {
                let text = Secret::new(String::from_utf8_lossy(&bytes));
                return Key::read(&text, &format!("`{name}` in the keyring"));
            }
            // That a ring has none says less than what the other one says of it.
            Err(Fault::KeyDoesNotExist | Fault::KeyringDoesNotExist) => {}
            Err(other) => fault = other,
        }
    }
    Err(KeyError::Keyring { why: why(name, &fault) })
}

fn why(name: &str, fault: &Fault) -> String {
    match fault {
        Fault::KeyDoesNotExist => format!(
            "there is no key `{name}` in the keyring of this session or user: put it there before the hive starts, \
             such as with `keyctl padd user {name} @u`; the kernel forgets it when the machine is started anew"
        ),
        Fault::AccessDenied => format!(
            "the key `{name}` is there and may not be read: this session must possess it, such as by `keyctl link @u @s`"
        ),
        Fault::KeyExpired | Fault::KeyRevoked => format!("the key `{name}` is expired or revoked: put it there anew"),
        other => format!("this system gives no keyring: {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name that nobody else uses.
    fn name(of: &str) -> String {
        format!("openhive-test-{of}-{}", std::process::id())
    }

    /// The session's keyring, if this machine lets us have one.
    fn ring() -> Option<KeyRing> {
        let ring = KeyRing::from_special_id(KeyRingIdentifier::Session, true);
        let ring =
            ring.and_then(|ring| ring.add_key(&name("trial"), "x").and_then(|key| ring.unlink_key(key)).map(|()| ring));
        ring.inspect_err(|fault| eprintln!("skipped: this machine gives no keyring: {fault:?}")).ok()
    }

    #[test]
    fn a_key_is_read_from_the_keyring() {
        let Some(ring) = ring() else { return };
        let made = Key::generate().unwrap();
        let hex: String = made.bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        // With and without the line break that `echo` writes.
        for text in [hex.clone(), format!("{hex}\n")] {
            let key = ring.add_key(&name("good"), &text).unwrap();
            let read = read(&name("good"));
            ring.unlink_key(key).unwrap();
            assert_eq!(read.unwrap().bytes(), made.bytes());
        }
    }

    #[test]
    fn what_is_missing_in_the_keyring_is_said_and_the_key_is_not() {
        let Some(ring) = ring() else { return };
        let why = |name: &str| read(name).unwrap_err().to_string();
        assert!(why(&name("none")).contains("there is no key `openhive-test-none-"), "{}", why(&name("none")));
        let key = ring.add_key(&name("bad"), "correct horse battery staple").unwrap();
        let said = why(&name("bad"));
        ring.unlink_key(key).unwrap();
        assert!(said.contains("in the keyring holds no vault key") && !said.contains("horse"), "{said}");
        let key = ring.add_key(&name("revoked"), "x").unwrap();
        key.revoke().unwrap();
        assert!(why(&name("revoked")).contains("keyring"), "{}", why(&name("revoked")));
        ring.unlink_key(key).ok();
    }
}
