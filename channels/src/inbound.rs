//! What came in from a platform, in our words.

use serde::{Deserialize, Serialize};

use crate::{ConversationId, SenderId};

/// One event of a platform. Only events that a host may have to act on exist here; the rest is dropped by the
/// adapter (and logged at debug level).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inbound {
    /// Where it happened.
    pub conversation: ConversationId,
    /// What sort of place that is.
    pub place: Place,
    /// The platform's id of this event, unique in its conversation and the same at every redelivery:
    /// a message's own id for messages; `edit:ID:STAMP`, `click:ID`, `command:ID` for the rest.
    pub event_id: String,
    /// Who caused it.
    pub sender: Sender,
    /// When the platform says it happened, in milliseconds since 1970.
    pub sent_at_ms: i64,
    /// Whether it speaks to the bot.
    pub addressed: Addressed,
    /// What it is.
    pub content: Content,
}

/// Who wrote. Bots other than ours, and ourselves, never reach the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    /// The platform's id of the user.
    pub id: SenderId,
    /// The name people see, for people only: never an identity.
    pub name: String,
}

/// What sort of place a conversation is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// One person and the bot.
    Direct,
    /// A flat room with several people: a guild channel, a Telegram group, or its General topic.
    Group {
        /// The room's name, empty where the platform does not say.
        title: String,
    },
    /// A line of talk that the platform itself keeps apart: a Discord thread or forum post, a Telegram forum topic.
    Thread {
        /// The channel or chat that it belongs to.
        parent: ConversationId,
        /// The thread's name, empty where the platform does not say.
        title: String,
    },
}

/// Whether an event speaks to the bot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Addressed {
    /// It came in a direct conversation.
    Direct,
    /// It mentions the bot.
    Mention,
    /// It answers one of the bot's messages.
    Reply,
    /// It is a command or a click: nobody else could be meant.
    Explicit,
    /// It was said where the bot is configured to answer always.
    Overheard,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// A message.
    Text(Text),
    /// A message was changed by its author. It is not a new message.
    Edit {
        /// The message that was changed (its `event_id` when it came).
        message_id: String,
        /// The new text.
        text: String,
    },
    /// A command in the platform's own sense: a slash command, a Telegram bot command, a terminal line with `/`.
    Command {
        /// The name without slash, in lower case; of a sub-command the whole path, `trust add`, where the
        /// platform knows sub-commands.
        name: String,
        /// What follows the name.
        arguments: Arguments,
        /// The message this command answers, where the platform says so: `/trust add` in reply to a message.
        reply_to: Option<String>,
        /// The author of that message.
        reply_to_sender: Option<Sender>,
        /// Where a deferred answer goes.
        handle: Option<ReplyHandle>,
    },
    /// Somebody pressed a button. The sender is whoever clicked, not who was asked.
    Click {
        /// The button's data, as it was sent out.
        data: String,
        /// The message that carries the button.
        message_id: String,
        /// Where a deferred answer goes.
        handle: Option<ReplyHandle>,
    },
}

/// A message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Text {
    /// The text, with the mention of the bot itself taken off its start.
    pub text: String,
    /// What hangs on it. Nothing has been downloaded.
    pub attachments: Vec<Attachment>,
    /// The message it answers.
    pub reply_to: Option<String>,
    /// The author of that message, where the platform says so.
    pub reply_to_sender: Option<Sender>,
    /// The other people it mentions.
    pub mentions: Vec<Sender>,
}

/// A file that hangs on a message: a description, not the bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// What the adapter needs to fetch it: a URL for Discord, a file id for Telegram.
    pub reference: String,
    /// The file's name as the sender gave it. Not a path: it may contain anything.
    pub name: String,
    /// The media type as the platform says, empty where it does not.
    pub media_type: String,
    /// The size as the platform says.
    pub size_bytes: u64,
}

/// What follows a command's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arguments {
    /// Plain text, to be split by the host.
    Line(String),
    /// Named values, as Discord's options give them: users and channels as their addresses (`discord:42`).
    Named(Vec<(String, String)>),
}

/// The right to answer one interaction, for a while.
///
/// It is good for that interaction alone and only until `expires_at_ms`; it is not an account's credential.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyHandle {
    /// The platform's token for the interaction.
    pub token: String,
    /// When the platform stops accepting it, in milliseconds since 1970.
    pub expires_at_ms: i64,
}

impl std::fmt::Debug for ReplyHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ReplyHandle(until {})", self.expires_at_ms)
    }
}
