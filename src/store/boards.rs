//! Live messages: what teams do for a topic, one message for each stretch of work.
//!
//! A board's message is a row of the outbox, in the state `draft` for as long as it is written anew; the outbox's queue
//! never sees it. A board whose row is no draft any more is not written on: it could not be sent, or somebody has
//! deleted it. It holds its topic's place all the same until its work is over, so that no second one appears.

use anyhow::Result;
use base::{Moment, OutboxId, TaskId, TeamName, TopicId};
use channels::ConversationId;

use crate::sql::row;
use crate::usage::Spent;
use crate::{Conn, sql};

/// What is known of a board's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// It is there, under this id.
    Shown(String),
    /// It was first tried at that moment, and nothing was heard of it.
    InDoubt(Moment),
    /// It is not written any more.
    Left,
}

/// A board whose work is not over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Board {
    /// The row of its message, and its own id.
    pub id: OutboxId,
    /// The topic.
    pub topic: TopicId,
    /// The first task of the work that it shows.
    pub first_task: TaskId,
    /// Its message.
    pub message: Message,
}

row! {
    struct Raw {
        id: i64,
        topic: i64,
        first_task: i64,
        writable: bool,
        message_id: Option<String>,
        first_attempt_at: Option<i64>,
        begun_at: i64,
    }
}

impl From<Raw> for Board {
    fn from(raw: Raw) -> Board {
        let message = match (raw.writable, raw.message_id) {
            (false, _) => Message::Left,
            (true, Some(message_id)) => Message::Shown(message_id),
            (true, None) => Message::InDoubt(raw.first_attempt_at.unwrap_or(raw.begun_at)),
        };
        Board { id: OutboxId(raw.id), topic: TopicId(raw.topic), first_task: TaskId(raw.first_task), message }
    }
}

const COLUMNS: &str = "SELECT b.message AS id, b.topic, b.first_task, o.state = 'draft' AS writable, o.message_id,
    o.first_attempt_at, b.begun_at FROM boards b JOIN outbox o ON o.id = b.message";

/// The boards whose work is not over, by topic.
pub async fn open_ones(conn: &mut Conn) -> Result<Vec<Board>> {
    let sql = format!("{COLUMNS} WHERE b.ended_at IS NULL ORDER BY b.topic");
    let rows: Vec<Raw> = sql::query_as(sql).fetch_all(conn).await?;
    Ok(rows.into_iter().map(Board::from).collect())
}

/// A board whose work is not over; `None` where it is, or where the board is forgotten.
pub async fn get(conn: &mut Conn, id: OutboxId) -> Result<Option<Board>> {
    let sql = format!("{COLUMNS} WHERE b.message = $1 AND b.ended_at IS NULL");
    let row: Option<Raw> = sql::query_as(sql).bind(id.0).fetch_optional(conn).await?;
    Ok(row.map(Board::from))
}

/// Begins a board, with a row of the outbox as its message.
///
/// # Errors
/// Where the topic has one whose work is not over.
pub async fn begin(conn: &mut Conn, message: OutboxId, topic: TopicId, first_task: TaskId, now: Moment) -> Result<()> {
    let sql = "INSERT INTO boards (message, topic, first_task, begun_at) VALUES ($1, $2, $3, $4)";
    sql::query(sql).bind(message.0).bind(topic.0).bind(first_task.0).bind(now).execute(conn).await?;
    Ok(())
}

/// The work of a board is over.
pub async fn end(conn: &mut Conn, id: OutboxId, now: Moment) -> Result<()> {
    let sql = "UPDATE boards SET ended_at = $2 WHERE message = $1 AND ended_at IS NULL";
    sql::query(sql).bind(id.0).bind(now).execute(conn).await?;
    Ok(())
}

/// What teams have to do for a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// The topic.
    pub topic: TopicId,
    /// The oldest task of it that is not over.
    pub first_task: TaskId,
    /// When that was given.
    pub since: Moment,
}

/// The topics that have work of teams which is not over. Goes from topic to topic and not from task to task, so that
/// a long queue costs no more than a short one.
pub async fn topics_with_work(conn: &mut Conn) -> Result<Vec<Work>> {
    // Named, because the planner would rather walk over every task that such a topic ever had.
    const OPEN: &str = "tasks INDEXED BY open_work_of_topics
                        WHERE topic IS NOT NULL AND kind <> 'message' AND state IN ('queued', 'running')";
    let sql = format!(
        "WITH RECURSIVE found (topic) AS (
           SELECT min(topic) FROM {OPEN}
           UNION ALL SELECT (SELECT min(topic) FROM {OPEN} AND topic > found.topic)
                     FROM found WHERE found.topic IS NOT NULL)
         SELECT t.topic, t.id, t.created_at FROM found JOIN tasks t
           ON t.id = (SELECT min(id) FROM {OPEN} AND topic = found.topic)
         WHERE found.topic IS NOT NULL"
    );
    let rows: Vec<(i64, i64, i64)> = sql::query_as(sql).fetch_all(conn).await?;
    let work = |(topic, id, since)| Work { topic: TopicId(topic), first_task: TaskId(id), since };
    Ok(rows.into_iter().map(work).collect())
}

