//! What of a prompt is a team's own: where it stands, its rules, who its agent is, and the skills to choose from.

use std::path::Path;

use base::TeamName;
use org::handbook::Handbook;
use org::markdown::Slug;
use org::rules::Cascade;
use org::skills::Skill;
use org::subagents::Subagent;

use super::joined;

/// What is a team's own: values that were read before.
#[derive(Clone, Copy, Debug)]
pub struct Own<'a> {
    /// Where the team stands.
    pub station: Station<'a>,
    /// Tools that the program's rules speak of, and that this session does not have.
    pub missing: &'a [&'a str],
    /// The rules.
    pub cascade: &'a Cascade,
    /// What its folder says.
    pub handbook: &'a Handbook,
    /// As whom the session works.
    pub identity: Identity<'a>,
    /// How it takes a skill up.
    pub takes_up: TakesUp,
}

/// How a session comes to a skill's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakesUp {
    /// It has the tool for it.
    ByTool,
    /// It has not: it reads the skill's file, as it may read every file of its team.
    ByFile,
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

/// As whom a session works.
#[derive(Clone, Copy, Debug)]
pub enum Identity<'a> {
    /// The team's own agent.
    Orchestrator,
    /// A subagent.
    Subagent(&'a Subagent),
    /// A leaf of the team that only looks: its task says all there is to say.
    Scout,
}

impl Own<'_> {
    /// The text.
    pub fn text(&self) -> String {
        let head = [
            self.station.text(),
            workspace(self.station.workspace),
            availability(self.missing),
            self.cascade.varying_text(),
        ];
        let who = match self.identity {
            Identity::Orchestrator => vec![self.persona(), self.station.below(), self.orchestrators()],
            Identity::Subagent(subagent) => {
                let who = format!("--- Active Subagent: {} ---\n\n{}", subagent.name, subagent.text);
                vec![who, self.subagents(subagent)]
            }
            Identity::Scout => Vec::new(),
        };
        joined(head.into_iter().chain(who))
    }

    /// Who the team's own agent is.
    fn persona(&self) -> String {
        let Some(persona) = self.handbook.persona.as_ref().filter(|persona| !persona.text.is_empty()) else {
            return String::new();
        };
        let team = self.station.team;
        let name = match &persona.name {
            Some(name) if name != team.as_str() => format!("{name} ({team})"),
            _ => team.to_string(),
        };
        format!("--- Agent: {name} ---\n\n{}", persona.text)
    }

    /// The skills of the team's own agent: those that its persona names, else those that no subagent follows.
    fn orchestrators(&self) -> String {
        let chosen = self.handbook.persona.as_ref().and_then(|persona| persona.skills.as_ref());
        let a_subagents = |name: &Slug| {
            let mut all = self.handbook.subagents.iter().flat_map(|subagent| &subagent.skills);
            all.any(|named| named.name == *name)
        };
        let told = self.handbook.skills.iter().filter(|skill| match chosen {
            Some(chosen) => chosen.contains(&skill.name),
            None => !a_subagents(&skill.name),
        });
        self.catalogue(told.map(|skill| (skill, skill.description.as_str())))
    }

    /// The skills that a subagent chooses from. The only one that it has stands in its prompt from the beginning. A skill
    /// that its file names and that is not there is left out; `hive doctor` says so.
    fn subagents(&self, subagent: &Subagent) -> String {
        let all: Vec<_> = self.handbook.skills_of(subagent).collect();
        if all.len() == 1 {
            return String::new();
        }
        self.catalogue(all.into_iter().map(|(named, skill)| {
            let said = if named.description.is_empty() { &skill.description } else { &named.description };
            (skill, said.as_str())
        }))
    }

    /// The skills to choose from.
    fn catalogue<'s>(&self, skills: impl Iterator<Item = (&'s Skill, &'s str)>) -> String {
        let lines = skills.map(|(skill, what)| {
            let what = if what.is_empty() { "(no description)" } else { what };
            match self.takes_up {
                TakesUp::ByTool => line(skill.name.as_str(), what),
                TakesUp::ByFile => line(&skill.file, what),
            }
        });
        let lines = lines.collect::<Vec<_>>();
        if lines.is_empty() {
            return String::new();
        }
        let how = match self.takes_up {
            TakesUp::ByTool => "Take one up with `activate_skill` before you do what it is for.",
            TakesUp::ByFile => "Read the file of one before you do what it is for.",
        };
        format!("--- Available Skills ---\n\n{how}\n{}", lines.join("\n"))
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

/// The tools that the rules speak of in vain.
fn availability(missing: &[&str]) -> String {
    if missing.is_empty() {
        return String::new();
    }
    let names = missing.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
    format!("--- Tool Availability for This Team ---\n\nNot available here: {}.", names.join(", "))
}

/// Where the team's files are.
fn workspace(path: &Path) -> String {
    format!("## Workspace\nYour files are in `{}`.", path.display())
}

fn line(name: &str, what: &str) -> String {
    let what = base::text::headline(what, 400);
    if what.is_empty() { format!("- `{name}`") } else { format!("- `{name}` — {what}") }
}
