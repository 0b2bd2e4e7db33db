//! Statements: a text, its values, and the rows that come back.
//!
//! They run on the thread of their caller: a driver that hands each statement to a thread of its own costs two wake-ups
//! a statement, which is more than most of ours take. Only a commit waits for the disk.
//! The functions are `async` all the same: callers need not know which engine keeps the rows.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use rusqlite::config::DbConfig;
use rusqlite::types::{FromSql, ToSql, ToSqlOutput, Value};
use rusqlite::{OpenFlags, Row};

/// A connection: what store functions take.
pub struct Conn(rusqlite::Connection);

/// How long a statement waits for another process that holds the database.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Page cache of each connection, in KiB. Small: an idle hive has to fit into 25 MB.
const CACHE_KIB: i64 = 1024;
/// Most statements that a connection keeps compiled; we have fewer.
const STATEMENTS: usize = 200;

impl Conn {
    /// Opens the file, makes it if there is none.
    pub(crate) fn open(path: &Path) -> Result<Conn> {
        let conn = Conn::prepared(rusqlite::Connection::open(path)?)?;
        // The journal mode is a property of the file: where it is right already, nothing is written.
        conn.0.pragma_update(None, "journal_mode", "WAL")?;
        conn.0.pragma_update(None, "synchronous", "FULL")?;
        conn.0.pragma_update(None, "foreign_keys", true)?;
        Ok(conn)
    }

    /// Opens a file that is there, to look at it.
    pub(crate) fn open_to_read(path: &Path) -> Result<Conn> {
        Conn::prepared(rusqlite::Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?)
    }

    fn prepared(conn: rusqlite::Connection) -> Result<Conn> {
        conn.busy_timeout(BUSY_TIMEOUT)?;
        // One plan for a statement, whatever its values are. Otherwise SQLite compiles a statement anew each time that
        // a value is bound which it compared with the condition of a partial index.
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        conn.pragma_update(None, "cache_size", -CACHE_KIB)?;
        conn.set_prepared_statement_cache_capacity(STATEMENTS);
        Ok(Conn(conn))
    }

    /// Has `note` called with the table of every row that this connection changes.
    pub(crate) fn on_change(&self, note: impl Fn(&str) + Send + 'static) -> Result<()> {
        Ok(self.0.update_hook(Some(move |_: rusqlite::hooks::Action, _: &str, table: &str, _: i64| note(table)))?)
    }

    /// Sets how much of a commit waits for the disk. Never as a kept statement: SQLite carries this one out while it
    /// compiles it, and running it again would change nothing.
    pub(crate) fn set_synchronous(&self, level: &str) -> Result<()> {
        Ok(self.0.pragma_update(None, "synchronous", level)?)
    }

    fn compiled(&self, text: &str) -> rusqlite::Result<rusqlite::CachedStatement<'_>> {
        #[cfg(test)]
        crate::plans::look(&self.0, text);
        self.0.prepare_cached(text)
    }

    /// Runs a statement without values and without rows.
    pub(crate) fn run(&self, text: &str) -> Result<()> {
        self.0.prepare_cached(text)?.raw_execute()?;
        Ok(())
    }
}

/// A statement that changes rows.
pub(crate) fn query(text: impl Into<Cow<'static, str>>) -> Query {
    Query { text: text.into(), values: Ok(Vec::new()) }
}

/// A statement that reads rows of several columns.
pub(crate) fn query_as<T: FromRow>(text: impl Into<Cow<'static, str>>) -> Rows<T> {
    Rows { query: query(text), columns: T::COLUMNS, read: T::from_row, of: PhantomData }
}

/// A statement that reads rows of one column.
pub(crate) fn query_scalar<T: FromSql>(text: impl Into<Cow<'static, str>>) -> Rows<T> {
    Rows { query: query(text), columns: &[], read: |row, _| row.get(0), of: PhantomData }
}

