//! What teams keep, encrypted: this layer never sees a value.

use anyhow::Result;
use base::{Moment, RunId, TeamName};

use crate::sql::row;
use crate::{Conn, sql};

/// Something encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// What makes this encryption differ from every other: 24 bytes, used once.
    pub nonce: Vec<u8>,
    /// The value, and 16 bytes that tell whether it was changed.
    pub sealed: Vec<u8>,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Whose it is.
    pub team: TeamName,
    /// Its name, unique in the team.
    pub key: String,
    /// How often it was written, from 1.
    pub version: i64,
    /// Whether only the system may write it.
    pub is_secret: bool,
    /// The value.
    pub value: Sealed,
    /// Who wrote it last; `None` is the team itself.
    pub updated_by: Option<String>,
    /// When it was written first.
    pub created_at: Moment,
    /// When it was written last.
    pub updated_at: Moment,
}

row! {
    struct Raw {
        team: String,
        key: String,
        version: i64,
        is_secret: bool,
        nonce: Vec<u8>,
        sealed: Vec<u8>,
        updated_by: Option<String>,
        created_at: i64,
        updated_at: i64,
    }
}

impl TryFrom<Raw> for Row {
    type Error = anyhow::Error;
    fn try_from(raw: Raw) -> Result<Row> {
        Ok(Row {
            team: raw.team.parse()?,
            key: raw.key,
            version: raw.version,
            is_secret: raw.is_secret,
            value: Sealed { nonce: raw.nonce, sealed: raw.sealed },
            updated_by: raw.updated_by,
            created_at: raw.created_at,
            updated_at: raw.updated_at,
        })
    }
}

const COLUMNS: &str =
    "SELECT team, key, version, is_secret, nonce, sealed, updated_by, created_at, updated_at FROM team_vault";

/// The row of a team and key.
pub async fn get(conn: &mut Conn, team: &TeamName, key: &str) -> Result<Option<Row>> {
    let sql = format!("{COLUMNS} WHERE team = $1 AND key = $2");
    let raw: Option<Raw> = sql::query_as(sql).bind(team.as_str()).bind(key).fetch_optional(conn).await?;
    raw.map(Row::try_from).transpose()
}

/// A team's rows whose key begins with `prefix`, by key.
pub async fn list(conn: &mut Conn, team: &TeamName, prefix: &str) -> Result<Vec<Row>> {
    let sql = format!("{COLUMNS} WHERE team = $1 AND substr(key, 1, length($2)) = $2 ORDER BY key");
    let raws: Vec<Raw> = sql::query_as(sql).bind(team.as_str()).bind(prefix).fetch_all(conn).await?;
    raws.into_iter().map(Row::try_from).collect()
}

/// Every team's secrets.
pub async fn secrets(conn: &mut Conn) -> Result<Vec<Row>> {
    let sql = format!("{COLUMNS} WHERE is_secret = 1 ORDER BY team, key");
    let raws: Vec<Raw> = sql::query_as(sql).fetch_all(conn).await?;
    raws.into_iter().map(Row::try_from).collect()
}

/// Every row, for a change of the key.
pub async fn all(conn: &mut Conn) -> Result<Vec<Row>> {
    let raws: Vec<Raw> = sql::query_as(format!("{COLUMNS} ORDER BY team, key")).fetch_all(conn).await?;
    raws.into_iter().map(Row::try_from).collect()
}

/// How many rows a team has.
pub async fn count(conn: &mut Conn, team: &TeamName) -> Result<i64> {
    sql::query_scalar("SELECT count(*) FROM team_vault WHERE team = $1").bind(team.as_str()).fetch_one(conn).await
}

