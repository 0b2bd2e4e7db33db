//! A look at the rows from outside, as `sqlite3` would have it.

use std::path::Path;

use futures::executor::block_on;
use sqlx::sqlite::{SqliteConnectOptions, SqliteRow};
use sqlx::{ConnectOptions, Row, SqliteConnection, TypeInfo, ValueRef};

/// A connection that only reads. It sees what was committed.
pub struct Rows(SqliteConnection);

impl Rows {
    /// Opens the database file of a hive.
    pub fn open(path: &Path) -> Rows {
        let options = SqliteConnectOptions::new().filename(path).read_only(true);
        Rows(block_on(options.connect()).expect("the hive has made its database"))
    }

    /// The rows of a query, each value as text.
    pub fn of(&mut self, sql: &str) -> Result<Vec<Vec<String>>, String> {
        let found = block_on(sqlx::query(sqlx::AssertSqlSafe(sql.to_owned())).fetch_all(&mut self.0));
        Ok(found.map_err(|error| error.to_string())?.iter().map(texts).collect())
    }
}

fn texts(row: &SqliteRow) -> Vec<String> {
    (0..row.len())
        .map(|at| {
            let value = row.try_get_raw(at).expect("the column is there");
            if value.is_null() {
                return "null".to_owned();
            }
            let of = value.type_info().into_owned();
            match of.name() {
                "INTEGER" => row.get::<i64, _>(at).to_string(),
                "REAL" => row.get::<f64, _>(at).to_string(),
                _ => row.get::<String, _>(at),
            }
        })
        .collect()
}
