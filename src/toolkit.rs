//! The tools of this hive: the executor, and what goes with it. `rights` says who may use them.

mod rights;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use base::{Clock, Scrub, Secret, TeamName};
use llm::Models;
use net::buckets::BucketRule;
use net::fetch::{FetchRules, Fetcher};
use net::guard::Allowlist;
use net::teams::{WebRules, WebTeams};
use org::memory::{Library, Provider};
use org::teams::{Rules, TeamConfig, Tree};
use org::trust::Policy;
use org::vault::Vault;
use store::Db;
use tools::delegation::Line;
use tools::shell::{Networked, ShellLimits, ShellRules};
use tools::{Catalogue, Executor, Gates, Grant, Handles, Limits, Workspaces};

use crate::config::{Bucket, Team};

pub use rights::{Held, OfTeam, Rights};

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
    /// What memory is searched with: see [`library`].
    pub library: Library,
}

/// What memory is searched with: the model that the configuration names for it, else the embedded one.
///
/// # Errors
/// Where the named profile makes no vectors.
pub fn library(team: &Team, models: &Models) -> Result<Library> {
    let Some(model) = &team.memory_embedding else { return Ok(Library::embedded()) };
    let embeddings = models.embeddings(model).context("config.yaml, team.memory_embedding")?;
    Ok(Library::new(Arc::new(Provider::new(embeddings))))
}

/// What runs tools, and what memory is searched with.
///
/// # Errors
/// Where the teams' folder or the vault cannot be opened, or a host of the configuration is none.
pub async fn build(means: &Means<'_>) -> Result<Kit> {
    let Means { db, clock, run_dir, hidden, policy, scrub, team, vault_key, library } = means;
    let main = TeamName::main();
    let workspaces = Workspaces::open(&run_dir.join("teams"))?.keeping_out(scrub);
    // The main team's folder is made now: a session's prompt names it.
    workspaces.of(&main)?;
    let vault = Vault::open(db, *clock, scrub, *vault_key, run_dir).await.context("open the vault")?;
    let (web, networked, gates) = (WebTeams::default(), Networked::default(), Gates::new(team.daily_ops_max));
    let outfit = Outfit { web: web.clone(), networked: networked.clone(), gates: gates.clone() };
    outfit.fit(&main, &root_config(team)).context("config.yaml, team")?;
    let hidden = hidden.iter().chain([&run_dir.to_path_buf()]).cloned().collect();
    let limits = ShellLimits { workspace_bytes_max: team.shell_workspace_bytes_max, ..ShellLimits::default() };
    let (line, tree) = (Line::new(), tree(means, &vault)?);
    let handles = Handles {
        db: (*db).clone(),
        clock: *clock,
        workspaces: workspaces.clone(),
        policy: (*policy).clone(),
        vault: vault.clone(),
        library: library.clone(),
        web: (Fetcher::new(FetchRules::default()), web),
        shell: Arc::new(ShellRules { network: networked, hidden, limits, ..ShellRules::default() }),
        scrub: (*scrub).clone(),
        gates: gates.clone(),
        line: line.clone(),
        tree: tree.clone(),
    };
    let executor = Executor {
        db: (*db).clone(),
        clock: *clock,
        catalogue: Arc::new(tools::catalogue(handles)?),
        gates,
        line,
        scrub: (*scrub).clone(),
        vault,
        workspaces,
        limits: Limits::default(),
    };
    Ok(Kit { executor, library: library.clone(), tree, outfit })
}

/// The tree of teams: below the main one, none has more than the configuration lets that have.
///
/// # Errors
/// Where the teams' folder cannot be opened.
pub fn tree(means: &Means<'_>, vault: &Vault) -> Result<Tree> {
    let rules = Rules { root: root_config(means.team), ..Rules::default() };
    Tree::open(means.db, means.clock, vault, means.scrub, &means.run_dir.join("teams"), rules)
}

fn root_config(team: &Team) -> TeamConfig {
    let bucket = |bucket: &Bucket| org::teams::Bucket { rps: bucket.rps, burst: bucket.burst };
    TeamConfig {
        allowed_tools: team.allowed_tools.clone(),
        toolboxes: team.toolboxes.clone(),
        max_concurrent_daily_ops: team.daily_ops_max,
        rate_limit_buckets: team.rate_limit_buckets.iter().map(|(key, rule)| (key.clone(), bucket(rule))).collect(),
        // An empty list allows every host, as a missing one does.
        allowed_domains: Some(team.allowed_domains.clone()).filter(|domains| !domains.is_empty()),
        shell_network: team.shell_network,
        ..TeamConfig::default()
    }
}

/// The tools of a hive, and what goes with them.
pub struct Kit {
    /// What runs tools.
    pub executor: Executor,
    /// What memory is searched with.
    pub library: Library,
    /// The teams.
    pub tree: Tree,
    /// What a team's configuration changes about its tools.
    pub outfit: Outfit,
}

/// What a team's configuration changes about its tools. It is read when a turn of the team begins.
#[derive(Clone)]
pub struct Outfit {
    web: WebTeams,
    networked: Networked,
    gates: Gates,
}

impl Outfit {
    /// Has a team's tools work as its configuration says from now on.
    ///
    /// # Errors
    /// Where one of its hosts is none.
    pub fn fit(&self, team: &TeamName, config: &TeamConfig) -> Result<()> {
        let allowed = match &config.allowed_domains {
            Some(domains) if !domains.iter().any(|domain| domain == "*") => {
                Allowlist::parse(domains).context("allowed_domains")?
            }
            _ => Allowlist::Anywhere,
        };
        let rule = |(key, rule): (&String, &org::teams::Bucket)| {
            (key.clone(), BucketRule { rps: rule.rps, burst: rule.burst })
        };
        self.web.set(team, WebRules { allowed, buckets: config.rate_limit_buckets.iter().map(rule).collect() });
        self.networked.set(team, config.shell_network);
        self.gates.fit(team, config.max_concurrent_daily_ops);
        Ok(())
    }
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
