//! Live messages: what teams do for a topic, one message for each stretch of work.
//!
//! Work is what teams are given as tasks, and what they and their subagents are asked in the middle of turns.
//!
//! A board's message is a row of the outbox, in the state `draft` for as long as it is written anew; the outbox's queue
//! never sees it. A board whose row is no draft any more is not written on: it could not be sent, or somebody has
//! deleted it. It holds its topic's place all the same until its work is over, so that no second one appears.

use std::collections::BTreeMap;

use anyhow::Result;
use base::{Moment, OutboxId, RunId, TaskId, TeamName, TopicId};
use channels::ConversationId;

use crate::runs::{self, Answering};
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
    /// The oldest task of it that is not over; where there is none, the one whose turn asks.
    pub first_task: TaskId,
    /// Since when there is some: the oldest task was given, or the oldest question asked.
    pub since: Moment,
    /// Whether there are tasks. Else somebody is asked in the middle of the topic's own turn, which waits for it.
    pub given: bool,
}

/// The topics that have work of teams which is not over, by topic.
pub async fn topics_with_work(conn: &mut Conn) -> Result<Vec<Work>> {
    let given = topics_with_tasks(conn).await?;
    let mut found: BTreeMap<TopicId, Work> = given.into_iter().map(|work| (work.topic, work)).collect();
    for asked in runs::answering(conn).await? {
        let Some(topic) = asked.topic else { continue };
        let alone = Work { topic, first_task: asked.task, since: asked.since, given: false };
        let work = found.entry(topic).or_insert(alone);
        work.since = work.since.min(asked.since);
    }
    Ok(found.into_values().collect())
}

/// Goes from topic to topic and not from task to task, so that a long queue costs no more than a short one.
async fn topics_with_tasks(conn: &mut Conn) -> Result<Vec<Work>> {
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
    let work = |(topic, id, since)| Work { topic: TopicId(topic), first_task: TaskId(id), since, given: true };
    Ok(rows.into_iter().map(work).collect())
}

row! {
    /// How much of a stretch of work is in each state: tasks, and what is asked now.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Tally {
        /// Their turns run.
        pub running: i64,
        /// They wait.
        pub queued: i64,
        /// What teams and their subagents are asked in the middle of turns, and have not answered.
        pub asked: i64,
        /// They ended as they should.
        pub done: i64,
        /// They ended with a fault.
        pub failed: i64,
        /// They were stopped, or taken out of their queue.
        pub cancelled: i64,
    }
}

impl Tally {
    /// How much is not over.
    pub fn open(&self) -> i64 {
        self.running + self.queued + self.asked
    }
}

/// What has become of a topic's work since its task `first`. Tasks of teams that are gone do not count, nor does what
/// was asked and is over: whoever asked says what came of it.
pub async fn tally(conn: &mut Conn, topic: TopicId, first: TaskId) -> Result<Tally> {
    let asked = i64::try_from(asked_for(conn, topic).await?.len())?;
    let sql = "SELECT coalesce(sum(state = 'running'), 0) AS running, coalesce(sum(state = 'queued'), 0) AS queued,
                 $3 AS asked, coalesce(sum(state = 'done'), 0) AS done, coalesce(sum(state = 'failed'), 0) AS failed,
                 coalesce(sum(state = 'cancelled'), 0) AS cancelled
               FROM tasks WHERE topic = $1 AND id >= $2 AND kind <> 'message'";
    sql::query_as(sql).bind(topic.0).bind(first.0).bind(asked).fetch_one(conn).await
}

/// Who answers in the middle of turns for a topic, the oldest first.
pub async fn asked_for(conn: &mut Conn, topic: TopicId) -> Result<Vec<Answering>> {
    let mut all = runs::answering(conn).await?;
    all.retain(|asked| asked.topic == Some(topic));
    Ok(all)
}

/// How far something is that is not over.
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

/// What sort of work something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// A task.
    Task,
    /// A task that makes a new team ready, by our own words and not by anybody's.
    Bootstrap,
    /// The team is asked in the middle of another one's turn.
    Question,
    /// A subagent or a scout works in the middle of the team's own turn.
    Subagent,
}

/// Something that is not over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its turn; `None` where it has not begun.
    pub run: Option<RunId>,
    /// The team that does it.
    pub team: TeamName,
    /// What sort of work it is.
    pub sort: Sort,
    /// What is to be done.
    pub body: String,
    /// How far it is.
    pub progress: Progress,
}

impl From<Answering> for Line {
    fn from(asked: Answering) -> Line {
        let sort = if asked.is_own() { Sort::Subagent } else { Sort::Question };
        let progress = if asked.stopping { Progress::Stopping } else { Progress::Working(asked.since) };
        Line { run: Some(asked.run), team: asked.team, sort, body: asked.body, progress }
    }
}

row! {
    struct LineRow {
        run: Option<i64>,
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

/// What is not over of a topic's work, at most `limit` of it: the tasks that run, what is asked, then the other tasks
/// in the order in which their teams will come to them.
pub async fn lines(conn: &mut Conn, topic: TopicId, now: Moment, limit: u32) -> Result<Vec<Line>> {
    let sql = "SELECT r.id AS run, t.team, body, kind = 'bootstrap' AS bootstrap, t.state = 'running' AS running,
                 stop_asked IS NOT NULL AS stopping, created_at, t.started_at, due_at
               FROM tasks t INDEXED BY open_work_of_topics LEFT JOIN runs r ON r.task = t.id
               WHERE t.topic = $1 AND t.topic IS NOT NULL AND kind <> 'message' AND t.state IN ('queued', 'running')
               ORDER BY t.state = 'queued', priority, t.id LIMIT $2";
    let rows: Vec<LineRow> = sql::query_as(sql).bind(topic.0).bind(limit).fetch_all(conn).await?;
    let running = rows.iter().take_while(|row| row.running).count();
    let line = |row: LineRow| {
        let progress = match (row.running, row.stopping) {
            (true, true) => Progress::Stopping,
            (true, false) => Progress::Working(row.started_at.unwrap_or(row.created_at)),
            (false, _) if row.due_at > now => Progress::Waiting(row.due_at),
            (false, _) => Progress::Queued(row.created_at),
        };
        let sort = if row.bootstrap { Sort::Bootstrap } else { Sort::Task };
        Ok(Line { run: row.run.map(RunId), team: row.team.parse()?, sort, body: row.body, progress })
    };
    let mut lines: Vec<Line> = rows.into_iter().map(line).collect::<Result<_>>()?;
    lines.splice(running..running, asked_for(conn, topic).await?.into_iter().map(Line::from));
    lines.truncate(usize::try_from(limit)?);
    Ok(lines)
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

/// The steps that a turn has made so far, and what it has spent. What is asked in the middle of it counts for itself.
pub async fn effort(conn: &mut Conn, run: RunId) -> Result<(i64, Spent)> {
    let sql = "SELECT coalesce((SELECT steps FROM runs WHERE id = $1), 0) AS steps, count(*) AS calls,
                 coalesce(sum(input_tokens + output_tokens + cache_read_tokens + cache_write_tokens), 0) AS tokens,
                 coalesce(sum(cost_micro_usd), 0) AS cost_micro_usd,
                 coalesce(sum(cost_micro_usd IS NULL), 0) AS unpriced
               FROM usage WHERE run IS NOT NULL AND run = $1";
    let row: EffortRow = sql::query_as(sql).bind(run.0).fetch_one(conn).await?;
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
