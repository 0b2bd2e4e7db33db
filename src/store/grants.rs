//! Tools that a person has granted to a team one by one.

use anyhow::Result;
use base::{Moment, TeamName};

use crate::{Conn, sql};

/// A grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// The tool's logical name.
    pub tool: String,
    /// What the agent said it needs it for.
    pub reason: String,
    /// Who granted it.
    pub by: String,
}

/// Grants a tool. The first grant stands.
pub async fn add(conn: &mut Conn, team: &TeamName, granted: &Granted, now: Moment) -> Result<()> {
    let sql = "INSERT INTO tool_grants (team, tool, reason, granted_by, granted_at) VALUES ($1, $2, $3, $4, $5)
               ON CONFLICT DO NOTHING";
    sql::query(sql)
        .bind(team.as_str())
        .bind(&granted.tool)
        .bind(&granted.reason)
        .bind(&granted.by)
        .bind(now)
        .execute(conn)
        .await?;
    Ok(())
}

/// Takes a grant back. `false` where there is none.
pub async fn remove(conn: &mut Conn, team: &TeamName, tool: &str) -> Result<bool> {
    let sql = "DELETE FROM tool_grants WHERE team = $1 AND tool = $2";
    Ok(sql::query(sql).bind(team.as_str()).bind(tool).execute(conn).await?.rows_affected() > 0)
}

/// Takes back all that a team was granted.
pub async fn remove_team(conn: &mut Conn, team: &TeamName) -> Result<()> {
    let sql = "DELETE FROM tool_grants WHERE team = $1";
    sql::query(sql).bind(team.as_str()).execute(conn).await.map(drop)
}

/// What a team was granted, by name.
pub async fn of_team(conn: &mut Conn, team: &TeamName) -> Result<Vec<Granted>> {
    let sql = "SELECT tool, reason, granted_by FROM tool_grants WHERE team = $1 ORDER BY tool";
    let rows: Vec<(String, String, String)> = sql::query_as(sql).bind(team.as_str()).fetch_all(conn).await?;
    Ok(rows.into_iter().map(|(tool, reason, by)| Granted { tool, reason, by }).collect())
}
