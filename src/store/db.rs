//! The door to the database: the only shared state of a hive.
//!
//! One writer connection, behind a fair lock; several readers. Writers that meet at the lock share one commit: each
//! does its work in the transaction that is open, queues up again, and whoever comes first to the lock with the
//! transaction still open commits it for all. Alone, that is a plain BEGIN … COMMIT.

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use base::Tasks;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, Executor, SqliteConnection};
use tokio::sync::{Mutex, watch};

/// How sure a commit has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// Survives a crash of the process; a power cut may take the last ones. For claims, leases and marks that a
    /// restart makes again.
    Process,
    /// Survives a power cut. For the inbox, the outbox, the journal, and whatever a person was told.
    Power,
}

/// The database of one hive. Clones are the same database.
#[derive(Clone)]
pub struct Db {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    writer: Mutex<Writer>,
    readers: Vec<Mutex<SqliteConnection>>,
    next_reader: AtomicUsize,
    /// Set by SQLite itself whenever a row changes; read and reset at each commit.
    touched: Arc<[AtomicBool; 3]>,
    changed: [watch::Sender<u64>; 3],
    in_one_poll: bool,
    crash: StdMutex<CrashPlan>,
    tasks: Tasks,
}

/// Which rows a loop waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bell {
    /// What came in.
    Inbox,
    /// What is to be done.
    Tasks,
    /// What goes out.
    Outbox,
}

impl Bell {
    const ALL: [Bell; 3] = [Bell::Inbox, Bell::Tasks, Bell::Outbox];

    fn of_table(table: &str) -> Option<Bell> {
        match table {
            "inbox" => Some(Bell::Inbox),
            "tasks" => Some(Bell::Tasks),
            "outbox" => Some(Bell::Outbox),
            _ => None,
        }
    }
}

struct Writer {
    conn: SqliteConnection,
    level: Level,
    /// The transaction that is open, shared by those who have done their work and wait for its commit.
    open: Option<Group>,
    /// Somebody is (or was, if the lock is free) in the middle of their work.
    unfinished: bool,
}

struct Group {
    outcome: watch::Sender<Option<Result<(), Arc<str>>>>,
    names: Vec<&'static str>,
}

/// When a test wants the database to die.
#[derive(Debug, Default)]
enum CrashPlan {
    #[default]
    Never,
    /// After that many more commits.
    AfterCommits(u64),
    /// After the next commit of that name.
    AfterNamed(String),
    /// It has died: nothing is read or written any more.
    Dead,
}

/// How long a statement waits for another process that holds the database.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Readers beside the writer: prompts and lists are read while commits go on.
const READERS: usize = 2;
/// Page cache of each connection, in KiB. Small: an idle hive has to fit into 25 MB.
const CACHE_KIB: &str = "-1024";

impl Db {
    /// Opens the database, makes it if there is none, and brings its tables up to date.
    ///
    /// # Errors
    /// Says in words when the file is no database, is damaged, or was written by a newer version.
    pub async fn open(path: &Path) -> Result<Db> {
        Db::open_as(path, false).await
    }

    /// For tests on virtual time: every transaction runs to its end inside one poll, so that nothing else happens
    /// meanwhile and a paused clock cannot jump. Otherwise the same.
    pub async fn open_in_one_poll(path: &Path) -> Result<Db> {
        Db::open_as(path, true).await
    }

