//! `hive topics`, `hive status`, `hive usage`: what the rows say.

use std::process::ExitCode;

use anyhow::Result;
use base::{Clock, clock};
use serde_json::json;
use store::usage::By;
use store::{inbox, outbox, tasks, topics, usage};

use super::{block_on, print, run::open};
use crate::commands::{hive_status, hive_usage};
use crate::config::Config;

/// Most topics that are listed.
const TOPICS: u32 = 200;

pub(super) fn topics(config: &Config, as_json: bool) -> Result<ExitCode> {
    let rows = block_on(async { open(config).await?.read(async |conn| topics::everywhere(conn, TOPICS).await).await })?;
    for topic in rows {
        let at = clock::show(topic.last_activity_at);
        print(&match as_json {
            true => json!({
                "id": topic.id, "conversation": topic.conversation, "name": topic.name, "state": topic.state.as_str(),
                "summary": topic.summary, "last_activity_at_ms": topic.last_activity_at,
            })
            .to_string(),
            false => {
                format!("{:>5}  {:<6}  {at}  {}  {}", topic.id, topic.state.as_str(), topic.conversation, topic.name)
            }
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn status(config: &Config, as_json: bool) -> Result<ExitCode> {
    let text = block_on(async {
        let db = open(config).await?;
        if !as_json {
            return db.read(async |conn| hive_status(conn).await).await;
        }
        db.read(async |conn| {
            let (queued, running) = tasks::load(conn).await?;
            let counts = |rows: Vec<(String, i64)>| rows.into_iter().collect::<std::collections::BTreeMap<_, _>>();
            let (inbox, outbox) = (counts(inbox::counts(conn).await?), counts(outbox::counts(conn).await?));
            Ok(json!({ "tasks": { "queued": queued, "running": running }, "inbox": inbox, "outbox": outbox })
                .to_string())
        })
        .await
    })?;
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn usage(config: &Config, as_json: bool) -> Result<ExitCode> {
    let now = Clock::Wall.now();
    let text = block_on(async {
        let db = open(config).await?;
        if !as_json {
            return db.read(async |conn| hive_usage(conn, now).await).await;
        }
        db.read(async |conn| {
            let mut all = serde_json::Map::new();
            for (name, by) in [("model", By::Model), ("topic", By::Topic), ("sender", By::Sender), ("team", By::Team)] {
                let rows = usage::by(conn, by, clock::day(now) - 29, 100).await?;
                let row = |(name, spent): (String, usage::Spent)| {
                    json!({ "name": name, "calls": spent.calls, "tokens": spent.tokens,
                            "cost_usd": spent.cost_micro_usd as f64 / 1e6, "calls_of_unknown_price": spent.unpriced })
                };
                all.insert(format!("by_{name}"), rows.into_iter().map(row).collect());
            }
            Ok(serde_json::Value::from(all).to_string())
        })
        .await
    })?;
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}
