//! What this Discord holds: people, channels, messages, interactions.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use serde_json::Value;

use super::faults::Faults;
use super::limits::Limits;
use super::sessions::Sessions;
use super::show::Shown;

/// The first millisecond of 2015, where Discord's ids begin.
pub(super) const EPOCH_MS: u64 = 1_420_070_400_000;
/// How many requests are remembered before the oldest are forgotten.
const REQUESTS_MAX: usize = 50_000;

/// A person or bot.
#[derive(Clone, Debug)]
pub(super) struct User {
    pub name: String,
    pub nick: Option<String>,
    pub bot: bool,
}

/// A channel's sort, with Discord's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Text = 0,
    Direct = 1,
    Thread = 11,
    Forum = 15,
}

#[derive(Clone, Debug)]
pub(super) struct Channel {
    pub sort: Sort,
    pub name: String,
    pub guild: Option<u64>,
    pub parent: Option<u64>,
    pub recipient: Option<u64>,
    /// Oldest first.
    pub messages: Vec<u64>,
    /// Why the bot may not write or read here, with Discord's code.
    pub forbidden: Option<i64>,
}

/// A file on a message.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub id: u64,
    pub name: String,
    pub media_type: String,
    pub bytes: Bytes,
}

#[derive(Clone, Debug)]
pub(super) struct Message {
    pub id: u64,
    pub channel: u64,
    pub author: u64,
    pub text: String,
    pub edits: usize,
    pub edited_ms: Option<u64>,
    pub components: Value,
    pub nonce: Option<String>,
    pub reply_to: Option<u64>,
    /// Whom the message mentions.
    pub mentions: Vec<u64>,
    pub files: Vec<Stored>,
    /// Whose phone it rang: user ids, `everyone`, `role:ID`.
    pub pings: Vec<String>,
    /// A deferred answer that has not come.
    pub thinking: bool,
    /// By a webhook and not by a user.
    pub webhook: bool,
    /// Fields that are written instead of its own.
    pub disfigured: serde_json::Map<String, Value>,
}

/// A slash command or a click.
#[derive(Clone, Debug)]
pub(super) struct Interaction {
    pub id: u64,
    pub channel: u64,
    pub created: Instant,
    /// The type of the callback that came.
    pub callback: Option<(u8, Duration)>,
    /// The message that `@original` is.
    pub original: Option<u64>,
    pub expired: bool,
}

/// A request, as it came.
#[derive(Clone, Debug)]
pub struct Request {
    /// `GET`, `POST`, …
    pub method: String,
    /// The path without `/api/v10`, with its query.
    pub path: String,
    /// The JSON body, of a form its `payload_json`; `Null` for none.
    pub body: Value,
    /// How many files came with it.
    pub files: usize,
    /// The status it was answered with; 0 where the connection was cut.
    pub status: u16,
    /// When it came.
    pub at: Instant,
}

/// All of it, behind one lock.
#[derive(Debug)]
pub(super) struct World {
    pub origin: String,
    pub token: String,
    pub me: u64,
    pub application: u64,
    pub guild: u64,
    pub role: u64,
    pub users: BTreeMap<u64, User>,
    pub channels: BTreeMap<u64, Channel>,
    pub messages: HashMap<u64, Message>,
    pub interactions: HashMap<String, Interaction>,
    pub commands: Value,
    pub sessions: Sessions,
    pub faults: Faults,
    pub limits: Option<Limits>,
    pub limited: usize,
    pub requests: Option<VecDeque<Request>>,
    pub nonce_window: Duration,
    pub interaction_window: Duration,
    pub nonces: HashMap<String, (u64, Instant)>,
    pub typing: Vec<u64>,
    /// The bot's reactions.
    pub reactions: Vec<(u64, String)>,
    pub watchers: Vec<tokio::sync::mpsc::UnboundedSender<Shown>>,
    /// No attachment of a message is announced with its true size, to see whether somebody trusts it.
    pub understated: bool,
    last_id: u64,
}

