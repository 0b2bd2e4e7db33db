//! The tools that our own texts speak of: where a session lacks one of them, its prompt says so.

use std::collections::BTreeSet;

use org::handbook::BOOTSTRAP;
use org::rules::{Role, system};

/// The names in the rules of a role that could be a tool's, sorted.
pub fn in_rules(role: Role) -> Vec<String> {
    let names: BTreeSet<String> = system(role).iter().flat_map(|rule| in_text(&rule.text)).collect();
    names.into_iter().collect()
}

/// The same of the task that a new team begins with.
pub fn in_bootstrap() -> Vec<String> {
    in_text(BOOTSTRAP).collect::<BTreeSet<_>>().into_iter().collect()
}

/// What stands in back-ticks and is written as tools are. Not all of it are tools: some are fields of results.
fn in_text(text: &str) -> impl Iterator<Item = String> {
    let like_a_tool = |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    text.split('`').skip(1).step_by(2).filter(like_a_tool).map(str::to_owned)
}
