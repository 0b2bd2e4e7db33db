//! The team's own database: a tool that reads it, and one that changes it.

mod sql_exec;
mod sql_query;
#[cfg(test)]
mod tests;

use base::{Stop, TeamName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::tables::{Answer, Ask, Failed, Tables};

use crate::tool::ToolError;
use crate::workspace::blocking;

pub use sql_exec::{SqlExec, SqlExecOutput};
pub use sql_query::SqlQuery;

/// A statement and its values.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SqlArgs {
    /// SQL, as SQLite understands it.
    #[schemars(length(min = 1))]
    pub sql: String,
    /// The values of its parameters `?`, in order: text, numbers, true, false, null; lists and objects become JSON text.
    #[serde(default)]
    pub params: Vec<Value>,
}

/// Rows, as the model is shown them.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RowsShown {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows: a value for each column.
    pub rows: Vec<Vec<Value>>,
    /// Whether something is left out: rows after these, or the end of a long value.
    pub truncated: bool,
}

impl From<Answer> for RowsShown {
    fn from(answer: Answer) -> RowsShown {
        RowsShown { columns: answer.columns, rows: answer.rows, truncated: answer.truncated }
    }
}

/// Asks the database of a team where that holds up nobody. It ends early when the call does.
async fn ask(
    tables: &Tables,
    team: &TeamName,
    stop: &Stop,
    args: SqlArgs,
    how: fn(&Tables, &Ask<'_>, &Stop) -> Result<Answer, Failed>,
) -> Result<Answer, ToolError> {
    let (tables, team, stop) = (tables.clone(), team.clone(), stop.clone());
    blocking(move || {
        let ask = Ask { team: &team, sql: &args.sql, values: &args.params, rows_max: usize::MAX };
        how(&tables, &ask, &stop).map_err(|failed| match failed {
            Failed::Refused(why) => ToolError::Refused(why),
            Failed::Broken(error) => ToolError::Broken(error),
        })
    })
    .await
}
