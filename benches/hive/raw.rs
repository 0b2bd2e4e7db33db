//! The floor of everything durable: plain SQLite, with the pragmas of the hive's own database and nothing around it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, Executor, SqliteConnection};

/// How sure a commit has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// `synchronous = NORMAL`: survives a crash of the process.
    Process,
    /// `synchronous = FULL`: survives a power cut.
    Power,
}

/// A row as long as a short message with its addresses.
const ROW_BYTES: usize = 400;

/// A database that does nothing but commit.
pub struct Raw {
    conn: SqliteConnection,
    level: Level,
    row: String,
}

impl Raw {
    /// Makes a database in `folder`.
    pub async fn make(folder: &Path) -> Result<Raw> {
        let mut conn = connect(&folder.join("raw.db")).await?;
        conn.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, row TEXT NOT NULL) STRICT").await?;
        Ok(Raw { conn, level: Level::Power, row: "x".repeat(ROW_BYTES) })
    }

    /// One commit that inserts one row.
    pub async fn commit(&mut self, level: Level) -> Result<()> {
        if self.level != level {
            let pragma = match level {
                Level::Process => "PRAGMA synchronous = NORMAL",
                Level::Power => "PRAGMA synchronous = FULL",
            };
            self.conn.execute(pragma).await?;
            self.level = level;
        }
        self.insert().await
    }

    /// One commit that survives a power cut and inserts so many rows.
    pub async fn commit_together(&mut self, rows: usize) -> Result<()> {
        self.conn.execute("BEGIN IMMEDIATE").await?;
        for _ in 0..rows {
            self.insert().await?;
        }
        self.conn.execute("COMMIT").await?;
        Ok(())
    }

    /// One statement that does nothing: what it costs to get there and back.
    pub async fn nothing(&mut self) -> Result<()> {
        let _one: i64 = sqlx::query_scalar("SELECT 1").fetch_one(&mut self.conn).await?;
        Ok(())
    }

    async fn insert(&mut self) -> Result<()> {
        sqlx::query("INSERT INTO rows (row) VALUES ($1)").bind(&self.row).execute(&mut self.conn).await?;
        Ok(())
    }
}

/// Opens a database as the hive does, looks whether it is one, and closes it.
pub async fn open_and_close(path: &Path) -> Result<()> {
    let mut conn = connect(path).await?;
    let _tables: i64 = sqlx::query_scalar("SELECT count(*) FROM sqlite_schema").fetch_one(&mut conn).await?;
    conn.close().await?;
    Ok(())
}

async fn connect(path: &Path) -> Result<SqliteConnection> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(Duration::from_secs(5))
        .pragma("cache_size", "-1024");
    options.connect().await.with_context(|| format!("open {}", path.display()))
}

/// Counts the commits of a database from outside, in whatever process they are made.
///
/// SQLite keeps a counter of write transactions in the index of its write-ahead log
/// (<https://sqlite.org/walformat.html>, the field `iChange` at offset 8, in the machine's own byte order).
#[derive(Clone, Debug)]
pub struct Commits {
    index: PathBuf,
}

impl Commits {
    /// Of the database at `path`.
    pub fn of(path: &Path) -> Commits {
        let mut index = path.as_os_str().to_owned();
        index.push("-shm");
        Commits { index: index.into() }
    }

    /// How many there were, from wherever SQLite began to count: only differences say something.
    pub fn count(&self) -> Result<u32> {
        let bytes = std::fs::read(&self.index).context("read the index of the write-ahead log")?;
        let field = bytes.get(8..12).context("the index has a header")?;
        Ok(u32::from_ne_bytes(field.try_into().expect("a slice of four bytes")))
    }
}
