//! The loops of a running hive. Each rescans its rows on the bell or on time and takes no other input.

pub mod board;
mod busy;
pub mod events;
pub mod inbound;
pub mod outbound;
pub mod recovery;
pub mod upkeep;
pub mod vectors;
pub mod worker;
