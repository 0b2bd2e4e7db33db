//! All tools, sorted, each known by its names; and the one place where they are built.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Result, bail, ensure};
use base::{Clock, Scrub};
use net::fetch::Fetcher;
use net::teams::WebTeams;
use org::memory::Library;
use org::teams::Tree;
use org::trust::Policy;
use org::vault::Vault;
use serde_json::Value;
use store::Db;
use store::tables::Tables;

use crate::asking::Asking;
use crate::delegation::{Line, Relay};
use crate::gate::Gates;
use crate::human::People;
use crate::org as teams;
use crate::org::Charter;
use crate::permission::{Grant, shown};
use crate::shell::ShellRules;
use crate::spec::{Domain, Effect, Ops, Partition, Source, Spec};
use crate::tool::AnyTool;
use crate::toolboxes::Directory;
use crate::workspace::Workspaces;
use crate::{
    delegation, files, human, memory, protocol, shell, skills, tables, todos, toolboxes, topics, trust, vault, web,
    wire,
};

/// What the tools are built with.
pub struct Handles {
    /// The database.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// The teams' folders.
    pub workspaces: Workspaces,
    /// What the owner wrote about trust.
    pub policy: Arc<Policy>,
    /// The teams' values and secrets.
    pub vault: Vault,
    /// What searching memory needs.
    pub library: Library,
    /// The way to other machines, and what each team may ask there.
    pub web: (Fetcher, WebTeams),
    /// How commands are run.
    pub shell: Arc<ShellRules>,
    /// The secrets that nothing may hold that goes out to people.
    pub scrub: Scrub,
    /// Admission to the teams: those of the executor.
    pub gates: Gates,
    /// Leads to the sessions that are asked in the middle of a call.
    pub line: Line,
    /// The tree of teams.
    pub tree: Tree,
}

/// Every tool of this program.
///
/// # Errors
/// If two tools share a name, or a record contradicts itself: a fault of ours that a test finds.
pub fn catalogue(handles: Handles) -> Result<Catalogue> {
    let Handles { db, clock, workspaces, policy, vault, library, web, shell, scrub, gates, line, tree } = handles;
    let people = People { db: db.clone(), clock, policy: policy.clone() };
    let (fetcher, web_teams) = web;
    let directory = Directory::new();
    let relay = Relay::new(&db, clock, &gates, &line);
    let charter = Charter { db: db.clone(), directory: directory.clone(), tree: tree.clone() };
    let mut all = of_delegation(&relay);
    all.extend(of_files(&db, clock, &workspaces));
    all.extend(of_vault(&vault));
    let others: Vec<Arc<dyn AnyTool>> = vec![
        Arc::new(toolboxes::CreateToolbox { db: db.clone(), clock, directory: directory.clone() }),
        Arc::new(toolboxes::DeleteToolbox { db: db.clone() }),
        Arc::new(toolboxes::ListToolboxes { db: db.clone(), directory: directory.clone() }),
        Arc::new(toolboxes::ListTools { directory: directory.clone() }),
        Arc::new(Asking(toolboxes::RequestToolAccess { people: people.clone(), directory: directory.clone() })),
        Arc::new(toolboxes::UpdateToolbox { db: db.clone(), clock, directory: directory.clone() }),
        Arc::new(human::Notify { people: people.clone(), scrub: scrub.clone() }),
        Arc::new(Asking(human::PromptHuman)),
        Arc::new(Asking(human::PromptSecret { vault: vault.clone() })),
        Arc::new(human::Think),
        Arc::new(memory::MemoryDelete { db: db.clone(), clock }),
        Arc::new(memory::MemoryList { db: db.clone() }),
        Arc::new(memory::MemorySave { db: db.clone(), clock, library: library.clone() }),
        Arc::new(memory::MemorySearch { db: db.clone(), clock, library }),
        Arc::new(teams::DelegateTask { db: db.clone(), clock, scrub: scrub.clone() }),
        Arc::new(teams::EnqueueParentTask { db: db.clone(), clock, scrub: scrub.clone() }),
        Arc::new(teams::Escalate { people, scrub: scrub.clone() }),
        Arc::new(teams::GetStatus { db: db.clone(), gates: gates.clone() }),
        Arc::new(teams::ListCompletedTasks { db: db.clone(), clock }),
        Arc::new(teams::ListTeams { db: db.clone() }),
        Arc::new(teams::SendMessage { db: db.clone(), clock, scrub: scrub.clone() }),
        Arc::new(teams::ShutdownTeam { tree: tree.clone(), gates, tables: Tables::beside(&db) }),
        Arc::new(teams::SpawnTeam { tree: tree.clone(), charter, workspaces: workspaces.clone() }),
        Arc::new(teams::UpdateTeam { tree }),
        Arc::new(protocol::ReportToParent { db: db.clone(), clock, scrub: scrub.clone() }),
        Arc::new(Asking(protocol::RequestInput { db: db.clone(), clock, scrub: scrub.clone() })),
        Arc::new(protocol::RespondToTask { db: db.clone(), clock, scrub: scrub.clone() }),
        Arc::new(protocol::UpdateTaskStatus { db: db.clone(), clock, scrub }),
        Arc::new(shell::RunShell { workspaces: workspaces.clone(), rules: shell.clone(), clock }),
        Arc::new(skills::ActivateSkill { db: db.clone(), clock, workspaces: workspaces.clone() }),
        Arc::new(skills::ReadSkillFile { workspaces: workspaces.clone() }),
        Arc::new(skills::RunSkillScript::new(workspaces.clone(), shell, clock)),
        Arc::new(tables::SqlExec { tables: Tables::beside(&db) }),
        Arc::new(tables::SqlQuery { tables: Tables::beside(&db) }),
        Arc::new(todos::AddTodo { db: db.clone(), clock }),
        Arc::new(todos::CompleteTodo { db: db.clone(), clock }),
        Arc::new(todos::SetTodos { db: db.clone(), clock }),
        Arc::new(web::WebFetch { fetcher, teams: web_teams, workspaces }),
        Arc::new(topics::ListTopics { db: db.clone() }),
        Arc::new(trust::AddTrustedSender { db: db.clone(), clock, policy: policy.clone() }),
        Arc::new(trust::ListTrustedSenders { db: db.clone(), clock }),
        Arc::new(trust::RevokeSenderTrust { db, clock, policy }),
    ];
    all.extend(others);
    let catalogue = Catalogue::new(all)?;
    directory.fill(&catalogue);
    Ok(catalogue)
}

