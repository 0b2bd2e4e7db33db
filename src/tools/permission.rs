//! May this agent use this tool? One pure function over the record and the grant, with a reason for every answer.
//!
//! What an agent may use is the floor, and of what its toolboxes and direct grants name whatever the team's
//! `allowed_tools` let through, the parent has, and its kind of agent may have. Deny by default.
//!
//! [`door`] is the same function for outsiders.

pub mod door;

use std::collections::BTreeMap;
use std::fmt;

use crate::catalogue::ActiveSet;
use crate::glob;
use crate::spec::{Availability, Effect, Partition, Provenance, Source, Spec};

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
const TASK_PROTOCOL: &[&str] = &["report_to_parent", "request_input", "update_task_status"];

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
    fn lacks(self) -> Option<Reason> {
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
            trusted: true,
            admin,
        }
    }
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the tool may be used.
    pub allowed: bool,
    /// The rule that said so.
    pub reason: Reason,
}

/// The rule that decided. `Display` is for people and for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It belongs to the floor.
    Floor(AgentKind),
    /// A pattern of `allowed_tools` names it, and no toolboxes were chosen.
    AllowedTools {
        /// The pattern.
        pattern: String,
    },
    /// A toolbox has it, and `allowed_tools` lets it through.
    Toolbox {
        /// The toolbox.
        toolbox: String,
        /// Its pattern.
        pattern: String,
        /// The pattern of `allowed_tools`.
        allowed_by: String,
    },
    /// It was granted by itself, and `allowed_tools` lets it through.
    Direct {
        /// The grant's pattern.
        pattern: String,
        /// The pattern of `allowed_tools`.
        allowed_by: String,
    },
    /// It belongs to the hive's own machinery.
    Internal,
    /// This kind of agent may not have it.
    Availability(Availability, AgentKind),
    /// A scout is a leaf.
    ScoutDelegates,
    /// A scout only looks.
    ScoutWrites,
    /// No pattern of `allowed_tools` names it.
    NotAllowed,
    /// A pattern of `allowed_tools` matches it, and is not explicit enough to grant it.
    TooVague {
        /// The pattern.
        pattern: String,
        /// What it takes.
        needs: Needs,
    },
    /// No chosen toolbox and no direct grant names it.
    InNoToolbox,
    /// The parent may not use it.
    ParentLacks,
    /// No skill that is being followed declares the plugin tool.
    PluginNotDeclared,
    /// The plugin tool's row does not say that it is active.
    PluginInactive,
    /// The plugin tool's source has not passed the verification.
    PluginNotVerified,
    /// The plugin tool's source is not what was verified.
    PluginChanged,
    /// Whoever caused the turn is not trusted.
    NotTrusted,
    /// Only a turn that an admin caused may use it.
    NotAnAdmin,
}

impl Reason {
    /// The rule's name, for programs.
    pub fn rule(&self) -> &'static str {
        match self {
            Reason::Floor(_) => "floor",
            Reason::AllowedTools { .. } => "allowed_tools",
            Reason::Toolbox { .. } => "toolbox",
            Reason::Direct { .. } => "direct",
            Reason::Internal => "internal",
            Reason::Availability(..) => "availability",
            Reason::ScoutDelegates => "scout_delegates",
            Reason::ScoutWrites => "scout_writes",
            Reason::NotAllowed => "not_allowed",
            Reason::TooVague { .. } => "too_vague",
            Reason::InNoToolbox => "in_no_toolbox",
            Reason::ParentLacks => "parent_lacks",
            Reason::PluginNotDeclared => "plugin_not_declared",
            Reason::PluginInactive => "plugin_inactive",
            Reason::PluginNotVerified => "plugin_not_verified",
            Reason::PluginChanged => "plugin_changed",
            Reason::NotTrusted => "not_trusted",
            Reason::NotAnAdmin => "not_an_admin",
        }
    }
}

