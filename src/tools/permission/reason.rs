//! The rule that decided about a tool, in words.

use std::fmt;

use super::AgentKind;
use crate::spec::Availability;

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
    /// A subagent takes up the skills that its file names.
    OwnSkills,
    /// A subagent whose file names no skills has none to take up.
    NoSkills,
    /// The section `Tools` of the subagent's file does not name it.
    NotInFile,
    /// A subagent asks no other session.
    SubagentAsks,
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
            Reason::OwnSkills => "own_skills",
            Reason::NoSkills => "no_skills",
            Reason::NotInFile => "not_in_file",
            Reason::SubagentAsks => "subagent_asks",
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
            Reason::OwnSkills => f.write_str("a subagent takes up the skills that its file names"),
            Reason::NoSkills => f.write_str("the subagent's file names no skills"),
            Reason::NotInFile => f.write_str("the section `Tools` of the subagent's file does not name it"),
            Reason::SubagentAsks => {
                f.write_str("a subagent gives no work to teams and asks no other subagent: it does its task itself")
            }
            Reason::NotTrusted => f.write_str("whoever caused the turn is not trusted, and reaches no tool"),
            Reason::NotAnAdmin => f.write_str("only a turn that an admin caused may use it"),
        }
    }
}
