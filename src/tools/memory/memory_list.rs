//! `memory_list`: what is remembered now.

use std::borrow::Cow;
use std::time::Duration;

use org::memory::{self, Kind};
use schemars::JsonSchema;
use serde::Deserialize;
use store::{Conn, Db};

use super::MemoryShown;
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Lists entries.
pub struct MemoryList {
    /// The database.
    pub db: Db,
}

/// Which ones.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryListArgs {
    /// identity, lesson, decision, context, reference or historical. Left out: all of them.
    #[serde(rename = "type")]
    pub kind: Option<String>,
}

impl Tool for MemoryList {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("memory_list"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/memory_list.md")),
        domain: Domain::Memory,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Read,
        ops: Ops::Daily,
        effect: Effect::ReadOnly,
        destructive: false,
        timeout: Duration::from_secs(30),
        max_result_bytes: 32 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = MemoryListArgs;
    type Output = Vec<MemoryShown>;

    async fn run(&self, call: &Call, args: MemoryListArgs) -> Result<Vec<MemoryShown>, ToolError> {
        let word = args.kind.filter(|word| !word.trim().is_empty());
        let kind: Option<Kind> = match word.map(|word| word.parse()).transpose() {
            Ok(kind) => kind,
            Err(error) => return Err(ToolError::refused(error.to_string())),
        };
        let listed = self.db.read(async |conn: &mut Conn| memory::list(conn, &call.team, kind).await).await?;
        Ok(listed.into_iter().map(MemoryShown::from).collect())
    }
}
