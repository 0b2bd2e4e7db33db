//! Another key: everything is encrypted anew in one transaction.
//!
//! A key file and the database cannot change at the same moment. The new key is written beside the old one first, and
//! takes its name after the database has it; whoever opens the vault in between finds out which of the two it is.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use store::vault::Sealed;
use store::{Conn, Db, vault};

use super::key::{self, Key, KeyError};
use super::{agrees, open};
use crate::vault::seal::Seal;

/// Encrypts everything with another key. No hive may be running on this database: it would go on with the old key, and
/// find that every row was changed. How many rows there are.
///
/// # Errors
/// Where `from` is not the key, or a row was changed from outside: then nothing was done.
pub async fn rotate(db: &Db, from: &Key, to: &Key) -> Result<usize> {
    let (old, new) = (Seal::new(from), Seal::new(to));
    db.tx("change the vault's key", async |conn: &mut Conn| {
        if !agrees(conn, &old).await? {
            bail!("the vault was encrypted with another key than the one that was given as the old one");
        }
        let rows = vault::all(conn).await?;
        for row in &rows {
            let value = open(&old, row)?;
            let mut next = row.clone();
            next.version += 1;
            next.value = new.close(&next, &value)?;
            if !vault::put(conn, &next).await? {
                bail!("the vault's row `{}` of {} changed within one transaction", row.key, row.team);
            }
        }
        vault::set_check(conn, &new.check()?).await?;
        Ok(rows.len())
    })
    .await
}

/// Whether a key lies there that is to take the place of the file's.
pub(super) fn has_next(path: &Path) -> bool {
    next(path).exists()
}

/// Encrypts everything with a new key of the run directory's key file. A crash at any point leaves a vault that opens.
/// No hive may be running on this database. How many rows there are.
///
/// # Errors
/// As [`rotate`], and where the file cannot be written.
pub async fn rotate_file(db: &Db, run_dir: &Path) -> Result<usize> {
    let path = key::path(run_dir);
    let check = db.read(async |conn| vault::check(conn).await).await?;
    let old = match &check {
        Some(check) => finish(&path, check)?,
        None => key::read_file(&path)?,
    };
    let old = old.with_context(|| format!("there is no key file {} to change", path.display()))?;
    let new = Key::generate()?;
    key::write_new(&next(&path), &new).with_context(|| format!("write {}", next(&path).display()))?;
    key::sync_folder(&path).context("keep the new key file")?;
    let rows = rotate(db, &old, &new).await?;
    take_its_name(&path)?;
    Ok(rows)
}

/// The key of the file, or of the one that was to become it: the one that the vault is encrypted with. A change of keys
/// that was cut off is finished or forgotten. `None` where there is no file; a single file's key is given as it is.
pub(super) fn finish(path: &Path, check: &Sealed) -> Result<Option<Key>> {
    let is_it = |key: &Key| Seal::new(key).is_checked_by(check);
    match key::read_file(&next(path)) {
        Ok(None) => return Ok(key::read_file(path)?),
        Ok(Some(key)) if is_it(&key) => {
            take_its_name(path)?;
            return Ok(Some(key));
        }
        // Written in part only, and so before anything was encrypted with it; or whole, and then not used either.
        Ok(Some(_)) | Err(KeyError::Form { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let key = key::read_file(path)?;
    if key.as_ref().is_some_and(is_it) {
        std::fs::remove_file(next(path)).context("remove a key that was never used")?;
    }
    Ok(key)
}

fn next(path: &Path) -> PathBuf {
    path.with_extension("key.next")
}

fn take_its_name(path: &Path) -> Result<()> {
    std::fs::rename(next(path), path).context("give the new key file its name")?;
    Ok(key::sync_folder(path)?)
}
