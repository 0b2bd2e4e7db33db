//! Rules over rows.

pub mod memory;
pub mod notices;
pub mod questions;
pub mod threads;
pub mod topics;
pub mod trust;
pub mod vault;
