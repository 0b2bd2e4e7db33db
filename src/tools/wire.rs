//! Names as providers take them: `[A-Za-z0-9_-]`, at most 64 characters.
//!
//! A logical name may have dots (`engineering.deploy`); on the wire each is `--`, which no logical name contains. So
//! no two names meet out there. Names that are too long are cut and end in a digest after `---`, which no other name
//! contains either. The catalogue knows the way back.

use sha2::{Digest, Sha256};

/// The longest name that providers take, in bytes.
pub const LENGTH_MAX: usize = 64;

/// The longest logical name, in bytes.
const LOGICAL_LENGTH_MAX: usize = 200;

/// How many characters of the digest stand at the end of a name that was cut.
const DIGEST_LENGTH: usize = 8;

/// A text that is no logical name of a tool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a tool name: use 1 to 200 letters, digits, `_`, single `-` and `.`, which do not stand side by side \
     or at an end"
)]
pub struct BadToolName(pub String);

/// The name that goes out.
///
/// # Errors
/// If `name` is no logical name.
pub fn name(logical: &str) -> Result<String, BadToolName> {
    let joint = |c: char| c == '-' || c == '.';
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let fits = (1..=LOGICAL_LENGTH_MAX).contains(&logical.len());
    if !fits || !logical.split(joint).all(|part| !part.is_empty() && part.chars().all(word)) {
        return Err(BadToolName(base::text::cut(&logical.escape_debug().to_string(), LOGICAL_LENGTH_MAX)));
    }
    let whole = logical.replace('.', "--");
    if whole.len() <= LENGTH_MAX {
        return Ok(whole);
    }
    let digest: String = Sha256::digest(logical).iter().map(|byte| format!("{byte:02x}")).collect();
    let head = whole[..LENGTH_MAX - 3 - DIGEST_LENGTH].trim_end_matches('-');
    Ok(format!("{head}---{}", &digest[..DIGEST_LENGTH]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The logical name that goes out as `wire`; `None` where it was cut.
    fn logical(wire: &str) -> Option<String> {
        (!wire.contains("---")).then(|| wire.replace("--", "."))
    }

    #[test]
    fn an_ordinary_name_goes_out_as_it_is() {
        for plain in ["read", "mcp__my-server__tool", "a"] {
            assert_eq!(name(plain).as_deref(), Ok(plain));
        }
        assert_eq!(name("engineering.deploy").as_deref(), Ok("engineering--deploy"));
    }

    #[test]
    fn what_is_no_name_is_refused() {
        let long = "a".repeat(201);
        for bad in ["", "a b", "a--b", ".a", "a.", "a.-b", "a..b", "-a", "naïve", "a/b", &long] {
            assert!(name(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn every_name_is_safe_and_comes_back(a in "[A-Za-z0-9_]{1,40}([.-][A-Za-z0-9_]{1,40}){0,3}") {
            prop_assume!(a.len() <= LOGICAL_LENGTH_MAX);
            let wire = name(&a).unwrap();
            prop_assert!((1..=LENGTH_MAX).contains(&wire.len()));
            prop_assert!(wire.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'));
            match logical(&wire) {
                Some(back) => prop_assert_eq!(back, a),
                None => prop_assert!(a.replace('.', "--").len() > LENGTH_MAX),
            }
        }

        #[test]
        fn two_names_never_meet(
            a in "[ab]{1,30}([.-][ab]{1,30}){0,3}",
            b in "[ab]{1,30}([.-][ab]{1,30}){0,3}",
        ) {
            prop_assume!(a != b);
            prop_assert_ne!(name(&a), name(&b));
        }
    }
}
