//! `sql_query`: reads the team's own database.

use std::borrow::Cow;
use std::time::Duration;

use store::tables::Tables;

use super::{RowsShown, SqlArgs, ask};
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Reads tables.
pub struct SqlQuery {
    /// The teams' databases.
    pub tables: Tables,
}

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
    type Args = SqlArgs;
    type Output = RowsShown;

    async fn run(&self, call: &Call, args: SqlArgs) -> Result<RowsShown, ToolError> {
        Ok(ask(&self.tables, &call.team, &call.stop, args, Tables::query).await?.into())
    }
}
