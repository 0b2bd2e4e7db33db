//! `AGENT.md`: who the team's own agent is.

use crate::markdown::{Document, Fault, Folder, Slug};
use crate::skills::{self, Skill, one_line, shown};

use super::skill_name;

/// Its file in a team's folder.
pub const PERSONA_FILE: &str = "AGENT.md";
/// The longest description, in characters.
const DESCRIPTION_CHARS_MAX: usize = 600;
/// What its front matter may say.
const KEYS: [&str; 3] = ["name", "description", "skills"];
/// What others write there, and where it belongs here.
const ELSEWHERE: [(&str, &str); 3] =
    [("model", "`provider_profile`"), ("mcp", "`mcp_servers`"), ("tools", "`allowed_tools`")];

/// Who a team's agent is: a part of its prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Persona {
    /// What it is called, for people; the team's name stays the team's.
    pub name: Option<String>,
    /// What the team is for, on one line, where nobody else says so; empty where the front matter does not.
    pub description: String,
    /// The team's skills that its own agent is told of; `None` where it does not say.
    pub skills: Option<Vec<Slug>>,
    /// The text below the front matter.
    pub text: String,
}

/// Reads a team's persona. `None` where there is none. Blocks.
pub fn persona(folder: &Folder, faults: &mut Vec<Fault>) -> Option<Persona> {
    let text = folder.text(PERSONA_FILE, faults)?;
    let document = Document::read(&text.file, &text.text, &[], faults);
    faults.extend(keys(&text.text).filter_map(|(line, key)| no_effect(line, key)));
    if document.body.is_empty() {
        let message = "there is nothing below its front matter: write who the agent is, or take the file away";
        faults.push(Fault::warning(&text.file, None, message));
    }
    let front = &document.front;
    Some(Persona {
        name: front.text("name").map(one_line),
        description: base::text::cut(&one_line(front.text("description").unwrap_or_default()), DESCRIPTION_CHARS_MAX),
        skills: front.list("skills").map(|names| slugs(&names, faults)),
        text: document.body,
    })
}

/// What a persona says that does not fit what is around it: skills that are not there.
pub(crate) fn check(persona: &Persona, skills: &[Skill]) -> Vec<Fault> {
    let missing = |name: &&Slug| !skills.iter().any(|skill| skill.name == **name);
    let fault = |name: &Slug| {
        let message = format!("the skill `{name}` is not in {0}/: write {0}/{name}.md, or take it out", skills::FOLDER);
        Fault::error(PERSONA_FILE, None, message)
    };
    persona.skills.iter().flatten().filter(missing).map(fault).collect()
}

fn slugs(names: &[String], faults: &mut Vec<Fault>) -> Vec<Slug> {
    let mut slugs = Vec::with_capacity(names.len());
    for name in names {
        match skill_name(name) {
            Some(slug) => slugs.push(slug),
            None => {
                let message = format!("`{}` is no name of a skill: write it with {}", shown(name), Slug::FORM);
                faults.push(Fault::error(PERSONA_FILE, None, message));
            }
        }
    }
    slugs
}

/// The keys of the front matter's top level, with their lines.
fn keys(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_mark = |line: &&str| matches!(line.trim_end(), "---" | "...");
    let closes = text.starts_with("---") && text.lines().skip(1).any(|line| is_mark(&line));
    let inside = text.lines().skip(1).take_while(move |line| closes && !is_mark(line));
    inside.zip(2..).filter_map(|(line, number)| {
        let key = line.split_once(':')?.0;
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        (!key.is_empty() && key.chars().all(fits)).then_some((number, key))
    })
}

/// What is wrong with a key that is read for nothing.
fn no_effect(line: usize, key: &str) -> Option<Fault> {
    if KEYS.iter().any(|known| known.eq_ignore_ascii_case(key)) {
        return None;
    }
    let advice = match ELSEWHERE.iter().find(|(other, _)| other.eq_ignore_ascii_case(key)) {
        Some((_, own)) => format!("what the team may do is for {own} of its config.yaml to say"),
        None => match base::text::meant(key, KEYS) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("there are `{}`", KEYS.join("`, `")),
        },
    };
    Some(Fault::warning(PERSONA_FILE, Some(line), format!("`{}` has no effect here: {advice}", shown(key))))
}
