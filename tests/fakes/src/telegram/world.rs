//! What exists on the server: people, chats, topics, messages, files, and the updates the bot has not taken yet.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::{Value, json};

use super::faults::Faults;
use super::rates::Rates;
use super::{Request, Shown};

/// The bot's own user id; also the first part of its token.
pub(super) const BOT: i64 = 7_000_000_001;
/// The bot's user name.
pub(super) const BOT_NAME: &str = "hive_test_bot";

/// A person or a bot.
#[derive(Clone, Debug)]
pub(super) struct User {
    pub id: i64,
    pub first_name: String,
    pub username: Option<String>,
    pub is_bot: bool,
}

impl User {
    pub(super) fn json(&self) -> Value {
        let mut user = json!({"id": self.id, "is_bot": self.is_bot, "first_name": self.first_name});
        if let Some(username) = &self.username {
            user["username"] = json!(username);
        }
        user
    }
}

/// What sort of chat it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ChatKind {
    Private(i64),
    Group,
    Supergroup,
    Forum,
}

/// A chat and all that was said in it.
#[derive(Debug)]
pub(super) struct Chat {
    pub id: i64,
    pub kind: ChatKind,
    pub title: String,
    /// The bot may not write here, and why in Telegram's words.
    pub closed: Option<&'static str>,
    pub migrated_to: Option<i64>,
    pub topics: BTreeMap<i64, Topic>,
    pub messages: BTreeMap<i64, Message>,
    pub next_message: i64,
    /// What the bot shows there: `typing`, with its thread, as often as it was shown.
    pub actions: Vec<(String, Option<i64>)>,
    /// The bot's reactions: message and emoji.
    pub reactions: Vec<(i64, String)>,
}

/// A forum topic; its id is the id of the message that opened it.
#[derive(Clone, Debug)]
pub(super) struct Topic {
    pub name: String,
    pub closed: bool,
}

/// A message: what the Bot API shows of it, and what people see.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub json: Value,
    pub from: i64,
    pub shown: Shown,
}

/// A file that can be fetched by its id.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub path: String,
    pub bytes: Arc<Vec<u8>>,
}

/// Everything.
#[derive(Debug)]
pub(super) struct World {
    pub users: BTreeMap<i64, User>,
    pub chats: BTreeMap<i64, Chat>,
    pub files: BTreeMap<String, Stored>,
    pub updates: VecDeque<(i64, Value)>,
    pub next_update: i64,
    pub next_id: i64,
    /// Which poll is the current one; an older one that still waits is told of a conflict.
    pub poll: u64,
    /// The poll that waits now, or else the next one, is cut without an answer.
    pub cut_poll: bool,
    pub privacy: bool,
    pub webhook: bool,
    pub revoked: bool,
    pub commands: Vec<(String, String)>,
    pub open_clicks: BTreeMap<String, bool>,
    pub faults: Faults,
    pub rates: Option<Rates>,
    pub requests: Option<Vec<Request>>,
}

impl World {
    pub(super) fn new() -> World {
        let bot = User { id: BOT, first_name: "Hive".into(), username: Some(BOT_NAME.to_owned()), is_bot: true };
        World {
            users: BTreeMap::from([(BOT, bot)]),
            chats: BTreeMap::new(),
            files: BTreeMap::new(),
            updates: VecDeque::new(),
            next_update: 500_000_000,
            next_id: 1,
            poll: 0,
            cut_poll: false,
            privacy: true,
            webhook: false,
            revoked: false,
            commands: Vec::new(),
            open_clicks: BTreeMap::new(),
            faults: Faults::default(),
            rates: None,
            requests: Some(Vec::new()),
        }
    }

    /// A number that was not used before.
    pub(super) fn fresh(&mut self) -> i64 {
        self.next_id += 1;
        self.next_id
    }

    pub(super) fn chat_json(&self, chat: &Chat) -> Value {
        match chat.kind {
            ChatKind::Private(user) => {
                let user = &self.users[&user];
                let mut json = json!({"id": chat.id, "type": "private", "first_name": user.first_name});
                if let Some(username) = &user.username {
                    json["username"] = json!(username);
                }
                json
            }
            ChatKind::Group => json!({"id": chat.id, "type": "group", "title": chat.title}),
            ChatKind::Supergroup => json!({"id": chat.id, "type": "supergroup", "title": chat.title}),
            ChatKind::Forum => {
                json!({"id": chat.id, "type": "supergroup", "title": chat.title, "is_forum": true})
            }
        }
    }

    pub(super) fn add_chat(&mut self, id: i64, kind: ChatKind, title: &str) -> i64 {
        let chat = Chat {
            id,
            kind,
            title: title.to_owned(),
            closed: None,
            migrated_to: None,
            topics: BTreeMap::new(),
            messages: BTreeMap::new(),
            next_message: 1,
            actions: Vec::new(),
            reactions: Vec::new(),
        };
        self.chats.insert(id, chat);
        id
    }

    pub(super) fn chat(&mut self, id: i64) -> &mut Chat {
        self.chats.get_mut(&id).expect("a chat that the test has made")
    }

