//! Discord alone: what no other platform has, over real sockets.
//!
//! | file | what |
//! |---|---|
//! | `bot` | a server, an adapter and a host, and the few words that the tests need |
//! | `receiving` | the gateway, places, who speaks to the bot, what cannot be read |
//! | `returning` | what was said while the bot was away |
//! | `interacting` | slash commands, clicks, the menu |
//! | `delivering` | sends, edits, files, refusals, pacing |
//! | `production` | serenity's own limiter, through TLS |
//! | `published_api` | every request against the published description of the API |

mod bot;
mod delivering;
mod interacting;
mod production;
mod published_api;
mod receiving;
mod returning;
