//! What a person can say, and how the Bot API shows it to the bot.

use std::sync::Arc;

use serde_json::{Value, json};

use super::world::{Stored, World, marks};

/// Something that a person says.
#[derive(Clone, Debug, Default)]
pub struct Say {
    text: String,
    thread: Option<i64>,
    reply_to: Option<i64>,
    mentions: Vec<(i64, String)>,
    media: Option<Media>,
    on_behalf_of: Option<i64>,
}

/// What hangs on a message: the field of the Bot API, its content without the file's id, and the bytes.
#[derive(Clone, Debug)]
struct Media {
    field: &'static str,
    json: Value,
    name: String,
    bytes: Vec<u8>,
}

impl Say {
    /// A text. Commands and `@names` in it are marked as Telegram marks them.
    pub fn text(text: impl Into<String>) -> Say {
        Say { text: text.into(), ..Say::default() }
    }

    /// In this topic of a forum.
    pub fn in_topic(mut self, topic: i64) -> Say {
        self.thread = Some(topic);
        self
    }

    /// In answer to this message.
    pub fn reply_to(mut self, message: i64) -> Say {
        self.reply_to = Some(message);
        self
    }

    /// Appends a mention of somebody who has no user name: the text shows `name`, the entity names the user.
    pub fn mentioning(mut self, user: i64, name: &str) -> Say {
        self.mentions.push((user, name.to_owned()));
        self
    }

    /// With a file; the text is its caption.
    pub fn document(mut self, name: &str, media_type: &str, bytes: impl Into<Vec<u8>>) -> Say {
        let json = json!({"file_name": name, "mime_type": media_type});
        self.media = Some(Media { field: "document", json, name: name.to_owned(), bytes: bytes.into() });
        self
    }

    /// With a picture in three sizes; the text is its caption.
    pub fn photo(mut self, bytes: impl Into<Vec<u8>>) -> Say {
        let name = "photo.jpg".to_owned();
        self.media = Some(Media { field: "photo", json: json!({}), name, bytes: bytes.into() });
        self
    }

    /// With a recording; the text is its caption.
    pub fn voice(mut self, bytes: impl Into<Vec<u8>>) -> Say {
        let json = json!({"duration": 2, "mime_type": "audio/ogg"});
        self.media = Some(Media { field: "voice", json, name: "voice.oga".to_owned(), bytes: bytes.into() });
        self
    }

    /// Said by an anonymous admin of the group (`chat` is the group) or in the name of a channel.
    pub fn on_behalf_of(mut self, chat: i64) -> Say {
        self.on_behalf_of = Some(chat);
        self
    }
}

impl From<&str> for Say {
    fn from(text: &str) -> Say {
        Say::text(text)
    }
}

impl From<String> for Say {
    fn from(text: String) -> Say {
        Say::text(text)
    }
}

/// Keeps a file under a new id, which it gives.
pub(super) fn store_file(world: &mut World, name: &str, bytes: Vec<u8>) -> String {
    let number = world.fresh();
    let id = format!("BQACAgIAAxkBAAI{number}");
    let path = format!("documents/file_{number}.{}", name.rsplit('.').next().unwrap_or("bin"));
    world.files.insert(id.clone(), Stored { path, bytes: Arc::new(bytes) });
    id
}

/// The Bot API's view of what a person says.
pub(super) fn person_message(world: &mut World, chat: i64, id: i64, user: i64, said: Say) -> Value {
    let mut json = world.message_json(chat, id, user, said.thread);
    if let Some(reply) = said.reply_to.and_then(|reply| world.quoted(chat, reply)) {
        json["reply_to_message"] = reply;
    }
    if let Some(chat) = said.on_behalf_of {
        let behalf = world.chats.get(&chat).map(|chat| world.chat_json(chat));
        json["sender_chat"] = behalf.unwrap_or_else(|| json!({"id": chat, "type": "channel", "title": "A channel"}));
        json["from"] =
            json!({"id": 1_087_968_824, "is_bot": true, "first_name": "Group", "username": "GroupAnonymousBot"});
    }
    let mut text = said.text;
    let mut entities = marks(&text);
    for (mentioned, name) in said.mentions {
        if !text.is_empty() {
            text.push(' ');
        }
        entities.push(json!({
            "type": "text_mention", "offset": text.encode_utf16().count(), "length": name.encode_utf16().count(),
            "user": world.users[&mentioned].json(),
        }));
        text.push_str(&name);
    }
    let (text_field, entities_field) = match said.media {
        Some(media) => {
            let field = media.field;
            json[field] = media_json(world, media);
            ("caption", "caption_entities")
        }
        None => ("text", "entities"),
    };
    if !text.is_empty() {
        json[text_field] = json!(text);
    }
    if !entities.is_empty() {
        json[entities_field] = json!(entities);
    }
    json
}

fn media_json(world: &mut World, media: Media) -> Value {
    let size = media.bytes.len();
    let file = store_file(world, &media.name, media.bytes);
    if media.field == "photo" {
        let small = store_file(world, "small.jpg", vec![0; 3]);
        let picture = |id: &str, side: u32, size: usize| json!({"file_id": id, "file_unique_id": format!("u{id}"), "width": side, "height": side, "file_size": size});
        return json!([picture(&small, 90, 3), picture(&file, 800, size)]);
    }
    let mut json = media.json;
    json["file_id"] = json!(file);
    json["file_unique_id"] = json!(format!("u{file}"));
    json["file_size"] = json!(size);
    json
}
