//! The prompt: a fixed part, the same bytes in every session of a role, and a part that varies.
//!
//! | part | segment | from |
//! |---|---|---|
//! | system rules | fixed | `prompts/rules/*.md`, by role |
//! | rules of this hive's owner | fixed | `rules/*.md` of the data directory, read once at start |
//! | how to use tools, rules for HTTP | fixed | `prompts/parts/tools.md` |
//! | team, workspace | varies | the team's row |
//! | tools of the team's own, and what it may not use | varies | its tools |
//! | rules of the teams above and of its own | varies | their folders |
//! | persona, teams below; or the subagent | varies | its folder |
//! | skills | varies | its folder |
//! | what the team remembers | varies | its memory, as far as it matters to the turn |
//! | place, topic | varies | the turn |
//! | what was said before, in fewer words | varies | the topic's summary |
//!
//! The talk itself follows as real chat turns. Secrets are never part of a prompt.

mod fixed;
mod now;
mod own;
#[cfg(test)]
mod tests;

use llm::System;

pub use fixed::{Fixed, owner_rules};
pub use now::Now;
pub use own::{Identity, Own, OwnTools, Station};

/// The whole system part of a request: values in, text out.
pub fn put_together(fixed: &Fixed, own: &Own<'_>, now: &Now<'_>) -> Vec<System> {
    fixed.system(joined([own.text(), now.text()]))
}

/// The parts that say something, a blank line between them.
fn joined(parts: impl IntoIterator<Item = String>) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}
