//! The ledger: what each model call used and cost.

use anyhow::Result;
use base::{Moment, RunId, TeamName, TopicId};

use crate::sql::row;
use crate::{Conn, sql};

/// One model call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The turn it was for, if any.
    pub run: Option<RunId>,
    /// The team that pays.
    pub team: String,
    /// The topic.
    pub topic: Option<TopicId>,
    /// Who caused it.
    pub sender: Option<String>,
    /// `turn`, `classify`, `summarize`.
    pub purpose: &'static str,
    /// `profile:model`.
    pub model: String,
    /// Tokens read at full price.
    pub input_tokens: i64,
    /// Tokens written.
    pub output_tokens: i64,
    /// Tokens read from the provider's cache.
    pub cache_read_tokens: i64,
    /// Tokens written to the provider's cache.
    pub cache_write_tokens: i64,
    /// The cost in millionths of a US dollar; `None` where the price is unknown.
    pub cost_micro_usd: Option<i64>,
}

row! {
    /// What was spent on something.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Spent {
        /// Model calls.
        pub calls: i64,
        /// Tokens of all four sorts.
        pub tokens: i64,
        /// Known cost in millionths of a US dollar.
        pub cost_micro_usd: i64,
        /// Calls whose price is unknown.
        pub unpriced: i64,
    }
}

const SUMS: &str = "count(*) AS calls,
    coalesce(sum(input_tokens + output_tokens + cache_read_tokens + cache_write_tokens), 0) AS tokens,
    coalesce(sum(cost_micro_usd), 0) AS cost_micro_usd,
    coalesce(sum(cost_micro_usd IS NULL), 0) AS unpriced";

/// Writes a call down.
pub async fn add(conn: &mut Conn, entry: &Entry, now: Moment) -> Result<()> {
    let sql = "INSERT INTO usage (run, team, topic, sender, purpose, model, input_tokens, output_tokens,
                 cache_read_tokens, cache_write_tokens, cost_micro_usd, day, at)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
    sql::query(sql)
        .bind(entry.run.map(|run| run.0))
        .bind(&entry.team)
        .bind(entry.topic.map(|topic| topic.0))
        .bind(&entry.sender)
        .bind(entry.purpose)
        .bind(&entry.model)
        .bind(entry.input_tokens)
        .bind(entry.output_tokens)
        .bind(entry.cache_read_tokens)
        .bind(entry.cache_write_tokens)
        .bind(entry.cost_micro_usd)
        .bind(base::clock::day(now))
        .bind(now)
        .execute(conn)
        .await?;
    Ok(())
}

/// What was spent on a UTC day, by the hive or on one topic.
pub async fn of_day(conn: &mut Conn, day: i64, topic: Option<TopicId>) -> Result<Spent> {
    let sql = format!("SELECT {SUMS} FROM usage WHERE day = $1 AND ($2 IS NULL OR topic = $2)");
    sql::query_as(sql).bind(day).bind(topic.map(|topic| topic.0)).fetch_one(conn).await
}

/// What a team's own turns spent on a UTC day.
pub async fn of_team(conn: &mut Conn, day: i64, team: &TeamName) -> Result<Spent> {
    let sql = format!("SELECT {SUMS} FROM usage WHERE day = $1 AND team = $2");
    sql::query_as(sql).bind(day).bind(team.as_str()).fetch_one(conn).await
}

/// What was spent since a UTC day, by `topic`, `team`, `sender` or `model`: the largest first.
pub async fn by(conn: &mut Conn, what: By, since_day: i64, limit: u32) -> Result<Vec<(String, Spent)>> {
    type Raw = (String, i64, i64, i64, i64);
    let name = match what {
        By::Topic => "coalesce((SELECT name FROM topics WHERE topics.id = usage.topic), '-')",
        By::Team => "team",
        By::Sender => "coalesce(sender, '-')",
        By::Model => "model",
    };
    let sql = format!(
        "SELECT {name} AS name, {SUMS} FROM usage WHERE day >= $1 GROUP BY 1
         ORDER BY cost_micro_usd DESC, tokens DESC, name LIMIT $2"
    );
    let rows: Vec<Raw> = sql::query_as(sql).bind(since_day).bind(limit).fetch_all(conn).await?;
    let spent =
        |(name, calls, tokens, cost_micro_usd, unpriced)| (name, Spent { calls, tokens, cost_micro_usd, unpriced });
    Ok(rows.into_iter().map(spent).collect())
}

/// What to add spendings up by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Topics, by name.
    Topic,
    /// Teams.
    Team,
    /// Senders.
    Sender,
    /// Models, `profile:model`.
    Model,
}
