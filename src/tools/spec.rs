//! What is known of a tool before it runs. No field has a default: an author who did not choose does not compile.

use std::borrow::Cow;
use std::time::Duration;

use serde::Serialize;

/// The record of a tool.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The logical name: `list_topics`; of a plugin `team.tool`; of an MCP server `mcp__server__tool`.
    pub name: Cow<'static, str>,
    /// Other names of the same tool: they are understood in calls and in allow-lists, and shown to no model.
    pub aliases: &'static [&'static str],
    /// What the model reads of it: `prompts/tools/<name>.md`.
    pub about: Cow<'static, str>,
    /// What it is about.
    pub domain: Domain,
    /// Where it comes from.
    pub source: Source,
    /// Which agents may have it at all.
    pub availability: Availability,
    /// How it may overlap with the other calls of one turn.
    pub partition: Partition,
    /// How it is admitted to its team.
    pub ops: Ops,
    /// What a call leaves behind, and so whether it may be made again.
    pub effect: Effect,
    /// Whether a person is asked before it runs.
    pub destructive: bool,
    /// How long one call may take.
    pub timeout: Duration,
    /// The longest result that reaches the model whole, in bytes. What is longer is written to a file of the team.
    pub max_result_bytes: usize,
    /// Whether only its own name in an allow-list grants it, and no wildcard.
    pub default_disabled: bool,
    /// Who must have caused the turn.
    pub provenance: Provenance,
}

impl Spec {
    /// Its name and its aliases.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&*self.name).chain(self.aliases.iter().copied())
    }

    /// Whether a call that was cut off may be made again without asking.
    pub fn may_run_again(&self) -> bool {
        self.effect != Effect::Once
    }
}

/// What a tool is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Domain {
    /// The hive itself: its settings, its health.
    Admin,
    /// A browser that is steered.
    Browser,
    /// Work given to somebody else.
    Delegation,
    /// Files of a workspace.
    Files,
    /// Questions and notices to people.
    Human,
    /// The hive's own machinery; no chatting model sees these.
    Internal,
    /// What a team remembers.
    Memory,
    /// The tree of teams.
    Org,
    /// A team's own tools.
    Plugin,
    /// Commands of the machine.
    Shell,
    /// Written procedures.
    Skill,
    /// Lines of talk in a conversation.
    Topics,
    /// What starts work without a person.
    Trigger,
    /// Who may speak.
    Trust,
    /// A team's values and secrets.
    Vault,
    /// Pages and services out there.
    Web,
}

impl Domain {
    /// Every domain, in the order of their words, which is the order of the tools in a request.
    pub const ALL: [Domain; 16] = [
        Domain::Admin,
        Domain::Browser,
        Domain::Delegation,
        Domain::Files,
        Domain::Human,
        Domain::Internal,
        Domain::Memory,
        Domain::Org,
        Domain::Plugin,
        Domain::Shell,
        Domain::Skill,
        Domain::Topics,
        Domain::Trigger,
        Domain::Trust,
        Domain::Vault,
        Domain::Web,
    ];

    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Domain::Admin => "admin",
            Domain::Browser => "browser",
            Domain::Delegation => "delegation",
            Domain::Files => "files",
            Domain::Human => "human",
            Domain::Internal => "internal",
            Domain::Memory => "memory",
            Domain::Org => "org",
            Domain::Plugin => "plugin",
            Domain::Shell => "shell",
            Domain::Skill => "skill",
            Domain::Topics => "topics",
            Domain::Trigger => "trigger",
            Domain::Trust => "trust",
            Domain::Vault => "vault",
            Domain::Web => "web",
        }
    }
}

/// Where a tool comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// This program.
    Native,
    /// A script of the owner's.
    Custom,
    /// A team's own file.
    Plugin,
    /// Another server, through the Model Context Protocol.
    Mcp,
    /// This program's own machinery.
    Internal {
        /// `namespace:name@MAJOR.MINOR.PATCH`.
        id: Cow<'static, str>,
    },
}

impl Source {
    /// The word.
    pub fn as_str(&self) -> &'static str {
        match self {
            Source::Native => "native",
            Source::Custom => "custom",
            Source::Plugin => "plugin",
            Source::Mcp => "mcp",
            Source::Internal { .. } => "internal",
        }
    }
}

/// Which agents may have a tool at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Availability {
    /// The main agent.
    Main,
    /// Agents that work for another agent.
    Sub,
    /// All of them.
    Both,
}

impl Availability {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Availability::Main => "main",
            Availability::Sub => "sub",
            Availability::Both => "both",
        }
    }
}

/// How a tool may overlap with the other calls of one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Partition {
    /// Alone: it changes what the calls after it may see of the turn itself.
    Control,
    /// Alone, in order. What nobody classified is this.
    Write,
    /// Beside other delegations.
    Delegate,
    /// Beside other reads.
    Read,
}

impl Partition {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Partition::Control => "control",
            Partition::Write => "write",
            Partition::Delegate => "delegate",
            Partition::Read => "read",
        }
    }
}

/// How a tool is admitted to its team.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ops {
    /// Always beside others.
    Daily,
    /// Always alone.
    Org,
    /// The tool says so for each call ([`crate::Tool::admission`]).
    ByArguments,
    /// Not at all: for as long as it asks another team it has a slot of that one.
    Target,
}

impl Ops {
    /// The words.
    pub fn as_str(self) -> &'static str {
        match self {
            Ops::Daily => "daily",
            Ops::Org => "org",
            Ops::ByArguments => "by arguments",
            Ops::Target => "on the target",
        }
    }
}

/// How one call is admitted to its team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It takes one of the team's slots.
    Daily,
    /// It takes all of them.
    Org,
}

/// What a call leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Nothing: it only looks.
    ReadOnly,
    /// The same after two calls as after one: also where a call that is made again finds that it had its effect, or its
    /// result is written in the transaction of its effect.
    Idempotent,
    /// More after each call: one that was cut off is not made again.
    Once,
}

impl Effect {
    /// The words.
    pub fn as_str(self) -> &'static str {
        match self {
            Effect::ReadOnly => "read-only",
            Effect::Idempotent => "idempotent",
            Effect::Once => "once",
        }
    }
}

/// Who must have caused the turn in which a tool is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Provenance {
    /// Anybody who may cause one.
    Anyone,
    /// An admin.
    Admin,
}

impl Provenance {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Provenance::Anyone => "anyone",
            Provenance::Admin => "admin",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_are_listed_in_the_order_of_their_words() {
        let words: Vec<_> = Domain::ALL.map(Domain::as_str).to_vec();
        assert!(words.is_sorted());
        assert!(Domain::ALL.is_sorted());
        for domain in Domain::ALL {
            assert_eq!(serde_json::to_value(domain).unwrap(), domain.as_str());
        }
    }
}
