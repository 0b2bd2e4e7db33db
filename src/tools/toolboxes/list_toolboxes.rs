//! `list_toolboxes`: the named allow-lists.

use std::borrow::Cow;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{Db, toolboxes};

use super::Directory;
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Lists the toolboxes.
pub struct ListToolboxes {
    /// The database.
    pub db: Db,
    /// What tools there are.
    pub directory: Directory,
}

/// Takes nothing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListToolboxesArgs {}

/// What there is.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListToolboxesOutput {
    /// The built-in ones first.
    pub toolboxes: Vec<ToolboxShown>,
}

/// A toolbox.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolboxShown {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Whether it belongs to the program and cannot be changed.
    pub builtin: bool,
    /// Names and patterns as they are written.
    pub tools: Vec<String>,
    /// How many tools it stands for now.
    pub tool_count: usize,
}

impl Tool for ListToolboxes {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("list_toolboxes"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/list_toolboxes.md")),
        domain: Domain::Admin,
        source: Source::Native,
        availability: Availability::Main,
        partition: Partition::Read,
        ops: Ops::Daily,
        effect: Effect::ReadOnly,
        destructive: false,
        timeout: Duration::from_secs(10),
        max_result_bytes: 32 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = ListToolboxesArgs;
    type Output = ListToolboxesOutput;

    async fn run(&self, _: &Call, _: ListToolboxesArgs) -> Result<ListToolboxesOutput, ToolError> {
        let rows = self.db.read(async |conn| toolboxes::list(conn).await).await?;
        let shown = |row: toolboxes::Toolbox| ToolboxShown {
            tool_count: self.directory.count(&row.tools),
            name: row.name,
            description: row.about,
            builtin: row.builtin,
            tools: row.tools,
        };
        Ok(ListToolboxesOutput { toolboxes: rows.into_iter().map(shown).collect() })
    }
}
