//! `write_file`: a file of the workspace, whole: a new one, or in place of one that was read.

use std::borrow::Cow;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::change::{self, Pen};
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};
use crate::workspace::{Mark, shown};

/// Writes a whole file.
pub struct Write {
    /// What it writes with.
    pub pen: Pen,
}

/// What to write.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteArgs {
    /// The file, relative to the workspace.
    #[serde(alias = "file_path")]
    pub path: String,
    /// The whole content.
    pub content: String,
    /// Whether folders on the way to it are made. Left out: they are.
    #[serde(alias = "createDirectories")]
    pub create_directories: Option<bool>,
}

impl Tool for Write {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("write_file"),
        aliases: &["write"],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/write_file.md")),
        domain: Domain::Files,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Write,
        ops: Ops::Daily,
        effect: Effect::Idempotent,
        destructive: false,
        timeout: Duration::from_secs(30),
        max_result_bytes: 4_096,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = WriteArgs;
    type Output = String;

    async fn run(&self, call: &Call, args: WriteArgs) -> Result<String, ToolError> {
        let WriteArgs { path, content, create_directories } = args;
        let make_folders = create_directories.unwrap_or(true);
        change::change(&self.pen, call, path, make_folders, move |known| {
            let (content, path) = (content.into_bytes(), shown(known.path));
            let size = base::text::count(i64::try_from(content.len()).unwrap_or(i64::MAX), "byte");
            // A call that a crash cut off is made again, and then finds its own work.
            let same = known.existing.is_some_and(|existing| existing.mark == Mark::of(&content));
            let said = match known.existing {
                None => format!("{path} written: {size}, a new file"),
                Some(_) if same => format!("{path} has this very content already: {size}"),
                Some(_) => {
                    known.as_read()?;
                    format!("{path} written: {size}, in place of what was there")
                }
            };
            Ok(((!same).then_some(content), said))
        })
        .await
    }
}