    /// The next message id of a chat.
    pub(super) fn next_message(&mut self, chat: i64) -> i64 {
        let chat = self.chat(chat);
        chat.next_message += 1;
        chat.next_message
    }

    /// The parts that every message has.
    pub(super) fn message_json(&self, chat: i64, id: i64, from: i64, thread: Option<i64>) -> Value {
        let chat = &self.chats[&chat];
        let mut message = json!({
            "message_id": id,
            "from": self.users[&from].json(),
            "chat": self.chat_json(chat),
            "date": unix_s(),
        });
        if let Some(thread) = thread {
            message["message_thread_id"] = json!(thread);
            message["is_topic_message"] = json!(true);
            if let Some(root) = chat.messages.get(&thread) {
                message["reply_to_message"] = root.json.clone();
            }
        }
        message
    }

    /// Keeps a message as it is now.
    pub(super) fn keep(&mut self, chat: i64, id: i64, from: i64, json: Value, shown: Shown) {
        self.chat(chat).messages.insert(id, Message { json, from, shown });
    }

    /// A message as it stands in `reply_to_message`: without the message that it answers itself.
    pub(super) fn quoted(&self, chat: i64, id: i64) -> Option<Value> {
        let mut json = self.chats[&chat].messages.get(&id)?.json.clone();
        json.as_object_mut()?.remove("reply_to_message");
        Some(json)
    }

    /// Puts an update in the bot's queue.
    pub(super) fn update(&mut self, kind: &str, content: Value) -> i64 {
        let id = self.next_update;
        self.next_update += 1;
        self.updates.push_back((id, json!({"update_id": id, kind: content})));
        id
    }

    /// Whether privacy mode lets the bot see this message: in groups only commands, mentions of it, replies to it
    /// and service messages (Bot features, "Privacy mode").
    pub(super) fn bot_sees(&self, chat: i64, message: &Value) -> bool {
        if !self.privacy || matches!(self.chats[&chat].kind, ChatKind::Private(_)) {
            return true;
        }
        let text = message["text"].as_str().or(message["caption"].as_str()).unwrap_or_default();
        let entities = message["entities"].as_array().or(message["caption_entities"].as_array());
        let marked = entities.into_iter().flatten().any(|entity| match entity["type"].as_str() {
            Some("bot_command") => {
                let command = utf16_slice(text, entity);
                command.split_once('@').is_none_or(|(_, bot)| bot.eq_ignore_ascii_case(BOT_NAME))
            }
            Some("mention") => utf16_slice(text, entity)[1..].eq_ignore_ascii_case(BOT_NAME),
            Some("text_mention") => entity["user"]["id"] == BOT,
            _ => false,
        });
        let answers_bot = message["reply_to_message"]["from"]["id"] == BOT
            && message["reply_to_message"].get("forum_topic_created").is_none();
        marked || answers_bot
    }
}

/// The part of a text that an entity marks.
pub(super) fn utf16_slice(text: &str, entity: &Value) -> String {
    let number = |key: &str| entity[key].as_u64().unwrap_or(0) as usize;
    let units: Vec<u16> = text.encode_utf16().skip(number("offset")).take(number("length")).collect();
    String::from_utf16_lossy(&units)
}

/// Finds the commands and mentions that Telegram itself would mark in a text.
pub(super) fn marks(text: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut offset = 0;
    let mut before = ' ';
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word_before = before.is_alphanumeric() || before == '_';
        let name = |text: &str| text.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').count();
        let after = &rest[first.len_utf8()..];
        let (kind, length) = match first {
            '/' if !word_before && !matches!(before, '/' | '<' | '>') => {
                let command = name(after);
                let bot = after[command..].strip_prefix('@').map_or(0, |bot| match name(bot) {
                    3.. => 1 + name(bot),
                    _ => 0,
                });
                let follows = after[command + bot..].chars().next();
                let cut = matches!(follows, Some('/' | '<' | '>'));
                ("bot_command", if command == 0 || cut { 0 } else { 1 + command + bot })
            }
            '@' if !word_before => ("mention", if name(after) >= 3 { 1 + name(after) } else { 0 }),
            _ => ("", 0),
        };
        if length > 0 {
            found.push(json!({"type": kind, "offset": offset, "length": length}));
            offset += length;
            before = 'x';
            rest = &rest[length..];
        } else {
            offset += first.len_utf16();
            before = first;
            rest = after;
        }
    }
    found
}

/// Now, in seconds since 1970.
pub(super) fn unix_s() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_mentions_are_marked_where_telegram_marks_them() {
        for (text, marked) in [
            ("/start now", vec!["/start"]),
            ("😀 /a@some_bot, @alice", vec!["/a@some_bot", "@alice"]),
            ("a/b /usr/bin alice@example.org @ab", vec![]),
        ] {
            let found: Vec<String> = marks(text).iter().map(|entity| utf16_slice(text, entity)).collect();
            assert_eq!(found, marked, "{text}");
        }
    }
}