/// A statement with the values of its `$1`, `$2`, ….
pub(crate) struct Query {
    text: Cow<'static, str>,
    values: Result<Vec<Value>>,
}

/// What a statement did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    changed: u64,
}

impl Done {
    /// How many rows it changed.
    pub(crate) fn rows_affected(self) -> u64 {
        self.changed
    }
}

impl Query {
    /// The next value.
    pub(crate) fn bind(mut self, value: impl ToSql) -> Self {
        if let Ok(values) = &mut self.values {
            match value.to_sql() {
                Ok(ToSqlOutput::Owned(value)) => values.push(value),
                Ok(ToSqlOutput::Borrowed(value)) => match value.try_into() {
                    Ok(value) => values.push(value),
                    Err(error) => self.values = Err(anyhow::Error::from(error)),
                },
                Ok(_) => self.values = Err(anyhow::anyhow!("a value of no kind that a column can have")),
                Err(error) => self.values = Err(error.into()),
            }
        }
        self
    }

    /// Runs it.
    pub(crate) async fn execute(self, conn: &mut Conn) -> Result<Done> {
        let values = self.values?;
        let mut statement = conn.compiled(&self.text)?;
        bind(&mut statement, &values)?;
        Ok(Done { changed: statement.raw_execute()? as u64 })
    }
}

/// A statement whose rows are read as `T`.
pub(crate) struct Rows<T> {
    query: Query,
    columns: &'static [&'static str],
    read: fn(&Row<'_>, &[usize]) -> rusqlite::Result<T>,
    of: PhantomData<fn() -> T>,
}

impl<T> Rows<T> {
    /// The next value.
    pub(crate) fn bind(mut self, value: impl ToSql) -> Self {
        self.query = self.query.bind(value);
        self
    }

    /// All its rows.
    pub(crate) async fn fetch_all(self, conn: &mut Conn) -> Result<Vec<T>> {
        self.fetch(conn, usize::MAX)
    }

    /// Its first row, if it has any.
    pub(crate) async fn fetch_optional(self, conn: &mut Conn) -> Result<Option<T>> {
        Ok(self.fetch(conn, 1)?.pop())
    }

    /// Its first row; it must have one.
    pub(crate) async fn fetch_one(self, conn: &mut Conn) -> Result<T> {
        self.fetch_optional(conn).await?.context("a row that must be there is not")
    }

    fn fetch(self, conn: &mut Conn, limit: usize) -> Result<Vec<T>> {
        let values = self.query.values?;
        let mut statement = conn.compiled(&self.query.text)?;
        bind(&mut statement, &values)?;
        // Names are looked up once, and not in every row.
        let at = self.columns.iter().map(|name| statement.column_index(name)).collect::<rusqlite::Result<Vec<_>>>()?;
        // A change is over only when all its rows were seen.
        let limit = if statement.readonly() { limit } else { usize::MAX };
        let mut rows = statement.raw_query();
        let mut found = Vec::new();
        while found.len() < limit
            && let Some(row) = rows.next()?
        {
            found.push((self.read)(row, &at)?);
        }
        Ok(found)
    }
}

/// `$2` is the second value wherever it stands; to SQLite it is a name.
fn bind(statement: &mut rusqlite::Statement<'_>, values: &[Value]) -> Result<()> {
    for at in 1..=statement.parameter_count() {
        let name = statement.parameter_name(at).unwrap_or("?");
        let number: Option<usize> = name.strip_prefix('$').and_then(|number| number.parse().ok());
        let value = number.and_then(|number| values.get(number.checked_sub(1)?));
        let value = value.with_context(|| format!("the statement's {name} has no value"))?;
        statement.raw_bind_parameter(at, value)?;
    }
    Ok(())
}

/// SQLite's extended result code of an error (<https://sqlite.org/rescode.html>), whoever ran the statement.
pub(crate) fn code(error: &anyhow::Error) -> Option<i32> {
    if let Some(error) = error.downcast_ref::<rusqlite::Error>() {
        return Some(error.sqlite_error()?.extended_code);
    }
    error.downcast_ref::<sqlx::Error>()?.as_database_error()?.code()?.parse().ok()
}

