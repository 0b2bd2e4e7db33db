//! `sql_exec`: changes the team's own database.

use std::borrow::Cow;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::{RowsShown, SqlArgs, TeamTables};
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Changes tables.
pub struct SqlExec {
    /// The teams' databases.
    pub tables: TeamTables,
}

/// What was changed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SqlExecOutput {
    /// How many rows were changed, also by triggers.
    pub changes: u64,
    /// What the last statement that gives rows gave: `RETURNING`, `SELECT`.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub gave: Option<RowsShown>,
}

impl Tool for SqlExec {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("sql_exec"),
        aliases: &["db_exec"],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/sql_exec.md")),
        domain: Domain::Memory,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Write,
        ops: Ops::Daily,
        effect: Effect::Once,
        destructive: false,
        timeout: Duration::from_secs(30),
        max_result_bytes: 128 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = SqlArgs;
    type Output = SqlExecOutput;

    async fn run(&self, call: &Call, args: SqlArgs) -> Result<SqlExecOutput, ToolError> {
        let answer = self.tables.ask(call, args, usize::MAX, true).await?;
        let (changes, gives) = (answer.changes, !answer.columns.is_empty());
        Ok(SqlExecOutput { changes, gave: gives.then(|| answer.into()) })
    }
}
