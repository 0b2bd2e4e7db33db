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
use org::teams::{Browser, Rules, TeamConfig, Tree};
use org::trust::Policy;
use org::vault::Vault;
use store::Db;
use tools::delegation::{self, Line};
use tools::shell::{Networked, ShellLimits, ShellRules};
use tools::{BatchLimits, Catalogue, Executor, Gates, Grant, Handles, Limits, Workspaces};

use crate::config::{Delegation, Team};

pub use rights::{OfTeam, Rights};

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
    /// The names of the models' profiles.
    pub profiles: Vec<String>,
    /// How much of other sessions a turn may ask.
    pub delegation: Delegation,
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
    let Means { db, clock, run_dir, hidden, policy, scrub, team, vault_key, profiles, delegation, library } = means;
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
    let forgets = outfit.clone();
    tree.when_gone(move |team| forgets.forget(team));
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
        asking: asking(delegation),
        tree: tree.clone(),
        profiles: profiles.as_slice().into(),
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
        limits: Limits {
            batches: BatchLimits { delegations_max: delegation.at_once_max as usize, ..BatchLimits::default() },
            ..Limits::default()
        },
    };
    Ok(Kit { executor, library: library.clone(), tree, outfit })
}

/// How much of other sessions a turn may ask, as the tools count it.
fn asking(delegation: &Delegation) -> delegation::Limits {
    delegation::Limits {
        depth_max: delegation.depth_max,
        pair_calls_max: delegation.calls_per_child_max as usize,
        per_child_max: delegation.at_once_per_child_max as usize,
        ..delegation::Limits::default()
    }
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
    TeamConfig {
        allowed_tools: team.allowed_tools.clone(),
        toolboxes: team.toolboxes.clone(),
        max_concurrent_daily_ops: team.daily_ops_max,
        rate_limit_buckets: team.rate_limit_buckets.clone(),
        // An empty list allows every host, as a missing one does.
        allowed_domains: Some(team.allowed_domains.clone()).filter(|domains| !domains.is_empty()),
        browser: team.browser.then(Browser::default),
        mcp_servers: team.mcp_servers.clone(),
        shell_network: team.shell_network,
        memory_embedding: team.memory_embedding.as_ref().map(ToString::to_string),
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

    /// Forgets what a team's configuration has said, and its gate: the team is gone, and another one may have its name.
    pub fn forget(&self, team: &TeamName) {
        self.web.forget(team);
        self.networked.set(team, false);
        self.gates.forget(team);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_may_be_given_what_the_owner_does_not_keep_back() {
        let child = "name: ops\nparent: main\nallowed_tools: ['*']\ntoolboxes: [ops]\nprovider_profile: cheap\nmax_steps: 9\n\
                     max_concurrent_daily_ops: 2\nrate_limit_buckets: {k: {rps: 2}}\nallowed_domains: [example.org]\n\
                     browser: {timeout_ms: 5000}\nmcp_servers: [github]\nbudgets: {daily_usd: 1, daily_tokens: 9}\n\
                     memory_embedding: vectors\n";
        let child = TeamConfig::parse("config.yaml", child).unwrap();
        let kept_back = |team: &Team| {
            let excess = child.excess(&root_config(team)).into_iter();
            excess.map(|excess| excess.key).collect::<Vec<_>>()
        };
        assert_eq!(kept_back(&Team::default()), Vec::<String>::new());
        let force = child.within(&root_config(&Team::default()));
        let browser = force.browser.as_ref().map(|browser| (browser.timeout_ms, &browser.allowed_domains));
        assert_eq!(browser, Some((5_000, &child.allowed_domains)), "no host that the team may not ask at all");
        assert_eq!(force.mcp_servers, child.mcp_servers);
        let narrow = Team { browser: false, mcp_servers: vec!["jira".to_owned()], ..Team::default() };
        assert_eq!(kept_back(&narrow), ["browser", "mcp_servers"]);
    }

    #[test]
    fn a_team_that_is_gone_leaves_nothing_to_another_of_its_name() {
        let ops: TeamName = "ops".parse().unwrap();
        let outfit = Outfit { web: WebTeams::default(), networked: Networked::default(), gates: Gates::new(5) };
        let config = TeamConfig {
            allowed_domains: Some(vec!["example.org".to_owned()]),
            shell_network: true,
            max_concurrent_daily_ops: 2,
            ..TeamConfig::default()
        };
        outfit.fit(&ops, &config).unwrap();
        assert!(outfit.networked.has(&ops) && *outfit.web.of(&ops) != WebRules::default());
        assert_eq!(outfit.gates.loads().len(), 1);
        outfit.forget(&ops);
        assert!(!outfit.networked.has(&ops));
        assert_eq!(*outfit.web.of(&ops), WebRules::default());
        assert!(outfit.gates.loads().is_empty());
    }
}
