//! `hive tools`: every tool with its record, and whether an agent of a team has it.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use base::{Clock, Scrub};
use org::trust::Policy;
use store::Db;
use tools::{AgentKind, Catalogue};

use super::{block_on, explain, print};
use crate::config::Config;
use crate::toolkit::Means;

/// How they are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// One name a line.
    Names,
    /// A list of records.
    Json,
    /// The reference that docs/tools.md is.
    Markdown,
}

/// Prints every tool of the program.
pub(super) fn all(form: Form) -> Result<ExitCode> {
    let catalogue = catalogue()?;
    let text = match form {
        Form::Json => serde_json::to_string_pretty(&tools::json(&catalogue))?,
        Form::Markdown => tools::markdown(&catalogue),
        Form::Names => lines(catalogue.entries().map(|entry| entry.spec().name.to_string())),
    };
    print(text.trim_end())?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the tools and whether this kind of agent of this team is shown them: with `form` JSON every one with the rule
/// that says so, else the names of those that it is shown.
pub(super) fn of_team(config: &Config, team: &str, agent: AgentKind, form: Form) -> Result<ExitCode> {
    let (catalogue, grant) = block_on(explain::granted(config, team, agent))?;
    let text = match form {
        Form::Json => serde_json::to_string_pretty(&tools::json_of(&catalogue, &grant))?,
        _ => lines(catalogue.active(&grant).names().map(str::to_owned)),
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn lines(names: impl Iterator<Item = String>) -> String {
    names.collect::<Vec<_>>().join("\n")
}

/// The tools of the program. Their records do not depend on any database: they are built on one that is thrown away.
pub(super) fn catalogue() -> Result<Arc<Catalogue>> {
    let folder = std::env::temp_dir().join(format!("hive-tools-{}", std::process::id()));
    std::fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    let catalogue = block_on(async {
        let db = Db::open(&folder.join("openhive.db")).await?;
        let (policy, team) = (Arc::new(Policy::default()), crate::config::Team::default());
        let means = Means {
            db: &db,
            clock: Clock::Wall,
            run_dir: &folder,
            hidden: Vec::new(),
            policy: &policy,
            scrub: &Scrub::new(),
            team: &team,
            vault_key: None,
            profiles: Vec::new(),
            delegation: crate::config::Delegation::default(),
            library: org::memory::Library::embedded(),
        };
        Ok(crate::toolkit::build(&means).await?.executor.catalogue)
    });
    std::fs::remove_dir_all(&folder).with_context(|| format!("remove {}", folder.display()))?;
    catalogue
}
