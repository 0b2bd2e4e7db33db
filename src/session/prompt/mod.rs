//! The prompt: a fixed part, the same bytes in every session of a role, and a part that varies.
//!
//! | part | segment | from |
//! |---|---|---|
//! | system rules | fixed | `prompts/rules/*.md`, by role |
//! | rules of this hive's owner | fixed | `rules/*.md` of the data directory, read once at start |
//! | how to use tools, rules for HTTP | fixed | `prompts/parts/tools.md` |
//! | team, workspace | varies | the team's row |
//! | tools that the rules speak of, and that it may not use | varies | its grant |
//! | rules of the teams above and of its own | varies | their folders |
//! | persona, teams below; or the subagent | varies | its folder |
//! | the skills to choose from | varies | its folder |
//! | the skills that it has taken up | varies | its folder, and what the turn did |
//! | what the team remembers | varies | its memory, as far as it matters to the turn |
//! | place, topic | varies | the turn |
//! | what was said before, in fewer words | varies | the topic's summary |
//!
//! The talk itself follows as real chat turns. Secrets are never part of a prompt.

mod fixed;
mod named;
mod now;
mod own;
mod skills;
#[cfg(test)]
mod tests;

use llm::System;

pub use fixed::{Fixed, owner_rules};
pub use named::{in_bootstrap, in_rules};
pub use now::Now;
pub use own::{Identity, Own, Station, TakesUp};
pub use skills::taken_up;

/// The whole system part of a request. `own` is the text of an [`Own`], `skills` what [`taken_up`] made.
pub fn put_together(fixed: &Fixed, own: &str, skills: &str, now: &Now<'_>) -> Vec<System> {
    fixed.system(joined([own, skills, &now.text()]))
}

/// The parts that say something, a blank line between them.
fn joined<T: AsRef<str>>(parts: impl IntoIterator<Item = T>) -> String {
    let mut whole = String::new();
    for part in parts {
        let part = part.as_ref();
        if !whole.is_empty() && !part.is_empty() {
            whole.push_str("\n\n");
        }
        whole.push_str(part);
    }
    whole
}
