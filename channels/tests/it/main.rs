//! The adapters over real sockets: real serenity and teloxide against the loopback servers of `tests/fakes`.

mod discord;
mod every_channel;
mod host;
mod telegram;
