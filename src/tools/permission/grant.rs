//! What one session may use, as its team's and its own lists say, and who caused its turn.

use std::collections::BTreeMap;

use super::Reason;
use crate::catalogue::ActiveSet;
use crate::spec::{Effect, Partition};

/// What sort of agent runs a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AgentKind {
    /// The main team's own agent: it talks to people.
    Main,
    /// An agent that works for another: a child team's, or a subagent.
    Sub,
    /// A subagent that only looks around. It never delegates.
    Scout,
}

impl AgentKind {
    /// Every kind.
    pub const ALL: [AgentKind; 3] = [AgentKind::Main, AgentKind::Sub, AgentKind::Scout];

    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            AgentKind::Main => "main",
            AgentKind::Sub => "sub",
            AgentKind::Scout => "scout",
        }
    }

    /// The tools without which such an agent could not work: no list takes these away.
    pub fn floor(self) -> impl Iterator<Item = &'static str> {
        let (core, protocol, scout) = match self {
            AgentKind::Main => (CORE, &[][..], &[][..]),
            AgentKind::Sub => (CORE, TASK_PROTOCOL, &[][..]),
            AgentKind::Scout => (&[][..], TASK_PROTOCOL, &["think"][..]),
        };
        core.iter().chain(protocol).chain(scout).copied()
    }
}

/// Files, the shell, people, and thinking.
const CORE: &[&str] = &[
    "attach_file",
    "edit_file",
    "grep",
    "list_directory",
    "multi_edit",
    "notify",
    "prompt_human",
    "prompt_secret",
    "read_file",
    "run_shell",
    "task_todos",
    "think",
    "write_file",
];

/// How an agent that was given a task answers whoever gave it.
pub(super) const TASK_PROTOCOL: &[&str] = &["report_to_parent", "request_input", "update_task_status"];

/// A named allow-list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolbox {
    /// Its name.
    pub name: String,
    /// Names and patterns.
    pub tools: Vec<String>,
}

/// What is known of a plugin tool when it is called. Of one that nothing is known of, nothing is true.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PluginFacts {
    /// The skill that is being followed declares it.
    pub declared: bool,
    /// Its row says that it is active.
    pub active: bool,
    /// Its source passed the verification.
    pub verified: bool,
    /// The source on the disk has the hash that was verified.
    pub unchanged: bool,
}

impl PluginFacts {
    /// Everything is as it must be.
    pub fn all() -> PluginFacts {
        PluginFacts { declared: true, active: true, verified: true, unchanged: true }
    }

    /// The first of them that is not so.
    pub(super) fn lacks(self) -> Option<Reason> {
        let facts = [
            (self.declared, Reason::PluginNotDeclared),
            (self.active, Reason::PluginInactive),
            (self.verified, Reason::PluginNotVerified),
            (self.unchanged, Reason::PluginChanged),
        ];
        facts.into_iter().find(|(is_so, _)| !is_so).map(|(_, reason)| reason)
    }
}

/// What is known of a tool of another server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct McpFacts {
    /// The server says that the tool only reads.
    pub declares_read_only: bool,
    /// The operator believes what this server says.
    pub server_trusted: bool,
}

impl McpFacts {
    /// How such a tool may overlap with others, and what a call of it leaves behind: a read only where the server says
    /// so and is believed, the worst otherwise.
    pub fn class(self) -> (Partition, Effect) {
        match self.declares_read_only && self.server_trusted {
            true => (Partition::Read, Effect::ReadOnly),
            false => (Partition::Write, Effect::Once),
        }
    }
}

/// What a subagent's file leaves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remit {
    /// Names and patterns of the tools that it has at most, those of the floor included; `None` where the file does not
    /// say.
    pub tools: Option<Vec<String>>,
    /// The skills that it follows. It takes up these and no others.
    pub skills: Vec<String>,
}

/// What one session may use, and who caused its turn.
#[derive(Clone, Debug)]
pub struct Grant {
    /// The sort of agent.
    pub agent: AgentKind,
    /// Names and patterns that the team's configuration lets through.
    pub allowed_tools: Vec<String>,
    /// The toolboxes that were chosen for this agent. `None`: nobody chose any, and `allowed_tools` is all there is
    /// to ask. An empty choice leaves the floor and the direct grants.
    pub toolboxes: Option<Vec<Toolbox>>,
    /// Names and patterns granted to this agent by themselves.
    pub direct: Vec<String>,
    /// What the parent's agent may use; `None` for the root.
    pub parent: Option<ActiveSet>,
    /// What is known of plugin tools, by logical name. One that is missing here may not be used.
    pub plugins: BTreeMap<String, PluginFacts>,
    /// What the subagent's file leaves it whose session this is; `None` for every other agent.
    pub remit: Option<Remit>,
    /// Whether whoever caused the turn is trusted. Nobody else gets a turn; where one is asked about all the same, it
    /// reaches nothing.
    pub trusted: bool,
    /// Whether an admin caused the turn.
    pub admin: bool,
}

impl Grant {
    /// The main agent's as it is where nothing is configured: everything that is not disabled by default, in a turn that
    /// somebody trusted caused.
    pub fn main(admin: bool) -> Grant {
        Grant {
            agent: AgentKind::Main,
            allowed_tools: vec!["*".to_owned()],
            toolboxes: None,
            direct: Vec::new(),
            parent: None,
            plugins: BTreeMap::new(),
            remit: None,
            trusted: true,
            admin,
        }
    }
}
