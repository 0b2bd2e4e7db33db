//! The databases of the teams: one file each, which holds what the team wants, and nothing of the hive's.
//!
//! What a team asks of its database is SQL that a model has written. It is kept in bounds by SQLite itself: an
//! authoriser looks at every part of a statement while it is compiled ([`allowed`]), the file cannot grow past its
//! bound, and a statement that takes too long or spills too much onto the disk is interrupted. Two connections of one
//! team wait for each other; those of different teams have nothing in common.
//!
//! The files lie beside the teams' folders and not in them: neither a file tool nor a command of a team reaches one, so
//! that no file is opened here that somebody else has written or put a link in the place of.

mod allowed;
mod answer;
mod bounds;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::{Stop, TeamName};
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::{Batch, Connection, ErrorCode, OpenFlags, Statement};

use crate::Db;

pub use answer::Answer;
use bounds::{Access, Guard};

/// The folder with the teams' databases. Clones are the same.
#[derive(Clone, Debug)]
pub struct Tables {
    folder: Arc<Path>,
    limits: Limits,
}

/// Bounds of a team's database, and of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long the file may become, in bytes.
    pub file_bytes_max: i64,
    /// The longest text, blob or row, in bytes.
    pub value_bytes_max: u32,
    /// The longest text of SQL, in bytes.
    pub sql_bytes_max: usize,
    /// How many rows one call gives.
    pub rows_max: usize,
    /// How long the rows of one call are together, in bytes of JSON.
    pub answer_bytes_max: usize,
    /// How much one call may write onto the disk, for sorting and for its changes together, in bytes.
    pub written_bytes_max: u64,
    /// How long a call waits for another one of its team that writes.
    pub busy: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            file_bytes_max: 256 << 20,
            value_bytes_max: 1 << 20,
            sql_bytes_max: 100_000,
            rows_max: 1_000,
            answer_bytes_max: 64 << 10,
            written_bytes_max: 1 << 30,
            busy: Duration::from_secs(5),
        }
    }
}

/// What a team asks of its database.
#[derive(Clone, Debug)]
pub struct Ask<'a> {
    /// The team.
    pub team: &'a TeamName,
    /// The SQL.
    pub sql: &'a str,
    /// The values of its parameters: the first is `?1`, `$1`, or the first `?`.
    pub values: &'a [serde_json::Value],
    /// How many rows to give at most; no more than [`Limits::rows_max`] in any case.
    pub rows_max: usize,
}

/// Why a statement was not run, or had no effect.
#[derive(Debug)]
pub enum Failed {
    /// By what was asked: a sentence for whoever asked.
    Refused(String),
    /// By a fault of ours or the machine's.
    Broken(anyhow::Error),
}

impl Tables {
    /// Those of a hive: in the folder `tables` beside its own database.
    pub fn beside(db: &Db) -> Tables {
        Tables::new(&db.path().with_file_name("tables"), Limits::default())
    }

    /// Databases in this folder, which is made when the first of them is.
    pub fn new(folder: &Path, limits: Limits) -> Tables {
        Tables { folder: folder.into(), limits }
    }

    /// The folder. It is there once a team has a database.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs one statement that only reads. Of a team that has no database yet it is an empty one. Blocks; ends early
    /// when `stop` is cancelled.
    ///
    /// # Errors
    /// Says what is wrong with the statement.
    pub fn query(&self, ask: &Ask<'_>, stop: &Stop) -> Result<Answer, Failed> {
        self.fits(ask)?;
        let conn = match self.open(ask.team, OpenFlags::SQLITE_OPEN_READ_ONLY)? {
            Some(conn) => conn,
            None => Connection::open_in_memory()?,
        };
        let guard = Guard::put(&conn, Access::Read, &self.limits, stop)?;
        let work = || {
            let mut statement = conn.prepare(ask.sql)?;
            if statement.column_count() == 0 {
                return Err(Failed::Refused("there is no statement that gives rows".to_owned()));
            }
            if !statement.readonly() {
                return Err(Failed::Refused("this would change something, and here is only read".to_owned()));
            }
            bind(&mut statement, ask.values)?;
            let rows_max = self.limits.rows_max.min(ask.rows_max);
            Ok(answer::read(&mut statement, rows_max, self.limits.answer_bytes_max)?)
        };
        work().map_err(|failed| guard.explain(failed))
    }

    /// Runs statements that may change the data and the tables, in one transaction: all of them or none. Only one that
    /// stands alone may have parameters. The rows are those of the last one that has any. Blocks; ends early, and
    /// changes nothing, when `stop` is cancelled.
    ///
    /// # Errors
    /// Says what is wrong with a statement. Then nothing is changed.
    pub fn exec(&self, ask: &Ask<'_>, stop: &Stop) -> Result<Answer, Failed> {
        self.fits(ask)?;
        fs::create_dir_all(&self.folder).map_err(|error| broken(error, "make the folder of the teams' databases"))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let conn = self.open(ask.team, flags)?;
        let conn = conn.ok_or_else(|| Failed::Broken(anyhow::anyhow!("a team's database was not made")))?;
        conn.pragma_update(None, "journal_mode", "WAL")?;
        let page_bytes: i64 = conn.pragma_query_value(None, "page_size", |row| row.get(0))?;
        conn.pragma_update(None, "max_page_count", (self.limits.file_bytes_max / page_bytes).max(1))?;
        conn.execute_batch("BEGIN IMMEDIATE")?;
        let guard = Guard::put(&conn, Access::Write, &self.limits, stop)?;
        let done = self.all(&conn, ask).map_err(|failed| guard.explain(failed))?;
        guard.lift(&conn)?;
        if stop.is_cancelled() {
            return Err(Failed::Refused("stopped, and nothing was changed".to_owned()));
        }
        // Without it the connection's end takes everything back.
        conn.execute_batch("COMMIT")?;
        Ok(done)
    }

