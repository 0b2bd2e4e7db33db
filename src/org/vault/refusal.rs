//! What the vault refuses, in words for whoever asked.

use super::placeholder;

/// Why the vault does not do what it was asked for. The text is for whoever asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The key is none.
    #[error("`{}` is no vault key: use 1 to {max} letters, digits and `_ - . : / @`", base::text::cut(.key, 80))]
    Key {
        /// What was given.
        key: String,
        /// The longest that is allowed.
        max: usize,
    },
    /// An empty value.
    #[error("the value is empty: use `vault_delete` to remove an entry")]
    Empty,
    /// A value that is too long.
    #[error("the value has {bytes} bytes, and at most {max} are kept: write it to a file instead")]
    Long {
        /// How long it is.
        bytes: usize,
        /// The longest that is allowed.
        max: usize,
    },
    /// The team has too much.
    #[error("this team keeps {0} entries already, which is the most: delete some first")]
    Full(i64),
    /// The system manages this one.
    #[error("`{0}` is a secret: the system manages it, and no tool can change or delete it")]
    Managed(String),
    /// A plain value that a secret stands in.
    #[error(
        "a secret stands in this: secrets are not kept as plain values; write {} where a tool needs one",
        placeholder("KEY")
    )]
    HoldsSecret,
    /// A placeholder that stands for nothing.
    #[error("there is no secret `{}` in this team; there are: {}", base::text::cut(.key, 80), names(.known))]
    Unknown {
        /// The key that was asked for.
        key: String,
        /// The keys of the team's secrets.
        known: Vec<String>,
    },
    /// A placeholder that asks for an encoding that there is not.
    #[error("`{}` is no encoding of a secret: there are `base64` and `urlencode`", base::text::cut(.0, 80))]
    Encoding(String),
}

fn names(known: &[String]) -> String {
    if known.is_empty() {
        return "none".to_owned();
    }
    known.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// It must not be, for a reason that whoever asked can be told.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A fault of ours.
    #[error(transparent)]
    Broken(#[from] anyhow::Error),
}
