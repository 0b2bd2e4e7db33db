//! What a turn means to do, and how far it is; and the skills that it has activated.

use anyhow::Result;
use base::{Moment, RunId};

use crate::sql::row;
use crate::{Conn, events, sql};

/// How many items a list may have: as the table says.
pub const MAX: usize = 30;

/// How far an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Nobody has begun.
    Pending,
    /// It is being done. At most one item of a list is.
    InProgress,
    /// It is done.
    Completed,
}

impl Status {
    /// The word in the row.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::InProgress => "in_progress",
            Status::Completed => "completed",
        }
    }
}

/// An item of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Todo {
    /// Its name in the list.
    pub id: String,
    /// What is to be done.
    pub subject: String,
    /// How far it is.
    pub status: Status,
}

row! {
    struct Raw {
        id: String,
        subject: String,
        status: String,
    }
}

/// The list of a turn, in its order.
pub async fn of_run(conn: &mut Conn, run: RunId) -> Result<Vec<Todo>> {
    let sql = "SELECT id, subject, status FROM todos WHERE run = $1 ORDER BY position";
    let rows: Vec<Raw> = sql::query_as(sql).bind(run.0).fetch_all(conn).await?;
    let status = |word: &str| match word {
        "in_progress" => Status::InProgress,
        "completed" => Status::Completed,
        _ => Status::Pending,
    };
    Ok(rows.into_iter().map(|raw| Todo { status: status(&raw.status), id: raw.id, subject: raw.subject }).collect())
}

/// Makes the list of a turn this one. Nothing happens where it is this one already.
///
/// # Errors
/// Where there are more than [`MAX`], an id stands twice, or two are in progress: the table refuses that.
pub async fn replace(conn: &mut Conn, run: RunId, todos: &[Todo], now: Moment) -> Result<()> {
    if of_run(conn, run).await? == todos {
        return Ok(());
    }
    sql::query("DELETE FROM todos WHERE run = $1").bind(run.0).execute(&mut *conn).await?;
    let mut completed = 0;
    for (position, todo) in (1_i64..).zip(todos) {
        let sql = "INSERT INTO todos (run, position, id, subject, status) VALUES ($1, $2, $3, $4, $5)";
        let row = sql::query(sql).bind(run.0).bind(position).bind(&todo.id).bind(&todo.subject);
        row.bind(todo.status.as_str()).execute(&mut *conn).await?;
        completed += i64::from(todo.status == Status::Completed);
    }
    let body = serde_json::json!({ "total": todos.len(), "completed": completed });
    events::append(conn, run, events::Kind::TodosChanged, &body, now).await
}

/// Notes that a turn has activated a skill. `false` where it had before.
pub async fn activate_skill(conn: &mut Conn, run: RunId, skill: &str, now: Moment) -> Result<bool> {
    let sql = "INSERT INTO active_skills (run, skill, activated_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    Ok(sql::query(sql).bind(run.0).bind(skill).bind(now).execute(conn).await?.rows_affected() > 0)
}

/// The skills that a turn has activated, in that order: their text is part of its prompt.
pub async fn active_skills(conn: &mut Conn, run: RunId) -> Result<Vec<String>> {
    let sql = "SELECT skill FROM active_skills WHERE run = $1 ORDER BY activated_at, skill";
    sql::query_scalar(sql).bind(run.0).fetch_all(conn).await
}

#[cfg(test)]
pub(crate) mod tests;
