//! Rules over rows and folders: what the hive decides without a model.
//!
//! | module | one thing |
//! |---|---|
//! | `trust` | who may speak: pure, with a reason for every answer |
//! | `topics`, `threads` | which topic a message belongs to: by what is said of it, by evidence in a busy room |
//! | `questions`, `notices` | what people are asked, and what admins and conversations are told |
//! | `vault` | a team's secrets, encrypted, behind placeholders |
//! | `memory` | what a team remembers: words and vectors, what of it goes into a prompt |
//! | `teams` | the tree: made and taken away whole, what each may do |
//! | `markdown` → `rules`, `skills`, `subagents` → `handbook` | a team's files: read, understood, together |
//!
//! Invariants: everything that decides is pure and says by which rule; what changes rows takes a connection, so that
//! its caller joins it with what belongs to it.

pub mod handbook;
pub mod markdown;
pub mod memory;
pub mod notices;
pub mod questions;
pub mod rules;
pub mod skills;
pub mod subagents;
pub mod teams;
pub mod threads;
pub mod topics;
pub mod trust;
pub mod vault;
