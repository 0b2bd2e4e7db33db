//! The tables' versions: up to date, never from the future, whole.

use anyhow::{Result, bail};
use sqlx::SqliteConnection;
use sqlx::migrate::{MigrateError, Migrator};

static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations");

/// The newest version that this program knows.
pub fn newest() -> i64 {
    MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or(0)
}

/// Runs what is missing.
pub(crate) async fn bring_up_to_date(conn: &mut SqliteConnection) -> Result<()> {
    match MIGRATIONS.run(&mut *conn).await {
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

/// SQLite's own verdict on every page and index: `ok`, or what is wrong.
pub async fn integrity(conn: &mut SqliteConnection) -> Result<String> {
    let rows: Vec<String> = sqlx::query_scalar("PRAGMA integrity_check(5)").fetch_all(&mut *conn).await?;
    let broken: Vec<String> =
        sqlx::query_scalar("SELECT \"table\" || ' row ' || rowid FROM pragma_foreign_key_check LIMIT 5")
            .fetch_all(conn)
            .await?;
    if broken.is_empty() {
        return Ok(rows.join("; "));
    }
    Ok(format!("{}; rows that point nowhere: {}", rows.join("; "), broken.join(", ")))
}
