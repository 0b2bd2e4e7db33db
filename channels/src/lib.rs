//! Chat platforms behind one port.
//!
//! A platform is translated, never interpreted: this crate knows nothing of trust, topics, models or a hive.
//! It is the only owner of serenity and teloxide.
//!
//! | file | what |
//! |---|---|
//! | `address` | who and where: [`Kind`], [`ConversationId`], [`SenderId`] |
//! | `inbound` | what came in: [`Inbound`] and its [`Content`] |
//! | `outbound` | what goes out: [`Outbound`], one platform request each |
//! | `port` | the three directions: [`Receive`], [`Reply`], [`Deliver`], and [`Intake`], the host's side |
//! | `pace` | the platforms' rates, kept by us |
//! | `render`, `split`, `markup` | Markdown → pieces that a platform accepts (pure) |
//! | `discord/`, `telegram/`, `console`, `memory` | the adapters |
//!
//! Invariants: an adapter holds no durable state (what must survive is a [`Cursor`], kept by the host); an event
//! is acknowledged to its platform only after [`Intake::take`] returned `Ok`; one [`Outbound`] is one request.

mod address;
mod inbound;
mod outbound;
mod port;

pub mod console;
pub mod discord;
pub mod markup;
pub mod memory;
pub mod pace;
pub mod render;
pub mod split;
pub mod telegram;

pub use address::{BadAddress, ConversationId, Kind, SenderId};
pub use inbound::{Addressed, Arguments, Attachment, Content, Inbound, Place, ReplyHandle, Sender, Text};
pub use outbound::{Action, Button, Emphasis, File, FileSource, Outbound, Piece};
pub use pace::Turn;
pub use port::{
    Answering, Channel, Closed, Cursor, Deliver, Gone, Hearing, Intake, Menu, MenuCommand, MenuOption, OptionKind,
    Receive, ReceiveError, Reply, Report, Scope, SendError, Sent,
};
