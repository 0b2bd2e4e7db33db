//! `edit_file`: a text in a file for another.

use std::borrow::Cow;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::change::{self, Pen};
use super::edits;
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Replaces a text in a file.
pub struct Edit {
    /// What it writes with.
    pub pen: Pen,
}

/// What to replace.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditArgs {
    /// The file, relative to the workspace.
    #[serde(alias = "file_path")]
    pub path: String,
    /// The text as it stands in the file, without the line numbers that `read_file` shows.
    #[serde(alias = "oldText", alias = "old_text")]
    pub old_string: String,
    /// The text that takes its place.
    #[serde(alias = "newText", alias = "new_text")]
    pub new_string: String,
    /// Whether every occurrence is replaced. Left out: there must be exactly one.
    #[serde(default, alias = "replaceAll")]
    pub replace_all: bool,
}

impl Tool for Edit {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("edit_file"),
        aliases: &["edit"],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/edit_file.md")),
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
    type Args = EditArgs;
    type Output = String;

    async fn run(&self, call: &Call, args: EditArgs) -> Result<String, ToolError> {
        let EditArgs { path, old_string, new_string, replace_all } = args;
        let edit = edits::Replacement { old_string, new_string, replace_all };
        change::edit(&self.pen, call, path, vec![edit]).await
    }
}
