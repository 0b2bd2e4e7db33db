//! The org tree.

use anyhow::{Context, Result};
use base::{Moment, TeamName};

use crate::sql::row;
use crate::{Conn, sql};

mod removal;

pub use removal::{remove, remove_some_work};

/// Where a team is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Its folder is being made; it has no queue yet.
    Spawning,
    /// Its first task makes it ready.
    Bootstrapping,
    /// At work.
    Ready,
    /// Its first task failed: it can be given work, and nothing prepared it.
    Failed,
    /// It takes nothing more, and is about to go.
    Closing,
}

impl State {
    const ALL: [State; 5] = [State::Spawning, State::Bootstrapping, State::Ready, State::Failed, State::Closing];

    /// The word in the row.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Spawning => "spawning",
            State::Bootstrapping => "bootstrapping",
            State::Ready => "ready",
            State::Failed => "failed",
            State::Closing => "closing",
        }
    }

    fn read(word: &str) -> Result<State> {
        State::ALL.into_iter().find(|state| state.as_str() == word).with_context(|| format!("no state: {word}"))
    }
}

/// A team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Team {
    /// Its name.
    pub name: TeamName,
    /// Whose child it is; `None` for the root.
    pub parent: Option<TeamName>,
    /// How many teams are above it.
    pub depth: u32,
    /// What it is for.
    pub description: String,
    /// Where it is in its life.
    pub state: State,
    /// When it was spawned.
    pub created_at: Moment,
}

row! {
    struct Raw {
        name: String,
        parent: Option<String>,
        depth: i64,
        description: String,
        state: String,
        created_at: i64,
    }
}

impl TryFrom<Raw> for Team {
    type Error = anyhow::Error;
    fn try_from(raw: Raw) -> Result<Team> {
        Ok(Team {
            name: raw.name.parse()?,
            parent: raw.parent.map(|name| name.parse()).transpose()?,
            depth: u32::try_from(raw.depth).context("a depth")?,
            description: raw.description,
            state: State::read(&raw.state)?,
            created_at: raw.created_at,
        })
    }
}

/// Adds a team below its parent. `false` where its name is taken. What has happened to another team of this name before
/// is none of its history.
///
/// # Errors
/// Where there is no such parent.
pub async fn add(
    conn: &mut Conn,
    name: &TeamName,
    parent: &TeamName,
    description: &str,
    state: State,
    now: Moment,
) -> Result<bool> {
    let sql = "INSERT INTO teams (name, parent, depth, description, state, created_at, events_after)
               SELECT $1, name, depth + 1, $3, $4, $5, (SELECT coalesce(max(id), 0) FROM events)
               FROM teams WHERE name = $2 ON CONFLICT DO NOTHING";
    let done = sql::query(sql)
        .bind(name.as_str())
        .bind(parent.as_str())
        .bind(description)
        .bind(state.as_str())
        .bind(now)
        .execute(conn)
        .await?;
    Ok(done.rows_affected() > 0)
}

/// A team, if there is one of this name.
pub async fn get(conn: &mut Conn, name: &TeamName) -> Result<Option<Team>> {
    let sql = "SELECT name, parent, depth, description, state, created_at FROM teams WHERE name = $1";
    let row: Option<Raw> = sql::query_as(sql).bind(name.as_str()).fetch_optional(conn).await?;
    row.map(Team::try_from).transpose()
}

/// Whether `child` is a direct child of `parent`.
pub async fn is_child(conn: &mut Conn, parent: &TeamName, child: &TeamName) -> Result<bool> {
    // The index has all that is asked for, in rows a third as long: by itself SQLite would take the longer ones.
    let sql = "SELECT 1 FROM teams INDEXED BY children WHERE parent = $2 AND name = $1";
    let found: Option<i64> =
        sql::query_scalar(sql).bind(child.as_str()).bind(parent.as_str()).fetch_optional(conn).await?;
    Ok(found.is_some())
}

/// A team's direct children, by name.
pub async fn children(conn: &mut Conn, parent: &TeamName) -> Result<Vec<Team>> {
    let sql = "SELECT name, parent, depth, description, state, created_at FROM teams
               WHERE parent = $1 ORDER BY name";
    let rows: Vec<Raw> = sql::query_as(sql).bind(parent.as_str()).fetch_all(conn).await?;
    rows.into_iter().map(Team::try_from).collect()
}

/// Every team below this one, parents before their children.
pub async fn descendants(conn: &mut Conn, root: &TeamName) -> Result<Vec<Team>> {
    let sql = "WITH RECURSIVE below (name) AS (
                 SELECT name FROM teams WHERE parent = $1
                 UNION ALL SELECT t.name FROM teams t JOIN below b ON t.parent = b.name)
               SELECT t.name, t.parent, t.depth, t.description, t.state, t.created_at
               FROM below JOIN teams t USING (name) ORDER BY t.depth, t.name";
    let rows: Vec<Raw> = sql::query_as(sql).bind(root.as_str()).fetch_all(conn).await?;
    rows.into_iter().map(Team::try_from).collect()
}

/// The teams above this one, the root first.
pub async fn ancestors(conn: &mut Conn, name: &TeamName) -> Result<Vec<Team>> {
    let sql = "WITH RECURSIVE above (name) AS (
                 SELECT parent FROM teams WHERE name = $1
                 UNION ALL SELECT t.parent FROM teams t JOIN above a ON t.name = a.name WHERE t.parent IS NOT NULL)
               SELECT t.name, t.parent, t.depth, t.description, t.state, t.created_at
               FROM above JOIN teams t USING (name) ORDER BY t.depth";
    let rows: Vec<Raw> = sql::query_as(sql).bind(name.as_str()).fetch_all(conn).await?;
    rows.into_iter().map(Team::try_from).collect()
}

