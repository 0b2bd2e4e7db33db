//! `hive explain`: may an agent use a tool, and which rule says so.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use base::{Clock, Scrub};
use channels::{ConversationId, SenderId};
use org::trust::{TrustRow, Verdict, Where, decide};
use tools::{ActiveSet, AgentKind, Grant};

use super::{block_on, print, run::open};
use crate::config::Config;
use crate::toolkit;

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
    ensure!(question.team == base::ids::MAIN, "there is no team `{}`; there is: main", question.team);
    let (answer, allowed) = block_on(answer(config, question))?;
    print(&answer)?;
    Ok(if allowed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn answer(config: &Config, question: &Question) -> Result<(String, bool)> {
    let db = open(config).await?;
    let (policy, team) = (Arc::new(config.trust.clone()), &config.settings.team);
    let means = toolkit::Means {
        db: &db,
        clock: Clock::Wall,
        run_dir: &config.run_dir,
        hidden: Vec::new(),
        policy: &policy,
        scrub: &Scrub::new(),
        team,
        vault_key: config.vault_key.as_ref(),
    };
    let (executor, _) = toolkit::executor(&means).await?;
    let mut grant = toolkit::main_grant(&db, Clock::Wall, team).await?;
    if let Some(sender) = &question.sender {
        let sender: SenderId = sender.parse().context("--sender: an address such as `discord:123`")?;
        let place = ConversationId::new(sender.kind(), format!("@{}", sender.user()));
        let rows = db.read(async |conn| store::trust::of_sender(conn, &sender).await).await?;
        let rows: Vec<TrustRow> = rows.iter().map(TrustRow::from).collect();
        // Alone with the bot: what holds in one place only is not asked about.
        let place = Where { conversation: &place, parent: None };
        let decision = decide(&policy, &rows, &sender, place, Clock::Wall.now());
        match decision.verdict {
            Verdict::Trusted { admin } => grant.admin = admin,
            _ => return Ok((format!("`{sender}` reaches no tool: {}.", decision.reason), false)),
        }
    }
    if question.agent != AgentKind::Main {
        // Whoever works for the main agent has at most what it has.
        let parent: ActiveSet = executor.catalogue.active(&grant);
        grant = Grant { agent: question.agent, parent: Some(parent), ..grant };
    }
    let allowed =
        executor.catalogue.by_name(&question.tool).is_some_and(|entry| tools::decide(entry.spec(), &grant).allowed);
    Ok((toolkit::explain(&executor.catalogue, &grant, &question.tool), allowed))
}