/// How explicit a pattern has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// The very name: the tool is disabled by default.
    Name,
    /// The name of the plugin's team and the dot: `engineering.*`.
    Team,
    /// The mark of tools from other servers: `mcp__github__*`.
    Server,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Floor(agent) => write!(f, "every {} agent has it", agent.as_str()),
            Reason::AllowedTools { pattern } => write!(f, "`{pattern}` in allowed_tools grants it"),
            Reason::Toolbox { toolbox, pattern, allowed_by } => {
                write!(f, "`{pattern}` of the toolbox `{toolbox}` grants it, and allowed_tools has `{allowed_by}`")
            }
            Reason::Direct { pattern, allowed_by } => {
                write!(f, "the direct grant `{pattern}` has it, and allowed_tools has `{allowed_by}`")
            }
            Reason::Internal => f.write_str("it belongs to the hive's own machinery"),
            Reason::Availability(for_whom, agent) => {
                write!(f, "it is for {} agents, and this is a {} agent", for_whom.as_str(), agent.as_str())
            }
            Reason::ScoutDelegates => f.write_str("a scout gives no work to others"),
            Reason::ScoutWrites => f.write_str("a scout only reads, and it does more"),
            Reason::NotAllowed => f.write_str("nothing in allowed_tools names it"),
            Reason::TooVague { pattern, needs } => {
                let needs = match needs {
                    Needs::Name => "it is disabled by default, and only its own name grants it",
                    Needs::Team => "a plugin tool is granted by a pattern that spells out `team.`",
                    Needs::Server => "a tool of another server is granted by a pattern that spells out `mcp__`",
                };
                write!(f, "`{pattern}` in an allow-list matches it and does not grant it: {needs}")
            }
            Reason::InNoToolbox => f.write_str("none of the agent's toolboxes or direct grants names it"),
            Reason::ParentLacks => f.write_str("the parent may not use it either"),
            Reason::PluginNotDeclared => f.write_str("no skill that is being followed declares this plugin tool"),
            Reason::PluginInactive => f.write_str("this plugin tool is not active"),
            Reason::PluginNotVerified => f.write_str("this plugin tool has not passed its verification"),
            Reason::PluginChanged => f.write_str("this plugin tool's source is not what was verified"),
            Reason::NotTrusted => f.write_str("whoever caused the turn is not trusted, and reaches no tool"),
            Reason::NotAnAdmin => f.write_str("only a turn that an admin caused may use it"),
        }
    }
}

/// Whether a call may be made now: [`shown`], and who caused the turn.
pub fn decide(tool: &Spec, grant: &Grant) -> Verdict {
    judge(Named { spec: tool, aliases: tool.aliases }, grant)
}

/// Whether the agent is shown the tool. Who caused the turn does not matter here: what a model is shown stays the
/// same from turn to turn, or no provider could cache it.
pub fn shown(tool: &Spec, grant: &Grant) -> Verdict {
    active(Named { spec: tool, aliases: tool.aliases }, grant)
}

/// A tool with its other names, which need not be those of this program.
#[derive(Clone, Copy)]
struct Named<'a> {
    spec: &'a Spec,
    aliases: &'a [&'a str],
}

impl<'a> Named<'a> {
    fn names(self) -> impl Iterator<Item = &'a str> {
        std::iter::once(&*self.spec.name).chain(self.aliases.iter().copied())
    }
}

fn judge(tool: Named<'_>, grant: &Grant) -> Verdict {
    if !grant.trusted {
        return no(Reason::NotTrusted);
    }
    let active = active(tool, grant);
    if active.allowed && tool.spec.provenance == Provenance::Admin && !grant.admin {
        return no(Reason::NotAnAdmin);
    }
    active
}

