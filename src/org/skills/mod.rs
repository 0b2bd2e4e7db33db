//! A team's skills: written procedures that its subagents follow.
//!
//! A skill is `skills/<skill>.md`, or `skills/<skill>/SKILL.md` with files beside it. The name of the file or folder is
//! the skill's name: others name it by that.
//!
//! | file | one thing |
//! |---|---|
//! | `beside` | the files beside a skill |
//! | `plugins` | plugin tools in a skill's text get their team's name |

mod beside;
mod plugins;
#[cfg(test)]
mod tests;

use crate::markdown::{Document, Fault, Folder, Kind, Section, Slug, Text};

pub use beside::{Beside, FileText, Interpreter, Refusal, TEXT_BYTES_MAX, files, read_file, told};
pub use plugins::namespaced;

/// The folder of a team's folder that they are in.
pub const FOLDER: &str = "skills";
/// The file of a skill that has a folder of its own.
pub const OWN_FILE: &str = "SKILL.md";
/// Most skills of a team: their names and descriptions are read to choose among them.
pub const SKILLS_MAX: usize = 100;
/// The longest description, in characters.
const DESCRIPTION_CHARS_MAX: usize = 400;

const REQUIRED_TOOLS: &str = "required tools";
const PURPOSE: &str = "purpose";
const STEPS: &str = "steps";

/// A skill as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// Its name.
    pub name: Slug,
    /// What it is for, on one line: of its front matter, else its section `Purpose`, else its first paragraph.
    pub description: String,
    /// What its section `Required Tools` names: plugin tools by their bare names.
    pub required_tools: Vec<RequiredTool>,
    /// The whole text, without front matter.
    pub body: String,
    /// Its file.
    pub file: String,
    /// The folder with the files beside it, where it has one of its own.
    pub folder: Option<String>,
}

/// A tool that a skill needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredTool {
    /// Its name, without a team's in front.
    pub name: String,
    /// The line that says so.
    pub line: usize,
}

impl Skill {
    /// The names of the tools that it needs, in the order of its list.
    pub fn required(&self) -> impl Iterator<Item = &str> {
        self.required_tools.iter().map(|tool| tool.name.as_str())
    }

    /// Its text for a session of `team`. `is_plugin` says which of its tools are plugins of that team: those are
    /// called `<team>.<tool>` there, all others keep their names.
    pub fn body_for(&self, team: &str, is_plugin: impl Fn(&str) -> bool) -> String {
        let plugins: Vec<&str> = self.required().filter(|name| is_plugin(name)).collect();
        namespaced(&self.body, team, &plugins)
    }
}

/// Reads the skills of a team's folder, sorted by name. Blocks.
pub fn load(folder: &Folder, team: &str, faults: &mut Vec<Fault>) -> Vec<Skill> {
    let mut skills: Vec<Skill> = Vec::new();
    for entry in folder.list(FOLDER, faults) {
        let stem = entry.name.strip_suffix(".md").or_else(|| entry.name.strip_suffix(".MD"));
        let is_readme = stem.is_some_and(|stem| stem.eq_ignore_ascii_case("readme"));
        let (named, file, own_folder) = match (entry.kind, stem) {
            (Kind::File, Some(stem)) if !is_readme => (stem, entry.path.clone(), None),
            (Kind::File, _) => continue,
            (Kind::Folder, _) => (entry.name.as_str(), format!("{}/{OWN_FILE}", entry.path), Some(entry.path.clone())),
        };
        let Some(text) = folder.text(&file, faults) else {
            if own_folder.is_some() && !faults.iter().any(|fault| fault.file == file) {
                let message = format!("there is no {OWN_FILE} in it: write one, or take the folder away");
                faults.push(Fault::warning(&entry.path, None, message));
            }
            continue;
        };
        let Some(name) = name(named, &file, faults) else { continue };
        if let Some(first) = skills.iter().find(|skill| skill.name == name) {
            let message = format!("a skill `{name}` is there already in {}, and this one is not read", first.file);
            faults.push(Fault::error(&file, None, format!("{message}: rename it, or take it away")));
            continue;
        }
        if skills.len() == SKILLS_MAX {
            let message = format!("there are more than {SKILLS_MAX} skills, and those from {name} on are not read");
            faults.push(Fault::error(FOLDER, None, format!("{message}: put some together")));
            break;
        }
        skills.push(read(name, team, &text, own_folder, faults));
    }
    skills.sort_by(|a, b| a.name.cmp(&b.name));
    skills
}

