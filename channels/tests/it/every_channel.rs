//! One list of promises, kept by every adapter.
//!
//! | file | what |
//! |---|---|
//! | `peer` | the far side of an adapter, as people there see it: what a platform's test double must offer |
//! | `promises` | the list |
//! | `discord`, `telegram`, `memory` | the peers |

mod discord;
mod memory;
mod peer;
mod promises;
mod telegram;
