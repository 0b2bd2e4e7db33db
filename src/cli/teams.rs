//! `hive teams`: the tree, and what each team does.

use std::process::ExitCode;

use anyhow::Result;
use base::Clock;
use org::teams::listing::{self, Seen};
use serde_json::{Value, json};
use store::runs::Answering;
use store::tasks::Running;

use super::{block_on, print, run::open};
use crate::commands::show_teams;
use crate::config::Config;

/// How much of a task is shown, in characters.
const TASK_CHARS: usize = 200;

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

fn object(Seen { listed, running, asked, spent }: &Seen) -> Value {
    let running: Vec<Value> = running.iter().map(task).chain(asked.iter().map(question)).collect();
    let team = &listed.team;
    json!({
        "name": team.name, "parent": team.parent, "depth": team.depth, "description": team.description,
        "keywords": listed.keywords, "status": team.state.as_str(), "queue_depth": listed.queue_depth,
        "running": running,
        "today": {
            "calls": spent.calls, "tokens": spent.tokens, "cost_usd": spent.cost_micro_usd as f64 / 1e6,
            "calls_of_unknown_price": spent.unpriced,
        },
        "created_at_ms": team.created_at,
    })
}

fn task(task: &Running) -> Value {
    json!({
        "task_id": task.id, "kind": task.kind.as_str(), "task": headline(&task.body), "topic": task.topic,
        "started_at_ms": task.started_at,
    })
}

/// What has no task of its own: the one around it is another team's, or the same team's where a subagent works.
fn question(asked: &Answering) -> Value {
    json!({
        "task_id": asked.task, "kind": if asked.is_own() { "subagent" } else { "question" },
        "task": headline(&asked.body), "asked_by": asked.asker, "started_at_ms": asked.since,
    })
}

fn headline(text: &str) -> String {
    base::text::headline(text, TASK_CHARS)
}

#[cfg(test)]
mod tests {
    use base::{RunId, TaskId, TeamName};
    use store::tasks::Kind;

    use super::*;

    #[test]
    fn tasks_and_questions_are_told_apart() {
        let (main, ops): (_, TeamName) = (TeamName::main(), "ops".parse().unwrap());
        let running = Running {
            id: TaskId(3),
            team: ops.clone(),
            kind: Kind::Delegate,
            body: "Check the disks.\nAll.".into(),
            topic: Some("servers".into()),
            started_at: Some(5),
        };
        assert_eq!(
            task(&running),
            json!({
                "task_id": 3, "kind": "delegate", "task": "Check the disks.", "topic": "servers", "started_at_ms": 5,
            })
        );
        let asked = |asker: &TeamName| Answering {
            run: RunId(9),
            team: ops.clone(),
            asker: asker.clone(),
            body: "How are they?".into(),
            since: 7,
            task: TaskId(3),
            in_talk: true,
            stopping: false,
            topic: None,
        };
        for (asker, kind) in [(&main, "question"), (&ops, "subagent")] {
            assert_eq!(
                question(&asked(asker)),
                json!({
                    "task_id": 3, "kind": kind, "task": "How are they?", "asked_by": asker, "started_at_ms": 7,
                })
            );
        }
    }
}
