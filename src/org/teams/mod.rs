//! The org tree: what a team is and may do, how one comes into being, and how it goes.
//!
//! | file | one thing |
//! |---|---|
//! | `config`, `fields` | `config.yaml` of a team |
//! | `forms` | how its single values are written, there and where the owner writes them |
//! | `bounds` | no team has more than its parent: pure |
//! | `confirm` | people decide about a task for a busy team |
//! | `folder` | the teams' folders, made and deleted as a whole |
//! | `tree` | [`Tree`]: what all of this needs |
//! | `written` | a team's file as it stands, with its lines |
//! | `spawn`, `shutdown` | a team comes into being, or goes: everything or nothing |
//! | `settle` | what a crash left of either, finished or undone |
//! | `scope` | what a team is for, in words |
//! | `listing` | the tree as people and models see it |
//!
//! Invariants: a team that can be given work has its folder. A team that is closing gets no work and no children. A crash
//! at any moment is finished or undone by [`Tree::settle`], to something that an uninterrupted run could have come to.

mod bounds;
pub mod config;
pub mod confirm;
mod fields;
mod folder;
pub mod forms;
pub mod listing;
mod scope;
mod settle;
mod shutdown;
mod spawn;
#[cfg(test)]
mod tests;
mod tree;
mod written;

pub use bounds::Excess;
pub use config::{Browser, Bucket, Budgets, ConfigFault, TeamConfig};
pub use fields::DESCRIPTION_CHARS_MAX;
pub use listing::Listed;
pub use settle::Settled;
pub use shutdown::{Closed, Promise};
pub use spawn::{Spawned, Wish, Wisher};
pub use tree::{Rules, Tree, TreeError};
pub use written::Written;