    /// Deletes the database of a team, if it has one. Nothing may be asked of it meanwhile.
    ///
    /// # Errors
    /// If a file cannot be deleted.
    pub fn remove(&self, team: &TeamName) -> std::io::Result<()> {
        // The database last: while it is there, what is left is found again.
        for end in ["-journal", "-wal", "-shm", ""] {
            match fs::remove_file(self.folder.join(format!("{team}.db{end}"))) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn all(&self, conn: &Connection, ask: &Ask<'_>) -> Result<Answer, Failed> {
        let before = conn.total_changes();
        let mut last = Answer::default();
        let mut statements = Batch::new(conn, ask.sql);
        let mut count = 0;
        while let Some(mut statement) = statements.next()? {
            count += 1;
            if count > 1 && !ask.values.is_empty() {
                return Err(Failed::Refused("values go with one statement, and there are several".to_owned()));
            }
            bind(&mut statement, ask.values)?;
            let rows_max = self.limits.rows_max.min(ask.rows_max);
            let answer = answer::read(&mut statement, rows_max, self.limits.answer_bytes_max)?;
            if !answer.columns.is_empty() {
                last = answer;
            }
        }
        if count == 0 {
            return Err(Failed::Refused("there is no statement".to_owned()));
        }
        Ok(Answer { changes: conn.total_changes() - before, ..last })
    }

    fn fits(&self, ask: &Ask<'_>) -> Result<(), Failed> {
        if ask.sql.len() > self.limits.sql_bytes_max {
            let most = self.limits.sql_bytes_max;
            return Err(Failed::Refused(format!("SQL has at most {most} bytes: give long values as parameters")));
        }
        Ok(())
    }

    /// `None` where it is to be read and is not there.
    fn open(&self, team: &TeamName, flags: OpenFlags) -> Result<Option<Connection>, Failed> {
        // A link on the way to the folder is the owner's; the file itself is never one.
        let folder = match self.folder.canonicalize() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            folder => folder.map_err(|error| broken(error, "find the folder of the teams' databases"))?,
        };
        let path = folder.join(format!("{team}.db"));
        let creates = flags.contains(OpenFlags::SQLITE_OPEN_CREATE);
        if !creates && !path.exists() {
            return Ok(None);
        }
        let own = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW | OpenFlags::SQLITE_OPEN_EXRESCODE;
        let conn = Connection::open_with_flags(path, flags | own)?;
        conn.busy_timeout(self.limits.busy)?;
        Ok(Some(conn))
    }
}

fn broken(error: std::io::Error, what: &'static str) -> Failed {
    Failed::Broken(anyhow::Error::new(error).context(what))
}

/// Gives the parameters of a statement their values.
fn bind(statement: &mut Statement<'_>, values: &[serde_json::Value]) -> Result<(), Failed> {
    let wanted = statement.parameter_count();
    for at in 1..=wanted {
        let name = statement.parameter_name(at).map(str::to_owned);
        // `$2` is a name to SQLite, and shares its place with `?1` where it comes first: it must stand in its own.
        let number = name.as_deref().map_or(Some(at), |name| name[1..].parse().ok());
        let Some(number) = number.filter(|number| *number > 0 && (*number == at || is_numbered(name.as_deref())))
        else {
            let name = name.unwrap_or_default();
            return Err(Failed::Refused(format!("parameters are `?` or have numbers, `?1`: `{name}` is neither")));
        };
        let Some(value) = values.get(number - 1) else {
            let given = values.len();
            return Err(Failed::Refused(format!("parameter {number} has no value: {given} were given")));
        };
        statement.raw_bind_parameter(at, answer::value(value).map_err(Failed::Refused)?)?;
    }
    if wanted == 0 && !values.is_empty() {
        return Err(Failed::Refused("values were given, and the statement has no parameter".to_owned()));
    }
    Ok(())
}

fn is_numbered(name: Option<&str>) -> bool {
    name.is_none_or(|name| name.starts_with('?'))
}

impl From<rusqlite::Error> for Failed {
    fn from(error: rusqlite::Error) -> Self {
        let said = match &error {
            rusqlite::Error::SqliteFailure(code, said) => match code.code {
                ErrorCode::SystemIoFailure | ErrorCode::CannotOpen => None,
                ErrorCode::OutOfMemory => Some("this takes more memory than one call may".to_owned()),
                ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt => {
                    Some("the team's database is damaged, and a person must look at it".to_owned())
                }
                ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
                    Some("another call of this team is writing to its database: try again".to_owned())
                }
                ErrorCode::DiskFull => Some("the team's database is full: delete what is not needed".to_owned()),
                ErrorCode::OperationInterrupted => Some("stopped before it was done".to_owned()),
                ErrorCode::TooBig => Some("a value or a row is too long".to_owned()),
                _ => Some(said.clone().unwrap_or_else(|| error.to_string())),
            },
            rusqlite::Error::MultipleStatement => Some("one statement at a time".to_owned()),
            _ => None,
        };
        match said {
            Some(said) => Failed::Refused(said),
            None => Failed::Broken(anyhow::Error::new(error).context("use a team's database")),
        }
    }
}

#[cfg(test)]
mod tests;
