//! May this agent use this tool? One pure function over the record and the grant, with a reason for every answer.
//!
//! What an agent may use is the floor, and of what its toolboxes and direct grants name whatever the team's
//! `allowed_tools` let through, the parent has, and its kind of agent may have. Of that a subagent has what its file
//! leaves it. Deny by default.
//!
//! | file | one thing |
//! |---|---|
//! | `grant` | what one session may use, as its lists say |
//! | `subagent` | what a subagent's file says of a tool, and what lists say of a subagent |
//! | `reason` | the rule that decided, in words |
//! | [`door`] | the same function for outsiders |

pub mod door;
mod grant;
mod reason;
mod subagent;

use crate::glob;
use crate::spec::{Availability, Effect, Partition, Provenance, Source, Spec};

pub use grant::{AgentKind, Grant, McpFacts, PluginFacts, Remit, Toolbox};
pub use reason::{Needs, Reason};
pub use subagent::{decide_subagent, shown_subagent};

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the tool may be used.
    pub allowed: bool,
    /// The rule that said so.
    pub reason: Reason,
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
    if let Some(verdict) = grant.remit.as_ref().and_then(|remit| subagent::by_file(tool, remit)) {
        return verdict;
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
