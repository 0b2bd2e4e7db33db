//! `memory_delete`: forgets what a key means.

use std::borrow::Cow;
use std::time::Duration;

use base::Clock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{Conn, Db};

use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Deletes entries.
pub struct MemoryDelete {
    /// The database.
    pub db: Db,
    /// The time.
    pub clock: Clock,
}

/// What is to be forgotten.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryDeleteArgs {
    /// What it is called.
    #[schemars(length(min = 1))]
    pub key: String,
}

/// What became of it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MemoryDeleteOutput {
    /// Always true: nothing is remembered under the key now.
    pub success: bool,
    /// Whether something was.
    pub deleted: bool,
}

impl Tool for MemoryDelete {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("memory_delete"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/memory_delete.md")),
        domain: Domain::Memory,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Write,
        ops: Ops::Daily,
        effect: Effect::Idempotent,
        destructive: false,
        timeout: Duration::from_secs(30),
        max_result_bytes: 4 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = MemoryDeleteArgs;
    type Output = MemoryDeleteOutput;

    async fn run(&self, call: &Call, args: MemoryDeleteArgs) -> Result<MemoryDeleteOutput, ToolError> {
        if args.key.trim().is_empty() {
            return Err(ToolError::refused("`key` is empty: `memory_list` shows the keys there are"));
        }
        let now = self.clock.now();
        let delete = async |conn: &mut Conn| org::memory::delete(conn, &call.team, &args.key, now).await;
        let deleted = self.db.tx("delete a memory", delete).await?;
        Ok(MemoryDeleteOutput { success: true, deleted })
    }
}