impl World {
    pub(super) fn new(origin: String) -> Self {
        let mut world = World {
            origin,
            token: String::new(),
            me: 0,
            application: 0,
            guild: 0,
            role: 0,
            users: BTreeMap::new(),
            channels: BTreeMap::new(),
            messages: HashMap::new(),
            interactions: HashMap::new(),
            commands: Value::Array(Vec::new()),
            sessions: Sessions::default(),
            faults: Faults::default(),
            limits: None,
            limited: 0,
            requests: Some(VecDeque::new()),
            nonce_window: Duration::from_secs(300),
            interaction_window: Duration::from_secs(3),
            nonces: HashMap::new(),
            typing: Vec::new(),
            reactions: Vec::new(),
            watchers: Vec::new(),
            understated: false,
            last_id: 0,
        };
        world.me = world.add_user("hive", true);
        world.application = world.new_id();
        world.guild = world.new_id();
        world.role = world.new_id();
        world.token = format!("fake.{}.token", world.me);
        world
    }

    /// The next id: of now, and larger than every one before.
    pub(super) fn new_id(&mut self) -> u64 {
        let id = ((now_ms() - EPOCH_MS) << 22).max(self.last_id + 1);
        self.last_id = id;
        id
    }

    pub(super) fn add_user(&mut self, name: &str, bot: bool) -> u64 {
        let id = self.new_id();
        self.users.insert(id, User { name: name.to_owned(), nick: None, bot });
        id
    }

    pub(super) fn add_channel(&mut self, sort: Sort, name: &str, parent: Option<u64>, recipient: Option<u64>) -> u64 {
        let id = self.new_id();
        let guild = (sort != Sort::Direct).then_some(self.guild);
        let name = name.to_owned();
        let channel = Channel { sort, name, guild, parent, recipient, messages: Vec::new(), forbidden: None };
        self.channels.insert(id, channel);
        id
    }

    /// The person's direct conversation with the bot, made where there is none.
    pub(super) fn direct(&mut self, user: u64) -> u64 {
        let known = self.channels.iter().find(|(_, channel)| channel.recipient == Some(user)).map(|(id, _)| *id);
        known.unwrap_or_else(|| self.add_channel(Sort::Direct, "", None, Some(user)))
    }

    /// A message without anything but its author and text.
    pub(super) fn blank(&mut self, channel: u64, author: u64, text: &str) -> Message {
        Message {
            id: self.new_id(),
            channel,
            author,
            text: text.to_owned(),
            edits: 0,
            edited_ms: None,
            components: Value::Array(Vec::new()),
            nonce: None,
            reply_to: None,
            mentions: Vec::new(),
            files: Vec::new(),
            pings: Vec::new(),
            thinking: false,
            webhook: false,
            disfigured: serde_json::Map::new(),
        }
    }

    /// Puts a message into its channel.
    ///
    /// # Panics
    /// Where there is no such channel.
    pub(super) fn put(&mut self, message: Message) {
        let channel = self.channels.get_mut(&message.channel).expect("a channel of this Discord");
        channel.messages.push(message.id);
        self.messages.insert(message.id, message);
    }

    /// Tells whoever watches that a message of the bot has come or changed.
    pub(super) fn tell(&mut self, message: u64) {
        if self.watchers.is_empty() {
            return;
        }
        let Some(shown) = self.messages.get(&message).map(|message| Shown::of(message, self)) else { return };
        self.watchers.retain(|watcher| watcher.send(shown.clone()).is_ok());
    }

    pub(super) fn remember(&mut self, request: Request) {
        if let Some(requests) = &mut self.requests {
            if requests.len() >= REQUESTS_MAX {
                requests.pop_front();
            }
            requests.push_back(request);
        }
    }

    /// Whom a text names, `<@id>`, of those who are here.
    pub(super) fn named_in(&self, text: &str) -> Vec<u64> {
        let mut named = Vec::new();
        for part in text.split("<@").skip(1) {
            let digits = part.trim_start_matches('!').split('>').next().unwrap_or_default();
            if let Ok(id) = digits.parse::<u64>()
                && self.users.contains_key(&id)
                && !named.contains(&id)
            {
                named.push(id);
            }
        }
        named
    }
}

/// Milliseconds since 1970.
pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    u64::try_from(since.as_millis()).expect("a clock before the year 500 million")
}
