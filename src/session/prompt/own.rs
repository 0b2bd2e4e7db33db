//! What of a prompt is a team's own: where it stands, its tools, its rules, who its agent is, and its skills.

use std::path::Path;

use base::TeamName;
use org::handbook::Handbook;
use org::rules::Cascade;
use org::skills::Skill;
use org::subagents::Subagent;

use super::joined;

/// What is a team's own: values that were read before.
#[derive(Clone, Copy, Debug)]
pub struct Own<'a> {
    /// Where the team stands.
    pub station: Station<'a>,
    /// The tools.
    pub tools: OwnTools<'a>,
    /// The rules.
    pub cascade: &'a Cascade,
    /// What its folder says.
    pub handbook: &'a Handbook,
    /// As whom the session works.
    pub identity: Identity<'a>,
}

/// Where a team stands.
#[derive(Clone, Copy, Debug)]
pub struct Station<'a> {
    /// The team.
    pub team: &'a TeamName,
    /// What it is for, in words; empty where nobody said.
    pub description: &'a str,
    /// What it is for, in keywords.
    pub scope: &'a [String],
    /// The teams directly below it, with what they are for.
    pub children: &'a [(TeamName, String)],
    /// Its folder.
    pub workspace: &'a Path,
}

/// What there is to say of a session's tools beside their definitions.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnTools<'a> {
    /// The team's own tools in this session, by their whole names (`ops.ship`), with what they do.
    pub plugins: &'a [(String, String)],
    /// Tools that rules and skills may speak of, and this session does not have.
    pub missing: &'a [&'a str],
}

/// As whom a session works.
#[derive(Clone, Copy, Debug)]
pub enum Identity<'a> {
    /// The team's own agent. A skill may be active.
    Orchestrator {
        /// The skill that it follows.
        skill: Option<&'a Skill>,
    },
    /// A subagent. One of its skills may be named by whoever gave the task.
    Subagent {
        /// Which.
        subagent: &'a Subagent,
        /// The skill that it follows.
        skill: Option<&'a Skill>,
    },
    /// A leaf of the team that only looks: its task says all there is to say.
    Scout,
}

impl Own<'_> {
    /// The text.
    pub fn text(&self) -> String {
        let head =
            [self.station.text(), workspace(self.station.workspace), self.tools.text(), self.cascade.varying_text()];
        let who = match self.identity {
            Identity::Orchestrator { skill } => {
                let persona = self.handbook.persona.as_ref().filter(|persona| !persona.text.is_empty());
                let persona =
                    persona.map(|persona| format!("--- Agent: {} ---\n\n{}", self.station.team, persona.text));
                vec![persona.unwrap_or_default(), self.station.below(), self.orchestrators(skill)]
            }
            Identity::Subagent { subagent, skill } => {
                let who = format!("--- Active Subagent: {} ---\n\n{}", subagent.name, subagent.text);
                vec![who, self.subagents(subagent, skill)]
            }
            Identity::Scout => Vec::new(),
        };
        joined(head.into_iter().chain(who))
    }

    /// An orchestrator's skill; without one, and without subagents who would follow them, those that there are.
    fn orchestrators(&self, skill: Option<&Skill>) -> String {
        match skill {
            Some(skill) => format!("--- Skills ---\n\n{}", self.body(skill)),
            None if self.handbook.subagents.is_empty() => {
                catalogue(self.handbook.skills.iter().map(|skill| (skill.name.as_str(), skill.description.as_str())))
            }
            None => String::new(),
        }
    }

    /// A subagent's skills: none, the one that it has or was given, or a list to choose from. A skill that its file
    /// names and that is not there is left out; `hive doctor` says so.
    fn subagents(&self, subagent: &Subagent, skill: Option<&Skill>) -> String {
        let known = |name: &str| self.handbook.skill(name);
        let listed: Vec<_> =
            subagent.skills.iter().filter_map(|named| Some((named, known(named.name.as_str())?))).collect();
        let only = match listed.as_slice() {
            [(_, only)] => Some(*only),
            _ => None,
        };
        if let Some(skill) = skill.or(only) {
            return format!("--- Active Skill: {} ---\n\n{}", skill.name, self.body(skill));
        }
        catalogue(listed.into_iter().map(|(named, skill)| {
            let said = if named.description.is_empty() { &skill.description } else { &named.description };
            (skill.name.as_str(), said.as_str())
        }))
    }

    /// A skill's text, with the team's name in front of the tools that are the team's own in this session.
    fn body(&self, skill: &Skill) -> String {
        let team = self.station.team.as_str();
        let is_own = |name: &str| {
            let bare = |(whole, _): &(String, String)| whole.split_once('.').is_some_and(|(_, bare)| bare == name);
            self.tools.plugins.iter().any(bare)
        };
        skill.body_for(team, is_own)
    }
}

impl Station<'_> {
    fn text(&self) -> String {
        let scope = match self.scope {
            [] => String::new(),
            words => format!("Scope: {}.", words.join(", ")),
        };
        if self.description.is_empty() && scope.is_empty() {
            return String::new();
        }
        let said = [self.description.trim(), &scope];
        let said = said.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
        format!("## Team\nThis is the team `{}`. {said}", self.team)
    }

    fn below(&self) -> String {
        if self.children.is_empty() {
            return String::new();
        }
        let lines = self.children.iter().map(|(name, what)| line(name.as_str(), what));
        format!("## Teams below this one\n{}", lines.collect::<Vec<_>>().join("\n"))
    }
}

impl OwnTools<'_> {
    fn text(&self) -> String {
        let mut parts = Vec::new();
        if !self.plugins.is_empty() {
            let lines = self.plugins.iter().map(|(name, what)| line(name, what)).collect::<Vec<_>>();
            parts.push(format!("This team's own, to be used before general ones:\n{}", lines.join("\n")));
        }
        if !self.missing.is_empty() {
            let names = self.missing.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
            parts.push(format!("Not available here: {}.", names.join(", ")));
        }
        if parts.is_empty() {
            return String::new();
        }
        format!("--- Tool Availability for This Team ---\n\n{}", parts.join("\n\n"))
    }
}

/// The skills to choose from.
fn catalogue<'s>(skills: impl Iterator<Item = (&'s str, &'s str)>) -> String {
    let lines = skills.map(|(name, what)| line(name, if what.is_empty() { "(no description)" } else { what }));
    let lines = lines.collect::<Vec<_>>();
    if lines.is_empty() {
        return String::new();
    }
    format!("--- Available Skills ---\n\n`activate_skill` gives a skill's text.\n{}", lines.join("\n"))
}

/// Where the team's files are.
fn workspace(path: &Path) -> String {
    format!("## Workspace\nYour files are in `{}`.", path.display())
}

fn line(name: &str, what: &str) -> String {
    let what = base::text::headline(what, 400);
    if what.is_empty() { format!("- `{name}`") } else { format!("- `{name}` — {what}") }
}
