//! A team's queue as others see it: what waits, what runs, what came of it.

use anyhow::Result;
use base::{Moment, RunId, TaskId, TeamName};

use super::{Kind, Priority, StopAsked};
use crate::sql::row;
use crate::{Conn, sql};

/// A task that is not over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Open {
    /// Its id.
    pub id: TaskId,
    /// What sort of work it is.
    pub kind: Kind,
    /// How urgent it is.
    pub priority: Priority,
    /// Whether its turn runs.
    pub running: bool,
    /// What is to be done.
    pub body: String,
    /// When it was given.
    pub created_at: Moment,
    /// When its turn began first.
    pub started_at: Option<Moment>,
    /// The giver's word for it.
    pub correlation: Option<String>,
}

row! {
    struct OpenRow {
        id: i64,
        kind: String,
        priority: i64,
        running: bool,
        body: String,
        created_at: i64,
        started_at: Option<i64>,
        correlation: Option<String>,
    }
}

/// A team's tasks that are not over: the one that runs, then the others in the order in which they will.
pub async fn open_of_team(conn: &mut Conn, team: &TeamName, limit: u32) -> Result<Vec<Open>> {
    let sql = "SELECT id, kind, priority, state = 'running' AS running, body, created_at, started_at, correlation
               FROM tasks INDEXED BY open_tasks_of_team WHERE team = $1 AND state IN ('queued', 'running')
               ORDER BY state = 'queued', priority, id LIMIT $2";
    let rows: Vec<OpenRow> = sql::query_as(sql).bind(team.as_str()).bind(limit).fetch_all(conn).await?;
    let open = |row: OpenRow| {
        Ok(Open {
            id: TaskId(row.id),
            kind: Kind::read(&row.kind)?,
            priority: Priority::read(row.priority)?,
            running: row.running,
            body: row.body,
            created_at: row.created_at,
            started_at: row.started_at,
            correlation: row.correlation,
        })
    };
    rows.into_iter().map(open).collect()
}

/// How many tasks wait in the queue of each team that has any.
pub async fn depths(conn: &mut Conn) -> Result<Vec<(String, i64)>> {
    let sql = "SELECT team, count(*) FROM tasks INDEXED BY claimable_tasks WHERE state = 'queued' GROUP BY team";
    sql::query_as(sql).fetch_all(conn).await
}

/// A task whose turn runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// Its id.
    pub id: TaskId,
    /// The team that does it.
    pub team: TeamName,
    /// What sort of work it is.
    pub kind: Kind,
    /// What is to be done; empty where messages say so.
    pub body: String,
    /// The name of the topic that it is for.
    pub topic: Option<String>,
    /// When its turn began first.
    pub started_at: Option<Moment>,
}

row! {
    struct RunningRow {
        id: i64,
        team: String,
        kind: String,
        body: String,
        topic: Option<String>,
        started_at: Option<i64>,
    }
}

/// What every team works at.
pub async fn running(conn: &mut Conn) -> Result<Vec<Running>> {
    let sql =
        "SELECT id, team, kind, body, (SELECT name FROM topics WHERE topics.id = tasks.topic) AS topic, started_at
               FROM tasks INDEXED BY one_running_task_per_lane WHERE state = 'running' ORDER BY id";
    let rows: Vec<RunningRow> = sql::query_as(sql).fetch_all(conn).await?;
    let running = |row: RunningRow| {
        let (id, team, kind) = (TaskId(row.id), row.team.parse()?, Kind::read(&row.kind)?);
        Ok(Running { id, team, kind, body: row.body, topic: row.topic, started_at: row.started_at })
    };
    rows.into_iter().map(running).collect()
}

/// The ids of a team's tasks whose turns run.
pub async fn running_of(conn: &mut Conn, team: &TeamName) -> Result<Vec<TaskId>> {
    let sql = "SELECT id FROM tasks INDEXED BY one_running_task_per_lane
               WHERE team = $1 AND state = 'running' ORDER BY id";
    let ids: Vec<i64> = sql::query_scalar(sql).bind(team.as_str()).fetch_all(conn).await?;
    Ok(ids.into_iter().map(TaskId).collect())
}

/// A task that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completed {
    /// Its id.
    pub id: TaskId,
    /// How it ended: `done`, `failed` or `cancelled`.
    pub state: String,
    /// How long it took, from the beginning of its first turn.
    pub duration_ms: Option<i64>,
    /// What it came to; where it failed without a result, why.
    pub result: String,
    /// When it was given.
    pub created_at: Moment,
}

