//! The prompt: a fixed part, the same bytes in every session, and a part that varies.
//!
//! | part | segment | from |
//! |---|---|---|
//! | system rules | fixed | `prompts/rules/*.md` |
//! | rules of this hive's owner | fixed | `rules/*.md` of the data directory, read once at start |
//! | how to use tools, rules for HTTP | fixed | `prompts/parts/tools.md` |
//! | workspace, place, topic | varies | the turn |
//! | what the team remembers | varies | its memory, as far as it matters to the turn |
//! | what was said before, in fewer words | varies | the topic's summary |
//!
//! The talk itself follows as real chat turns. Secrets are never part of a prompt.

use std::path::Path;

use anyhow::{Context, Result};
use channels::{Inbound, Place};
use llm::{System, ToolDef};
use store::topics::Topic;

const RULES_ALL: &str = include_str!("../../prompts/rules/all.md");
const RULES_MAIN: &str = include_str!("../../prompts/rules/main.md");
const TOOLS: &str = include_str!("../../prompts/parts/tools.md");

/// What is the same in every session: text and tools.
#[derive(Clone, Debug)]
pub struct Fixed {
    text: String,
    /// The tools that the main agent sees, in the order of the catalogue.
    pub tools: Vec<ToolDef>,
}

impl Fixed {
    /// Reads the owner's rules (`rules/*.md`, by file name) and puts the fixed part together.
    ///
    /// # Errors
    /// A rule that cannot be read.
    pub fn read(data_dir: &Path, tools: Vec<ToolDef>) -> Result<Fixed> {
        let mut parts = vec![format!("--- System Rules ---\n\n{}\n\n{}", RULES_ALL.trim(), RULES_MAIN.trim())];
        let mut rules = Vec::new();
        for path in rule_files(&data_dir.join("rules"))? {
            let text = std::fs::read_to_string(&path).with_context(|| format!("read the rule {}", path.display()))?;
            rules.push(text.trim().to_owned());
        }
        rules.retain(|rule| !rule.is_empty());
        if !rules.is_empty() {
            parts.push(format!("--- Organization Rules ---\n\n{}", rules.join("\n\n")));
        }
        parts.push(TOOLS.trim().to_owned());
        Ok(Fixed { text: parts.join("\n\n"), tools })
    }

    /// The system part of a request.
    pub(super) fn system(&self, varies: String) -> Vec<System> {
        vec![System { text: self.text.clone(), cached: true }, System { text: varies, cached: false }]
    }
}

fn rule_files(directory: &Path) -> Result<Vec<std::path::PathBuf>> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("read {}", directory.display())),
    };
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    files.sort();
    Ok(files)
}

/// What varies: where we are and what this line of talk is about.
pub(super) fn varying(
    workspace: &Path,
    event: Option<&Inbound>,
    topic: Option<&Topic>,
    summary: Option<&str>,
    memory: &str,
) -> String {
    let mut parts = vec![format!("## Workspace\nYour files are in `{}`.", workspace.display())];
    if let Some(event) = event {
        let place = match &event.place {
            Place::Direct => "a direct conversation with one person".to_owned(),
            Place::Group { title } => format!("a room with several people{}", titled(title)),
            Place::Thread { title, .. } => format!("a thread with several people{}", titled(title)),
        };
        parts.push(format!("## Place\nYou are in {place} on {}.", event.conversation.kind()));
    }
    if let Some(topic) = topic {
        parts.push(format!("## Current Topic\n{} (topic {})", topic.name, topic.id));
    }
    if !memory.is_empty() {
        parts.push(memory.to_owned());
    }
    if let Some(summary) = summary {
        parts.push(format!("## What was said before, in fewer words\n{summary}"));
    }
    parts.join("\n\n")
}

fn titled(title: &str) -> String {
    if title.is_empty() { String::new() } else { format!(" called \"{}\"", base::text::headline(title, 80)) }
}
