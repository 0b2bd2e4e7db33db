//! What teams keep: values of their own, and secrets that the system keeps for them.
//!
//! A team writes and reads its own plain values. A secret is written by the system alone: from what a person entered, or
//! what a team was spawned with. No agent ever gets its value; it writes `{{secret:KEY}}` in a tool's arguments, and the
//! value is put there after they were journaled ([`Vault::expand`]). Every secret is known to [`Scrub`] before it is used.

mod expand;
pub mod key;
mod keyring;
mod refusal;
mod rotate;
mod seal;
pub mod shapes;
mod source;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use anyhow::{Result, anyhow, bail};
use base::{Clock, Moment, Scrub, Secret, TeamName};
use serde_json::Value;
use store::vault::{Row, Sealed};
use store::{Conn, Db, vault};
use zeroize::Zeroizing;

pub use expand::{has_placeholder, is_placeholder, placeholder};
pub use key::{Key, KeyError};
pub use refusal::{Refusal, VaultError};
pub use rotate::{rotate, rotate_file};
use seal::Seal;
pub use source::{IN_KEYRING, Source, VARIABLE};

/// Bounds of what a team may keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VaultRules {
    /// The longest key, in bytes.
    pub key_bytes_max: usize,
    /// The longest value, in bytes. A page of notes; what is longer belongs into a file.
    pub value_bytes_max: usize,
    /// Most entries of one team: all of them are listed in one tool result.
    pub entries_max: i64,
}

impl Default for VaultRules {
    fn default() -> Self {
        VaultRules { key_bytes_max: 200, value_bytes_max: 64 * 1_024, entries_max: 1_000 }
    }
}

/// An entry, as a team may see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub key: String,
    /// The value; `None` of a secret.
    pub value: Option<String>,
    /// How often it was written.
    pub version: i64,
    /// Who wrote it last; `None` is the team itself.
    pub updated_by: Option<String>,
    /// When it was written first.
    pub created_at: Moment,
    /// When it was written last.
    pub updated_at: Moment,
}

impl Entry {
    /// Whether it is a secret.
    pub fn is_secret(&self) -> bool {
        self.value.is_none()
    }
}

/// The vault of a hive. Clones are the same.
#[derive(Clone)]
pub struct Vault {
    inner: Arc<Inner>,
}

struct Inner {
    db: Db,
    clock: Clock,
    scrub: Scrub,
    rules: VaultRules,
    seal: Seal,
    /// The keys of secrets, of whichever team: how a call is admitted has to be said without a look at the rows.
    secret_keys: RwLock<BTreeSet<String>>,
}

impl Vault {
    /// Opens the vault with the key that the environment gives or says to be in the keyring, else with that of the run
    /// directory's key file, which is made where neither it nor anything encrypted is there. Every secret is known to `scrub` when this returns.
    ///
    /// # Errors
    /// Says in words what is wrong with the key, and when it is another one than the rows were encrypted with.
    pub async fn open(
        db: &Db,
        clock: Clock,
        scrub: &Scrub,
        from_environment: Option<&Secret>,
        run_dir: &Path,
    ) -> Result<Vault> {
        let look = async |conn: &mut store::Conn| Ok((vault::check(conn).await?, vault::is_empty(conn).await?));
        let (mut check, is_empty) = db.read(look).await?;
        // A key that nothing is encrypted with is no loss: a copy of the rows without it is whole.
        if is_empty && from_environment.is_none() && check.is_some() && !source::has_file(run_dir) {
            db.tx("forget the key of an empty vault", async |conn| vault::forget_check(conn).await).await?;
            check = None;
        }
        let key = source::find(from_environment, run_dir, check.as_ref())?;
        Vault::with_key(db, clock, scrub, &key, VaultRules::default()).await
    }

    /// Opens the vault with this very key.
    ///
    /// # Errors
    /// Where the rows were encrypted with another one.
    pub async fn with_key(db: &Db, clock: Clock, scrub: &Scrub, key: &Key, rules: VaultRules) -> Result<Vault> {
        let seal = Seal::new(key);
        if !db.tx("check the vault's key", async |conn| agrees(conn, &seal).await).await? {
            bail!(
                "the vault was encrypted with another key: give the {VARIABLE} or restore the key file that it was \
                 encrypted with"
            );
        }
        let (db, scrub) = (db.clone(), scrub.clone());
        let vault = Vault { inner: Arc::new(Inner { db, clock, scrub, rules, seal, secret_keys: RwLock::default() }) };
        vault.learn_all().await?;
        Ok(vault)
    }