    async fn open_as(path: &Path, in_one_poll: bool) -> Result<Db> {
        let opening = async {
            let mut conn = connect(path).await?;
            // A migration that a power cut takes back is run again: it need not wait for the disk.
            conn.execute("PRAGMA synchronous = NORMAL").await?;
            crate::schema::bring_up_to_date(&mut conn).await?;
            conn.execute("PRAGMA synchronous = FULL").await?;
            let touched: Arc<[AtomicBool; 3]> = Arc::default();
            let flags = touched.clone();
            conn.lock_handle().await?.set_update_hook(move |change| {
                if let Some(bell) = Bell::of_table(change.table) {
                    flags[bell as usize].store(true, Ordering::Release);
                }
            });
            let mut readers = Vec::new();
            for _ in 0..if in_one_poll { 0 } else { READERS } {
                readers.push(Mutex::new(connect(path).await?));
            }
            let writer = Writer { conn, level: Level::Power, open: None, unfinished: false };
            Ok(Db {
                inner: Arc::new(Inner {
                    path: path.to_owned(),
                    writer: Mutex::new(writer),
                    readers,
                    next_reader: AtomicUsize::new(0),
                    touched,
                    changed: std::array::from_fn(|_| watch::Sender::new(0)),
                    in_one_poll,
                    crash: StdMutex::default(),
                    tasks: Tasks::new(),
                }),
            })
        };
        let opened = if in_one_poll { run_in_one_poll(opening).await } else { opening.await };
        opened.map_err(|error: anyhow::Error| explain(path, error))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Does `work` in one transaction that survives a power cut once this returns `Ok`. `name` says in words what
    /// becomes true; it names the span, the slow-transaction log and the crash point of tests.
    ///
    /// Inside, await nothing but store calls: every other writer waits.
    pub async fn tx<T>(
        &self,
        name: &'static str,
        work: impl AsyncFnOnce(&mut SqliteConnection) -> Result<T>,
    ) -> Result<T> {
        self.write(name, Level::Power, work).await
    }

    /// As [`Db::tx`], for what a restart makes again: a power cut may take it back, a crash of the process not.
    pub async fn note<T>(
        &self,
        name: &'static str,
        work: impl AsyncFnOnce(&mut SqliteConnection) -> Result<T>,
    ) -> Result<T> {
        self.write(name, Level::Process, work).await
    }

    /// Reads, without waiting for writers. Sees everything that was committed before the call.
    pub async fn read<T>(&self, work: impl AsyncFnOnce(&mut SqliteConnection) -> Result<T>) -> Result<T> {
        self.not_dead().await;
        if self.inner.readers.is_empty() {
            let mut writer = self.inner.writer.lock().await;
            return run_in_one_poll(work(&mut writer.conn)).await;
        }
        let turn = self.inner.next_reader.fetch_add(1, Ordering::Relaxed);
        let mut conn = self.inner.readers[turn % self.inner.readers.len()].lock().await;
        work(&mut conn).await
    }

    /// Rings after every commit that changed such a row. Missing a ring costs latency only: rescan on it, or on time.
    pub fn changes(&self, bell: Bell) -> watch::Receiver<u64> {
        self.inner.changed[bell as usize].subscribe()
    }

    /// Rings a bell by hand: something else that its loop waits for has changed.
    pub fn ring(&self, bell: Bell) {
        self.inner.changed[bell as usize].send_modify(|count| *count += 1);
    }

    /// Rings every bell, for changes that another process made.
    pub fn ring_all(&self) {
        Bell::ALL.into_iter().for_each(|bell| self.ring(bell));
    }

    /// A number that changes when another connection, for example another process, has written.
    pub async fn foreign_writes(&self) -> Result<i64> {
        self.not_dead().await;
        let ask = async {
            let mut writer = self.inner.writer.lock().await;
            Ok(sqlx::query_scalar("PRAGMA data_version").fetch_one(&mut writer.conn).await?)
        };
        if self.inner.in_one_poll { run_in_one_poll(ask).await } else { ask.await }
    }

    /// For crash tests: after `commits` more commits the database is dead; whoever uses it then waits for ever.
    pub fn die_after(&self, commits: u64) {
        *self.crash_plan() = CrashPlan::AfterCommits(commits);
    }

    /// For crash tests: dies after the next transaction of that name.
    pub fn die_after_named(&self, name: &str) {
        *self.crash_plan() = CrashPlan::AfterNamed(name.to_owned());
    }

    /// For crash tests: whether it has died.
    pub fn is_dead(&self) -> bool {
        matches!(*self.crash_plan(), CrashPlan::Dead)
    }

    /// Writes an online copy of the whole database to `to`, which must not exist, and checks the copy.
    pub async fn backup(&self, to: &Path) -> Result<()> {
        let target = to.to_str().context("the backup's path is not UTF-8")?.to_owned();
        {
            let mut writer = self.inner.writer.lock().await;
            self.commit(&mut writer).await;
            sqlx::query("VACUUM INTO ?1").bind(target).execute(&mut writer.conn).await.context("write the copy")?;
        }
        let mut copy = SqliteConnectOptions::new().filename(to).read_only(true).connect().await?;
        let verdict = crate::schema::integrity(&mut copy).await?;
        copy.close().await?;
        anyhow::ensure!(verdict == "ok", "the copy is damaged: {verdict}");
        Ok(())
    }

    fn crash_plan(&self) -> std::sync::MutexGuard<'_, CrashPlan> {
        self.inner.crash.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn not_dead(&self) {
        if self.is_dead() {
            std::future::pending::<()>().await;
        }
    }

    async fn write<T>(
        &self,
        name: &'static str,
        level: Level,
        work: impl AsyncFnOnce(&mut SqliteConnection) -> Result<T>,
    ) -> Result<T> {
        let whole = async {
            let (value, mut outcome) = self.join(name, level, work).await?;
            let mut flush = FlushIfDropped { db: Some(self) };
            let mut writer = self.inner.writer.lock().await;
            if outcome.borrow_and_update().is_none() {
                self.commit(&mut writer).await;
            }
            flush.db = None;
            let committed = outcome.borrow().clone();
            match committed {
                Some(Ok(())) => Ok(value),
                Some(Err(why)) => Err(anyhow!("{why}")),
                None => Err(anyhow!("the transaction was neither committed nor refused")),
            }
            .with_context(|| format!("commit \"{name}\""))
        };
        self.not_dead().await;
        let done = if self.inner.in_one_poll { run_in_one_poll(whole).await } else { whole.await };
        self.not_dead().await;
        done
    }

    /// Does the work in the open transaction, or in a new one, and leaves it open for others to join.
    async fn join<T>(
        &self,
        name: &'static str,
        level: Level,
        work: impl AsyncFnOnce(&mut SqliteConnection) -> Result<T>,
    ) -> Result<(T, watch::Receiver<Option<Result<(), Arc<str>>>>)> {
        let mut writer = self.inner.writer.lock().await;
        writer.undo_unfinished().await?;
        if level == Level::Power && writer.level == Level::Process {
            self.commit(&mut writer).await;
        }
        let joins = writer.open.is_some();
        writer.unfinished = true;
        if joins {
            writer.conn.execute("SAVEPOINT member").await?;
        } else {
            writer.begin(level).await?;
        }
        match work(&mut writer.conn).await {
            Ok(value) => {
                if joins {
                    writer.conn.execute("RELEASE member").await?;
                }
                writer.unfinished = false;
                let group = writer.open.get_or_insert_with(Group::new);
                group.names.push(name);
                Ok((value, group.outcome.subscribe()))
            }
            Err(error) => {
                writer.undo_unfinished().await?;
                Err(error.context(format!("transaction \"{name}\"")))
            }
        }
    }

    /// Commits the open transaction for everybody who has a part in it.
    async fn commit(&self, writer: &mut Writer) {
        let Some(group) = writer.open.take() else { return };
        let done = writer.conn.execute("COMMIT").await;
        let outcome = match done {
            Ok(_) => Ok(()),
            Err(error) => {
                // Whatever it was, nothing of it may stay open. Where even that fails, the next BEGIN says so.
                let _ = writer.conn.execute("ROLLBACK").await;
                Err(Arc::from(error.to_string()))
            }
        };
        if outcome.is_ok() {
            self.after_commit(&group.names);
        }
        group.outcome.send_replace(Some(outcome));
        for bell in Bell::ALL {
            if self.inner.touched[bell as usize].swap(false, Ordering::AcqRel) {
                self.ring(bell);
            }
        }
    }

    fn after_commit(&self, names: &[&'static str]) {
        let mut plan = self.crash_plan();
        let dies = match &mut *plan {
            CrashPlan::Never | CrashPlan::Dead => false,
            CrashPlan::AfterCommits(left) => {
                *left = left.saturating_sub(1);
                *left == 0
            }
            CrashPlan::AfterNamed(name) => names.contains(&name.as_str()),
        };
        if dies {
            *plan = CrashPlan::Dead;
        }
    }
}

impl Group {
    fn new() -> Self {
        Group { outcome: watch::Sender::new(None), names: Vec::new() }
    }
}

impl Writer {
    async fn begin(&mut self, level: Level) -> Result<()> {
        if self.level != level {
            let pragma = match level {
                Level::Process => "PRAGMA synchronous = NORMAL",
                Level::Power => "PRAGMA synchronous = FULL",
            };
            self.conn.execute(pragma).await?;
            self.level = level;
        }
        self.conn.execute("BEGIN IMMEDIATE").await?;
        Ok(())
    }

    /// Takes back what somebody began and did not end: their work failed, or their future was dropped.
    async fn undo_unfinished(&mut self) -> Result<()> {
        if !self.unfinished {
            return Ok(());
        }
        if self.open.is_some() {
            self.conn.execute("ROLLBACK TO member").await?;
            self.conn.execute("RELEASE member").await?;
        } else {
            // A future that was dropped before its BEGIN left nothing to roll back, which is as good.
            let _ = self.conn.execute("ROLLBACK").await;
        }
        self.unfinished = false;
        Ok(())
    }
}

/// A writer whose future is dropped between its work and the commit leaves the transaction to somebody else.
struct FlushIfDropped<'a> {
    db: Option<&'a Db>,
}

impl Drop for FlushIfDropped<'_> {
    fn drop(&mut self) {
        if let Some(db) = self.db.take().cloned()
            && tokio::runtime::Handle::try_current().is_ok()
        {
            db.inner.tasks.clone().spawn("commit what was left open", async move {
                let mut writer = db.inner.writer.lock().await;
                db.commit(&mut writer).await;
            });
        }
    }
}

