//! The one way to do work.

mod lanes;
mod of_team;
mod of_topic;
mod replace;

use anyhow::{Context, Result, bail};
use base::{Moment, RunId, TaskId, TeamName, TopicId};
use channels::{ConversationId, SenderId};
use serde::{Deserialize, Serialize};

use crate::sql::row;
use crate::{Conn, calls, runs, sql};

pub use lanes::{Found, claim, leave, look, put_back, retry};
pub use of_team::{
    Completed, Open, Running, completed, depths, drop_queue, handed_over_since, known_correlation, of_call,
    open_of_team, queued_of, running, running_of, stop_team,
};
pub use of_topic::{open_of_topic, queued_work_of_topic, stop_work_of_topic};
pub use replace::{Given, cancel_given, replaced_by, same_open, stop_given};

/// What sort of work it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Messages wait in a topic's mailbox.
    Message,
    /// A parent gave it.
    Delegate,
    /// A new team makes itself ready.
    Bootstrap,
    /// A trigger fired.
    Trigger,
    /// A child asks its parent to do it.
    Handoff,
    /// What a child made of a task, for the team that gave it.
    Result,
}

impl Kind {
    const ALL: [Kind; 6] = [Kind::Message, Kind::Delegate, Kind::Bootstrap, Kind::Trigger, Kind::Handoff, Kind::Result];

    /// The word in the row.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Message => "message",
            Kind::Delegate => "delegate",
            Kind::Bootstrap => "bootstrap",
            Kind::Trigger => "trigger",
            Kind::Handoff => "handoff",
            Kind::Result => "result",
        }
    }

    fn read(word: &str) -> Result<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.as_str() == word).with_context(|| format!("no kind of task: {word}"))
    }
}

/// How urgent it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// Incidents.
    Critical = 0,
    /// What a person waits for.
    High = 1,
    /// Ordinary work.
    #[default]
    Normal = 2,
    /// What can wait.
    Low = 3,
}

impl Priority {
    fn read(number: i64) -> Result<Priority> {
        Ok(match number {
            0 => Priority::Critical,
            1 => Priority::High,
            2 => Priority::Normal,
            3 => Priority::Low,
            other => bail!("no priority: {other}"),
        })
    }
}

/// What else the turn of a task is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// The subagent that does it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
    /// Most steps of its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
    /// The task whose question it is to answer: what its turn ends with is no result for anybody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<TaskId>,
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
    /// What sort of work it is.
    pub kind: Kind,
    /// How urgent it is: so is what comes of it.
    pub priority: Priority,
    /// What is to be done; empty where messages say so.
    pub body: String,
    /// Where it came from.
    pub origin: Origin,
    /// The team that gave it.
    pub giver: Option<TeamName>,
    /// The turn in which it was given.
    pub cause: Option<RunId>,
    /// The turn whose talk its turn goes on with.
    pub continues: Option<RunId>,
    /// What else its turn is told.
    pub options: Options,
    /// How often it was claimed, this time included, and not put back in good order since.
    pub attempts: i64,
    /// How often its turn failed by a fault that may pass.
    pub failures: i64,
}

/// A piece of work for a team.
#[derive(Clone, Debug)]
pub struct New<'a> {
    /// The team that is to do it.
    pub team: &'a TeamName,
    /// What sort of work it is.
    pub kind: Kind,
    /// How urgent it is.
    pub priority: Priority,
    /// What is to be done.
    pub body: &'a str,
    /// Where it came from.
    pub origin: &'a Origin,
    /// The team that gives it.
    pub giver: Option<&'a TeamName>,
    /// The turn in which it is given.
    pub cause: Option<RunId>,
    /// The turn whose talk its turn goes on with.
    pub continues: Option<RunId>,
    /// An opaque word of the giver's.
    pub correlation: Option<&'a str>,
    /// What else its turn is told.
    pub options: Options,
}

