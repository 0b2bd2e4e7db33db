//! `vault_delete`: removes a value of the team.

use std::borrow::Cow;
use std::time::Duration;

use org::vault::Vault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shown;
use crate::call::Call;
use crate::spec::{Admission, Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Removes a value.
pub struct VaultDelete {
    /// The vault.
    pub vault: Vault,
}

/// Which one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VaultDeleteArgs {
    /// The name.
    pub key: String,
}

/// What came of it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VaultDeleteOutput {
    /// Always true: a failure is an error.
    pub success: bool,
    /// Whether there was one.
    pub deleted: bool,
}

impl Tool for VaultDelete {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("vault_delete"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/vault_delete.md")),
        domain: Domain::Vault,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Write,
        ops: Ops::ByArguments,
        effect: Effect::Idempotent,
        destructive: false,
        timeout: Duration::from_secs(15),
        max_result_bytes: 4 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = VaultDeleteArgs;
    type Output = VaultDeleteOutput;

    fn admission(&self, args: &VaultDeleteArgs) -> Admission {
        shown::admission(&self.vault, &args.key)
    }

    async fn run(&self, call: &Call, args: VaultDeleteArgs) -> Result<VaultDeleteOutput, ToolError> {
        let deleted = self.vault.delete(&call.team, &args.key).await?;
        Ok(VaultDeleteOutput { success: true, deleted })
    }
}
