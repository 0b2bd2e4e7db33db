//! Every tool of this program: the one place where they are built.

use std::sync::Arc;

use anyhow::Result;
use base::{Clock, Scrub};
use net::fetch::Fetcher;
use net::teams::WebTeams;
use org::memory::Library;
use org::teams::Tree;
use org::trust::Policy;
use org::vault::Vault;
use store::Db;

use crate::asking::Asking;
use crate::catalogue::Catalogue;
use crate::delegation::{Line, Relay};
use crate::gate::Gates;
use crate::human::People;
use crate::org as teams;
use crate::org::Charter;
use crate::shell::ShellRules;
use crate::tool::AnyTool;
use crate::toolboxes::Directory;
use crate::workspace::Workspaces;
use crate::{
    delegation, files, human, memory, protocol, shell, skills, tables, todos, toolboxes, topics, trust, vault, web,
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
    /// How much may be asked of them.
    pub asking: delegation::Limits,
    /// The tree of teams.
    pub tree: Tree,
    /// The names of the models' profiles.
    pub profiles: Arc<[String]>,
}

/// Every tool of this program.
///
/// # Errors
/// If two tools share a name, or a record contradicts itself: a fault of ours that a test finds.
pub fn catalogue(handles: Handles) -> Result<Catalogue> {
    let directory = Directory::new();
    let all = [
        of_delegation(&handles),
        of_files(&handles, &directory),
        of_machine(&handles),
        of_memory(&handles),
        of_org(&handles, &directory),
        of_people(&handles),
        of_protocol(&handles),
        of_skills_and_todos(&handles),
        of_toolboxes(&handles, &directory),
        of_topics_and_trust(&handles),
        of_vault(&handles.vault),
    ];
    let catalogue = Catalogue::new(all.concat())?;
    directory.fill(&catalogue);
    Ok(catalogue)
}

fn people(handles: &Handles) -> People {
    People { db: handles.db.clone(), clock: handles.clock, policy: handles.policy.clone() }
}

/// Commands, the web, the team's own database.
fn of_machine(handles: &Handles) -> Vec<Arc<dyn AnyTool>> {
    let Handles { db, clock, workspaces, shell, web: (fetcher, web_teams), .. } = handles;
    let (clock, tables) = (*clock, tables::TeamTables::of(db, &shell.launcher.path));
    vec![
        Arc::new(shell::RunShell { workspaces: workspaces.clone(), rules: shell.clone(), clock }),
        Arc::new(tables::SqlExec { tables: tables.clone() }),
        Arc::new(tables::SqlQuery { tables }),
        Arc::new(web::WebFetch { fetcher: fetcher.clone(), teams: web_teams.clone(), workspaces: workspaces.clone() }),
    ]
}

/// What a team remembers.
fn of_memory(handles: &Handles) -> Vec<Arc<dyn AnyTool>> {
    let Handles { db, clock, library, .. } = handles;
    let clock = *clock;
    vec![
        Arc::new(memory::MemoryDelete { db: db.clone(), clock }),
        Arc::new(memory::MemoryList { db: db.clone() }),
        Arc::new(memory::MemorySave { db: db.clone(), clock, library: library.clone() }),
        Arc::new(memory::MemorySearch { db: db.clone(), clock, library: library.clone() }),
    ]
}

/// The tree of teams, and work that goes through its queues.
fn of_org(handles: &Handles, directory: &Directory) -> Vec<Arc<dyn AnyTool>> {
    let Handles { db, clock, workspaces, scrub, gates, tree, profiles, .. } = handles;
    let (clock, directory, profiles) = (*clock, directory.clone(), profiles.clone());
    let charter = Charter { db: db.clone(), directory, tree: tree.clone(), profiles };
    vec![
        Arc::new(teams::DelegateTask { db: db.clone(), clock, scrub: scrub.clone() }),
        Arc::new(teams::EnqueueParentTask { db: db.clone(), clock, scrub: scrub.clone() }),
        Arc::new(teams::Escalate { people: people(handles), scrub: scrub.clone() }),
        Arc::new(teams::GetStatus { db: db.clone(), gates: gates.clone() }),
        Arc::new(teams::ListCompletedTasks { db: db.clone(), clock }),
        Arc::new(teams::ListTeams { db: db.clone() }),
        Arc::new(teams::SendMessage { db: db.clone(), clock, scrub: scrub.clone() }),
        Arc::new(teams::ShutdownTeam { tree: tree.clone(), gates: gates.clone() }),
        Arc::new(teams::SpawnTeam { tree: tree.clone(), charter, workspaces: workspaces.clone() }),
        Arc::new(teams::UpdateTeam { tree: tree.clone() }),
    ]
}