    /// Makes every secret of every team known to the scrubber. How many there are.
    ///
    /// # Errors
    /// If a row was changed from outside.
    pub async fn learn_all(&self) -> Result<usize> {
        let rows = self.inner.db.read(async |conn| vault::secrets(conn).await).await?;
        for row in &rows {
            self.learn(row)?;
        }
        Ok(rows.len())
    }

    /// A team's entry.
    ///
    /// # Errors
    /// If the row was changed from outside.
    pub async fn get(&self, team: &TeamName, key: &str) -> Result<Option<Entry>> {
        let row = self.inner.db.read(async |conn| vault::get(conn, team, key).await).await?;
        row.map(|row| self.entry(row)).transpose()
    }

    /// A team's entries whose key begins with `prefix`, by key.
    ///
    /// # Errors
    /// If a row was changed from outside.
    pub async fn list(&self, team: &TeamName, prefix: &str) -> Result<Vec<Entry>> {
        let rows = self.inner.db.read(async |conn| vault::list(conn, team, prefix).await).await?;
        rows.into_iter().map(|row| self.entry(row)).collect()
    }

    /// Writes a team's plain value.
    ///
    /// # Errors
    /// Refused where the key is a secret's, the value holds a secret, or a bound is passed.
    pub async fn set(&self, team: &TeamName, key: &str, value: &str) -> Result<Entry, VaultError> {
        self.check(key, value)?;
        if self.inner.scrub.finds_in(value) || self.inner.scrub.finds_in(key) {
            return Err(Refusal::HoldsSecret.into());
        }
        let write = async |conn: &mut Conn| self.write(conn, team, key, value, None).await;
        let row = self.inner.db.tx("set a value of a vault", write).await??;
        Ok(self.entry(row)?)
    }

    /// Removes a team's plain value. `false` where there is none.
    ///
    /// # Errors
    /// Refused where it is a secret.
    pub async fn delete(&self, team: &TeamName, key: &str) -> Result<bool, VaultError> {
        let remove = async |conn: &mut Conn| match vault::get(conn, team, key).await? {
            None => Ok(Ok(false)),
            Some(row) if row.is_secret => Ok(Err(Refusal::Managed(key.to_owned()))),
            Some(row) => Ok(Ok(vault::remove(conn, team, key, row.version).await?)),
        };
        Ok(self.inner.db.tx("delete a value of a vault", remove).await??)
    }

    /// Writes a secret, as the system: what a person entered, or what a team is spawned with. Whatever the key held
    /// before is replaced. It joins the caller's transaction, and is known to the scrubber from now on, whatever
    /// becomes of that. `by`: who gave it, for the row.
    ///
    /// A value shorter than [`Scrub::LENGTH_MIN`] is kept, but cannot be taken out of texts.
    ///
    /// # Errors
    /// Refused where a bound is passed.
    pub async fn put_secret(
        &self,
        conn: &mut Conn,
        team: &TeamName,
        key: &str,
        value: &Secret,
        by: &str,
    ) -> Result<Entry, VaultError> {
        self.check(key, value.expose())?;
        self.inner.scrub.learn(value);
        let row = self.write(conn, team, key, value.expose(), Some(by)).await??;
        Ok(self.entry(row)?)
    }

    /// Removes a secret or a plain value, as the system. `false` where there is none.
    ///
    /// # Errors
    /// Only the database's.
    pub async fn remove(&self, conn: &mut Conn, team: &TeamName, key: &str) -> Result<bool> {
        match vault::get(conn, team, key).await? {
            None => Ok(false),
            Some(row) => vault::remove(conn, team, key, row.version).await,
        }
    }

    /// The longest value that it takes, in bytes.
    pub fn value_bytes_max(&self) -> usize {
        self.inner.rules.value_bytes_max
    }

    /// Whether some team has a secret of this name: a call about it may be one about a secret.
    pub fn may_be_secret(&self, key: &str) -> bool {
        self.inner.secret_keys.read().unwrap_or_else(PoisonError::into_inner).contains(key)
    }

