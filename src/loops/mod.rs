//! The loops of a running hive. Each rescans its rows on the bell or on time and takes no other input.
//!
//! | loop | one thing |
//! |---|---|
//! | `inbound` | what came in is answered by code, or placed in a topic |
//! | `worker` | tasks are claimed, and their turns run |
//! | `outbound` | what is to be sent is sent, in order for each conversation |
//! | `board` | the one message of a topic that shows what teams do |
//! | `events` | what happened is copied to the teams' folders |
//! | `vectors` | what is remembered gets its vectors |
//! | `upkeep` | leases, retention, foreign writes: on time |
//! | `recovery` | what a start finds, before the others begin |
//! | `busy` | whether anything is left to do |

pub mod board;
mod busy;
pub mod events;
pub mod inbound;
pub mod outbound;
pub mod recovery;
pub mod upkeep;
pub mod vectors;
pub mod worker;
