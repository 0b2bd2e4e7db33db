//! Rules over rows.

pub mod threads;
pub mod topics;
pub mod trust;
