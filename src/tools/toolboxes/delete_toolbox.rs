//! `delete_toolbox`: a custom toolbox goes.

use std::borrow::Cow;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{Db, toolboxes};

use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Removes a toolbox.
pub struct DeleteToolbox {
    /// The database.
    pub db: Db,
}

/// Which one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteToolboxArgs {
    /// The toolbox's name.
    pub toolbox: String,
}

/// What became of it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ToolboxDeleted {
    /// Always true.
    pub success: bool,
    /// The toolbox.
    pub deleted: String,
}

impl Tool for DeleteToolbox {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("delete_toolbox"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/delete_toolbox.md")),
        domain: Domain::Admin,
        source: Source::Native,
        availability: Availability::Main,
        partition: Partition::Write,
        ops: Ops::Org,
        effect: Effect::Idempotent,
        destructive: true,
        timeout: Duration::from_secs(10),
        max_result_bytes: 8 * 1_024,
        default_disabled: true,
        provenance: Provenance::Admin,
    };
    type Args = DeleteToolboxArgs;
    type Output = ToolboxDeleted;

    async fn run(&self, _: &Call, args: DeleteToolboxArgs) -> Result<ToolboxDeleted, ToolError> {
        let name = &args.toolbox;
        if self.db.tx("delete a toolbox", async |conn| toolboxes::remove(conn, name).await).await? {
            return Ok(ToolboxDeleted { success: true, deleted: args.toolbox });
        }
        let shown = base::text::headline(name, 60);
        let why = match self.db.read(async |conn| toolboxes::get(conn, name).await).await? {
            Some(_) => format!("`{shown}` belongs to the program and cannot be deleted"),
            None => format!("there is no toolbox `{shown}`"),
        };
        Err(ToolError::Refused(why))
    }
}
