//! `vault_list`: lists what the team keeps.

use std::borrow::Cow;
use std::time::Duration;

use org::vault::Vault;
use schemars::JsonSchema;
use serde::Deserialize;

use super::shown::EntryShown;
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Lists entries.
pub struct VaultList {
    /// The vault.
    pub vault: Vault,
}

/// Which ones.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VaultListArgs {
    /// What the names begin with. Left out: all of them.
    #[serde(default)]
    pub prefix: Option<String>,
}

impl Tool for VaultList {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("vault_list"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/vault_list.md")),
        domain: Domain::Vault,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Read,
        ops: Ops::Daily,
        effect: Effect::ReadOnly,
        destructive: false,
        timeout: Duration::from_secs(15),
        max_result_bytes: 64 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = VaultListArgs;
    type Output = Vec<EntryShown>;

    async fn run(&self, call: &Call, args: VaultListArgs) -> Result<Vec<EntryShown>, ToolError> {
        let entries = self.vault.list(&call.team, args.prefix.as_deref().unwrap_or_default()).await?;
        Ok(entries.into_iter().map(EntryShown::from).collect())
    }
}
