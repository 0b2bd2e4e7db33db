//! What of a prompt are the skills that the session has taken up: their texts, and what lies beside them.

use org::handbook::Handbook;
use org::markdown::Folder;
use org::skills::{self, Skill};

/// The text of these skills, in this order; empty without any. `folder` is their team's, and `handbook` what it says now.
/// Blocks.
pub fn taken_up(folder: &Folder, handbook: &Handbook, names: &[String]) -> String {
    let parts = names.iter().map(|name| {
        let text = match handbook.skill(name) {
            Some(skill) => text(folder, handbook, skill),
            None => "Its file is there no more: leave what it was for, and say so.".to_owned(),
        };
        format!("--- Active Skill: {name} ---\n\n{text}")
    });
    match &parts.collect::<Vec<_>>()[..] {
        [] => String::new(),
        parts => format!("--- Skills ---\n\n{}", parts.join("\n\n")),
    }
}

fn text(folder: &Folder, handbook: &Handbook, skill: &Skill) -> String {
    super::joined([handbook.text_of(skill), skills::told(folder, skill)])
}