row! {
    struct CompletedRow {
        id: i64,
        state: String,
        duration_ms: Option<i64>,
        result: String,
        created_at: i64,
    }
}

/// A team's tasks that ended since then, the newest first. Messages of topics are talk, and none of them.
pub async fn completed(conn: &mut Conn, team: &TeamName, since: Moment, limit: u32) -> Result<Vec<Completed>> {
    let sql = "SELECT id, state, finished_at - started_at AS duration_ms,
                 CASE WHEN result = '' THEN note ELSE result END AS result, created_at
               FROM tasks WHERE team = $1 AND finished_at >= $2 AND kind <> 'message'
               ORDER BY finished_at DESC, id DESC LIMIT $3";
    let rows: Vec<CompletedRow> =
        sql::query_as(sql).bind(team.as_str()).bind(since).bind(limit).fetch_all(conn).await?;
    let completed = |row: CompletedRow| Completed {
        id: TaskId(row.id),
        state: row.state,
        duration_ms: row.duration_ms,
        result: row.result,
        created_at: row.created_at,
    };
    Ok(rows.into_iter().map(completed).collect())
}

/// How many tasks wait in a team's queue.
pub async fn queued_of(conn: &mut Conn, team: &TeamName) -> Result<i64> {
    let sql = "SELECT count(*) FROM tasks INDEXED BY open_tasks_of_team
               WHERE team = $1 AND state IN ('queued', 'running') AND state = 'queued'";
    sql::query_scalar(sql).bind(team.as_str()).fetch_one(conn).await
}

/// Takes everything out of a team's queue for good: the team goes. How many there were.
pub async fn drop_queue(conn: &mut Conn, team: &TeamName) -> Result<u64> {
    let sql = "DELETE FROM tasks INDEXED BY open_tasks_of_team
               WHERE team = $1 AND state IN ('queued', 'running') AND state = 'queued'";
    Ok(sql::query(sql).bind(team.as_str()).execute(conn).await?.rows_affected())
}

/// Asks a team's running tasks to end. How many there are.
pub async fn stop_team(conn: &mut Conn, team: &TeamName, why: StopAsked) -> Result<u64> {
    let sql = "UPDATE tasks INDEXED BY one_running_task_per_lane SET stop_asked = $2
               WHERE team = $1 AND state = 'running'";
    Ok(sql::query(sql).bind(team.as_str()).bind(why.as_str()).execute(conn).await?.rows_affected())
}

/// How many pieces of work a child has handed to its parent since then.
pub async fn handed_over_since(conn: &mut Conn, parent: &TeamName, child: &TeamName, since: Moment) -> Result<i64> {
    let sql = "SELECT count(*) FROM tasks INDEXED BY handoffs
               WHERE team = $1 AND giver = $2 AND kind = 'handoff' AND created_at > $3 AND correlation IS NOT NULL";
    sql::query_scalar(sql).bind(parent.as_str()).bind(child.as_str()).bind(since).fetch_one(conn).await
}

/// The task that a turn has delegated under this word.
pub async fn of_call(conn: &mut Conn, cause: RunId, correlation: &str) -> Result<Option<TaskId>> {
    let sql = "SELECT id FROM tasks WHERE cause = $1 AND correlation = $2 AND kind = 'delegate'";
    let id: Option<i64> = sql::query_scalar(sql).bind(cause.0).bind(correlation).fetch_optional(conn).await?;
    Ok(id.map(TaskId))
}

/// The task that a child has handed to its parent under this word since then.
pub async fn known_correlation(
    conn: &mut Conn,
    parent: &TeamName,
    child: &TeamName,
    correlation: &str,
    since: Moment,
) -> Result<Option<TaskId>> {
    let sql = "SELECT id FROM tasks INDEXED BY handoffs
               WHERE team = $1 AND giver = $2 AND kind = 'handoff' AND created_at > $4 AND correlation = $3
               ORDER BY id DESC LIMIT 1";
    let id: Option<i64> = sql::query_scalar(sql)
        .bind(parent.as_str())
        .bind(child.as_str())
        .bind(correlation)
        .bind(since)
        .fetch_optional(conn)
        .await?;
    Ok(id.map(TaskId))
}
