//! A look at the rows from outside, as `sqlite3` would have it.

use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};

/// A connection that only reads. It sees what was committed.
pub struct Rows(Connection);

impl Rows {
    /// Opens the database file of a hive.
    pub fn open(path: &Path) -> Rows {
        let opened = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY);
        Rows(opened.expect("the hive has made its database"))
    }

    /// The rows of a query, each value as text.
    pub fn of(&mut self, sql: &str) -> Result<Vec<Vec<String>>, String> {
        let mut found = self.0.prepare(sql).map_err(|error| error.to_string())?;
        let columns = found.column_count();
        let rows = found.query_map((), |row| Ok(texts(row, columns))).map_err(|error| error.to_string())?;
        rows.collect::<Result<_, _>>().map_err(|error| error.to_string())
    }
}

fn texts(row: &Row<'_>, columns: usize) -> Vec<String> {
    let text = |at| match row.get_ref(at).expect("the column is there") {
        ValueRef::Null => "null".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes).into_owned(),
    };
    (0..columns).map(text).collect()
}
