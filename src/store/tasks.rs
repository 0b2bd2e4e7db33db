//! The one way to do work.

use anyhow::Result;
use base::{Moment, TaskId, TeamName, TopicId};
use channels::{ConversationId, SenderId};

use crate::sql::row;
use crate::{Conn, sql};

/// What sort of work it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Messages wait in a topic's mailbox.
    Message,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Kind::Message => "message",
        }
    }
}

/// How urgent it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Incidents.
    Critical = 0,
    /// What a person waits for.
    High = 1,
    /// Ordinary work.
    Normal = 2,
    /// What can wait.
    Low = 3,
}

/// Where a piece of work came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The conversation.
    pub conversation: Option<ConversationId>,
    /// The topic in it.
    pub topic: Option<TopicId>,
    /// Who caused it.
    pub sender: Option<SenderId>,
}

/// A task that was claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    /// The team that does it.
    pub team: TeamName,
    /// The lane: one task at a time runs in it.
    pub lane: String,
    /// Where it came from.
    pub origin: Origin,
    /// How often it was claimed, this time included.
    pub attempts: i64,
}

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// As it should.
    Done,
    /// With a fault that somebody was told.
    Failed,
    /// A person stopped it.
    Cancelled,
}

impl End {
    /// The word in the row.
    pub fn as_str(self) -> &'static str {
        match self {
            End::Done => "done",
            End::Failed => "failed",
            End::Cancelled => "cancelled",
        }
    }
}

/// The lane of a topic's session.
pub fn topic_lane(topic: TopicId) -> String {
    format!("main/{topic}")
}

/// Has the topic's session look into its mailbox. Changes nothing where that is queued already.
pub async fn enqueue_message(conn: &mut Conn, origin: &Origin, topic: TopicId, now: Moment) -> Result<()> {
    let sql = "INSERT INTO tasks (team, lane, kind, priority, state, conversation, topic, sender, created_at, due_at)
               VALUES ($1, $2, $3, $4, 'queued', $5, $6, $7, $8, $8) ON CONFLICT DO NOTHING";
    sql::query(sql)
        .bind(base::ids::MAIN)
        .bind(topic_lane(topic))
        .bind(Kind::Message.as_str())
        .bind(Priority::High as i64)
        .bind(origin.conversation.as_ref().map(ConversationId::as_str))
        .bind(topic.0)
        .bind(origin.sender.as_ref().map(SenderId::as_str))
        .bind(now)
        .execute(conn)
        .await?;
    Ok(())
}

/// Claims up to `limit` tasks that are due, the most urgent and oldest first, each in a lane that is free.
pub async fn claim(conn: &mut Conn, limit: u32, now: Moment, leased_until: Moment) -> Result<Vec<Task>> {
    // `OR IGNORE`: of two queued tasks of one lane the unique index lets only the first run.
    let sql = "UPDATE OR IGNORE tasks SET state = 'running', leased_until = $3, attempts = attempts + 1,
                 started_at = coalesce(started_at, $2)
               WHERE id IN (SELECT id FROM tasks t WHERE state = 'queued' AND due_at <= $2
                 AND NOT EXISTS (SELECT 1 FROM tasks r WHERE r.lane = t.lane AND r.state = 'running')
                 ORDER BY priority, id LIMIT $1)
               RETURNING id, team, lane, conversation, topic, sender, attempts";
    let mut rows: Vec<Raw> = sql::query_as(sql).bind(limit).bind(now).bind(leased_until).fetch_all(conn).await?;
    rows.sort_by_key(|row| row.id);
    rows.into_iter().map(Task::try_from).collect()
}

row! {
    struct Raw {
        id: i64,
        team: String,
        lane: String,
        conversation: Option<String>,
        topic: Option<i64>,
        sender: Option<String>,
        attempts: i64,
    }
}

impl TryFrom<Raw> for Task {
    type Error = anyhow::Error;
    fn try_from(raw: Raw) -> Result<Task> {
        Ok(Task {
            id: TaskId(raw.id),
            team: raw.team.parse()?,
            lane: raw.lane,
            origin: Origin {
                conversation: raw.conversation.map(|text| text.parse()).transpose()?,
                topic: raw.topic.map(TopicId),
                sender: raw.sender.map(|text| text.parse()).transpose()?,
            },
            attempts: raw.attempts,
        })
    }
}

row! {
    /// What a worker finds when it looks, without touching a row.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Found {
        /// There may be something to claim.
        pub claimable: bool,
        /// A running task is asked to end.
        pub to_stop: bool,
        /// When the next queued task is due that is not yet.
        pub next_due: Option<Moment>,
    }
}

/// Looks whether there is anything to do: a scan without work writes nothing.
pub async fn look(conn: &mut Conn, now: Moment) -> Result<Found> {
    let sql = "SELECT EXISTS (SELECT 1 FROM tasks t WHERE state = 'queued' AND due_at <= $1
                   AND NOT EXISTS (SELECT 1 FROM tasks r WHERE r.lane = t.lane AND r.state = 'running')) AS claimable,
                 EXISTS (SELECT 1 FROM tasks WHERE state = 'running' AND stop_asked IS NOT NULL) AS to_stop,
                 (SELECT min(due_at) FROM tasks WHERE state = 'queued' AND due_at > $1) AS next_due";
    sql::query_as(sql).bind(now).fetch_one(conn).await
}

