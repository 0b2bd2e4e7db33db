//! A channel as the people in it see it.

use super::world::{Message, World};

/// A message as people see it now.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Its id.
    pub id: u64,
    /// Its channel.
    pub channel: u64,
    /// Who wrote it.
    pub author: u64,
    /// The name they see.
    pub author_name: String,
    /// What it says now.
    pub text: String,
    /// How often it was changed.
    pub edits: usize,
    /// What can be pressed under it.
    pub buttons: Vec<ShownButton>,
    /// The nonce it was sent with.
    pub nonce: Option<String>,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: u64,
    /// The message it answers.
    pub reply_to: Option<u64>,
    /// What hangs on it.
    pub files: Vec<ShownFile>,
    /// Whose phone it rang: user ids, `everyone`, `role:ID`.
    pub pings: Vec<String>,
    /// "… is thinking": a deferred answer that has not come.
    pub thinking: bool,
}

/// A button as people see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownButton {
    /// What it says.
    pub label: String,
    /// What comes back when it is pressed.
    pub data: String,
    /// Discord's number of its look.
    pub style: u64,
}

/// A file as people get it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownFile {
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Shown {
    pub(super) fn of(message: &Message, world: &World) -> Self {
        let author_name = world.users.get(&message.author).map(|user| user.name.clone()).unwrap_or_default();
        let rows = message.components.as_array().into_iter().flatten();
        let buttons =
            rows.flat_map(|row| row["components"].as_array().into_iter().flatten()).map(|button| ShownButton {
                label: button["label"].as_str().unwrap_or_default().to_owned(),
                data: button["custom_id"].as_str().unwrap_or_default().to_owned(),
                style: button["style"].as_u64().unwrap_or_default(),
            });
        Shown {
            id: message.id,
            channel: message.channel,
            author: message.author,
            author_name,
            text: message.text.clone(),
            edits: message.edits,
            buttons: buttons.collect(),
            nonce: message.nonce.clone(),
            created_ms: (message.id >> 22) + super::world::EPOCH_MS,
            reply_to: message.reply_to,
            files: message
                .files
                .iter()
                .map(|file| ShownFile { name: file.name.clone(), bytes: file.bytes.to_vec() })
                .collect(),
            pings: message.pings.clone(),
            thinking: message.thinking,
        }
    }
}
