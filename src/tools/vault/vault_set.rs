//! `vault_set`: keeps a value for the team.

use std::borrow::Cow;
use std::time::Duration;

use org::vault::Vault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shown::{self, EntryShown};
use crate::call::Call;
use crate::spec::{Admission, Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Keeps a value.
pub struct VaultSet {
    /// The vault.
    pub vault: Vault,
}

/// What is kept under which name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VaultSetArgs {
    /// The name: letters, digits and `_ - . : / @`.
    pub key: String,
    /// The value. What was there before is replaced.
    pub value: String,
}

/// What is there now.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VaultSetOutput {
    /// Always true: a failure is an error.
    pub success: bool,
    /// The entry.
    pub entry: EntryShown,
}

impl Tool for VaultSet {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("vault_set"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/vault_set.md")),
        domain: Domain::Vault,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Write,
        ops: Ops::ByArguments,
        effect: Effect::Idempotent,
        destructive: false,
        timeout: Duration::from_secs(15),
        max_result_bytes: 72 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = VaultSetArgs;
    type Output = VaultSetOutput;

    fn admission(&self, args: &VaultSetArgs) -> Admission {
        shown::admission(&self.vault, &args.key)
    }

    async fn run(&self, call: &Call, args: VaultSetArgs) -> Result<VaultSetOutput, ToolError> {
        let entry = self.vault.set(&call.team, &args.key, &args.value).await?;
        Ok(VaultSetOutput { success: true, entry: entry.into() })
    }
}
