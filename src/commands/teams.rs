//! `/teams`: the tree, and what each team does.

use anyhow::Result;
use org::teams::listing::{self, Seen};
use store::Conn;
use store::runs::Answering;
use store::tasks::{Kind, Running};

use super::usage::cost;
use super::{Asked, Command, Who};
use crate::welcome::escaped;

/// Most teams that one answer shows.
const TEAMS: usize = 60;
/// How much of a task, a question and a topic's name is shown, in characters.
const TEXT_CHARS: usize = 80;
/// Most tasks of one team that are shown, and most questions: the main team may have one in each topic.
const SHOWN: usize = 3;

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

fn line(Seen { listed, running, asked, spent }: &Seen, all: bool) -> String {
    let team = &listed.team;
    let (own, questions): (Vec<&Answering>, Vec<&Answering>) = asked.iter().partition(|asked| asked.is_own());
    let mut facts = vec![team.state.as_str().to_owned()];
    if all {
        facts.extend(some("works at", running.iter().map(task)));
        facts.extend(some("answers", questions.iter().map(|asked| text(&asked.body))));
        facts.extend(some("its subagents work at", own.iter().map(|asked| text(&asked.body))));
    } else {
        let counts = [(running.len(), "task"), (questions.len(), "question"), (own.len(), "subagent")];
        let counts = counts.into_iter().filter(|(number, _)| *number > 0);
        facts.extend(counts.map(|(number, what)| base::text::count(number as i64, what)));
    }
    if listed.queue_depth > 0 {
        facts.push(format!("{} queued", listed.queue_depth));
    }
    if all && spent.calls > 0 {
        facts.push(format!("{} today", cost(*spent)));
    }
    format!("{}- **{}**: {}", "  ".repeat(team.depth as usize), team.name, facts.join(", "))
}

/// `works at: this; that; 2 more`; nothing where there is nothing.
fn some(what: &str, all: impl ExactSizeIterator<Item = String>) -> Option<String> {
    let more = all.len().saturating_sub(SHOWN);
    let mut shown: Vec<String> = all.take(SHOWN).collect();
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    (!shown.is_empty()).then(|| format!("{what}: {}", shown.join("; ")))
}

fn task(task: &Running) -> String {
    match (task.kind, &task.topic) {
        (Kind::Message, Some(topic)) => format!("messages of **{}**", text(topic)),
        (Kind::Message, None) => "messages".to_owned(),
        (Kind::Bootstrap, _) => "setting itself up".to_owned(),
        _ => text(&task.body),
    }
}

fn text(text: &str) -> String {
    escaped(&base::text::headline(text, TEXT_CHARS))
}

#[cfg(test)]
mod tests {
    use base::{TaskId, TeamName, TopicId};
    use org::teams::Listed;
    use store::teams::{State, Team};
    use store::usage::Spent;

    use super::*;

    fn seen(name: &str, depth: u32) -> Seen {
        let team = Team {
            name: name.parse().unwrap(),
            parent: (depth > 0).then(TeamName::main),
            depth,
            description: String::new(),
            state: State::Ready,
            created_at: 0,
        };
        let listed = Listed { team, keywords: Vec::new(), queue_depth: 0 };
        Seen { listed, running: Vec::new(), asked: Vec::new(), spent: Spent::default() }
    }

    fn running(kind: Kind, body: &str, topic: Option<&str>) -> Running {
        let (body, topic) = (body.to_owned(), topic.map(str::to_owned));
        Running { id: TaskId(1), team: TeamName::main(), kind, body, topic, started_at: None }
    }

    fn asked(asker: &str, body: &str) -> Answering {
        Answering {
            run: base::RunId(2),
            team: "ops".parse().unwrap(),
            asker: asker.parse().unwrap(),
            body: body.to_owned(),
            since: 0,
            task: TaskId(1),
            in_talk: true,
            stopping: false,
            topic: Some(TopicId(1)),
        }
    }

    #[test]
    fn a_team_is_shown_with_what_it_works_at_and_what_it_is_asked() {
        let topic = |name| running(Kind::Message, "", Some(name));
        let main = Seen {
            running: vec![topic("the *servers*"), topic("texts"), topic("a"), topic("b"), topic("c")],
            spent: Spent { calls: 3, tokens: 900, cost_micro_usd: 0, unpriced: 3 },
            ..seen("main", 0)
        };
        let ops = seen("ops", 1);
        let ops = Seen {
            listed: Listed { queue_depth: 2, ..ops.listed },
            running: vec![running(Kind::Delegate, "Check the disks.\nAll.", Some("texts"))],
            asked: vec![asked("main", "How are *they*?"), asked("ops", "Count."), asked("ops", "Look.")],
            spent: Spent { calls: 1, tokens: 9, cost_micro_usd: 500, unpriced: 0 },
        };
        let docs = Seen { running: vec![running(Kind::Bootstrap, "x", None)], ..seen("docs", 1) };
        let teams = [main, ops, docs];
        assert_eq!(
            show_teams(&teams, true),
            "- **main**: ready, works at: messages of **the \\*servers\\***; messages of **texts**; messages of **a**; \
             2 more, 900 tokens of unknown price today\n  \
             - **ops**: ready, works at: Check the disks., answers: How are \\*they\\*?, \
             its subagents work at: Count.; Look., 2 queued, $0.0005 today\n  \
             - **docs**: ready, works at: setting itself up"
        );
        assert_eq!(
            show_teams(&teams, false),
            "- **main**: ready, 5 tasks\n  - **ops**: ready, 1 task, 1 question, 2 subagents, 2 queued\n  \
             - **docs**: ready, 1 task",
            "what others have asked for is not for everybody"
        );
    }
}
