//! A team's subagents: personas inside of the team, each a file `subagents/<agent>.md`.
//!
//! The whole text is a subagent's prompt. Four sections are read besides: `Role` says to the team's orchestrator what
//! it is for, `Skills` which procedures it follows, `Boundaries` what it leaves alone, `Communication Style` how it
//! speaks. `Tools` may name what it has at most.
//!
//! | file | one thing |
//! |---|---|
//! | `persona` | `AGENT.md`: who the team's own agent is |

mod persona;
#[cfg(test)]
mod tests;

use crate::markdown::{Document, Fault, Folder, Section, Slug, Text};
use crate::skills::{self, Skill, first_paragraph, one_line, says_none, shown};

pub(crate) use persona::check as check_persona;
pub use persona::{PERSONA_FILE, Persona, persona};

/// The folder of a team's folder that they are in.
pub const FOLDER: &str = "subagents";
/// Most subagents of a team: each is a tool of its orchestrator.
pub const SUBAGENTS_MAX: usize = 40;
/// The longest description, in characters: it stands in every request of the orchestrator.
const DESCRIPTION_CHARS_MAX: usize = 600;

const ROLE: &str = "role";
const BOUNDARIES: &str = "boundaries";
const STYLE: &str = "communication style";
const SKILLS: &str = "skills";
const TOOLS: &str = "tools";

/// A subagent as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subagent {
    /// Its name.
    pub name: Slug,
    /// What it is for, on one line: its role, else what its front matter says.
    pub description: String,
    /// What it leaves alone; empty where it does not say.
    pub boundaries: String,
    /// How it speaks; empty where it does not say.
    pub style: String,
    /// The skills that it follows, in the order of its list.
    pub skills: Vec<SkillRef>,
    /// The tools that it has at most; `None` where it does not say.
    pub tools: Option<Vec<String>>,
    /// The whole text, without front matter: its prompt.
    pub text: String,
    /// Its file.
    pub file: String,
}

/// A skill as a subagent names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillRef {
    /// The skill's name.
    pub name: Slug,
    /// What the subagent says of it; empty where it says nothing.
    pub description: String,
    /// The line that says so; `None` where the front matter does.
    pub line: Option<usize>,
}

/// Reads the subagents of a team's folder, sorted by the names of their files. Blocks.
pub fn load(folder: &Folder, faults: &mut Vec<Fault>) -> Vec<Subagent> {
    let mut subagents: Vec<Subagent> = Vec::new();
    for text in folder.texts(FOLDER, faults) {
        if text.file.to_ascii_lowercase().ends_with("/readme.md") {
            continue;
        }
        let Some((subagent, line)) = read(&text, faults) else { continue };
        if let Some(first) = subagents.iter().find(|known| known.name == subagent.name) {
            let message = format!("a subagent `{}` is there already in {}", subagent.name, first.file);
            let message = format!("{message}, and this one is not read: rename it, or take it away");
            faults.push(Fault::error(&text.file, line, message));
        } else if subagents.len() == SUBAGENTS_MAX {
            let message = format!("there are more than {SUBAGENTS_MAX} subagents, and those from {} on", text.file);
            faults.push(Fault::error(FOLDER, None, format!("{message} are not read: put some together")));
            break;
        } else {
            subagents.push(subagent);
        }
    }
    subagents
}

/// What subagents say that does not fit what is around them: skills that are not there, names that are taken.
///
/// `is_tool` says whether a tool of this program has that name: a subagent is a tool of its orchestrator, and must not
/// stand in another one's place.
pub fn check(subagents: &[Subagent], skills: &[Skill], is_tool: impl Fn(&str) -> bool) -> Vec<Fault> {
    let mut faults = Vec::new();
    for subagent in subagents {
        if is_tool(subagent.name.as_str()) {
            let message =
                format!("a tool is called `{0}` already, and the subagent's is `subagent-{0}`", subagent.name);
            faults.push(Fault::warning(&subagent.file, None, format!("{message}: give it another name")));
        }
        for skill in subagent.skills.iter().filter(|named| !skills.iter().any(|skill| skill.name == named.name)) {
            let message = format!("the skill `{0}` is not in {1}/: write {1}/{0}.md", skill.name, skills::FOLDER);
            let message = format!("{message}, or take the line out");
            faults.push(Fault::error(&subagent.file, skill.line, message));
        }
    }
    faults
}

/// A subagent, and the line on which its name stands.
fn read(text: &Text, faults: &mut Vec<Fault>) -> Option<(Subagent, Option<usize>)> {
    let Text { file, text } = text;
    let document = Document::read(file, text, &[ROLE, BOUNDARIES, STYLE, SKILLS, TOOLS], faults);
    if document.body.is_empty() {
        faults.push(Fault::error(file, None, "the subagent is empty: write its sections, or take it away"));
        return None;
    }
    let (name, line) = name(file, &document, faults)?;
    let role = document.expected(file, ROLE, faults).map(|role| first_paragraph(&role.text));
    let description = role.filter(|role| !role.is_empty());
    let description = description.or_else(|| document.front.text("description").map(str::to_owned));
    let boundaries = document.expected(file, BOUNDARIES, faults);
    let style = document.expected(file, STYLE, faults);
    let skills = skills_of(file, &document, faults);
    let tools = tools_of(file, &document, faults);
    let text_of = |section: Option<Section>| section.map(|section| section.text).unwrap_or_default();
    let subagent = Subagent {
        description: base::text::cut(&one_line(&description.unwrap_or(document.lead)), DESCRIPTION_CHARS_MAX),
        boundaries: text_of(boundaries),
        style: text_of(style),
        skills,
        tools,
        text: document.body,
        file: file.clone(),
        name,
    };
    Some((subagent, line))
}

