//! `multi_edit`: several edits of one file, all of them or none.

use std::borrow::Cow;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::change::{self, Pen};
use super::edits::Replacement;
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Makes several edits in one file.
pub struct MultiEdit {
    /// What it writes with.
    pub pen: Pen,
}

/// What to replace.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MultiEditArgs {
    /// The file, relative to the workspace.
    #[serde(alias = "file_path")]
    pub path: String,
    /// The edits, made one after the other: all of them or none.
    #[schemars(length(min = 1, max = 100))]
    pub edits: Vec<Replacement>,
}

impl Tool for MultiEdit {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("multi_edit"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/multi_edit.md")),
        domain: Domain::Files,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Write,
        ops: Ops::Daily,
        effect: Effect::Once,
        destructive: false,
        timeout: Duration::from_secs(30),
        max_result_bytes: 4_096,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = MultiEditArgs;
    type Output = String;

    async fn run(&self, call: &Call, args: MultiEditArgs) -> Result<String, ToolError> {
        change::edit(&self.pen, call, args.path, args.edits).await
    }
}