fn active(tool: Named<'_>, grant: &Grant) -> Verdict {
    let spec = tool.spec;
    if matches!(spec.source, Source::Internal { .. }) {
        return no(Reason::Internal);
    }
    let for_kind = match spec.availability {
        Availability::Both => true,
        Availability::Main => grant.agent == AgentKind::Main,
        Availability::Sub => grant.agent != AgentKind::Main,
    };
    if !for_kind {
        return no(Reason::Availability(spec.availability, grant.agent));
    }
    if spec.source == Source::Native && grant.agent.floor().any(|name| tool.names().any(|own| own == name)) {
        return yes(Reason::Floor(grant.agent));
    }
    if grant.agent == AgentKind::Scout && spec.partition == Partition::Delegate {
        return no(Reason::ScoutDelegates);
    }
    if grant.agent == AgentKind::Scout && spec.effect != Effect::ReadOnly {
        return no(Reason::ScoutWrites);
    }
    let granted = match granted(tool, grant) {
        Ok(reason) => reason,
        Err(reason) => return no(reason),
    };
    if grant.parent.as_ref().is_some_and(|parent| !parent.contains(&spec.name)) {
        return no(Reason::ParentLacks);
    }
    if spec.source == Source::Plugin {
        let facts = grant.plugins.get(&*spec.name).copied().unwrap_or_default();
        if let Some(lacks) = facts.lacks() {
            return no(lacks);
        }
    }
    yes(granted)
}

/// What the team's and the agent's own lists say.
fn granted(tool: Named<'_>, grant: &Grant) -> Result<Reason, Reason> {
    let pattern = match_list(tool, &grant.allowed_tools)?.ok_or(Reason::NotAllowed)?.to_owned();
    let Some(toolboxes) = &grant.toolboxes else { return Ok(Reason::AllowedTools { pattern }) };
    let allowed_by = pattern;
    let mut vague = None;
    let lists = toolboxes.iter().map(|toolbox| (Some(&toolbox.name), &toolbox.tools));
    for (toolbox, tools) in lists.chain([(None, &grant.direct)]) {
        match (match_list(tool, tools), toolbox) {
            (Ok(None), _) => {}
            (Err(reason), _) => vague = vague.or(Some(reason)),
            (Ok(Some(pattern)), None) => return Ok(Reason::Direct { pattern: pattern.to_owned(), allowed_by }),
            (Ok(Some(pattern)), Some(toolbox)) => {
                let (toolbox, pattern) = (toolbox.clone(), pattern.to_owned());
                return Ok(Reason::Toolbox { toolbox, pattern, allowed_by });
            }
        }
    }
    Err(vague.unwrap_or(Reason::InNoToolbox))
}

/// The first pattern of a list that grants the tool; the first that matches and is too vague, if none does.
fn match_list<'a>(tool: Named<'_>, patterns: &'a [String]) -> Result<Option<&'a str>, Reason> {
    let mut vague = None;
    for pattern in patterns.iter().filter(|pattern| tool.names().any(|name| glob::matches(pattern, name))) {
        match explicit_enough(tool.spec, pattern) {
            Ok(()) => return Ok(Some(pattern)),
            Err(needs) => vague = vague.or(Some((pattern, needs))),
        }
    }
    match vague {
        Some((pattern, needs)) => Err(Reason::TooVague { pattern: pattern.clone(), needs }),
        None => Ok(None),
    }
}

fn explicit_enough(tool: &Spec, pattern: &str) -> Result<(), Needs> {
    let start = glob::literal_start(pattern);
    if glob::is_plain(pattern) {
        return Ok(());
    }
    if tool.default_disabled {
        return Err(Needs::Name);
    }
    match tool.source {
        Source::Plugin if !start.contains('.') => Err(Needs::Team),
        Source::Mcp if !start.starts_with("mcp__") => Err(Needs::Server),
        _ => Ok(()),
    }
}

fn yes(reason: Reason) -> Verdict {
    Verdict { allowed: true, reason }
}

fn no(reason: Reason) -> Verdict {
    Verdict { allowed: false, reason }
}

#[cfg(test)]
mod tests;
