//! What people do: come, talk, answer, change and delete, use slash commands, press buttons.

use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Value, json};

use super::world::{Interaction, Message, Sort, Stored, World, now_ms};
use super::{Discord, acts, json};

/// A value of an option of a slash command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// Text.
    Text(String),
    /// A person.
    User(u64),
    /// A channel or thread.
    Channel(u64),
}

/// What somebody says, with all that can belong to it.
#[derive(Clone, Debug, Default)]
pub struct Says {
    /// The text; mentions as `<@id>`.
    pub text: String,
    /// The message it answers.
    pub reply_to: Option<u64>,
    /// Whether the answer rings its author's phone, as people can choose; it is then among the mentions.
    pub reply_pings: bool,
    /// Name, media type and bytes of what hangs on it.
    pub files: Vec<(String, String, Vec<u8>)>,
    /// Said through a webhook.
    pub webhook: bool,
}

/// What became of an interaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InteractionState {
    /// The type of its callback, and how long that took; `None` while there was none.
    pub callback: Option<(u8, Duration)>,
    /// The message that its answer is.
    pub original: Option<u64>,
}

impl Discord {
    /// A person comes. Their id.
    pub fn user(&self, name: &str) -> u64 {
        self.world().add_user(name, false)
    }

    /// Another bot comes.
    pub fn other_bot(&self, name: &str) -> u64 {
        self.world().add_user(name, true)
    }

    /// A person is called so in the guild.
    pub fn nick(&self, user: u64, nick: &str) {
        if let Some(user) = self.world().users.get_mut(&user) {
            user.nick = Some(nick.to_owned());
        }
    }

    /// A text channel of the guild.
    pub fn channel(&self, name: &str) -> u64 {
        self.found(Sort::Text, name, None)
    }

    /// A forum of the guild; its posts are threads.
    pub fn forum(&self, name: &str) -> u64 {
        self.found(Sort::Forum, name, None)
    }

    /// A thread in a channel, or a post in a forum.
    pub fn thread(&self, parent: u64, name: &str) -> u64 {
        self.found(Sort::Thread, name, Some(parent))
    }

    fn found(&self, sort: Sort, name: &str, parent: Option<u64>) -> u64 {
        let mut world = self.world();
        let id = world.add_channel(sort, name, parent, None);
        let event = json::channel(&world, id, &world.channels[&id]);
        world.sessions.dispatch(if sort == Sort::Thread { "THREAD_CREATE" } else { "CHANNEL_CREATE" }, &event);
        id
    }

    /// The person's direct conversation with the bot.
    pub fn dm(&self, user: u64) -> u64 {
        self.world().direct(user)
    }

    /// A channel is deleted, with all that was said in it.
    pub fn delete_channel(&self, channel: u64) {
        let mut world = self.world();
        let Some(gone) = world.channels.remove(&channel) else { return };
        let event = json::channel(&world, channel, &gone);
        gone.messages.iter().for_each(|id| drop(world.messages.remove(id)));
        world.sessions.dispatch(if gone.sort == Sort::Thread { "THREAD_DELETE" } else { "CHANNEL_DELETE" }, &event);
        drop(world);
        self.shared.changed();
    }

    /// The bot may not read or write a channel (Discord's code: 50001 no access, 50013 no permission, 50007 cannot
    /// message this user), or may again.
    pub fn forbid(&self, channel: u64, code: Option<i64>) {
        if let Some(channel) = self.world().channels.get_mut(&channel) {
            channel.forbidden = code;
        }
    }

    /// How a text mentions the bot.
    pub fn mention(&self) -> String {
        format!("<@{}>", self.bot_id())
    }

    /// Somebody says something. The message's id.
    pub fn say(&self, channel: u64, user: u64, text: &str) -> u64 {
        self.says(channel, user, Says { text: text.to_owned(), ..Says::default() })
    }

    /// Somebody answers a message, without ringing its author's phone.
    pub fn reply(&self, channel: u64, user: u64, text: &str, to: u64) -> u64 {
        self.says(channel, user, Says { text: text.to_owned(), reply_to: Some(to), ..Says::default() })
    }

    /// Somebody says something with all that can belong to it.
    ///
    /// # Panics
    /// Where there is no such channel.
    pub fn says(&self, channel: u64, user: u64, says: Says) -> u64 {
        let mut world = self.world();
        let mut message = world.blank(channel, user, &says.text);
        message.reply_to = says.reply_to;
        message.webhook = says.webhook;
        message.mentions = world.named_in(&says.text);
        let answered = says.reply_to.and_then(|id| world.messages.get(&id)).map(|answered| answered.author);
        if let Some(author) = answered.filter(|author| says.reply_pings && !message.mentions.contains(author)) {
            message.mentions.push(author);
        }
        message.files = says
            .files
            .into_iter()
            .map(|(name, media_type, bytes)| Stored { id: world.new_id(), name, media_type, bytes: Bytes::from(bytes) })
            .collect();
        let id = message.id;
        world.put(message);
        acts::announce(&mut world, "MESSAGE_CREATE", id);
        drop(world);
        self.shared.changed();
        id
    }