/// The teams that are being made or taken away: a crash may have come between.
pub async fn unsettled(conn: &mut Conn) -> Result<Vec<Team>> {
    let sql = "SELECT name, parent, depth, description, state, created_at FROM teams
               WHERE state IN ('spawning', 'closing') ORDER BY depth DESC, name";
    let rows: Vec<Raw> = sql::query_as(sql).fetch_all(conn).await?;
    rows.into_iter().map(Team::try_from).collect()
}

/// How many there are, the root included.
pub async fn count(conn: &mut Conn) -> Result<i64> {
    sql::query_scalar("SELECT count(*) FROM teams").fetch_one(conn).await
}

/// Moves a team on in its life.
pub async fn set_state(conn: &mut Conn, name: &TeamName, state: State) -> Result<()> {
    let sql = "UPDATE teams SET state = $2 WHERE name = $1";
    sql::query(sql).bind(name.as_str()).bind(state.as_str()).execute(conn).await?;
    Ok(())
}

/// Moves a team on that is in this state. `false` where it is in another, or gone.
pub async fn move_on(conn: &mut Conn, name: &TeamName, from: State, to: State) -> Result<bool> {
    let sql = "UPDATE teams SET state = $3 WHERE name = $1 AND state = $2";
    let moved = sql::query(sql).bind(name.as_str()).bind(from.as_str()).bind(to.as_str()).execute(conn).await?;
    Ok(moved.rows_affected() > 0)
}

/// Every team's name, the root's included, sorted.
pub async fn names(conn: &mut Conn) -> Result<Vec<TeamName>> {
    let names: Vec<String> = sql::query_scalar("SELECT name FROM teams ORDER BY name").fetch_all(conn).await?;
    names.into_iter().map(|name| Ok(name.parse()?)).collect()
}

/// Every team below the root, parents before their children.
pub async fn all_but_root(conn: &mut Conn) -> Result<Vec<Team>> {
    let sql = "SELECT name, parent, depth, description, state, created_at FROM teams
               WHERE depth > 0 ORDER BY depth, name";
    let rows: Vec<Raw> = sql::query_as(sql).fetch_all(conn).await?;
    rows.into_iter().map(Team::try_from).collect()
}

/// Of a question that a call asks: the turn, its team, and the call's arguments without secrets.
pub async fn confirmation(conn: &mut Conn, question: i64) -> Result<Option<(i64, String, String)>> {
    let sql = "SELECT r.id, r.team, c.arguments FROM questions q JOIN runs r ON r.id = q.run
               JOIN tool_calls c ON c.run = q.run AND c.step = q.step AND c.call_id = q.call_id WHERE q.id = $1";
    sql::query_as(sql).bind(question).fetch_optional(conn).await
}

/// What a team is for, in words, sorted.
pub async fn scope(conn: &mut Conn, name: &TeamName) -> Result<Vec<String>> {
    let sql = "SELECT keyword FROM scope_keywords WHERE team = $1 ORDER BY keyword";
    sql::query_scalar(sql).bind(name.as_str()).fetch_all(conn).await
}

/// The same of every team, by team.
pub async fn scopes(conn: &mut Conn) -> Result<Vec<(String, String)>> {
    sql::query_as("SELECT team, keyword FROM scope_keywords ORDER BY team, keyword").fetch_all(conn).await
}

/// The same of a team's direct children, by team.
pub async fn scopes_of_children(conn: &mut Conn, parent: &TeamName) -> Result<Vec<(String, String)>> {
    let sql = "SELECT k.team, k.keyword FROM teams t JOIN scope_keywords k ON k.team = t.name
               WHERE t.parent = $1 ORDER BY k.team, k.keyword";
    sql::query_as(sql).bind(parent.as_str()).fetch_all(conn).await
}

/// The same of every team below this one, by team.
pub async fn scopes_below(conn: &mut Conn, root: &TeamName) -> Result<Vec<(String, String)>> {
    let sql = "WITH RECURSIVE below (name) AS (
                 SELECT name FROM teams WHERE parent = $1
                 UNION ALL SELECT t.name FROM teams t JOIN below b ON t.parent = b.name)
               SELECT k.team, k.keyword FROM below JOIN scope_keywords k ON k.team = below.name
               ORDER BY k.team, k.keyword";
    sql::query_as(sql).bind(root.as_str()).fetch_all(conn).await
}

/// Adds a word to a team's scope.
pub async fn add_scope(conn: &mut Conn, name: &TeamName, keyword: &str) -> Result<()> {
    let sql = "INSERT INTO scope_keywords (team, keyword) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    sql::query(sql).bind(name.as_str()).bind(keyword).execute(conn).await?;
    Ok(())
}

/// Takes a word out of a team's scope.
pub async fn remove_scope(conn: &mut Conn, name: &TeamName, keyword: &str) -> Result<()> {
    let sql = "DELETE FROM scope_keywords WHERE team = $1 AND keyword = $2";
    sql::query(sql).bind(name.as_str()).bind(keyword).execute(conn).await?;
    Ok(())
}

#[cfg(test)]
mod tests;
