//! What is open for a topic: its own turns, and the work of teams.
//!
//! The statements name their index: the planner would rather walk over every task that such a topic ever had.

use anyhow::Result;
use base::{TaskId, TopicId};

use super::{Raw, Task, topic_lane};
use crate::{Conn, sql};

/// The running and queued tasks of a topic's own lane, with the words of their states.
pub async fn open_of_topic(conn: &mut Conn, topic: TopicId) -> Result<Vec<(TaskId, String)>> {
    let sql = "SELECT id, state FROM tasks INDEXED BY queued_lanes WHERE lane = $1 AND state = 'queued'
               UNION ALL SELECT id, state FROM tasks INDEXED BY one_running_task_per_lane
                 WHERE lane = $1 AND state = 'running' ORDER BY id";
    let rows: Vec<(i64, String)> = sql::query_as(sql).bind(topic_lane(topic)).fetch_all(conn).await?;
    Ok(rows.into_iter().map(|(id, state)| (TaskId(id), state)).collect())
}

/// Asks the teams to end what they do for a topic. The ids.
pub async fn stop_work_of_topic(conn: &mut Conn, topic: TopicId) -> Result<Vec<TaskId>> {
    let sql = "UPDATE tasks INDEXED BY open_work_of_topics SET stop_asked = 'person'
               WHERE topic = $1 AND topic IS NOT NULL AND kind <> 'message' AND state IN ('queued', 'running')
                 AND state = 'running' AND (stop_asked IS NULL OR stop_asked = 'message') RETURNING id";
    let ids: Vec<i64> = sql::query_scalar(sql).bind(topic.0).fetch_all(conn).await?;
    Ok(ids.into_iter().map(TaskId).collect())
}

/// What waits for a topic in the teams' queues, without bootstraps; the oldest first.
pub async fn queued_work_of_topic(conn: &mut Conn, topic: TopicId) -> Result<Vec<Task>> {
    let sql = "SELECT id, team, lane, kind, priority, body, conversation, topic, sender, giver, cause, continues,
                 options, attempts, failures
               FROM tasks INDEXED BY open_work_of_topics
               WHERE topic = $1 AND topic IS NOT NULL AND kind <> 'message' AND state IN ('queued', 'running')
                 AND state = 'queued' AND kind <> 'bootstrap' ORDER BY id";
    let rows: Vec<Raw> = sql::query_as(sql).bind(topic.0).fetch_all(conn).await?;
    rows.into_iter().map(Task::try_from).collect()
}
