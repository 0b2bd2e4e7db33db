//! `sql_query`: reads the team's own database.

use std::borrow::Cow;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{RowsShown, SqlArgs, TeamTables};
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Reads tables.
pub struct SqlQuery {
    /// The teams' databases.
    pub tables: TeamTables,
}

/// A statement, its values, and how much of its answer is wanted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SqlQueryArgs {
    /// SQL, as SQLite understands it.
    #[schemars(length(min = 1))]
    pub sql: String,
    /// The values of its parameters `?`, in order: text, numbers, true, false, null; lists and objects become JSON text.
    #[serde(default)]
    pub params: Vec<Value>,
    /// How many rows to give at most, and never more than 1000. Left out: 500.
    #[schemars(range(min = 1))]
    pub limit: Option<u32>,
}

/// How many rows are given where nothing is said.
const ROWS: u32 = 500;

impl Tool for SqlQuery {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("sql_query"),
        aliases: &["db_query"],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/sql_query.md")),
        domain: Domain::Memory,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Read,
        ops: Ops::Daily,
        effect: Effect::ReadOnly,
        destructive: false,
        timeout: Duration::from_secs(10),
        // As long as an answer of the database may be, and its columns' names.
        max_result_bytes: 128 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = SqlQueryArgs;
    type Output = RowsShown;

    async fn run(&self, call: &Call, args: SqlQueryArgs) -> Result<RowsShown, ToolError> {
        let SqlQueryArgs { sql, params, limit } = args;
        let rows_max = limit.unwrap_or(ROWS) as usize;
        if rows_max == 0 {
            return Err(ToolError::refused("a `limit` is at least 1: what is counted is given by `count(*)`"));
        }
        Ok(self.tables.ask(call, SqlArgs { sql, params }, rows_max, false).await?.into())
    }
}