    /// A message is announced again, as a platform may.
    pub fn repeat(&self, message: u64) {
        acts::announce(&mut self.world(), "MESSAGE_CREATE", message);
    }

    /// Somebody changes their message.
    pub fn edit(&self, message: u64, text: &str) {
        let mut world = self.world();
        let mentions = world.named_in(text);
        if let Some(message) = world.messages.get_mut(&message) {
            message.text = text.to_owned();
            message.mentions = mentions;
            message.edits += 1;
            message.edited_ms = Some(now_ms());
        }
        acts::announce(&mut world, "MESSAGE_UPDATE", message);
        drop(world);
        self.shared.changed();
    }

    /// Discord itself updates a message (a link's preview has loaded): nobody changed it.
    pub fn refresh(&self, message: u64) {
        acts::announce(&mut self.world(), "MESSAGE_UPDATE", message);
    }

    /// A message is written with these fields instead of its own from now on: for what a client cannot parse.
    pub fn disfigure(&self, message: u64, fields: &Value) {
        if let Some(message) = self.world().messages.get_mut(&message) {
            message.disfigured = fields.as_object().cloned().unwrap_or_default();
        }
    }

    /// A message is deleted by somebody.
    pub fn delete_message(&self, message: u64) {
        acts::remove(&mut self.world(), message);
        self.shared.changed();
    }

    /// Attachments are announced as one byte large, whatever they are.
    pub fn understate_sizes(&self) {
        self.world().understated = true;
    }

    /// Somebody uses a slash command (`trust add`). The interaction's id.
    pub fn slash(&self, channel: u64, user: u64, command: &str, options: &[(&str, Given)]) -> u64 {
        let mut world = self.world();
        let mut steps = command.split(' ').rev().collect::<Vec<_>>();
        let name = steps.pop().unwrap_or_default();
        let mut inner: Vec<Value> = options.iter().map(|(name, given)| option(name, given)).collect();
        for (depth, step) in steps.iter().enumerate() {
            // A sub-command, or a group of them.
            inner = vec![json!({ "name": step, "type": if depth == 0 { 1 } else { 2 }, "options": inner })];
        }
        let id = world.new_id();
        let data = json!({ "id": "1", "name": name, "type": 1, "options": inner });
        let event = begin(&mut world, id, 2, channel, user, data);
        world.sessions.dispatch("INTERACTION_CREATE", &event);
        id
    }

    /// Somebody presses the button with this label or data. The interaction's id.
    ///
    /// # Panics
    /// Where the message has no such button.
    pub fn click(&self, message: u64, button: &str, user: u64) -> u64 {
        let mut world = self.world();
        let shown = world.messages.get(&message).expect("a message that is there").clone();
        let data = data_of(&shown, button).unwrap_or_else(|| panic!("no button `{button}` under {shown:?}"));
        let id = world.new_id();
        let data = json!({ "custom_id": data, "component_type": 2 });
        let mut event = begin(&mut world, id, 3, shown.channel, user, data);
        event["message"] = json::message(&world, &shown, false);
        world.sessions.dispatch("INTERACTION_CREATE", &event);
        id
    }

    /// What became of an interaction.
    pub fn interaction(&self, id: u64) -> Option<InteractionState> {
        let world = self.world();
        let known = world.interactions.values().find(|known| known.id == id)?;
        Some(InteractionState { callback: known.callback, original: known.original })
    }
}

/// Makes an interaction and the event that announces it.
fn begin(world: &mut World, id: u64, kind: u8, channel: u64, user: u64, data: Value) -> Value {
    let token = format!("token-of-{id}");
    let created = Instant::now();
    let interaction = Interaction { id, channel, created, callback: None, original: None, expired: false };
    world.interactions.insert(token.clone(), interaction);
    let it = &world.channels[&channel];
    let mut event = json!({
        "id": id.to_string(), "application_id": world.application.to_string(), "type": kind, "token": token,
        "version": 1, "channel_id": channel.to_string(), "channel": json::channel(world, channel, it), "data": data,
        "locale": "en-US", "entitlements": [], "authorizing_integration_owners": {}, "app_permissions": "0",
        "attachment_size_limit": 10_485_760,
    });
    match it.guild {
        Some(guild) => {
            event["guild_id"] = guild.to_string().into();
            event["guild_locale"] = "en-US".into();
            event["member"] = json::whole_member(world, user);
            event["context"] = 0.into();
        }
        None => {
            event["user"] = json::user(world, user);
            event["context"] = 1.into();
        }
    }
    event
}

fn option(name: &str, given: &Given) -> Value {
    match given {
        Given::Text(text) => json!({ "name": name, "type": 3, "value": text }),
        Given::User(user) => json!({ "name": name, "type": 6, "value": user.to_string() }),
        Given::Channel(channel) => json!({ "name": name, "type": 7, "value": channel.to_string() }),
    }
}

fn data_of(message: &Message, button: &str) -> Option<String> {
    let rows = message.components.as_array()?.iter();
    let mut buttons = rows.flat_map(|row| row["components"].as_array().into_iter().flatten());
    let meant = buttons.find(|it| it["label"] == button || it["custom_id"] == button)?;
    meant["custom_id"].as_str().map(str::to_owned)
}