/// Asking others in the middle of a turn.
fn of_delegation(relay: &Relay) -> Vec<Arc<dyn AnyTool>> {
    vec![
        Arc::new(delegation::DelegateParallel { relay: relay.clone() }),
        Arc::new(delegation::DelegateTo { relay: relay.clone() }),
        Arc::new(delegation::QueryTeam { relay: relay.clone() }),
        Arc::new(delegation::QueryTeams { relay: relay.clone() }),
        Arc::new(delegation::RunSubagent { relay: relay.clone() }),
        Arc::new(delegation::Scout { relay: relay.clone() }),
    ]
}

/// A team's folder.
fn of_files(db: &Db, clock: Clock, workspaces: &Workspaces) -> Vec<Arc<dyn AnyTool>> {
    vec![
        Arc::new(files::AttachFile { db: db.clone(), clock, workspaces: workspaces.clone() }),
        Arc::new(files::Edit { workspaces: workspaces.clone() }),
        Arc::new(files::Glob { workspaces: workspaces.clone() }),
        Arc::new(files::Grep { workspaces: workspaces.clone() }),
        Arc::new(files::List { workspaces: workspaces.clone() }),
        Arc::new(files::MultiEdit { workspaces: workspaces.clone() }),
        Arc::new(files::Read { workspaces: workspaces.clone() }),
        Arc::new(files::Write { workspaces: workspaces.clone() }),
    ]
}

/// A team's values and secrets.
fn of_vault(vault: &Vault) -> Vec<Arc<dyn AnyTool>> {
    vec![
        Arc::new(vault::VaultDelete { vault: vault.clone() }),
        Arc::new(vault::VaultGet { vault: vault.clone() }),
        Arc::new(vault::VaultList { vault: vault.clone() }),
        Arc::new(vault::VaultSet { vault: vault.clone() }),
    ]
}

/// A tool with what the catalogue worked out about it.
pub struct Entry {
    /// The tool.
    pub tool: Arc<dyn AnyTool>,
    /// The name that providers see.
    pub wire_name: String,
    /// The JSON Schema of its arguments.
    pub input: Arc<Value>,
    /// The JSON Schema of its result.
    pub output: Value,
}

impl Entry {
    /// The tool's record.
    pub fn spec(&self) -> &Spec {
        self.tool.spec()
    }
}

/// A tool as a model is shown it.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// The name on the wire.
    pub name: String,
    /// What it does and when to use it.
    pub about: String,
    /// The JSON Schema of its arguments.
    pub schema: Arc<Value>,
}

/// The tools that one session sees, by logical name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActiveSet(BTreeSet<Box<str>>);