    /// The arguments with the team's secrets in their placeholders' place. Give them to the tool alone: they must not be
    /// journaled, logged or shown. Every secret in them is known to the scrubber when this returns.
    ///
    /// # Errors
    /// Refused where a placeholder names no secret of this team, or an encoding that there is not.
    pub async fn expand(&self, team: &TeamName, arguments: Value) -> Result<Value, VaultError> {
        let keys = expand::keys(&arguments);
        if keys.is_empty() {
            return Ok(arguments);
        }
        let rows = self.inner.db.read(async |conn| vault::list(conn, team, "").await).await?;
        let mut secrets = BTreeMap::new();
        for row in rows.into_iter().filter(|row| row.is_secret) {
            let value = self.learn(&row)?;
            secrets.insert(row.key, value);
        }
        Ok(expand::fill(arguments, &secrets)?)
    }

    fn check(&self, key: &str, value: &str) -> Result<(), Refusal> {
        let rules = self.inner.rules;
        let letter = |c: char| c.is_ascii_alphanumeric() || "_-.:/@".contains(c);
        if key.is_empty() || key.len() > rules.key_bytes_max || !key.chars().all(letter) {
            return Err(Refusal::Key { key: key.to_owned(), max: rules.key_bytes_max });
        }
        if value.is_empty() {
            return Err(Refusal::Empty);
        }
        if value.len() > rules.value_bytes_max {
            return Err(Refusal::Long { bytes: value.len(), max: rules.value_bytes_max });
        }
        Ok(())
    }

    /// Writes the next version of a row. `secret_by`: it is a secret, given by them.
    async fn write(
        &self,
        conn: &mut Conn,
        team: &TeamName,
        key: &str,
        value: &str,
        secret_by: Option<&str>,
    ) -> Result<Result<Row, Refusal>> {
        let before = vault::get(conn, team, key).await?;
        match &before {
            Some(row) if row.is_secret && secret_by.is_none() => return Ok(Err(Refusal::Managed(key.to_owned()))),
            Some(_) => {}
            None if vault::count(conn, team).await? < self.inner.rules.entries_max => {}
            None => return Ok(Err(Refusal::Full(self.inner.rules.entries_max))),
        }
        let now = self.inner.clock.now();
        let mut row = Row {
            team: team.clone(),
            key: key.to_owned(),
            version: before.as_ref().map_or(1, |row| row.version + 1),
            is_secret: secret_by.is_some(),
            value: Sealed { nonce: Vec::new(), sealed: Vec::new() },
            updated_by: secret_by.map(str::to_owned),
            created_at: before.map_or(now, |row| row.created_at),
            updated_at: now,
        };
        row.value = self.inner.seal.close(&row, value)?;
        if !vault::put(conn, &row).await? {
            bail!("the vault's row `{key}` of {team} changed within one transaction");
        }
        Ok(Ok(row))
    }

    fn entry(&self, row: Row) -> Result<Entry> {
        let value = if row.is_secret {
            self.learn(&row)?;
            None
        } else {
            Some(String::clone(&*open(&self.inner.seal, &row)?))
        };
        let Row { key, version, updated_by, created_at, updated_at, .. } = row;
        Ok(Entry { key, value, version, updated_by, created_at, updated_at })
    }

    /// A secret's value, known to the scrubber from now on.
    fn learn(&self, row: &Row) -> Result<Secret> {
        let value = Secret::new(open(&self.inner.seal, row)?.as_str());
        self.inner.scrub.learn(&value);
        if !self.may_be_secret(&row.key) {
            self.inner.secret_keys.write().unwrap_or_else(PoisonError::into_inner).insert(row.key.clone());
        }
        Ok(value)
    }
}

/// The value of a row that must be what it was written as.
fn open(seal: &Seal, row: &Row) -> Result<Zeroizing<String>> {
    seal.open(row).ok_or_else(|| {
        anyhow!(
            "the vault's row `{}` of {} is not what was written there: it was changed from outside",
            row.key,
            row.team
        )
    })
}

/// Whether everything was encrypted with this key, or nothing is yet: then it will be.
async fn agrees(conn: &mut Conn, seal: &Seal) -> Result<bool> {
    match vault::check(conn).await? {
        Some(check) => Ok(seal.is_checked_by(&check)),
        None => {
            vault::set_check(conn, &seal.check()?).await?;
            Ok(true)
        }
    }
}
