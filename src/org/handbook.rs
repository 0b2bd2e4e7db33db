//! What a team's folder says, read into values: who its agent is, its rules, its skills, its subagents, and everything
//! that is wrong with them.

use base::TeamName;

use crate::markdown::{Fault, Folder, Kind};
use crate::rules::{self, Cascade, Rule};
use crate::skills::{self, Skill};
use crate::subagents::{self, Persona, Subagent};

/// The task that a new team begins with: it writes what this module reads.
pub const BOOTSTRAP: &str = include_str!("../../prompts/internal/bootstrap.md");

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
        faults.extend(subagents::check(&subagents, &skills, is_tool));
        faults.extend(misplaced(folder));
        faults.sort_by(|a, b| (&a.file, a.line, a.grade).cmp(&(&b.file, b.line, b.grade)));
        Handbook { team: team.clone(), persona, org_rules, team_rules, skills, subagents, faults }
    }

    /// The skill of that name.
    pub fn skill(&self, name: &str) -> Option<&Skill> {
        self.skills.iter().find(|skill| skill.name.as_str() == name)
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
