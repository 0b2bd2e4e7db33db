//! The door to the database: the only shared state of a hive.
//!
//! One writer connection, behind a fair lock; several readers. Writers that meet at the lock share one commit: each
//! does its work in the transaction that is open, queues up again, and whoever comes first to the lock with the
//! transaction still open commits it for all. Alone, that is a plain BEGIN … COMMIT.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use anyhow::{Context, Result, anyhow};
use base::Tasks;
use tokio::sync::{Mutex, watch};

use crate::{Conn, schema, sql};

/// How sure a commit has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// Survives a crash of the process; a power cut may take the last ones. For claims, leases and marks that a
    /// restart makes again.
    Process,
    /// Survives a power cut. For the inbox, the outbox, the journal, and whatever a person was told.
    Power,
}

impl Level {
    /// SQLite's word for it (<https://sqlite.org/pragma.html#pragma_synchronous>, in WAL mode).
    fn synchronous(self) -> &'static str {
        match self {
            Level::Process => "NORMAL",
            Level::Power => "FULL",
        }
    }
}

/// The database of one hive. Clones are the same database.
#[derive(Clone)]
pub struct Db {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    writer: Mutex<Writer>,
    readers: Vec<Mutex<Conn>>,
    next_reader: AtomicUsize,
    /// Set by SQLite itself whenever a row changes; read and reset at each commit.
    touched: Arc<[AtomicBool; BELLS]>,
    changed: [watch::Sender<u64>; BELLS],
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
    /// What people are asked.
    Questions,
    /// Which tools an agent may have: toolboxes and direct grants.
    Tools,
    /// What happens.
    Events,
}

/// How many bells there are.
const BELLS: usize = Bell::ALL.len();

impl Bell {
    const ALL: [Bell; 6] = [Bell::Inbox, Bell::Tasks, Bell::Outbox, Bell::Questions, Bell::Tools, Bell::Events];

    fn of_table(table: &str) -> Option<Bell> {
        match table {
            "inbox" => Some(Bell::Inbox),
            "tasks" => Some(Bell::Tasks),
            "outbox" => Some(Bell::Outbox),
            "questions" => Some(Bell::Questions),
            "events" => Some(Bell::Events),
            "toolboxes" | "tool_grants" => Some(Bell::Tools),
            _ => None,
        }
    }
}

struct Writer {
    conn: Conn,
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

/// Readers beside the writer: prompts and lists are read while commits go on.
const READERS: usize = 2;

impl Db {
    /// Opens the database, makes it if there is none, and brings its tables up to date.
    ///
    /// # Errors
    /// Says in words when the file is no database, is damaged, or was written by a newer version.
    pub async fn open(path: &Path) -> Result<Db> {
        Db::opened(path).await.map_err(|error| explain(path, error))
    }

    async fn opened(path: &Path) -> Result<Db> {
        let mut conn = Conn::open(path)?;
        if !schema::is_up_to_date(&mut conn).await? {
            schema::bring_up_to_date(path)?;
        }
        let touched: Arc<[AtomicBool; BELLS]> = Arc::default();
        let flags = touched.clone();
        conn.on_change(move |table| {
            if let Some(bell) = Bell::of_table(table) {
                flags[bell as usize].store(true, Ordering::Release);
            }
        })?;
        let mut readers = Vec::new();
        for _ in 0..READERS {
            readers.push(Mutex::new(Conn::open(path)?));
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
                crash: StdMutex::default(),
                tasks: Tasks::new(),
            }),
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Does `work` in one transaction that survives a power cut once this returns `Ok`. `name` says in words what
    /// becomes true; it names the span, the slow-transaction log and the crash point of tests.
    ///
    /// Inside, await nothing but store calls: every other writer waits.
    pub async fn tx<T>(&self, name: &'static str, work: impl AsyncFnOnce(&mut Conn) -> Result<T>) -> Result<T> {
        self.write(name, Level::Power, work).await
    }

    /// As [`Db::tx`], for what a restart makes again: a power cut may take it back, a crash of the process not.
    pub async fn note<T>(&self, name: &'static str, work: impl AsyncFnOnce(&mut Conn) -> Result<T>) -> Result<T> {
        self.write(name, Level::Process, work).await
    }

