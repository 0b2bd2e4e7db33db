//! Rules over rows.

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
