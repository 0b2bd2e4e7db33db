//! `AGENT.md`: who the team's own agent is.

use crate::markdown::{Document, Fault, Folder};
use crate::skills::one_line;

/// Its file in a team's folder.
pub const PERSONA_FILE: &str = "AGENT.md";
/// The longest description, in characters.
const DESCRIPTION_CHARS_MAX: usize = 600;

/// Who a team's agent is: a part of its prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Persona {
    /// What it is called, for people; the team's name stays the team's.
    pub name: Option<String>,
    /// What it is for, on one line; empty where the front matter does not say.
    pub description: String,
    /// The profile or model that it asks for. Only a wish: the team's configuration decides.
    pub model: Option<String>,
    /// The skills that it names; `None` where it does not say.
    pub skills: Option<Vec<String>>,
    /// The servers of tools that it names; `None` where it does not say.
    pub mcp: Option<Vec<String>>,
    /// The text below the front matter.
    pub text: String,
}

/// Reads a team's persona. `None` where there is none. Blocks.
pub fn persona(folder: &Folder, faults: &mut Vec<Fault>) -> Option<Persona> {
    let text = folder.text(PERSONA_FILE, faults)?;
    let document = Document::read(&text.file, &text.text, &[], faults);
    if document.body.is_empty() {
        let message = "there is nothing below its front matter: write who the agent is, or take the file away";
        faults.push(Fault::warning(&text.file, None, message));
    }
    let front = &document.front;
    Some(Persona {
        name: front.text("name").map(one_line),
        description: base::text::cut(&one_line(front.text("description").unwrap_or_default()), DESCRIPTION_CHARS_MAX),
        model: front.text("model").map(str::to_owned),
        skills: front.list("skills"),
        mcp: front.list("mcp"),
        text: document.body,
    })
}
