//! The team's own database: a tool that reads it, and one that changes it.

pub(crate) mod process;
mod sql_exec;
mod sql_query;
#[cfg(test)]
mod tests;

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::Db;
use store::tables::{Answer, Tables};

use crate::call::Call;
use crate::process::Program;
use crate::tool::ToolError;
use process::Job;

pub use sql_exec::{SqlExec, SqlExecOutput};
pub use sql_query::{SqlQuery, SqlQueryArgs};

/// The argument by which a program is told to do what is asked of a team's database.
pub(crate) const ARGUMENT: &str = "__sql";

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

/// The teams' databases, and the program that opens them. Clones are the same.
#[derive(Clone, Debug)]
pub struct TeamTables {
    /// Where they are.
    pub tables: Tables,
    /// What is started for each call.
    pub program: Program,
}

impl TeamTables {
    /// The databases beside the hive's own, opened by processes of this program.
    pub fn of(db: &Db, path: &Path) -> TeamTables {
        let program = Program { path: path.to_owned(), arguments: vec![ARGUMENT.into()] };
        TeamTables { tables: Tables::beside(db), program }
    }

    /// Asks the database of the call's team. `changes`: whether that may change something.
    async fn ask(&self, call: &Call, args: SqlArgs, rows_max: usize, changes: bool) -> Result<Answer, ToolError> {
        let job = Job {
            folder: self.tables.folder().to_owned(),
            team: call.team.clone(),
            changes,
            sql: args.sql,
            values: args.params,
            rows_max,
        };
        process::run(&self.program, job, &call.stop).await
    }
}
