//! The floor of everything durable: plain SQLite, with the pragmas of the hive's own database and nothing around it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use rusqlite::Connection;
use rusqlite::config::DbConfig;

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
    conn: Connection,
    level: Level,
    row: String,
}

impl Raw {
    /// Makes a database in `folder`.
    pub fn make(folder: &Path) -> Result<Raw> {
        let conn = connect(&folder.join("raw.db"))?;
        conn.execute_batch("CREATE TABLE rows (id INTEGER PRIMARY KEY, row TEXT NOT NULL) STRICT")?;
        Ok(Raw { conn, level: Level::Power, row: "x".repeat(ROW_BYTES) })
    }

    /// One commit that inserts one row.
    pub fn commit(&mut self, level: Level) -> Result<()> {
        if self.level != level {
            let pragma = match level {
                Level::Process => "PRAGMA synchronous = NORMAL",
                Level::Power => "PRAGMA synchronous = FULL",
            };
            self.conn.execute_batch(pragma)?;
            self.level = level;
        }
        self.insert()
    }

    /// One commit that survives a power cut and inserts so many rows.
    pub fn commit_together(&self, rows: usize) -> Result<()> {
        self.conn.prepare_cached("BEGIN IMMEDIATE")?.raw_execute()?;
        for _ in 0..rows {
            self.insert()?;
        }
        self.conn.prepare_cached("COMMIT")?.raw_execute()?;
        Ok(())
    }

    /// One statement that does nothing: what it costs to get there and back.
    pub fn nothing(&self) -> Result<()> {
        let _one: i64 = self.conn.prepare_cached("SELECT 1")?.query_row((), |row| row.get(0))?;
        Ok(())
    }

    fn insert(&self) -> Result<()> {
        self.conn.prepare_cached("INSERT INTO rows (row) VALUES (?1)")?.execute([&self.row])?;
        Ok(())
    }
}

/// Opens a database as the hive does, looks whether it is one, and closes it.
pub fn open_and_close(path: &Path) -> Result<()> {
    let conn = connect(path)?;
    let _tables: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0))?;
    Ok(())
}

/// A connection with the pragmas of the hive's own.
pub fn connect(path: &Path) -> Result<Connection> {
    let conn = Connection::open(path).with_context(|| format!("open {}", path.display()))?;
    conn.busy_timeout(Duration::from_secs(5))?;
    conn.pragma_update(None, "journal_mode", "WAL")?;
    conn.pragma_update(None, "synchronous", "FULL")?;
    conn.pragma_update(None, "foreign_keys", true)?;
    conn.pragma_update(None, "cache_size", -1024)?;
    // One plan for a statement, whatever its values are: without it SQLite compiles some anew at every use.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(conn)
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
