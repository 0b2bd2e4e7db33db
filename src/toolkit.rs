//! The tools of this hive: the executor, what the main agent may use, and what it is shown.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use base::{Clock, Scrub, Secret, TeamName};
use llm::ToolDef;
use net::buckets::BucketRule;
use net::fetch::{FetchRules, Fetcher};
use net::guard::Allowlist;
use net::teams::{WebRules, WebTeams};
use org::memory::Library;
use org::trust::Policy;
use org::vault::Vault;
use store::{Db, toolboxes};
use tools::shell::ShellRules;
use tools::{Catalogue, Executor, Gates, Grant, Handles, Limits, Toolbox, Workspaces};

use crate::config::{Bucket, Team};

/// What the tools of a hive are made with.
pub struct Means<'a> {
    /// The database.
    pub db: &'a Db,
    /// The time.
    pub clock: Clock,
    /// What the hive writes: the teams' folders and the vault's key file are there.
    pub run_dir: &'a Path,
    /// What no command may read besides.
    pub hidden: Vec<PathBuf>,
    /// Who may speak.
    pub policy: &'a Arc<Policy>,
    /// Takes secrets out of what is shown.
    pub scrub: &'a Scrub,
    /// What the main team may do.
    pub team: &'a Team,
    /// The vault's key, where the environment has it.
    pub vault_key: Option<&'a Secret>,
}

/// What runs tools, and what memory is searched with.
///
/// # Errors
/// Where the teams' folder or the vault cannot be opened, or a host of the configuration is none.
pub async fn executor(means: &Means<'_>) -> Result<(Executor, Library)> {
    let Means { db, clock, run_dir, hidden, policy, scrub, team, vault_key } = means;
    let main = TeamName::main();
    let workspaces = Workspaces::open(&run_dir.join("teams"))?;
    // The main team's folder is made now: a session's prompt names it.
    workspaces.of(&main)?;
    let vault = Vault::open(db, *clock, scrub, *vault_key, run_dir).await.context("open the vault")?;
    let web = WebTeams::default();
    web.set(&main, web_rules(team)?);
    let library = Library::embedded();
    let network = team.shell_network.then(|| main.clone()).into_iter().collect();
    let hidden = hidden.iter().chain([&run_dir.to_path_buf()]).cloned().collect();
    let handles = Handles {
        db: (*db).clone(),
        clock: *clock,
        workspaces: workspaces.clone(),
        policy: (*policy).clone(),
        vault: vault.clone(),
        library: library.clone(),
        web: (Fetcher::new(FetchRules::default()), web),
        shell: Arc::new(ShellRules { network, hidden, ..ShellRules::default() }),
    };
    let executor = Executor {
        db: (*db).clone(),
        clock: *clock,
        catalogue: Arc::new(tools::catalogue(handles)?),
        gates: Gates::new(team.daily_ops_max),
        scrub: (*scrub).clone(),
        vault,
        workspaces,
        limits: Limits::default(),
    };
    Ok((executor, library))
}

fn web_rules(team: &Team) -> Result<WebRules> {
    let everywhere = team.allowed_domains.iter().any(|domain| domain == "*");
    let allowed = match everywhere {
        true => Allowlist::Anywhere,
        false => Allowlist::parse(&team.allowed_domains).context("config.yaml, team.allowed_domains")?,
    };
    let rule = |(key, bucket): (&String, &Bucket)| (key.clone(), BucketRule { rps: bucket.rps, burst: bucket.burst });
    Ok(WebRules { allowed, buckets: team.rate_limit_buckets.iter().map(rule).collect() })
}

/// Makes the built-in toolboxes what this program says, and reads what the configuration lets the main agent have.
///
/// # Errors
/// Where a toolbox is named that there is not.
pub async fn main_grant(db: &Db, clock: Clock, team: &Team) -> Result<Grant> {
    let (built_in, now) = (tools::toolboxes::built_in()?, clock.now());
    db.tx("seed the toolboxes", async |conn| toolboxes::seed(conn, &built_in, now).await).await?;
    let all = db.read(async |conn| toolboxes::list(conn).await).await?;
    let find = |name: &String| {
        let found = all.iter().find(|toolbox| toolbox.name == *name);
        let names = || all.iter().map(|toolbox| toolbox.name.as_str()).collect::<Vec<_>>().join(", ");
        found.map(|toolbox| Toolbox { name: toolbox.name.clone(), tools: toolbox.tools.clone() }).with_context(|| {
            format!("config.yaml, team.toolboxes: there is no toolbox `{name}`; there are: {}", names())
        })
    };
    let chosen = team.toolboxes.as_ref().map(|names| names.iter().map(find).collect::<Result<Vec<_>>>()).transpose()?;
    Ok(Grant { allowed_tools: team.allowed_tools.clone(), toolboxes: chosen, ..Grant::main(false) })
}

/// The tools that an agent with this grant is shown: the same bytes in every session. What only an admin's turn may use
/// is shown in every turn, and refused where it is used: the list must not depend on who asks.
pub fn definitions(catalogue: &Catalogue, grant: &Grant) -> Vec<ToolDef> {
    let active = catalogue.active(grant);
    catalogue.definitions(&active).into_iter().map(ToolDef::from).collect()
}

/// Whether an agent may use a tool, and the rule that says so, in a sentence for people.
pub fn explain(catalogue: &Catalogue, grant: &Grant, tool: &str) -> String {
    let Some(entry) = catalogue.by_name(tool.trim().trim_matches('`')) else {
        let names: Vec<_> = catalogue.entries().map(|entry| entry.spec().name.as_ref()).collect();
        return format!("There is no tool `{}`; there are: {}.", base::text::headline(tool, 60), names.join(", "));
    };
    let (spec, verdict) = (entry.spec(), tools::decide(entry.spec(), grant));
    let word = if verdict.allowed { "may" } else { "may not" };
    let asks = if verdict.allowed && spec.destructive { " A person is asked before it runs." } else { "" };
    format!("A {} agent {word} use `{}`: {}.{asks}", grant.agent.as_str(), spec.name, verdict.reason)
}
