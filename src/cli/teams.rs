//! `hive teams`: the tree, and what each team does.

use std::process::ExitCode;

use anyhow::Result;
use base::Clock;
use org::teams::listing::{self, Seen};
use serde_json::json;

use super::{block_on, print, run::open};
use crate::commands::show_teams;
use crate::config::Config;

pub(super) fn run(config: &Config, as_json: bool) -> Result<ExitCode> {
    let now = Clock::Wall.now();
    let teams = block_on(async { open(config).await?.read(async |conn| listing::whole(conn, now).await).await })?;
    if as_json {
        teams.iter().try_for_each(|team| print(&object(team).to_string()))?;
    } else {
        // A terminal shows it all, in pieces as long as a chat would take.
        teams.chunks(60).try_for_each(|some| print(&show_teams(some, true)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn object(Seen { listed, running, spent }: &Seen) -> serde_json::Value {
    let task = |task: &store::tasks::Running| {
        json!({
            "task_id": task.id, "kind": task.kind.as_str(), "task": base::text::headline(&task.body, 200),
            "started_at_ms": task.started_at,
        })
    };
    let team = &listed.team;
    json!({
        "name": team.name, "parent": team.parent, "depth": team.depth, "description": team.description,
        "keywords": listed.keywords, "status": team.state.as_str(), "queue_depth": listed.queue_depth,
        "running": running.iter().map(task).collect::<Vec<_>>(),
        "today": {
            "calls": spent.calls, "tokens": spent.tokens, "cost_usd": spent.cost_micro_usd as f64 / 1e6,
            "calls_of_unknown_price": spent.unpriced,
        },
        "created_at_ms": team.created_at,
    })
}