/// The name: that of the heading `Agent: <name>`, else of the front matter, else of the file.
fn name(file: &str, document: &Document, faults: &mut Vec<Fault>) -> Option<(Slug, Option<usize>)> {
    let stem = file.rsplit('/').next().unwrap_or(file);
    let stem = stem.get(..stem.len().saturating_sub(3)).unwrap_or(stem);
    let titled = document.titled(file, "agent", faults).map(|(name, line)| (name, Some(line)));
    let front = || document.front.text("name").map(|name| (name, Some(1)));
    let (said, line) = titled.or_else(front).unwrap_or((stem, None));
    let name = Slug::parse(said).or_else(|| Slug::of(said));
    match &name {
        Some(name) if name.as_str() == said => {}
        Some(name) => {
            let message = format!("`{}` is no name of a subagent, and `{name}` is taken for it", shown(said));
            faults.push(Fault::warning(file, line, format!("{message}: write `# Agent: {name}`")));
        }
        None => {
            let message = format!("`{}` is no name of a subagent, and it is not read", shown(said));
            let advice = format!("write `# Agent: <name>` with {}", Slug::FORM);
            faults.push(Fault::error(file, line, format!("{message}: {advice}")));
        }
    }
    name.map(|name| (name, line))
}

/// The skills: the bullets of the section; without a section, what the front matter lists.
fn skills_of(file: &str, document: &Document, faults: &mut Vec<Fault>) -> Vec<SkillRef> {
    let mut skills: Vec<SkillRef> = Vec::new();
    let section = document.section(file, SKILLS, faults);
    let listed = document.front.list("skills");
    let mut add = |written: &str, description: &str, line, faults: &mut Vec<Fault>| match skill_name(written) {
        Some(name) if skills.iter().any(|skill| skill.name == name) => {
            faults.push(Fault::warning(file, line, format!("the skill `{name}` is named twice: take one line out")));
        }
        Some(name) => {
            if !written.contains(name.as_str()) {
                let message = format!("`{}` is taken for the skill `{name}`: write its name as it is", shown(written));
                faults.push(Fault::warning(file, line, message));
            }
            skills.push(SkillRef { name, description: description.to_owned(), line });
        }
        None => {
            let message = format!("`{}` is no name of a skill: write `- name — description`", shown(written));
            faults.push(Fault::error(file, line, format!("{message}, the name with {}", Slug::FORM)));
        }
    };
    match (&section, listed) {
        (Some(section), _) => {
            for bullet in &section.bullets {
                let Some((written, description)) = bullet.named() else { continue };
                add(written, description, Some(bullet.line), faults);
            }
        }
        (None, Some(listed)) => listed.iter().for_each(|written| add(written, "", None, faults)),
        (None, None) => faults.push(Fault::warning(
            file,
            None,
            "it has no section `## Skills`: write one, with `- name — description` for each skill, or `- none`",
        )),
    }
    if let Some(section) = section
        && section.bullets.is_empty()
        && !says_none(&section.text)
    {
        let message = "there is no bullet in `Skills`: write `- name — description` for each skill, or `- none`";
        faults.push(Fault::warning(file, Some(section.line), message));
    }
    skills
}

/// A skill's name as people write it: `build-ui`, `build-ui.md`, `skills/build-ui.md`, `skills/build-ui/SKILL.md`.
fn skill_name(written: &str) -> Option<Slug> {
    let name = written.strip_prefix("skills/").unwrap_or(written);
    let name = name.strip_suffix("/SKILL.md").or_else(|| name.strip_suffix(".md")).unwrap_or(name);
    Slug::parse(name).or_else(|| Slug::parse(&name.to_ascii_lowercase()))
}

/// The tools: the bullets of the section, else what the front matter lists.
fn tools_of(file: &str, document: &Document, faults: &mut Vec<Fault>) -> Option<Vec<String>> {
    let Some(section) = document.section(file, TOOLS, faults) else { return document.front.list("tools") };
    if section.bullets.is_empty() {
        if says_none(&section.text) {
            return Some(Vec::new());
        }
        let message = "there is no bullet in `Tools`, and it has all that the team has: write `- name` for each tool";
        faults.push(Fault::warning(file, Some(section.line), message));
        return None;
    }
    let named = section.bullets.iter().filter_map(|bullet| bullet.named());
    Some(named.map(|(name, _)| name.to_owned()).collect())
}