impl<'a> New<'a> {
    /// Ordinary work that nobody in particular gives.
    pub fn of(team: &'a TeamName, kind: Kind, body: &'a str, origin: &'a Origin) -> New<'a> {
        New {
            team,
            kind,
            priority: Priority::Normal,
            body,
            origin,
            giver: None,
            cause: None,
            continues: None,
            correlation: None,
            options: Options::default(),
        }
    }
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

/// The lane of a piece of work: what the root team does for a topic waits for that topic's turns, and all else that a
/// team does for the team's others.
fn lane(new: &New<'_>) -> String {
    match new.origin.topic {
        Some(topic) if new.team.is_main() => topic_lane(topic),
        _ => new.team.to_string(),
    }
}

/// Queues a piece of work.
///
/// # Errors
/// Where there is no such team.
pub async fn give(conn: &mut Conn, new: &New<'_>, now: Moment) -> Result<TaskId> {
    let sql = "INSERT INTO tasks (team, lane, kind, priority, state, body, conversation, topic, sender, giver, cause,
                 continues, correlation, options, created_at, due_at)
               VALUES ($1, $2, $3, $4, 'queued', $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14) RETURNING id";
    let id = sql::query_scalar(sql)
        .bind(new.team.as_str())
        .bind(lane(new))
        .bind(new.kind.as_str())
        .bind(new.priority as i64)
        .bind(new.body)
        .bind(new.origin.conversation.as_ref().map(ConversationId::as_str))
        .bind(new.origin.topic.map(|topic| topic.0))
        .bind(new.origin.sender.as_ref().map(SenderId::as_str))
        .bind(new.giver.map(TeamName::as_str))
        .bind(new.cause.map(|run| run.0))
        .bind(new.continues.map(|run| run.0))
        .bind(new.correlation)
        .bind(serde_json::to_string(&new.options)?)
        .bind(now)
        .fetch_one(conn)
        .await?;
    Ok(TaskId(id))
}

row! {
    struct Raw {
        id: i64,
        team: String,
        lane: String,
        kind: String,
        priority: i64,
        body: String,
        conversation: Option<String>,
        topic: Option<i64>,
        sender: Option<String>,
        giver: Option<String>,
        cause: Option<i64>,
        continues: Option<i64>,
        options: String,
        attempts: i64,
        failures: i64,
    }
}

impl TryFrom<Raw> for Task {
    type Error = anyhow::Error;
    fn try_from(raw: Raw) -> Result<Task> {
        Ok(Task {
            id: TaskId(raw.id),
            team: raw.team.parse()?,
            lane: raw.lane,
            kind: Kind::read(&raw.kind)?,
            priority: Priority::read(raw.priority)?,
            body: raw.body,
            origin: Origin {
                conversation: raw.conversation.map(|text| text.parse()).transpose()?,
                topic: raw.topic.map(TopicId),
                sender: raw.sender.map(|text| text.parse()).transpose()?,
            },
            giver: raw.giver.map(|name| name.parse()).transpose()?,
            cause: raw.cause.map(RunId),
            continues: raw.continues.map(RunId),
            options: serde_json::from_str(&raw.options).context("read the options of a task")?,
            attempts: raw.attempts,
            failures: raw.failures,
        })
    }
}

/// A task, if it is there.
pub async fn get(conn: &mut Conn, id: TaskId) -> Result<Option<Task>> {
    let sql = "SELECT id, team, lane, kind, priority, body, conversation, topic, sender, giver, cause, continues,
                 options, attempts, failures FROM tasks WHERE id = $1";
    let row: Option<Raw> = sql::query_as(sql).bind(id.0).fetch_optional(conn).await?;
    row.map(Task::try_from).transpose()
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
    finish_with(conn, id, end, note, "", now).await
}

/// Ends a running task with what it came to. `false` where it was not running.
pub async fn finish_with(conn: &mut Conn, id: TaskId, end: End, note: &str, result: &str, now: Moment) -> Result<bool> {
    let sql = "UPDATE tasks SET state = $2, note = $3, result = $5, finished_at = $4, leased_until = NULL
               WHERE id = $1 AND state = 'running'";
    let done = sql::query(sql).bind(id.0).bind(end.as_str()).bind(note).bind(now).bind(result).execute(conn).await?;
    Ok(done.rows_affected() > 0)
}

/// Ends a task that waits in its queue, and with it the turn that it had begun and that waits to be tried again. `false`
/// where it does not wait.
pub async fn cancel(conn: &mut Conn, id: TaskId, note: &str, now: Moment) -> Result<bool> {
    let sql = "UPDATE tasks SET state = $2, note = $3, finished_at = $4 WHERE id = $1 AND state = 'queued'";
    let end = End::Cancelled;
    let done = sql::query(sql).bind(id.0).bind(end.as_str()).bind(note).bind(now).execute(&mut *conn).await?;
    if done.rows_affected() == 0 {
        return Ok(false);
    }
    if let Some(run) = runs::of_task(conn, id).await? {
        calls::interrupt(conn, run.id, now).await?;
        runs::finish(conn, run, end, note, now).await?;
    }
    Ok(true)
}

/// The running tasks whose lease is over, or all of them where `now` is `None`: at a start nobody works on them.
pub async fn abandoned(conn: &mut Conn, now: Option<Moment>) -> Result<Vec<(TaskId, i64)>> {
    // Named, because the planner would rather walk over all tasks there ever were than sort the few that run.
    let sql = "SELECT id, attempts FROM tasks INDEXED BY one_running_task_per_lane
               WHERE state = 'running' AND ($1 IS NULL OR leased_until < $1) ORDER BY id";
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
    /// A newer task is to be done instead.
    Replaced,
    /// Its team goes.
    Closing,
}

impl StopAsked {
    fn as_str(self) -> &'static str {
        match self {
            StopAsked::Person => "person",
            StopAsked::Message => "message",
            StopAsked::Replaced => "replaced",
            StopAsked::Closing => "closing",
        }
    }
}

