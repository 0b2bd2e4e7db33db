//! The way to other machines: which addresses may be asked, and asking them.
//!
//! | module | one thing |
//! |---|---|
//! | `guard` | which URLs and which addresses may be asked: pure, and the same for everything that goes out |
//! | `resolve` | from a name to its addresses |
//! | `fetch` | one request and what came of it, within limits, with a trace |
//! | `buckets` | how often a team may ask under one key |
//! | `teams` | what each team may ask |
//!
//! Invariants: nothing is connected to but addresses that the guard judged, all of a host's together, anew for every
//! redirect. What comes in is bounded in size after unpacking, and in time.

pub mod buckets;
pub mod fetch;
pub mod guard;
pub mod resolve;
pub mod teams;

pub use guard::verdict;