async fn connect(path: &Path) -> Result<SqliteConnection> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(BUSY_TIMEOUT)
        .pragma("cache_size", CACHE_KIB)
        .statement_cache_capacity(200);
    Ok(options.connect().await?)
}

/// What an operator needs to hear when a database does not open.
fn explain(path: &Path, error: anyhow::Error) -> anyhow::Error {
    let code = error.downcast_ref::<sqlx::Error>().and_then(|error| error.as_database_error()?.code());
    let advice = match code.as_deref() {
        Some("26") => "this file is not a database: move it away, or name another HIVE_RUN_DIR",
        Some("11" | "267" | "523" | "779") => "the database is damaged: restore a backup (`hive backup` makes them)",
        Some("5" | "261" | "517") => "another process holds it: is a hive running already?",
        Some("14") => "the file cannot be opened: does its folder exist, and may we write there?",
        Some("13") => "the disk is full",
        // All of SQLite's input and output errors share their lowest byte.
        Some(code) if code.parse::<u32>().is_ok_and(|code| code & 0xff == 10) => {
            "the disk refused a read or a write: is it full, or failing?"
        }
        _ => return error.context(format!("open the database {}", path.display())),
    };
    error.context(format!("open the database {}: {advice}", path.display()))
}

/// To the runtime the whole future looks synchronous: nothing else runs meanwhile.
async fn run_in_one_poll<F: Future>(work: F) -> F::Output {
    // Without it a task that never yields in between runs out of tokio's budget, and its locks are never ready.
    let mut work = pin!(tokio::task::unconstrained(work));
    // SQLite's thread would wake the task, sooner or later by real time, and so put it before others or behind them.
    let mut nobody = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        match work.as_mut().poll(&mut nobody) {
            Poll::Ready(done) => return done,
            Poll::Pending => std::thread::yield_now(),
        }
    }
}
