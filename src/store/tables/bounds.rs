//! The bounds of one call: what its statements may be, how long they may take, how much they may write.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use base::Stop;
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthContext, Authorization};
use rusqlite::limits::Limit;

use super::{Failed, Limits, allowed};

/// What a call may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Look.
    Read,
    /// Change rows and tables.
    Write,
}

/// How many instructions of SQLite's machine go by between two looks at whether to go on: less than a millisecond.
const INSTRUCTIONS: i32 = 1_000;

/// How many such looks go by between two looks at how much was written.
const LOOKS: u64 = 16;

/// Bounds that are the same for everybody. What they keep out is no plan of a person's, and all are far above it.
const FIXED: &[(Limit, i32)] = &[
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 200),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 100),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1_000),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 50),
    (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 1_000),
    (Limit::SQLITE_LIMIT_VDBE_OP, 250_000),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];

/// Page cache of a connection, in KiB: also how much is sorted in memory before it goes to the disk.
const CACHE_KIB: i64 = 4_096;

/// What is looked at while a call runs.
pub(super) struct Guard {
    /// What was refused while a statement was compiled.
    refused: Arc<Mutex<Option<String>>>,
    /// Too much was written.
    overflowed: Arc<AtomicBool>,
    written_bytes_max: u64,
}

impl Guard {
    /// Puts a connection within its bounds. The call runs on this thread, whose writing is counted from here on.
    pub fn put(conn: &Connection, access: Access, limits: &Limits, stop: &Stop) -> rusqlite::Result<Guard> {
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, false)?;
        // A name in double quotes is a name: as text it would hide a slip of the pen.
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DDL, false)?;
        conn.pragma_update(None, "cache_size", -CACHE_KIB)?;
        conn.pragma_update(None, "cell_size_check", true)?;
        conn.pragma_update(None, "query_only", access == Access::Read)?;
        for (limit, value) in FIXED {
            conn.set_limit(*limit, *value)?;
        }
        let longest = i32::try_from(limits.value_bytes_max).unwrap_or(i32::MAX);
        conn.set_limit(Limit::SQLITE_LIMIT_LENGTH, longest)?;
        let guard =
            Guard { refused: Arc::default(), overflowed: Arc::default(), written_bytes_max: limits.written_bytes_max };
        guard.watch(conn, stop)?;
        let refused = guard.refused.clone();
        conn.authorizer(Some(move |context: AuthContext<'_>| match allowed::refusal(context.action, access) {
            None => Authorization::Allow,
            Some(why) => {
                *refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
                Authorization::Deny
            }
        }))?;
        Ok(guard)
    }

    fn watch(&self, conn: &Connection, stop: &Stop) -> rusqlite::Result<()> {
        let (stop, overflowed, most) = (stop.clone(), self.overflowed.clone(), self.written_bytes_max);
        let (began, looks) = (written_bytes(), AtomicU64::new(0));
        let ends = move || {
            if looks.fetch_add(1, Ordering::Relaxed).is_multiple_of(LOOKS)
                && written_bytes().saturating_sub(began) > most
            {
                overflowed.store(true, Ordering::Relaxed);
                return true;
            }
            stop.is_cancelled()
        };
        conn.progress_handler(INSTRUCTIONS, Some(ends))
    }

    /// Takes the bounds off, for what the hive itself does with the connection.
    pub fn lift(&self, conn: &Connection) -> rusqlite::Result<()> {
        conn.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)?;
        conn.progress_handler(0, None::<fn() -> bool>)
    }

    /// Says why a call failed, where it is the bounds that ended it.
    pub fn explain(&self, failed: Failed) -> Failed {
        if self.overflowed.load(Ordering::Relaxed) {
            let most = self.written_bytes_max >> 20;
            return Failed::Refused(format!("stopped: this would write more than {most} MiB onto the disk"));
        }
        match self.refused.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(why) => Failed::Refused(why),
            None => failed,
        }
    }
}

/// How many bytes this thread has written to files so far, whether or not they have reached the disk; 0 where the
/// kernel does not say (`proc(5)`).
fn written_bytes() -> u64 {
    let counts = fs::read_to_string("/proc/thread-self/io").unwrap_or_default();
    let written = counts.lines().find_map(|line| line.strip_prefix("wchar: "));
    written.and_then(|count| count.parse().ok()).unwrap_or(0)
}
