//! What the four tools share: an entry as a model reads it, and what a refusal is to it.

use org::vault::{Entry, Vault, VaultError};
use schemars::JsonSchema;
use serde::Serialize;

use crate::spec::Admission;
use crate::tool::ToolError;

/// An entry.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntryShown {
    /// Its name.
    pub key: String,
    /// Whether the system manages it.
    pub is_secret: bool,
    /// The value; left out of a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// How often it was written.
    pub version: i64,
    /// When it was written first.
    pub created_at: String,
    /// When it was written last.
    pub updated_at: String,
}

impl From<Entry> for EntryShown {
    fn from(entry: Entry) -> Self {
        EntryShown {
            is_secret: entry.is_secret(),
            key: entry.key,
            value: entry.value,
            version: entry.version,
            created_at: base::clock::show(entry.created_at),
            updated_at: base::clock::show(entry.updated_at),
        }
    }
}

impl From<VaultError> for ToolError {
    fn from(error: VaultError) -> Self {
        match error {
            VaultError::Refused(refusal) => ToolError::refused(refusal.to_string()),
            VaultError::Broken(error) => ToolError::Broken(error),
        }
    }
}

/// A call about a secret changes what the system manages, even if it will be refused: it is admitted alone.
pub(super) fn admission(vault: &Vault, key: &str) -> Admission {
    if vault.may_be_secret(key) { Admission::Org } else { Admission::Daily }
}