/// What a row is read as.
pub(crate) trait FromRow: Sized {
    /// The names of the columns that it wants; empty where it takes all of them in their order.
    const COLUMNS: &'static [&'static str];
    /// Reads the row. `at` are the places of the wanted columns.
    fn from_row(row: &Row<'_>, at: &[usize]) -> rusqlite::Result<Self>;
}

macro_rules! tuples {
    ($(($($column:ident $at:literal),+);)+) => { $(
        impl<$($column: FromSql),+> FromRow for ($($column,)+) {
            const COLUMNS: &'static [&'static str] = &[];
            fn from_row(row: &Row<'_>, _: &[usize]) -> rusqlite::Result<Self> {
                Ok(($(row.get::<_, $column>($at)?,)+))
            }
        }
    )+ };
}

tuples! {
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6);
}

/// A struct whose fields are read from the columns of the same names.
macro_rules! row {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $type:ty,)+ }) => {
        $(#[$meta])*
        $vis struct $name { $($(#[$field_meta])* $field_vis $field: $type,)+ }

        impl $crate::sql::FromRow for $name {
            const COLUMNS: &'static [&'static str] = &[$(stringify!($field)),+];
            fn from_row(row: &rusqlite::Row<'_>, at: &[usize]) -> rusqlite::Result<Self> {
                let mut at = at.iter();
                $(let $field = row.get(*at.next().expect("a place for each column"))?;)+
                Ok($name { $($field),+ })
            }
        }
    };
}
pub(crate) use row;

#[cfg(test)]
mod tests {
    use super::*;

    fn conn() -> Conn {
        let conn = Conn::prepared(rusqlite::Connection::open_in_memory().unwrap()).unwrap();
        conn.run("CREATE TABLE words (id INTEGER PRIMARY KEY, word TEXT, length INTEGER) STRICT").unwrap();
        conn
    }

    #[tokio::test]
    async fn a_number_names_its_value_wherever_it_stands() {
        let mut conn = conn();
        let sql = "INSERT INTO words (length, word) VALUES ($2, $1), ($2 + 1, $1 || 's') RETURNING word, length";
        let rows: Vec<(String, i64)> = query_as(sql).bind("hive").bind(4).fetch_all(&mut conn).await.unwrap();
        assert_eq!(rows, [("hive".to_owned(), 4), ("hives".to_owned(), 5)]);
        let sql = "UPDATE words SET length = $2 WHERE word = $1";
        assert_eq!(query(sql).bind("hive").bind(40).execute(&mut conn).await.unwrap().rows_affected(), 1);
        let length: Option<i64> =
            query_scalar("SELECT length FROM words WHERE id = $1").bind(1).fetch_optional(&mut conn).await.unwrap();
        assert_eq!(length, Some(40));
    }

    #[tokio::test]
    async fn a_change_is_whole_even_if_one_row_is_asked_for() {
        let mut conn = conn();
        let sql = "INSERT INTO words (word) VALUES ('a'), ('b'), ('c') RETURNING id";
        let _first: i64 = query_scalar(sql).fetch_one(&mut conn).await.unwrap();
        let count: i64 = query_scalar("SELECT count(*) FROM words").fetch_one(&mut conn).await.unwrap();
        assert_eq!(count, 3);
    }

    #[tokio::test]
    async fn what_is_missing_is_said() {
        let mut conn = conn();
        let no_value = query("DELETE FROM words WHERE id = $2").bind(1).execute(&mut conn).await;
        assert_eq!(no_value.unwrap_err().to_string(), "the statement's $2 has no value");
        let no_row = query_scalar::<i64>("SELECT id FROM words").fetch_one(&mut conn).await;
        assert_eq!(no_row.unwrap_err().to_string(), "a row that must be there is not");
    }
}
