//! `vault_get`: reads a value of the team.

use std::borrow::Cow;
use std::time::Duration;

use org::vault::{Vault, placeholder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Reads a value.
pub struct VaultGet {
    /// The vault.
    pub vault: Vault,
}

/// Which one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VaultGetArgs {
    /// The name.
    pub key: String,
}

/// What is there.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VaultGetOutput {
    /// Always true: a failure is an error.
    pub success: bool,
    /// Whether the system manages it.
    pub is_secret: bool,
    /// The value; of a secret its placeholder, which stands for the value in the arguments of any tool.
    pub value: String,
}

impl Tool for VaultGet {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("vault_get"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/vault_get.md")),
        domain: Domain::Vault,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Read,
        ops: Ops::Daily,
        effect: Effect::ReadOnly,
        destructive: false,
        timeout: Duration::from_secs(15),
        max_result_bytes: 72 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = VaultGetArgs;
    type Output = VaultGetOutput;

    async fn run(&self, call: &Call, args: VaultGetArgs) -> Result<VaultGetOutput, ToolError> {
        let Some(entry) = self.vault.get(&call.team, &args.key).await? else {
            let key = base::text::cut(&args.key, 80);
            return Err(ToolError::refused(format!(
                "this team keeps nothing under `{key}`: `vault_list` shows what there is"
            )));
        };
        let is_secret = entry.is_secret();
        let value = entry.value.unwrap_or_else(|| placeholder(&entry.key));
        Ok(VaultGetOutput { success: true, is_secret, value })
    }
}