/// What people are told and asked.
fn of_people(handles: &Handles) -> Vec<Arc<dyn AnyTool>> {
    vec![
        Arc::new(human::Notify { people: people(handles), scrub: handles.scrub.clone() }),
        Arc::new(Asking(human::PromptHuman)),
        Arc::new(Asking(human::PromptSecret { vault: handles.vault.clone() })),
        Arc::new(human::Think),
    ]
}

/// How a task talks with whoever gave it.
fn of_protocol(handles: &Handles) -> Vec<Arc<dyn AnyTool>> {
    let Handles { db, clock, scrub, .. } = handles;
    let clock = *clock;
    vec![
        Arc::new(protocol::ReportToParent { db: db.clone(), clock, scrub: scrub.clone() }),
        Arc::new(Asking(protocol::RequestInput { db: db.clone(), clock, scrub: scrub.clone() })),
        Arc::new(protocol::RespondToTask { db: db.clone(), clock, scrub: scrub.clone() }),
        Arc::new(protocol::UpdateTaskStatus { db: db.clone(), clock, scrub: scrub.clone() }),
    ]
}

/// What a turn has taken up, and what it wants to do.
fn of_skills_and_todos(handles: &Handles) -> Vec<Arc<dyn AnyTool>> {
    let Handles { db, clock, workspaces, shell, .. } = handles;
    let clock = *clock;
    vec![
        Arc::new(skills::ActivateSkill { db: db.clone(), clock, workspaces: workspaces.clone() }),
        Arc::new(skills::ReadSkillFile { workspaces: workspaces.clone() }),
        Arc::new(skills::RunSkillScript::new(workspaces.clone(), shell.clone(), clock)),
        Arc::new(todos::AddTodo { db: db.clone(), clock }),
        Arc::new(todos::CompleteTodo { db: db.clone(), clock }),
        Arc::new(todos::SetTodos { db: db.clone(), clock }),
    ]
}

/// The tools about tools.
fn of_toolboxes(handles: &Handles, directory: &Directory) -> Vec<Arc<dyn AnyTool>> {
    let Handles { db, clock, .. } = handles;
    let clock = *clock;
    vec![
        Arc::new(toolboxes::CreateToolbox { db: db.clone(), clock, directory: directory.clone() }),
        Arc::new(toolboxes::DeleteToolbox { db: db.clone() }),
        Arc::new(toolboxes::ListToolboxes { db: db.clone(), directory: directory.clone() }),
        Arc::new(toolboxes::ListTools { directory: directory.clone() }),
        Arc::new(Asking(toolboxes::RequestToolAccess { people: people(handles), directory: directory.clone() })),
        Arc::new(toolboxes::UpdateToolbox { db: db.clone(), clock, directory: directory.clone() }),
    ]
}

/// Lines of talk, and who may speak.
fn of_topics_and_trust(handles: &Handles) -> Vec<Arc<dyn AnyTool>> {
    let Handles { db, clock, policy, .. } = handles;
    let clock = *clock;
    vec![
        Arc::new(topics::ListTopics { db: db.clone() }),
        Arc::new(trust::AddTrustedSender { db: db.clone(), clock, policy: policy.clone() }),
        Arc::new(trust::ListTrustedSenders { db: db.clone(), clock }),
        Arc::new(trust::RevokeSenderTrust { db: db.clone(), clock, policy: policy.clone() }),
    ]
}

/// Asking others in the middle of a turn.
fn of_delegation(handles: &Handles) -> Vec<Arc<dyn AnyTool>> {
    let relay = Relay {
        db: handles.db.clone(),
        clock: handles.clock,
        gates: handles.gates.clone(),
        line: handles.line.clone(),
        tree: handles.tree.clone(),
        limits: handles.asking,
    };
    vec![
        Arc::new(delegation::DelegateParallel { relay: relay.clone() }),
        Arc::new(delegation::DelegateTo { relay: relay.clone() }),
        Arc::new(delegation::QueryTeam { relay: relay.clone() }),
        Arc::new(delegation::QueryTeams { relay: relay.clone() }),
        Arc::new(delegation::RunSubagent { relay: relay.clone() }),
        Arc::new(delegation::Scout { relay }),
    ]
}

/// A team's folder.
fn of_files(handles: &Handles, directory: &Directory) -> Vec<Arc<dyn AnyTool>> {
    let Handles { db, clock, workspaces, .. } = handles;
    let clock = *clock;
    let pen = || files::Pen { workspaces: workspaces.clone(), directory: directory.clone() };
    vec![
        Arc::new(files::AttachFile { db: db.clone(), clock, workspaces: workspaces.clone() }),
        Arc::new(files::Edit { pen: pen() }),
        Arc::new(files::Glob { workspaces: workspaces.clone() }),
        Arc::new(files::Grep { workspaces: workspaces.clone() }),
        Arc::new(files::List { workspaces: workspaces.clone() }),
        Arc::new(files::MultiEdit { pen: pen() }),
        Arc::new(files::Read { workspaces: workspaces.clone() }),
        Arc::new(files::Write { pen: pen() }),
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
