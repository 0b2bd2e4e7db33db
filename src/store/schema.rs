//! The tables' versions: up to date, never from the future, whole.

use std::path::Path;

use anyhow::{Result, bail};
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection};

use crate::{Conn, memory, sql};

static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations");

/// The newest version that this program knows.
pub fn newest() -> i64 {
    MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or(0)
}

/// Whether a database has exactly our tables: most starts find them so, and need no more.
pub(crate) async fn is_up_to_date(conn: &mut Conn) -> Result<bool> {
    let table = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = '_sqlx_migrations')";
    if !sql::query_scalar(table).fetch_one(conn).await? {
        return Ok(false);
    }
    let applied = "SELECT version, checksum FROM _sqlx_migrations WHERE success ORDER BY version";
    let applied: Vec<(i64, Vec<u8>)> = sql::query_as(applied).fetch_all(conn).await?;
    let ours = MIGRATIONS.iter().map(|migration| (migration.version, migration.checksum.as_ref()));
    Ok(applied.iter().map(|(version, checksum)| (*version, checksum.as_slice())).eq(ours))
}

/// Runs what is missing.
pub(crate) fn bring_up_to_date(path: &Path) -> Result<()> {
    // Waits on this thread: nothing can be done before it is done, and a test's paused clock must not run meanwhile.
    match futures::executor::block_on(migrate(path))? {
        Ok(()) => Ok(()),
        Err(MigrateError::VersionMissing(version)) if version > newest() => bail!(
            "the database was written by a newer version (its tables are at {version}, this program knows {}): \
             run that version, or restore a backup made before the upgrade",
            newest()
        ),
        Err(MigrateError::VersionMismatch(version)) => {
            bail!("the database's tables were made by another build: migration {version} differs from ours")
        }
        Err(MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _)) => Err(error.into()),
        Err(error) => Err(error.into()),
    }
}

async fn migrate(path: &Path) -> sqlx::Result<Result<(), MigrateError>> {
    // A migration that a power cut takes back is run again: it need not wait for the disk.
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Normal)
        .busy_timeout(sql::BUSY_TIMEOUT);
    let mut conn = options.connect().await?;
    let done = MIGRATIONS.run(&mut conn).await;
    conn.close().await?;
    Ok(done)
}

/// SQLite's own verdict on every page and index: `ok`, or what is wrong.
pub async fn integrity(conn: &mut Conn) -> Result<String> {
    // One view of the database for all that is looked at; within a transaction, that transaction's.
    conn.run("SAVEPOINT verdict")?;
    let verdict = verdict(conn).await;
    conn.run("RELEASE verdict")?;
    verdict
}

async fn verdict(conn: &mut Conn) -> Result<String> {
    memory::look_anew(conn).await?;
    let rows: Vec<String> = sql::query_scalar("PRAGMA integrity_check(5)").fetch_all(&mut *conn).await?;
    let broken: Vec<String> =
        sql::query_scalar("SELECT \"table\" || ' row ' || rowid FROM pragma_foreign_key_check LIMIT 5")
            .fetch_all(conn)
            .await?;
    if broken.is_empty() {
        return Ok(rows.join("; "));
    }
    Ok(format!("{}; rows that point nowhere: {}", rows.join("; "), broken.join(", ")))
}
