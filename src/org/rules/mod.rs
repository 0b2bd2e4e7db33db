//! Rules: Markdown files that every session of a team reads, in a cascade of four levels.
//!
//! | level | files | who reads them |
//! |---|---|---|
//! | system | those of this program, by role | every session of that role |
//! | organisation | `rules/*.md` of the owner, `org-rules/*.md` of the main team | every session |
//! | ancestors | `org-rules/*.md` of each team above, the root first | every session below that team |
//! | team | its own `org-rules/*.md`, then its `team-rules/*.md` | its own sessions |
//!
//! Later ones are more special and hold where they contradict earlier ones; the system's own hold always. The order is
//! that of the bytes of the files' names, so that a prompt is the same every time.
//!
//! | file | one thing |
//! |---|---|
//! | `system` | the rules of this program |
//! | `cascade` | which rules a team's session reads, in which order, and how many |
//! | `conflict` | two rules of one heading |

mod cascade;
mod conflict;
mod system;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

use base::TeamName;
use llm::tokens;

use crate::markdown::{Document, Fault, Folder, Grade, Text, Whose};

pub(crate) use cascade::misnamed;
pub use cascade::{Cascade, OWNER_TOKENS_MAX, Place, RULES_TOKENS_MAX};
pub use conflict::{Conflict, Relation, conflicts};
pub use system::{Role, system};

/// The folder of the data directory that the owner's rules are in.
pub const OWNER_FOLDER: &str = "rules";
/// The folder of a team's folder with rules for it and everything below it.
pub const ORG_FOLDER: &str = "org-rules";
/// The folder of a team's folder with rules for it alone.
pub const TEAM_FOLDER: &str = "team-rules";
/// The file of a team's own rules that keeps what its maker said when the team was made.
pub const CONTEXT_FILE: &str = "team-context.md";

/// The mark of a rule that is meant to stand in another one's place.
const OVERRIDE: &str = "[override]";

/// The levels of the cascade, from the most general to the most special.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// The rules of this program.
    System,
    /// The owner's rules, and the main team's for everybody.
    Organisation,
    /// The rules of a team above.
    Ancestor,
    /// The team's own.
    Team,
}

/// Whose rule it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// This program's.
    System,
    /// The owner's.
    Owner,
    /// A team's, for it and everything below it.
    Org(TeamName),
    /// A team's, for it alone.
    Team(TeamName),
}

/// A rule file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Whose it is.
    pub source: Source,
    /// Its file, as a person finds it: `rules/style.md`, `teams/ops/org-rules/style.md`.
    pub file: String,
    /// Its text, without front matter.
    pub text: String,
    /// What it is about.
    pub topic: Option<Topic>,
    /// About how many tokens it is.
    pub tokens: u64,
}

/// What a rule is about: its first heading of the first level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// The heading, without the mark.
    pub heading: String,
    /// The line it stands on.
    pub line: usize,
    /// Whether the rule says `[OVERRIDE]`, in this heading or at the beginning of its first paragraph: it is meant to
    /// stand in the place of a more general one.
    pub overrides: bool,
}

impl Topic {
    /// The heading as it is compared.
    fn key(&self) -> String {
        self.heading.to_lowercase()
    }
}

/// Reads the owner's rules. A folder that is not there has none. Blocks.
pub fn owner(data_dir: &Path, faults: &mut Vec<Fault>) -> Vec<Rule> {
    let folder = match Folder::open(&data_dir.join(OWNER_FOLDER), Whose::Owner) {
        Ok(folder) => folder,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            let message = format!("it cannot be opened: {}", error.kind());
            faults.push(Fault::error(OWNER_FOLDER, None, message));
            return Vec::new();
        }
    };
    let mut found = Vec::new();
    let texts = folder.texts("", &mut found);
    let in_folder = |file: &str| if file == "." { OWNER_FOLDER.to_owned() } else { format!("{OWNER_FOLDER}/{file}") };
    faults.extend(found.into_iter().map(|fault| Fault { file: in_folder(&fault.file), ..fault }));
    rules(&Source::Owner, texts, in_folder, faults)
}

/// Reads a team's rules for it and everything below it. Blocks.
pub fn org_rules(folder: &Folder, team: &TeamName, faults: &mut Vec<Fault>) -> Vec<Rule> {
    of_team(folder, ORG_FOLDER, team, &Source::Org(team.clone()), faults)
}

/// Reads a team's rules for it alone. Blocks.
pub fn team_rules(folder: &Folder, team: &TeamName, faults: &mut Vec<Fault>) -> Vec<Rule> {
    of_team(folder, TEAM_FOLDER, team, &Source::Team(team.clone()), faults)
}

/// The files of rules of a team that cannot be read, as a person finds them, by these faults of its folder: with
/// `below`, those that the teams below it do not read either.
pub fn unread<'f>(team: &TeamName, faults: impl IntoIterator<Item = &'f Fault>, below: bool) -> Vec<String> {
    let folders = if below { &[ORG_FOLDER][..] } else { &[ORG_FOLDER, TEAM_FOLDER] };
    let is_rule = |fault: &&Fault| {
        fault.grade == Grade::Error && folders.iter().any(|folder| fault.file.split('/').next() == Some(folder))
    };
    let mut files: Vec<String> =
        faults.into_iter().filter(is_rule).map(|fault| format!("teams/{team}/{}", fault.file)).collect();
    files.dedup();
    files
}

/// Faults name the file as the team sees it; rules, which other teams read, as the owner does.
fn of_team(folder: &Folder, below: &str, team: &TeamName, source: &Source, faults: &mut Vec<Fault>) -> Vec<Rule> {
    let texts = folder.texts(below, faults);
    rules(source, texts, |file| format!("teams/{team}/{file}"), faults)
}

fn rules(source: &Source, texts: Vec<Text>, named: impl Fn(&str) -> String, faults: &mut Vec<Fault>) -> Vec<Rule> {
    let rules = texts.into_iter().map(|Text { file, text }| {
        let shown = if *source == Source::Owner { named(&file) } else { file.clone() };
        rule(source.clone(), &named(&file), &shown, &text, faults)
    });
    rules.collect::<Vec<_>>().into_iter().filter(|rule| !rule.text.is_empty()).collect()
}

/// A rule of a text. `shown` is the file's name in faults.
fn rule(source: Source, file: &str, shown: &str, text: &str, faults: &mut Vec<Fault>) -> Rule {
    let document = Document::read(shown, text, &[], faults);
    let marked = |text: &str| text.to_lowercase().contains(OVERRIDE);
    let overrides = document.lead.to_lowercase().starts_with(OVERRIDE);
    let topic = document.title.map(|title| Topic {
        heading: without_mark(&title.text),
        line: title.line,
        overrides: overrides || marked(&title.text),
    });
    Rule {
        tokens: tokens::of_text(&document.body),
        text: document.body,
        topic: topic.filter(|topic| !topic.heading.is_empty()),
        file: file.to_owned(),
        source,
    }
}

/// A heading without the mark, whatever the case of its letters.
fn without_mark(heading: &str) -> String {
    let mut words = heading.to_owned();
    // The mark is ASCII: its place is the same in both.
    while let Some(at) = words.to_ascii_lowercase().find(OVERRIDE) {
        words.replace_range(at..at + OVERRIDE.len(), " ");
    }
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}
