//! `hive explain`: may an agent use a tool, and which rule says so.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use base::{Clock, Scrub, TeamName};
use channels::{ConversationId, SenderId};
use org::handbook::Handbook;
use org::markdown::{Folder, Whose};
use org::trust::{TrustRow, Verdict, Where, decide};
use store::Db;
use tools::delegation::RUN_SUBAGENT;
use tools::{ActiveSet, AgentKind, Catalogue, Grant};

use super::{block_on, print, run::open};
use crate::config::Config;
use crate::toolkit::{self, Kit, Rights};

/// Who is asked about.
pub(super) struct Question {
    pub team: String,
    pub tool: String,
    pub agent: AgentKind,
    pub sender: Option<String>,
}

/// The kind of agent that a word names.
pub(super) fn agent(text: &str) -> Result<AgentKind, String> {
    let found = AgentKind::ALL.into_iter().find(|kind| kind.as_str() == text);
    found.ok_or_else(|| "main, sub or scout".to_owned())
}

/// Prints the answer; exit code 1 where it is no.
pub(super) fn run(config: &Config, question: &Question) -> Result<ExitCode> {
    let (answer, allowed) = block_on(answer(config, question))?;
    print(&answer)?;
    Ok(if allowed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn answer(config: &Config, question: &Question) -> Result<(String, bool)> {
    let (catalogue, mut grant) = granted(config, &question.team, question.agent).await?;
    if let Some(sender) = &question.sender {
        let db = open(config).await?;
        let sender: SenderId = sender.parse().context("--sender: an address such as `discord:123`")?;
        let place = ConversationId::new(sender.kind(), format!("@{}", sender.user()));
        let rows = db.read(async |conn| store::trust::of_sender(conn, &sender).await).await?;
        let rows: Vec<TrustRow> = rows.iter().map(TrustRow::from).collect();
        // Alone with the bot: what holds in one place only is not asked about.
        let place = Where { conversation: &place, parent: None };
        let decision = decide(&config.trust, &rows, &sender, place, Clock::Wall.now());
        match decision.verdict {
            Verdict::Trusted { admin } => grant.admin = admin,
            _ => return Ok((format!("`{sender}` reaches no tool: {}.", decision.reason), false)),
        }
    }
    if let Some(subagent) = subagent(config, question, &catalogue)? {
        let run = catalogue.by_name(RUN_SUBAGENT).context("subagents have a tool")?.spec();
        let verdict = tools::decide_subagent(run, &subagent, &grant);
        let word = if verdict.allowed { "may" } else { "may not" };
        let said =
            format!("A {} agent {word} use the subagent `{subagent}`: {}.", grant.agent.as_str(), verdict.reason);
        return Ok((said, verdict.allowed));
    }
    let allowed = catalogue.by_name(&question.tool).is_some_and(|entry| tools::decide(entry.spec(), &grant).allowed);
    Ok((toolkit::explain(&catalogue, &grant, &question.tool), allowed))
}

/// The name that is asked about, where it is that of a subagent of the team and of no tool.
fn subagent(config: &Config, question: &Question, catalogue: &Catalogue) -> Result<Option<String>> {
    let (team, name): (TeamName, &str) = (question.team.parse()?, question.tool.trim().trim_matches('`'));
    let path = config.run_dir.join("teams").join(team.as_str());
    if catalogue.by_name(name).is_some() || !path.exists() {
        return Ok(None);
    }
    let folder = Folder::open(&path, Whose::Team).with_context(|| format!("open {}", path.display()))?;
    let book = Handbook::read(&folder, &team, |_| false);
    Ok(book.subagent(name).map(|subagent| subagent.name.to_string()))
}

/// The tools, and what this kind of agent of this team may use in a turn that somebody trusted caused, who is no admin.
/// The one place where a team becomes a grant for questions about tools.
///
/// # Errors
/// If there is no such team, or the hive's rows cannot be read.
pub(super) async fn granted(config: &Config, team: &str, agent: AgentKind) -> Result<(Arc<Catalogue>, Grant)> {
    let name: TeamName = team.parse()?;
    let db = open(config).await?;
    let names = async |conn: &mut store::Conn| {
        let root = store::teams::get(conn, &TeamName::main()).await?;
        let below = store::teams::descendants(conn, &TeamName::main()).await?;
        Ok(root.into_iter().chain(below).map(|team| team.name).collect::<Vec<_>>())
    };
    let names = db.read(names).await?;
    if !names.contains(&name) {
        let names: Vec<&str> = names.iter().map(TeamName::as_str).collect();
        bail!("there is no team `{team}`; there is: {}", names.join(", "));
    }
    let kit = kit(config, &db).await?;
    let catalogue = kit.executor.catalogue;
    let rights = Rights::open(&db, Clock::Wall, &catalogue, &config.settings.team).await?;
    let grant = Grant::clone(&rights.of_team(&kit.tree, &name).await?.held);
    // A team's own agent is what is asked about where nothing else is said.
    if agent == AgentKind::Main || (agent == AgentKind::Sub && !name.is_main()) {
        return Ok((catalogue, grant));
    }
    // Whoever works for the main agent has at most what it has.
    let parent: ActiveSet = catalogue.active(&grant);
    Ok((catalogue, Grant { agent, parent: Some(parent), ..grant }))
}

/// The tools of this configuration, and the tree of its teams.
pub(super) async fn kit(config: &Config, db: &Db) -> Result<Kit> {
    let policy = Arc::new(config.trust.clone());
    let means = toolkit::Means {
        db,
        clock: Clock::Wall,
        run_dir: &config.run_dir,
        hidden: Vec::new(),
        policy: &policy,
        scrub: &Scrub::new(),
        team: &config.settings.team,
        vault_key: config.vault_key.as_ref(),
        profiles: Vec::new(),
        delegation: config.settings.delegation,
        library: org::memory::Library::embedded(),
    };
    toolkit::build(&means).await
}

#[cfg(test)]
mod tests;