row! {
    /// How many tasks of a stretch of work are in each state.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Tally {
        /// Their turns run.
        pub running: i64,
        /// They wait.
        pub queued: i64,
        /// They ended as they should.
        pub done: i64,
        /// They ended with a fault.
        pub failed: i64,
        /// They were stopped, or taken out of their queue.
        pub cancelled: i64,
    }
}

impl Tally {
    /// How many are not over.
    pub fn open(&self) -> i64 {
        self.running + self.queued
    }
}

/// What has become of a topic's work since its task `first`. Tasks of teams that are gone do not count.
pub async fn tally(conn: &mut Conn, topic: TopicId, first: TaskId) -> Result<Tally> {
    let sql = "SELECT coalesce(sum(state = 'running'), 0) AS running, coalesce(sum(state = 'queued'), 0) AS queued,
                 coalesce(sum(state = 'done'), 0) AS done, coalesce(sum(state = 'failed'), 0) AS failed,
                 coalesce(sum(state = 'cancelled'), 0) AS cancelled
               FROM tasks WHERE topic = $1 AND id >= $2 AND kind <> 'message'";
    sql::query_as(sql).bind(topic.0).bind(first.0).fetch_one(conn).await
}

/// How far a task is that is not over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Its turn runs, since then.
    Working(Moment),
    /// Its turn runs, and is asked to end.
    Stopping,
    /// It waits for its team, since then.
    Queued(Moment),
    /// It waits for that moment.
    Waiting(Moment),
}

/// A task that is not over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its id.
    pub task: TaskId,
    /// The team that does it.
    pub team: TeamName,
    /// What is to be done.
    pub body: String,
    /// It makes a new team ready, by our own words and not by anybody's.
    pub bootstrap: bool,
    /// How far it is.
    pub progress: Progress,
}

row! {
    struct LineRow {
        id: i64,
        team: String,
        body: String,
        bootstrap: bool,
        running: bool,
        stopping: bool,
        created_at: i64,
        started_at: Option<i64>,
        due_at: i64,
    }
}

/// What is not over of a topic's work: what runs, then the rest in the order in which its teams will come to it.
pub async fn lines(conn: &mut Conn, topic: TopicId, now: Moment, limit: u32) -> Result<Vec<Line>> {
    let sql = "SELECT id, team, body, kind = 'bootstrap' AS bootstrap, state = 'running' AS running,
                 stop_asked IS NOT NULL AS stopping, created_at, started_at, due_at
               FROM tasks INDEXED BY open_work_of_topics
               WHERE topic = $1 AND topic IS NOT NULL AND kind <> 'message' AND state IN ('queued', 'running')
               ORDER BY state = 'queued', priority, id LIMIT $2";
    let rows: Vec<LineRow> = sql::query_as(sql).bind(topic.0).bind(limit).fetch_all(conn).await?;
    let line = |row: LineRow| {
        let progress = match (row.running, row.stopping) {
            (true, true) => Progress::Stopping,
            (true, false) => Progress::Working(row.started_at.unwrap_or(row.created_at)),
            (false, _) if row.due_at > now => Progress::Waiting(row.due_at),
            (false, _) => Progress::Queued(row.created_at),
        };
        let (task, team, body, bootstrap) = (TaskId(row.id), row.team.parse()?, row.body, row.bootstrap);
        Ok(Line { task, team, body, bootstrap, progress })
    };
    rows.into_iter().map(line).collect()
}

row! {
    struct EffortRow {
        steps: i64,
        calls: i64,
        tokens: i64,
        cost_micro_usd: i64,
        unpriced: i64,
    }
}

/// The steps that the turn of a task has made so far, and what it has spent. Nothing where it has not begun.
pub async fn effort(conn: &mut Conn, task: TaskId) -> Result<(i64, Spent)> {
    let sql = "SELECT coalesce((SELECT steps FROM runs WHERE task = $1), 0) AS steps, count(*) AS calls,
                 coalesce(sum(input_tokens + output_tokens + cache_read_tokens + cache_write_tokens), 0) AS tokens,
                 coalesce(sum(cost_micro_usd), 0) AS cost_micro_usd,
                 coalesce(sum(cost_micro_usd IS NULL), 0) AS unpriced
               FROM usage WHERE run IS NOT NULL AND run = (SELECT id FROM runs WHERE task = $1)";
    let row: EffortRow = sql::query_as(sql).bind(task.0).fetch_one(conn).await?;
    let EffortRow { steps, calls, tokens, cost_micro_usd, unpriced } = row;
    Ok((steps, Spent { calls, tokens, cost_micro_usd, unpriced }))
}

/// Whether something else is to be said in a conversation: a board lets it go first.
pub async fn must_wait(conn: &mut Conn, conversation: &ConversationId) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM outbox WHERE conversation = $1 AND state IN ('due', 'sending'))";
    sql::query_scalar(sql).bind(conversation.as_str()).fetch_one(conn).await
}

#[cfg(test)]
mod tests;
