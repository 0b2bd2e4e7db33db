//! `memory_save`: remembers something under a key, or replaces what the key means.

use std::borrow::Cow;
use std::time::Duration;

use base::Clock;
use org::memory::{self, Library, NotSaved};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{Conn, Db};

use super::MemoryShown;
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Saves entries.
pub struct MemorySave {
    /// The database.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// The model that makes vectors.
    pub library: Library,
}

/// What is to be remembered.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemorySaveArgs {
    /// What it is called: short, and the same whenever it is about the same thing.
    #[schemars(length(min = 1))]
    pub key: String,
    /// What is to be remembered, so that it can be understood alone.
    #[schemars(length(min = 1))]
    pub content: String,
    /// identity, lesson, decision, context, reference or historical. Left out: context.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Why it replaces what is remembered under this key. Needed where something is.
    pub supersede_reason: Option<String>,
}

/// What became of it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MemorySaveOutput {
    /// Whether it is remembered.
    pub success: bool,
    /// The entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<MemoryShown>,
    /// Why it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Tool for MemorySave {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("memory_save"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/memory_save.md")),
        domain: Domain::Memory,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Write,
        ops: Ops::Daily,
        effect: Effect::Idempotent,
        destructive: false,
        timeout: Duration::from_secs(30),
        max_result_bytes: 128 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = MemorySaveArgs;
    type Output = MemorySaveOutput;

    async fn run(&self, call: &Call, args: MemorySaveArgs) -> Result<MemorySaveOutput, ToolError> {
        let kind = match args.kind.as_deref().unwrap_or_default().parse() {
            Ok(kind) => kind,
            Err(error) => return Ok(not_saved(&error)),
        };
        // Vectors are made before the transaction: a model may be far away.
        let draft = match memory::draft(&self.library, &args.key, &args.content, kind).await {
            Ok(draft) => draft,
            Err(error) => return Ok(not_saved(&error)),
        };
        let (now, by) = (self.clock.now(), Some(call.team.as_str()));
        let save = async |conn: &mut Conn| {
            memory::save(conn, &call.team, &draft, args.supersede_reason.as_deref(), by, now).await
        };
        let saved: Result<_, NotSaved> = self.db.tx("save a memory", save).await?;
        Ok(match saved {
            Ok(entry) => MemorySaveOutput { success: true, entry: Some(entry.into()), error: None },
            Err(error) => not_saved(&error),
        })
    }
}

fn not_saved(error: &dyn std::error::Error) -> MemorySaveOutput {
    MemorySaveOutput { success: false, entry: None, error: Some(error.to_string()) }
}