/// Says that its worker lives.
pub async fn renew(conn: &mut Conn, ids: &[TaskId], leased_until: Moment) -> Result<()> {
    for id in ids {
        let sql = "UPDATE tasks SET leased_until = $2 WHERE id = $1 AND state = 'running'";
        sql::query(sql).bind(id.0).bind(leased_until).execute(&mut *conn).await?;
    }
    Ok(())
}

/// Ends a running task. `false` where it was not running.
pub async fn finish(conn: &mut Conn, id: TaskId, end: End, note: &str, now: Moment) -> Result<bool> {
    let sql = "UPDATE tasks SET state = $2, note = $3, finished_at = $4, leased_until = NULL
               WHERE id = $1 AND state = 'running'";
    let done = sql::query(sql).bind(id.0).bind(end.as_str()).bind(note).bind(now).execute(conn).await?;
    Ok(done.rows_affected() > 0)
}

/// Puts a running task back, to be claimed again at `due_at`; a later task of its lane may not overtake it.
pub async fn put_back(conn: &mut Conn, id: TaskId, due_at: Moment) -> Result<()> {
    // A second message task may have been queued meanwhile; this one looks into the same mailbox.
    let sql = "DELETE FROM tasks WHERE kind = 'message' AND state = 'queued'
               AND lane = (SELECT lane FROM tasks WHERE id = $1) AND id <> $1";
    sql::query(sql).bind(id.0).execute(&mut *conn).await?;
    let sql = "UPDATE tasks SET state = 'queued', leased_until = NULL, due_at = $2 WHERE id = $1 AND state = 'running'";
    sql::query(sql).bind(id.0).bind(due_at).execute(conn).await?;
    Ok(())
}

/// The running tasks whose lease is over, or all of them where `now` is `None`: at a start nobody works on them.
pub async fn abandoned(conn: &mut Conn, now: Option<Moment>) -> Result<Vec<(TaskId, i64)>> {
    let sql =
        "SELECT id, attempts FROM tasks WHERE state = 'running' AND ($1 IS NULL OR leased_until < $1) ORDER BY id";
    let rows: Vec<(i64, i64)> = sql::query_as(sql).bind(now).fetch_all(conn).await?;
    Ok(rows.into_iter().map(|(id, attempts)| (TaskId(id), attempts)).collect())
}

/// Why a running turn is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopAsked {
    /// A person said so.
    Person,
    /// A newer message is to be answered instead.
    Message,
}

/// Asks the running task of a topic to end. `false` where none runs.
pub async fn ask_to_stop(conn: &mut Conn, topic: TopicId, why: StopAsked) -> Result<bool> {
    let why = match why {
        StopAsked::Person => "person",
        StopAsked::Message => "message",
    };
    let sql = "UPDATE tasks SET stop_asked = $2 WHERE lane = $1 AND state = 'running'
               AND (stop_asked IS NULL OR stop_asked <> 'person')";
    let done = sql::query(sql).bind(topic_lane(topic)).bind(why).execute(conn).await?;
    Ok(done.rows_affected() > 0)
}

/// The running tasks that are asked to end, and why.
pub async fn to_stop(conn: &mut Conn) -> Result<Vec<(TaskId, StopAsked)>> {
    let sql = "SELECT id, stop_asked FROM tasks WHERE state = 'running' AND stop_asked IS NOT NULL";
    let rows: Vec<(i64, String)> = sql::query_as(sql).fetch_all(conn).await?;
    let why = |word: &str| if word == "person" { StopAsked::Person } else { StopAsked::Message };
    Ok(rows.into_iter().map(|(id, word)| (TaskId(id), why(&word))).collect())
}

/// A running or queued task of a topic.
pub async fn open_of_topic(conn: &mut Conn, topic: TopicId) -> Result<Vec<(TaskId, String)>> {
    let sql = "SELECT id, state FROM tasks WHERE lane = $1 AND state IN ('queued', 'running') ORDER BY id";
    let rows: Vec<(i64, String)> = sql::query_as(sql).bind(topic_lane(topic)).fetch_all(conn).await?;
    Ok(rows.into_iter().map(|(id, state)| (TaskId(id), state)).collect())
}

/// How many are queued and how many run.
pub async fn load(conn: &mut Conn) -> Result<(i64, i64)> {
    let sql = "SELECT coalesce(sum(state = 'queued'), 0), coalesce(sum(state = 'running'), 0) FROM tasks
               WHERE state IN ('queued', 'running')";
    sql::query_as(sql).fetch_one(conn).await
}

/// Whether nothing waits anywhere: no message to be placed, no task, nothing to be sent now.
pub async fn all_done(conn: &mut Conn) -> Result<bool> {
    let sql = "SELECT NOT EXISTS (SELECT 1 FROM inbox WHERE state = 'received')
                 AND NOT EXISTS (SELECT 1 FROM tasks WHERE state IN ('queued', 'running'))
                 AND NOT EXISTS (SELECT 1 FROM outbox WHERE state IN ('due', 'sending'))";
    sql::query_scalar(sql).fetch_one(conn).await
}