    /// Reads, without waiting for writers. Sees everything that was committed before the call.
    pub async fn read<T>(&self, work: impl AsyncFnOnce(&mut Conn) -> Result<T>) -> Result<T> {
        self.not_dead().await;
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
        let mut writer = self.inner.writer.lock().await;
        sql::query_scalar("PRAGMA data_version").fetch_one(&mut writer.conn).await
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
            self.commit(&mut writer);
            sql::query("VACUUM INTO $1").bind(target).execute(&mut writer.conn).await.context("write the copy")?;
        }
        let verdict = schema::integrity(&mut Conn::open_to_read(to)?).await?;
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
        work: impl AsyncFnOnce(&mut Conn) -> Result<T>,
    ) -> Result<T> {
        self.not_dead().await;
        let done = self.join_and_commit(name, level, work).await;
        self.not_dead().await;
        done
    }

    async fn join_and_commit<T>(
        &self,
        name: &'static str,
        level: Level,
        work: impl AsyncFnOnce(&mut Conn) -> Result<T>,
    ) -> Result<T> {
        let (value, mut outcome) = self.join(name, level, work).await?;
        let mut flush = FlushIfDropped { db: Some(self) };
        let mut writer = self.inner.writer.lock().await;
        if outcome.borrow_and_update().is_none() {
            self.commit(&mut writer);
        }
        flush.db = None;
        let committed = outcome.borrow().clone();
        match committed {
            Some(Ok(())) => Ok(value),
            Some(Err(why)) => Err(anyhow!("{why}")),
            None => Err(anyhow!("the transaction was neither committed nor refused")),
        }
        .with_context(|| format!("commit \"{name}\""))
    }

    /// Does the work in the open transaction, or in a new one, and leaves it open for others to join.
    async fn join<T>(
        &self,
        name: &'static str,
        level: Level,
        work: impl AsyncFnOnce(&mut Conn) -> Result<T>,
    ) -> Result<(T, watch::Receiver<Option<Result<(), Arc<str>>>>)> {
        let mut writer = self.inner.writer.lock().await;
        writer.undo_unfinished()?;
        if level == Level::Power && writer.level == Level::Process {
            self.commit(&mut writer);
        }
        let joins = writer.open.is_some();
        writer.unfinished = true;
        if joins {
            writer.conn.run("SAVEPOINT member")?;
        } else {
            writer.begin(level)?;
        }
        match work(&mut writer.conn).await {
            Ok(value) => {
                if joins {
                    writer.conn.run("RELEASE member")?;
                }
                writer.unfinished = false;
                let group = writer.open.get_or_insert_with(Group::new);
                group.names.push(name);
                Ok((value, group.outcome.subscribe()))
            }
            Err(error) => {
                writer.undo_unfinished()?;
                Err(error.context(format!("transaction \"{name}\"")))
            }
        }
    }

    /// Commits the open transaction for everybody who has a part in it.
    fn commit(&self, writer: &mut Writer) {
        let Some(group) = writer.open.take() else { return };
        let done = writer.conn.run("COMMIT");
        let outcome = match done {
            Ok(_) => Ok(()),
            Err(error) => {
                // Whatever it was, nothing of it may stay open. Where even that fails, the next BEGIN says so.
                let _ = writer.conn.run("ROLLBACK");
                Err(Arc::from(format!("{error:#}")))
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
    fn begin(&mut self, level: Level) -> Result<()> {
        if self.level != level {
            self.conn.set_synchronous(level.synchronous())?;
            self.level = level;
        }
        self.conn.run("BEGIN IMMEDIATE")?;
        Ok(())
    }

    /// Takes back what somebody began and did not end: their work failed, or their future was dropped.
    fn undo_unfinished(&mut self) -> Result<()> {
        if !self.unfinished {
            return Ok(());
        }
        if self.open.is_some() {
            self.conn.run("ROLLBACK TO member")?;
            self.conn.run("RELEASE member")?;
        } else {
            // A future that was dropped before its BEGIN left nothing to roll back, which is as good.
            let _ = self.conn.run("ROLLBACK");
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
                db.commit(&mut writer);
            });
        }
    }
}

/// What an operator needs to hear when a database does not open.
fn explain(path: &Path, error: anyhow::Error) -> anyhow::Error {
    let code = sql::code(&error);
    let advice = match code {
        Some(26) => "this file is not a database: move it away, or name another HIVE_RUN_DIR",
        Some(11 | 267 | 523 | 779) => "the database is damaged: restore a backup (`hive backup` makes them)",
        Some(5 | 261 | 517) => "another process holds it: is a hive running already?",
        Some(14) => "the file cannot be opened: does its folder exist, and may we write there?",
        Some(13) => "the disk is full",
        // All of SQLite's input and output errors share their lowest byte.
        Some(code) if code & 0xff == 10 => "the disk refused a read or a write: is it full, or failing?",
        _ => return error.context(format!("open the database {}", path.display())),
    };
    error.context(format!("open the database {}: {advice}", path.display()))
}
