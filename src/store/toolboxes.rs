//! Named allow-lists of tools.

use anyhow::{Context, Result};
use base::Moment;

use crate::{Conn, sql};

/// A toolbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolbox {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub about: String,
    /// Names and patterns.
    pub tools: Vec<String>,
    /// It belongs to the program: nobody changes it.
    pub builtin: bool,
}

type Raw = (String, String, String, bool);

fn toolbox((name, about, tools, builtin): Raw) -> Result<Toolbox> {
    let tools = serde_json::from_str(&tools).with_context(|| format!("read the toolbox {name}"))?;
    Ok(Toolbox { name, about, tools, builtin })
}

/// Makes the built-in toolboxes what this program says. A custom one of the same name gives way: it keeps its tools
/// under the name with `-custom` behind it.
pub async fn seed(conn: &mut Conn, builtin: &[Toolbox], now: Moment) -> Result<()> {
    for toolbox in builtin {
        let aside = "UPDATE toolboxes SET name = name || '-custom' WHERE name = $1 AND builtin = 0";
        sql::query(aside).bind(&toolbox.name).execute(&mut *conn).await?;
        set(conn, toolbox, now).await?;
    }
    let names = serde_json::to_string(&builtin.iter().map(|toolbox| &toolbox.name).collect::<Vec<_>>())?;
    let gone = "DELETE FROM toolboxes WHERE builtin = 1 AND name NOT IN (SELECT value FROM json_each($1))";
    sql::query(gone).bind(names).execute(conn).await?;
    Ok(())
}

/// Makes or replaces one.
pub async fn set(conn: &mut Conn, toolbox: &Toolbox, now: Moment) -> Result<()> {
    let sql = "INSERT INTO toolboxes (name, about, tools, builtin, changed_at) VALUES ($1, $2, $3, $4, $5)
               ON CONFLICT (name) DO UPDATE SET about = $2, tools = $3, builtin = $4, changed_at = $5
               WHERE about <> $2 OR tools <> $3 OR builtin <> $4";
    sql::query(sql)
        .bind(&toolbox.name)
        .bind(&toolbox.about)
        .bind(serde_json::to_string(&toolbox.tools)?)
        .bind(toolbox.builtin)
        .bind(now)
        .execute(conn)
        .await?;
    Ok(())
}

/// Gives one another name. The caller has seen that nobody has it.
pub async fn rename(conn: &mut Conn, name: &str, to: &str) -> Result<()> {
    let sql = "UPDATE toolboxes SET name = $2 WHERE name = $1 AND builtin = 0";
    sql::query(sql).bind(name).bind(to).execute(conn).await?;
    Ok(())
}

/// Every toolbox, the built-in ones first, by name.
pub async fn list(conn: &mut Conn) -> Result<Vec<Toolbox>> {
    let sql = "SELECT name, about, tools, builtin FROM toolboxes ORDER BY builtin DESC, name";
    let rows: Vec<Raw> = sql::query_as(sql).fetch_all(conn).await?;
    rows.into_iter().map(toolbox).collect()
}

/// One of them.
pub async fn get(conn: &mut Conn, name: &str) -> Result<Option<Toolbox>> {
    let sql = "SELECT name, about, tools, builtin FROM toolboxes WHERE name = $1";
    let row: Option<Raw> = sql::query_as(sql).bind(name).fetch_optional(conn).await?;
    row.map(toolbox).transpose()
}

/// Removes a custom one. `false` where there is none.
pub async fn remove(conn: &mut Conn, name: &str) -> Result<bool> {
    let sql = "DELETE FROM toolboxes WHERE name = $1 AND builtin = 0";
    Ok(sql::query(sql).bind(name).execute(conn).await?.rows_affected() > 0)
}