impl ActiveSet {
    /// Whether a tool is one of them.
    pub fn contains(&self, logical_name: &str) -> bool {
        self.0.contains(logical_name)
    }

    /// Their logical names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|name| &**name)
    }
}

impl<'a> FromIterator<&'a str> for ActiveSet {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> Self {
        ActiveSet(names.into_iter().map(Box::from).collect())
    }
}

/// All tools. Invariant: sorted by domain, then by name; every logical name, alias and wire name names one tool.
pub struct Catalogue {
    entries: Vec<Entry>,
    by_name: BTreeMap<String, usize>,
    by_wire: BTreeMap<String, usize>,
}

impl Catalogue {
    /// A catalogue of these tools.
    ///
    /// # Errors
    /// If two tools share a name, or a record contradicts itself.
    pub fn new(tools: Vec<Arc<dyn AnyTool>>) -> Result<Catalogue> {
        let mut entries = tools.into_iter().map(entry).collect::<Result<Vec<_>>>()?;
        entries.sort_by(|a, b| order(a.spec()).cmp(&order(b.spec())));
        let (mut by_name, mut by_wire) = (BTreeMap::new(), BTreeMap::new());
        for (at, entry) in entries.iter().enumerate() {
            for name in entry.spec().names() {
                if by_name.insert(name.to_owned(), at).is_some() {
                    bail!("two tools are called `{name}`");
                }
                // An alias is understood on the wire too: models know some tools by their common names.
                let wire_name = wire::name(name)?;
                if by_wire.insert(wire_name.clone(), at).is_some() {
                    bail!("two tools are called `{wire_name}` on the wire");
                }
            }
        }
        Ok(Catalogue { entries, by_name, by_wire })
    }

    /// Every tool, in order.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// The tool with this logical name or alias.
    pub fn by_name(&self, name: &str) -> Option<&Entry> {
        self.by_name.get(name).map(|at| &self.entries[*at])
    }

    /// The tool that providers see under this name.
    pub fn by_wire(&self, name: &str) -> Option<&Entry> {
        self.by_wire.get(name).map(|at| &self.entries[*at])
    }

    /// What a session with this grant is shown. Who caused the turn makes no difference.
    pub fn active(&self, grant: &Grant) -> ActiveSet {
        self.entries.iter().map(Entry::spec).filter(|spec| shown(spec, grant).allowed).map(|spec| &*spec.name).collect()
    }

    /// The tools of a set as a model is shown them: the same bytes for the same set, always.
    pub fn definitions(&self, active: &ActiveSet) -> Vec<Definition> {
        let entries = self.entries.iter().filter(|entry| active.contains(&entry.spec().name));
        entries.map(Entry::definition).collect()
    }
}

impl Entry {
    fn definition(&self) -> Definition {
        Definition {
            name: self.wire_name.clone(),
            about: self.spec().about.trim().to_owned(),
            schema: self.input.clone(),
        }
    }
}

fn order(spec: &Spec) -> (&'static str, &str) {
    (spec.domain.as_str(), &spec.name)
}

fn entry(tool: Arc<dyn AnyTool>) -> Result<Entry> {
    let spec = tool.spec();
    let name = &spec.name;
    let wire_name = wire::name(name)?;
    let (input, output) = (Arc::new(tool.input_schema()), tool.output_schema());
    ensure!(!spec.about.trim().is_empty(), "nothing says what `{name}` does");
    ensure!(input["type"] == "object", "the arguments of `{name}` are no object");
    if spec.source == Source::Native {
        ensure!(input["additionalProperties"] == false, "`{name}` takes arguments that it does not know");
    }
    ensure!(!spec.timeout.is_zero(), "`{name}` has no time to run");
    ensure!(spec.max_result_bytes > 0, "`{name}` may say nothing");
    let internal = matches!(spec.source, Source::Internal { .. });
    ensure!(internal == (spec.domain == Domain::Internal), "`{name}` is half internal");
    let read_only = spec.effect == Effect::ReadOnly;
    ensure!(!(read_only && spec.destructive), "`{name}` only reads and yet destroys");
    ensure!(!(read_only && spec.ops == Ops::Org), "`{name}` only reads and yet wants the team for itself");
    ensure!(!(spec.destructive && tool.asks().is_some()), "`{name}` asks twice before it does anything");
    let overlaps = spec.partition == Partition::Read;
    ensure!(!overlaps || spec.may_run_again(), "`{name}` may overlap with itself and yet has an effect each time");
    Ok(Entry { wire_name, input, output, tool })
}

#[cfg(test)]
mod tests;
