//! stub

/// What the user wrote → what it means; only the second travels.
pub mod config;
