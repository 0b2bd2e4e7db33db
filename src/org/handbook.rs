//! What a team's folder says, read into values: who its agent is, its rules, its skills, its subagents, and everything
//! that is wrong with them.

use base::TeamName;

use crate::markdown::{Fault, Folder, Grade, Kind};
use crate::rules::{self, Cascade, Rule};
use crate::skills::{self, Skill};
use crate::subagents::{self, Persona, SkillRef, Subagent};

/// The task that a new team begins with: it writes what this module reads.
pub const BOOTSTRAP: &str = include_str!("../../prompts/internal/bootstrap.md");

/// The folder of a team's own tools.
pub const PLUGINS_FOLDER: &str = "plugins";

/// A team's folder as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handbook {
    /// The team.
    pub team: TeamName,
    /// Who its agent is.
    pub persona: Option<Persona>,
    /// Its rules for it and everything below it.
    pub org_rules: Vec<Rule>,
    /// Its rules for it alone.
    pub team_rules: Vec<Rule>,
    /// Its skills, by name.
    pub skills: Vec<Skill>,
    /// Its subagents, by file.
    pub subagents: Vec<Subagent>,
    /// The bare names of its own tools, sorted: those of the files `plugins/<name>.ts`.
    pub plugins: Vec<String>,
    /// What is wrong, file by file and line by line.
    pub faults: Vec<Fault>,
}

impl Handbook {
    /// Reads a team's folder. What cannot be read is a fault, and everything else is there. `is_tool` says whether a
    /// tool of this program has that name. Blocks.
    pub fn read(folder: &Folder, team: &TeamName, is_tool: impl Fn(&str) -> bool) -> Handbook {
        let mut faults = Vec::new();
        let persona = subagents::persona(folder, &mut faults);
        let org_rules = rules::org_rules(folder, team, &mut faults);
        let team_rules = rules::team_rules(folder, team, &mut faults);
        let skills = skills::load(folder, team.as_str(), &mut faults);
        let subagents = subagents::load(folder, &mut faults);
        let plugins = plugins(folder);
        faults.extend(skills::check(&skills, &plugins, &is_tool));
        faults.extend(subagents::check(&subagents, &skills, &is_tool));
        faults.extend(persona.iter().flat_map(|persona| subagents::check_persona(persona, &skills)));
        faults.extend(misplaced(folder));
        faults.sort_by(|a, b| (&a.file, a.line, a.grade).cmp(&(&b.file, b.line, b.grade)));
        Handbook { team: team.clone(), persona, org_rules, team_rules, skills, subagents, plugins, faults }
    }

    /// The skill of that name.
    pub fn skill(&self, name: &str) -> Option<&Skill> {
        self.skills.iter().find(|skill| skill.name.as_str() == name)
    }

    /// The skills that a subagent follows, with what it says of each. One that is not there is left out; that is a fault.
    pub fn skills_of<'b>(&'b self, subagent: &'b Subagent) -> impl Iterator<Item = (&'b SkillRef, &'b Skill)> {
        subagent.skills.iter().filter_map(|named| Some((named, self.skill(named.name.as_str())?)))
    }

    /// A skill's text for a session of the team: its own tools are called `<team>.<tool>` there.
    pub fn text_of(&self, skill: &Skill) -> String {
        skill.body_for(self.team.as_str(), |tool| self.plugins.iter().any(|plugin| plugin == tool))
    }

    /// The errors of files in this folder of the team's folder, for whoever misses what they should say.
    pub fn errors_in(&self, folder: &str) -> impl Iterator<Item = &Fault> {
        self.faults.iter().filter(move |fault| {
            let below = fault.file.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            below && fault.grade == Grade::Error
        })
    }

    /// What is wrong with a file, by its path in the folder, and with the folders that it is in.
    pub fn faults_of<'b>(&'b self, file: &'b str) -> impl Iterator<Item = &'b Fault> {
        self.faults.iter().filter(move |fault| {
            file.strip_prefix(&*fault.file).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// The subagent of that name.
    pub fn subagent(&self, name: &str) -> Option<&Subagent> {
        self.subagents.iter().find(|subagent| subagent.name.as_str() == name)
    }
}

/// Everything that is wrong with a team's folder and its rules among those above it, for a report: the files are named
/// from the run directory. Asked of every team, nothing comes twice.
pub fn faults(book: &Handbook, cascade: &Cascade) -> Vec<Fault> {
    let of_team = |file: &str| format!("teams/{}/{file}", book.team);
    let own = book.faults.iter().map(|fault| Fault { file: of_team(&fault.file), ..fault.clone() });
    let no_room = cascade.faults.iter().filter(|fault| fault.file.starts_with(&of_team(""))).cloned();
    own.chain(no_room).chain(rules::conflicts(cascade).into_iter().map(Fault::from)).collect()
}

/// Whether a file, by its path in a team's folder, is one of those that say who the team is and how it works, or has
/// nearly the name of one.
pub fn is_read(file: &str) -> bool {
    match file.split_once('/') {
        None => file.eq_ignore_ascii_case(subagents::PERSONA_FILE),
        Some((folder, _)) => {
            let known = [rules::ORG_FOLDER, rules::TEAM_FOLDER, skills::FOLDER, subagents::FOLDER].contains(&folder);
            known || rules::misnamed(folder).or_else(|| nearly(folder)).is_some()
        }
    }
}

/// The names of the team's own tools. What is wrong with one is told where it is made.
fn plugins(folder: &Folder) -> Vec<String> {
    let entries = folder.list(PLUGINS_FOLDER, &mut Vec::new());
    let files = entries.into_iter().filter(|entry| entry.kind == Kind::File);
    files.filter_map(|entry| Some(entry.name.strip_suffix(".ts")?.to_owned())).collect()
}

/// Folders and files whose names are nearly those that are read: what is in them has no effect.
fn misplaced(folder: &Folder) -> Vec<Fault> {
    // What cannot be looked at here is none of the files that are read.
    let entries = folder.list("", &mut Vec::new());
    let meant = entries.iter().filter_map(|entry| {
        let meant = match entry.kind {
            Kind::Folder => rules::misnamed(&entry.name).or_else(|| nearly(&entry.name)),
            Kind::File => entry.name.eq_ignore_ascii_case(subagents::PERSONA_FILE).then_some(subagents::PERSONA_FILE),
        };
        meant.filter(|meant| *meant != entry.name).map(|meant| (entry, meant))
    });
    meant
        .filter(|(_, meant)| entries.iter().all(|entry| entry.name != **meant))
        .map(|(entry, meant)| {
            Fault::warning(&entry.name, None, format!("it is not read under this name: call it `{meant}`"))
        })
        .collect()
}

fn nearly(name: &str) -> Option<&'static str> {
    let key = name.to_ascii_lowercase().replace(['-', '_', ' '], "");
    [skills::FOLDER, subagents::FOLDER].into_iter().find(|right| key == **right || key == right.trim_end_matches('s'))
}

#[cfg(test)]
mod tests;
