//! What goes out to a platform: one value, one request.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{ConversationId, ReplyHandle};

/// One request to a platform. A long text is several of these, made by [`crate::render`] before they are stored,
/// so that a host can record each as sent by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outbound {
    /// Where to.
    pub conversation: ConversationId,
    /// The idempotency key, at most 25 characters: the same at every attempt. Discord gets it as `nonce`.
    pub key: String,
    /// What to do there.
    pub action: Action,
    /// The message this one answers, shown as a reply where the platform can. A message that is gone is no error.
    pub reply_to: Option<String>,
    /// The interaction this answers; after its expiry the adapter sends an ordinary message instead.
    pub handle: Option<ReplyHandle>,
}

/// What to do in the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Post a new message.
    Send(Piece),
    /// Replace the text and the buttons of one of our messages. Doing it twice changes nothing.
    Edit {
        /// Our message.
        message_id: String,
        /// What it becomes.
        piece: Piece,
    },
    /// Take one of our messages away. One that is gone already is no error.
    Delete {
        /// Our message.
        message_id: String,
    },
}

/// What one message shows. Made by [`crate::render`]; within the platform's limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Piece {
    /// The text in the platform's own markup: HTML for Telegram, Discord's Markdown, plain for a terminal.
    pub text: String,
    /// The same without any markup, sent where the platform refuses `text`.
    pub plain: String,
    /// Rows of buttons under the text.
    pub buttons: Vec<Vec<Button>>,
    /// Files that hang on it.
    pub files: Vec<File>,
}

/// A button under a message. It works as long as the message exists: nothing of it is kept in memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Button {
    /// What it says.
    pub label: String,
    /// What comes back in [`crate::Content::Click`]: at most 64 bytes (Telegram's `callback_data`).
    pub data: String,
    /// How it looks, where the platform knows looks.
    pub emphasis: Emphasis,
}

/// How a button looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Emphasis {
    /// Like any other.
    #[default]
    Plain,
    /// The thing that is usually meant.
    Primary,
    /// Hard to take back.
    Danger,
}

/// A file to send.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// The name the receiver sees.
    pub name: String,
    /// Where its bytes come from.
    pub source: FileSource,
}

/// Where a file's bytes come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileSource {
    /// The text itself, as UTF-8.
    Text(String),
    /// A file of ours, read when it is sent.
    Path(PathBuf),
}
