//! Telegram alone: what no other platform has, over real sockets.
//!
//! | file | what |
//! |---|---|
//! | `bot` | a server, an adapter and a host, and the few words that the tests need |
//! | `receiving` | polling, offsets, faults, a second poller, the menu |
//! | `reading` | recorded updates and what becomes of them |
//! | `delivering` | sends, edits, files, refusals, pacing |
//! | `server` | the loopback server itself |
//! | `published_api` | every request against the published description of the Bot API |

mod bot;
mod delivering;
mod published_api;
mod reading;
mod receiving;
mod server;
