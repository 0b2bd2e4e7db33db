//! `/teams`: the tree, and what each team does.

use anyhow::Result;
use org::teams::listing::{self, Seen};
use store::Conn;
use store::tasks::Kind;

use super::usage::dollars;
use super::{Asked, Command, Who};
use crate::welcome::escaped;

/// Most teams that one answer shows.
const TEAMS: usize = 60;
/// How much of a task is shown, in characters.
const TASK_CHARS: usize = 80;

pub(super) const TREE: Command = Command {
    name: "teams",
    about: "The teams, and what they are doing",
    who: Who::Trusted,
    takes: &[],
    run: |conn, asked| Box::pin(run(conn, asked)),
};

async fn run(conn: &mut Conn, asked: &Asked<'_>) -> Result<String> {
    let teams = listing::whole(conn, asked.now).await?;
    // What others gave a team to do, and what it costs, is for admins.
    Ok(show_teams(&teams, asked.admin))
}

/// The tree as a list, in Markdown: with tasks and spendings, or without.
pub fn show_teams(teams: &[Seen], all: bool) -> String {
    let mut lines: Vec<String> = teams.iter().take(TEAMS).map(|team| line(team, all)).collect();
    if teams.len() > TEAMS {
        lines.push(format!("… and {} more: `hive teams` shows them all.", teams.len() - TEAMS));
    }
    lines.join("\n")
}

fn line(Seen { listed, running, spent }: &Seen, all: bool) -> String {
    let team = &listed.team;
    let indent = "  ".repeat(team.depth as usize);
    let mut line = format!("{indent}- **{}**: {}", team.name, team.state.as_str());
    match running.len() {
        0 => {}
        number if !all || number > 1 => line.push_str(&format!(", {}", base::text::count(number as i64, "task"))),
        _ => line.push_str(&format!(", works at: {}", task(&running[0]))),
    }
    if listed.queue_depth > 0 {
        line.push_str(&format!(", {} queued", listed.queue_depth));
    }
    if all && spent.calls > 0 {
        line.push_str(&format!(", {} today", dollars(spent.cost_micro_usd)));
    }
    line
}

fn task(task: &store::tasks::Running) -> String {
    match task.kind {
        Kind::Message => "messages".to_owned(),
        Kind::Bootstrap => "setting itself up".to_owned(),
        _ => escaped(&base::text::headline(&task.body, TASK_CHARS)),
    }
}
