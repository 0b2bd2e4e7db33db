//! OpenHive: a chat bot for Discord and Telegram with a durable hive of agents behind it.
//!
//! A deterministic spine, the model only at the edges: what must not be lost is a row before it is an effect, and
//! what is not deterministic enters through a port. ARCHITECTURE.md says why; this is the map.
//!
//! | module | what |
//! |---|---|
//! | [`config`] | what the user wrote → what it means |
//! | [`voices`] | the platforms by kind |
//! | [`welcome`] | words for strangers and admins |
//! | [`toolkit`] | the tools, and who may use what of them |
//! | [`session`] | a turn of an agent: prompt, model, tools; a reply to people, or a result for another team |
//! | [`classifier`] | which topic a message belongs to |
//! | [`commands`] | chat commands, one registry for every platform |
//! | [`loops`] | inbound, worker, outbound, board, events, vectors, upkeep, recovery: each rescans its rows |
//! | [`app`] | builds everything once, stops it in reverse order |
//! | [`cli`] | the command line |
//!
//! A module uses only those above it. To read a running hive, begin at [`app::Hive::start`]; to follow one message, at
//! [`loops::inbound`].
//!
//! Below them, each a crate: `channels` (platforms behind one port), `base` (ids, time, secrets, tasks), `store`
//! (rows), `llm` (models), `net` (other machines), `org` (rules over rows and folders), `tools` (the tool model). A
//! package depends only on packages to its left: channels · base · store · llm · net · org · tools · openhive.

pub mod app;
pub mod classifier;
pub mod cli;
pub mod commands;
pub mod config;
pub mod loops;
pub mod session;
pub mod toolkit;
pub mod voices;
pub mod welcome;
