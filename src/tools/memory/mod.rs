//! What a team remembers. Every call is about the caller's own team.

mod memory_delete;
mod memory_list;
mod memory_save;
mod memory_search;

pub use memory_delete::{MemoryDelete, MemoryDeleteArgs, MemoryDeleteOutput};
pub use memory_list::{MemoryList, MemoryListArgs};
pub use memory_save::{MemorySave, MemorySaveArgs, MemorySaveOutput};
pub use memory_search::{MemoryFound, MemorySearch, MemorySearchArgs};

use schemars::JsonSchema;
use serde::Serialize;
use store::memory::Entry;

#[cfg(test)]
mod tests;

/// An entry as a model is shown it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MemoryShown {
    /// Its number.
    pub id: i64,
    /// Whose it is.
    pub team_name: String,
    /// What it is called.
    pub key: String,
    /// What is remembered.
    pub content: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it is what its key means now.
    pub is_active: bool,
    /// The entry that it took the place of.
    pub supersedes_id: Option<i64>,
    /// Why it did.
    pub supersede_reason: Option<String>,
    /// Who saved it.
    pub updated_by: Option<String>,
    /// When it was saved.
    pub created_at: String,
    /// When it was last changed.
    pub updated_at: String,
}

impl From<Entry> for MemoryShown {
    fn from(entry: Entry) -> Self {
        MemoryShown {
            id: entry.id,
            team_name: entry.team,
            key: entry.key,
            content: entry.content,
            kind: entry.kind,
            is_active: entry.is_active,
            supersedes_id: entry.supersedes_id,
            supersede_reason: entry.supersede_reason,
            updated_by: entry.updated_by,
            created_at: base::clock::show(entry.created_at),
            updated_at: base::clock::show(entry.updated_at),
        }
    }
}
