//! Rows: the only shared state of a hive, behind one door.
//!
//! [`Db`] is the door: `db.tx("name", async |conn| …)`. Stores are free functions, one file per table, that take a
//! connection, so that callers join several in one transaction. Calls read as sentences: `store::tasks::claim`.
//! The only owner of SQLite; all SQL is here. What must be true always is a constraint in the migrations.

mod db;
mod schema;
mod sql;

pub mod audit;
pub mod boards;
pub mod calls;
pub mod cursors;
pub mod events;
pub mod grants;
pub mod inbox;
pub mod journal;
pub mod memory;
pub mod notes;
pub mod outbox;
pub mod pairings;
pub mod protocol;
pub mod questions;
pub mod retention;
pub mod runs;
pub mod settings;
pub mod strangers;
pub mod summaries;
pub mod tables;
pub mod tasks;
pub mod teams;
pub mod todos;
pub mod toolboxes;
pub mod topics;
pub mod trust;
pub mod usage;
pub mod vault;

#[cfg(test)]
mod plans;
#[cfg(test)]
mod tests;

pub use db::{Bell, Db};
pub use schema::{integrity, newest};
pub use sql::Conn;