/// Asks the running task of a topic to end. `false` where none runs.
pub async fn ask_to_stop(conn: &mut Conn, topic: TopicId, why: StopAsked) -> Result<bool> {
    // What a newer message may not end: the turn of work that was given.
    let sql = "UPDATE tasks SET stop_asked = $2 WHERE lane = $1 AND state = 'running'
               AND (kind = 'message' OR $2 <> 'message') AND (stop_asked IS NULL OR stop_asked = 'message')";
    let done = sql::query(sql).bind(topic_lane(topic)).bind(why.as_str()).execute(conn).await?;
    Ok(done.rows_affected() > 0)
}

/// The running tasks that are asked to end, and why.
pub async fn to_stop(conn: &mut Conn) -> Result<Vec<(TaskId, StopAsked)>> {
    let sql = "SELECT id, stop_asked FROM tasks WHERE state = 'running' AND stop_asked IS NOT NULL";
    let rows: Vec<(i64, String)> = sql::query_as(sql).fetch_all(conn).await?;
    let all = [StopAsked::Person, StopAsked::Message, StopAsked::Replaced, StopAsked::Closing];
    let why = |word: &str| all.into_iter().find(|why| why.as_str() == word).with_context(|| format!("why: {word}"));
    rows.into_iter().map(|(id, word)| Ok((TaskId(id), why(&word)?))).collect()
}

/// How many are queued and how many run.
pub async fn load(conn: &mut Conn) -> Result<(i64, i64)> {
    let sql = "SELECT (SELECT count(*) FROM tasks WHERE state = 'queued'),
                 (SELECT count(*) FROM tasks WHERE state = 'running')";
    sql::query_as(sql).fetch_one(conn).await
}

/// Whether nothing waits anywhere: no message to be placed, no task, nothing to be sent now.
pub async fn all_done(conn: &mut Conn) -> Result<bool> {
    let sql = "SELECT NOT EXISTS (SELECT 1 FROM inbox WHERE state = 'received')
                 AND NOT EXISTS (SELECT 1 FROM tasks WHERE state IN ('queued', 'running'))
                 AND NOT EXISTS (SELECT 1 FROM outbox WHERE state IN ('due', 'sending'))";
    sql::query_scalar(sql).fetch_one(conn).await
}

#[cfg(test)]
mod tests;