/// What skills need that is not there: neither a plugin of the team nor a tool of this program has the name.
pub(crate) fn check(skills: &[Skill], plugins: &[String], is_tool: impl Fn(&str) -> bool) -> Vec<Fault> {
    let all = skills.iter().flat_map(|skill| skill.required_tools.iter().map(move |tool| (skill, tool)));
    let missing = all.filter(|(_, tool)| !plugins.contains(&tool.name) && !is_tool(&tool.name));
    let fault = |(skill, tool): (&Skill, &RequiredTool)| {
        let message = format!("neither the team nor the program has a tool `{}`", tool.name);
        let message = format!("{message}: name one that there is, or take the line out");
        Fault::warning(&skill.file, Some(tool.line), message)
    };
    missing.map(fault).collect()
}

/// The skill's name by that of its file or folder.
fn name(named: &str, file: &str, faults: &mut Vec<Fault>) -> Option<Slug> {
    let name = Slug::parse(named).or_else(|| Slug::of(named));
    match &name {
        Some(name) if name.as_str() == named => {}
        Some(name) => {
            let message = format!("`{}` is no name of a skill, and `{name}` is taken for it: rename it", shown(named));
            faults.push(Fault::warning(file, None, message));
        }
        None => {
            let message = format!("`{}` is no name of a skill: rename it, with {}", shown(named), Slug::FORM);
            faults.push(Fault::error(file, None, message));
        }
    }
    name
}

fn read(name: Slug, team: &str, text: &Text, folder: Option<String>, faults: &mut Vec<Fault>) -> Skill {
    let Text { file, text } = text;
    let document = Document::read(file, text, &[REQUIRED_TOOLS, PURPOSE], faults);
    let titled = document.titled(file, "skill", faults).map(|(name, line)| (line, name));
    let said = titled.or_else(|| document.front.text("name").map(|name| (1, name)));
    if let Some((line, said)) = said
        && Slug::of(said).as_ref() != Some(&name)
    {
        let message = format!("it says `{}`, and is called `{name}` by its file: write the same name", shown(said));
        faults.push(Fault::warning(file, Some(line), message));
    }
    if document.body.is_empty() {
        faults.push(Fault::error(file, None, "the skill is empty: write its steps, or take it away"));
    }
    let purpose = document.section(file, PURPOSE, faults).map(|section| first_paragraph(&section.text));
    let description = document.front.text("description").map(str::to_owned);
    let description = description.or(purpose).filter(|text| !text.is_empty()).unwrap_or(document.lead.clone());
    let required = document.section(file, REQUIRED_TOOLS, faults);
    let points_of_tools = required.as_ref().map_or(0, |section| section.bullets.len());
    if titled.is_some() && !document.has_heading(STEPS) && document.points == points_of_tools {
        faults.push(Fault::warning(file, None, "it has no section `## Steps`: write what is to be done, step by step"));
    }
    Skill {
        description: base::text::cut(&one_line(&description), DESCRIPTION_CHARS_MAX),
        required_tools: required.map(|section| tools(file, team, &section, faults)).unwrap_or_default(),
        body: document.body,
        file: file.clone(),
        folder,
        name,
    }
}

/// The names of a section's bullets.
fn tools(file: &str, team: &str, section: &Section, faults: &mut Vec<Fault>) -> Vec<RequiredTool> {
    if section.bullets.is_empty() && !says_none(&section.text) {
        let message = "there is no bullet in `Required Tools`: write `- name`, a line for each tool";
        faults.push(Fault::warning(file, Some(section.line), message));
    }
    let mut tools: Vec<RequiredTool> = Vec::new();
    for bullet in &section.bullets {
        let Some((written, _)) = bullet.named() else { continue };
        let own = written.split_once('.').filter(|(prefix, _)| *prefix == team).map(|(_, name)| name);
        let name = own.unwrap_or(written);
        if !is_tool_name(name) {
            let of_another = name.split_once('.').is_some_and(|(team, name)| is_tool_name(team) && is_tool_name(name));
            let what = if of_another { "belongs to another team" } else { "is no name of a tool" };
            let message = format!("`{}` {what}: write the bare name of a tool, `- name`", shown(written));
            faults.push(Fault::error(file, Some(bullet.line), message));
        } else if !tools.iter().any(|tool| tool.name == name) {
            tools.push(RequiredTool { name: name.to_owned(), line: bullet.line });
        }
    }
    tools
}

/// Whether a section's text says that there is nothing.
pub(crate) fn says_none(text: &str) -> bool {
    let word = text.trim().trim_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase();
    word.is_empty() || ["none", "n/a", "none yet"].contains(&word.as_str())
}

/// The bare name of a plugin or another tool, as they are registered. Not more than 128 bytes.
fn is_tool_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=128).contains(&name.len()) && name.chars().all(fits)
}

pub(crate) fn first_paragraph(text: &str) -> String {
    one_line(text.split("\n\n").next().unwrap_or_default())
}

pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A name in a fault: on one line, not too long, and without what would end the back-ticks around it.
pub(crate) fn shown(name: &str) -> String {
    base::text::cut(&crate::markdown::shown(name).replace('`', "'"), 60)
}