/// Writes a row. Version 1 is a new one; any other replaces exactly the version before it. `false` where another is
/// there instead: nothing was written, and the row is to be read again.
pub async fn put(conn: &mut Conn, row: &Row) -> Result<bool> {
    let sql = if row.version == 1 {
        "INSERT INTO team_vault (team, key, version, is_secret, nonce, sealed, updated_by, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (team, key) DO NOTHING"
    } else {
        "UPDATE team_vault SET version = $3, is_secret = $4, nonce = $5, sealed = $6, updated_by = $7, created_at = $8,
           updated_at = $9
         WHERE team = $1 AND key = $2 AND version = $3 - 1"
    };
    let done = sql::query(sql)
        .bind(row.team.as_str())
        .bind(&row.key)
        .bind(row.version)
        .bind(row.is_secret)
        .bind(&row.value.nonce)
        .bind(&row.value.sealed)
        .bind(&row.updated_by)
        .bind(row.created_at)
        .bind(row.updated_at)
        .execute(conn)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Removes a row in that version. `false` where there is none.
pub async fn remove(conn: &mut Conn, team: &TeamName, key: &str, version: i64) -> Result<bool> {
    let sql = "DELETE FROM team_vault WHERE team = $1 AND key = $2 AND version = $3";
    let done = sql::query(sql).bind(team.as_str()).bind(key).bind(version).execute(conn).await?;
    Ok(done.rows_affected() == 1)
}

/// What the keys of secrets begin with that stood among the arguments of a turn's calls.
const HANDED: &str = "handed/";

/// Where the secrets of a call lie in the vault of its team until the turn ends, or the call has used them: the beginning
/// of their keys.
pub fn handed(run: RunId, step: i64, call_id: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '.' };
    let call: String = call_id.chars().take(80).map(letter).collect();
    format!("{HANDED}{run}/{step}/{call}/")
}

/// Removes what a turn's calls were given and did not use. How many secrets that were.
pub async fn remove_handed(conn: &mut Conn, run: RunId) -> Result<u64> {
    // `0` comes after `/`: these are all keys that begin with the turn's own.
    let (first, end) = (format!("{HANDED}{run}/"), format!("{HANDED}{run}0"));
    let sql = "DELETE FROM team_vault WHERE team = (SELECT team FROM runs WHERE id = $1)
                 AND key >= $2 AND key < $3 AND is_secret = 1";
    Ok(sql::query(sql).bind(run.0).bind(first).bind(end).execute(conn).await?.rows_affected())
}

/// Removes the same of all turns that have ended or are gone. How many secrets that were.
pub async fn remove_handed_of_ended(conn: &mut Conn) -> Result<u64> {
    let sql = "SELECT team, key, version FROM team_vault WHERE is_secret = 1 AND key >= 'handed/' AND key < 'handed0'";
    let all: Vec<(String, String, i64)> = sql::query_as(sql).fetch_all(&mut *conn).await?;
    let mut count = 0;
    for (team, key, version) in all {
        let run: Option<i64> = key.split('/').nth(1).and_then(|number| number.parse().ok());
        let sql = "SELECT EXISTS (SELECT 1 FROM runs WHERE id = $1 AND team = $2 AND state = 'running')";
        let is_running: bool = sql::query_scalar(sql).bind(run).bind(&team).fetch_one(&mut *conn).await?;
        if !is_running && remove(conn, &team.parse()?, &key, version).await? {
            count += 1;
        }
    }
    Ok(count)
}

/// Removes all that a team has. How many rows that were.
pub async fn remove_team(conn: &mut Conn, team: &TeamName) -> Result<u64> {
    let done = sql::query("DELETE FROM team_vault WHERE team = $1").bind(team.as_str()).execute(conn).await?;
    Ok(done.rows_affected())
}

/// What was encrypted to tell the key by.
pub async fn check(conn: &mut Conn) -> Result<Option<Sealed>> {
    let sql = "SELECT nonce, sealed FROM vault_check WHERE id = 1";
    let found: Option<(Vec<u8>, Vec<u8>)> = sql::query_as(sql).fetch_optional(conn).await?;
    Ok(found.map(|(nonce, sealed)| Sealed { nonce, sealed }))
}

/// Whether no team has anything in it.
pub async fn is_empty(conn: &mut Conn) -> Result<bool> {
    sql::query_scalar("SELECT NOT EXISTS (SELECT 1 FROM team_vault)").fetch_one(conn).await
}

/// Forgets what was encrypted to tell the key by. Only an empty vault may have another key.
pub async fn forget_check(conn: &mut Conn) -> Result<()> {
    let sql = "DELETE FROM vault_check WHERE NOT EXISTS (SELECT 1 FROM team_vault)";
    sql::query(sql).execute(conn).await?;
    Ok(())
}

/// Sets what is encrypted to tell the key by.
pub async fn set_check(conn: &mut Conn, check: &Sealed) -> Result<()> {
    let sql = "INSERT INTO vault_check (id, nonce, sealed) VALUES (1, $1, $2)
               ON CONFLICT (id) DO UPDATE SET nonce = $1, sealed = $2";
    sql::query(sql).bind(&check.nonce).bind(&check.sealed).execute(conn).await?;
    Ok(())
}

#[cfg(test)]
mod tests;
