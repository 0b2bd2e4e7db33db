//! What the requests do to the world, checked as Discord checks them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::json;
use super::rest::{Asked, Wanted, Wrong};
use super::world::{Interaction, Message, Sort, Stored, World, now_ms};

/// How long an interaction's token is good.
const TOKEN_LIFE: Duration = Duration::from_secs(15 * 60);

const UNKNOWN_CHANNEL: Wrong = Wrong { status: 404, code: 10003, message: "Unknown Channel" };
const UNKNOWN_MESSAGE: Wrong = Wrong { status: 404, code: 10008, message: "Unknown Message" };
const UNKNOWN_WEBHOOK: Wrong = Wrong { status: 404, code: 10015, message: "Unknown Webhook" };
const UNKNOWN_INTERACTION: Wrong = Wrong { status: 404, code: 10062, message: "Unknown interaction" };
const EMPTY_MESSAGE: Wrong = Wrong { status: 400, code: 50006, message: "Cannot send an empty message" };
const NOT_YOURS: Wrong = Wrong { status: 403, code: 50005, message: "Cannot edit a message authored by another user" };
const INVALID_FORM: Wrong = Wrong { status: 400, code: 50035, message: "Invalid Form Body" };
const ACKNOWLEDGED: Wrong = Wrong { status: 400, code: 40060, message: "Interaction has already been acknowledged." };

/// Carries out one request; `Null` is answered with 204.
pub(super) fn act(world: &mut World, wanted: Wanted, asked: Asked) -> Result<Value, Wrong> {
    match wanted {
        Wanted::Gateway { bot } => {
            let url = format!("{}/gateway", world.origin.replacen("http", "ws", 1));
            let limit = json!({ "total": 1000, "remaining": 999, "reset_after": 14_400_000, "max_concurrency": 1 });
            Ok(if bot {
                json!({ "url": url, "shards": 1, "session_start_limit": limit })
            } else {
                json!({ "url": url })
            })
        }
        Wanted::Me => Ok(json::user(world, world.me)),
        Wanted::Application => Ok(json!({ "id": world.application.to_string(), "name": "hive", "flags": 0 })),
        Wanted::OpenDirect => {
            let user = asked.body["recipient_id"].as_str().and_then(|id| id.parse().ok()).ok_or(INVALID_FORM)?;
            let id = world.direct(user);
            Ok(json::channel(world, id, &world.channels[&id]))
        }
        Wanted::Commands => Ok(world.commands.clone()),
        Wanted::PutCommands => {
            let commands = asked.body.as_array().ok_or(INVALID_FORM)?;
            let fits = |text: &Value, most: usize| {
                text.as_str().is_some_and(|text| (1..=most).contains(&text.chars().count()))
            };
            if commands.iter().any(|command| !fits(&command["name"], 32) || !fits(&command["description"], 100)) {
                return Err(INVALID_FORM);
            }
            world.commands = asked.body;
            Ok(world.commands.clone())
        }
        Wanted::Channel(channel) => {
            open(world, channel)?;
            Ok(json::channel(world, channel, &world.channels[&channel]))
        }
        Wanted::Typing(channel) => {
            open(world, channel)?;
            world.typing.push(channel);
            Ok(Value::Null)
        }
        Wanted::React(channel, message, emoji) => {
            open(world, channel)?;
            world.reactions.push((message, emoji));
            Ok(Value::Null)
        }
        Wanted::History(channel) => history(world, channel, &asked.query),
        Wanted::Message(channel, message) => {
            open(world, channel)?;
            let message = world.messages.get(&message).filter(|message| message.channel == channel);
            Ok(json::message(world, message.ok_or(UNKNOWN_MESSAGE)?, false))
        }
        Wanted::Send(channel) => send(world, channel, asked),
        Wanted::Edit(channel, message) => edit(world, channel, message, asked),
        Wanted::Delete(channel, message) => delete(world, channel, message),
        Wanted::Callback(id, token) => callback(world, id, &token, &asked.body),
        Wanted::Original(token) => {
            let (channel, original) = original(world, &token)?;
            edit(world, channel, original, asked)
        }
        Wanted::GetOriginal(token) => {
            let (_, original) = original(world, &token)?;
            Ok(json::message(world, &world.messages[&original], false))
        }
        Wanted::DeleteOriginal(token) => {
            let (channel, original) = original(world, &token)?;
            delete(world, channel, original)
        }
        Wanted::Followup(token) => {
            let channel = live_interaction(world, &token)?.channel;
            send(world, channel, asked)
        }
    }
}

/// The channel, where the bot may read and write it.
fn open(world: &World, channel: u64) -> Result<(), Wrong> {
    let channel = world.channels.get(&channel).ok_or(UNKNOWN_CHANNEL)?;
    match channel.forbidden {
        Some(code) => Err(Wrong { status: 403, code, message: "Missing Access" }),
        None => Ok(()),
    }
}

fn history(world: &World, channel: u64, query: &str) -> Result<Value, Wrong> {
    open(world, channel)?;
    let of = |name: &str| {
        let pair = query.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name);
        pair.and_then(|(_, value)| value.parse::<u64>().ok())
    };
    let limit = of("limit").unwrap_or(50);
    if !(1..=100).contains(&limit) {
        return Err(INVALID_FORM);
    }
    let limit = usize::try_from(limit).expect("at most 100");
    let ids = &world.channels[&channel].messages;
    let chosen: Vec<u64> = match (of("after"), of("before")) {
        (Some(after), _) => ids.iter().copied().filter(|id| *id > after).take(limit).collect(),
        (None, before) => {
            let all = ids.iter().rev().copied().filter(|id| before.is_none_or(|before| *id < before));
            let mut newest: Vec<u64> = all.take(limit).collect();
            newest.reverse();
            newest
        }
    };
    // Newest first, whatever was asked for.
    Ok(chosen.iter().rev().filter_map(|id| world.messages.get(id)).map(|m| json::message(world, m, false)).collect())
}

fn send(world: &mut World, channel: u64, asked: Asked) -> Result<Value, Wrong> {
    open(world, channel)?;
    if world.channels[&channel].sort == Sort::Forum {
        return Err(Wrong { status: 400, code: 50008, message: "Cannot send messages in a non-text channel" });
    }
    let body = &asked.body;
    let nonce = match &body["nonce"] {
        Value::String(nonce) => Some(nonce.clone()),
        Value::Number(nonce) => Some(nonce.to_string()),
        _ => None,
    };
    if nonce.as_ref().is_some_and(|nonce| nonce.chars().count() > 25) {
        return Err(INVALID_FORM);
    }
    check(body, asked.files.len())?;
    let now = Instant::now();
    if let (Some(nonce), Some(true)) = (&nonce, body["enforce_nonce"].as_bool()) {
        let known = world.nonces.get(nonce).filter(|(_, at)| now.duration_since(*at) < world.nonce_window);
        if let Some(message) = known.and_then(|(id, _)| world.messages.get(id)) {
            return Ok(with_nonce(json::message(world, message, false), message));
        }
    }
    let reference = &body["message_reference"];
    let reply_to = reference["message_id"].as_str().and_then(|id| id.parse::<u64>().ok());
    let answered = reply_to.filter(|id| world.messages.get(id).is_some_and(|message| message.channel == channel));
    if reply_to.is_some() && answered.is_none() && reference["fail_if_not_exists"] != json!(false) {
        return Err(INVALID_FORM);
    }
    let mut message = world.blank(channel, world.me, body["content"].as_str().unwrap_or_default().trim());
    message.components = list(&body["components"]);
    message.nonce.clone_from(&nonce);
    message.reply_to = answered;
    message.files = stored(world, asked.files);
    message.pings = pings(world, body, &message);
    message.mentions = message.pings.iter().filter_map(|ping| ping.parse().ok()).collect();
    let id = message.id;
    world.put(message);
    if let Some(nonce) = nonce {
        let window = world.nonce_window;
        if world.nonces.len() > 10_000 {
            world.nonces.retain(|_, (_, at)| now.duration_since(*at) < window);
        }
        world.nonces.insert(nonce, (id, now));
    }
    announce(world, "MESSAGE_CREATE", id);
    let message = &world.messages[&id];
    Ok(with_nonce(json::message(world, message, false), message))
}

/// The answer to a sender shows the nonce.
fn with_nonce(mut json: Value, message: &Message) -> Value {
    if let Some(nonce) = &message.nonce {
        json["nonce"] = nonce.clone().into();
    }
    json
}

fn edit(world: &mut World, channel: u64, message: u64, asked: Asked) -> Result<Value, Wrong> {
    open(world, channel)?;
    let known = world.messages.get(&message).filter(|known| known.channel == channel).ok_or(UNKNOWN_MESSAGE)?;
    if known.author != world.me {
        return Err(NOT_YOURS);
    }
    let mut changed = known.clone();
    if let Some(content) = asked.body["content"].as_str() {
        changed.text = content.trim().to_owned();
    }
    if !asked.body["components"].is_null() {
        changed.components = list(&asked.body["components"]);
    }
    if !asked.files.is_empty() {
        changed.files = stored(world, asked.files);
    }
    let mut shown = asked.body;
    shown["content"] = changed.text.clone().into();
    check(&shown, changed.files.len())?;
    // What a deferral announced is not yet a message that could have been edited.
    changed.edits += usize::from(!changed.thinking);
    changed.thinking = false;
    changed.edited_ms = Some(now_ms());
    world.messages.insert(message, changed);
    announce(world, "MESSAGE_UPDATE", message);
    Ok(json::message(world, &world.messages[&message], false))
}

fn delete(world: &mut World, channel: u64, message: u64) -> Result<Value, Wrong> {
    open(world, channel)?;
    if world.messages.get(&message).is_none_or(|known| known.channel != channel) {
        return Err(UNKNOWN_MESSAGE);
    }
    remove(world, message);
    Ok(Value::Null)
}

/// Takes a message away and tells so.
pub(super) fn remove(world: &mut World, message: u64) {
    let Some(gone) = world.messages.remove(&message) else { return };
    if let Some(channel) = world.channels.get_mut(&gone.channel) {
        channel.messages.retain(|id| *id != message);
    }
    let event = json!({ "id": message.to_string(), "channel_id": gone.channel.to_string() });
    world.sessions.dispatch("MESSAGE_DELETE", &event);
}

fn callback(world: &mut World, id: u64, token: &str, body: &Value) -> Result<Value, Wrong> {
    let window = world.interaction_window;
    let interaction = world.interactions.get_mut(token).filter(|known| known.id == id).ok_or(UNKNOWN_INTERACTION)?;
    let took = interaction.created.elapsed();
    if interaction.callback.is_some() {
        return Err(ACKNOWLEDGED);
    }
    if interaction.expired || took > window {
        return Err(UNKNOWN_INTERACTION);
    }
    let kind = body["type"].as_u64().and_then(|kind| u8::try_from(kind).ok()).ok_or(INVALID_FORM)?;
    interaction.callback = Some((kind, took));
    let channel = interaction.channel;
    if kind == 4 || kind == 5 {
        let mut message = world.blank(channel, world.me, body["data"]["content"].as_str().unwrap_or_default());
        message.thinking = kind == 5;
        let message_id = message.id;
        world.put(message);
        if let Some(interaction) = world.interactions.get_mut(token) {
            interaction.original = Some(message_id);
        }
        announce(world, "MESSAGE_CREATE", message_id);
    }
    Ok(Value::Null)
}

fn live_interaction<'a>(world: &'a World, token: &str) -> Result<&'a Interaction, Wrong> {
    let live =
        |known: &&Interaction| !known.expired && known.created.elapsed() < TOKEN_LIFE && known.callback.is_some();
    world.interactions.get(token).filter(live).ok_or(UNKNOWN_WEBHOOK)
}

fn original(world: &World, token: &str) -> Result<(u64, u64), Wrong> {
    let interaction = live_interaction(world, token)?;
    let original = interaction.original.filter(|id| world.messages.contains_key(id)).ok_or(UNKNOWN_MESSAGE)?;
    Ok((interaction.channel, original))
}

/// What Discord refuses in any message.
fn check(body: &Value, files: usize) -> Result<(), Wrong> {
    let content = body["content"].as_str().unwrap_or_default();
    let rows = list(&body["components"]);
    let rows = rows.as_array().expect("a list");
    if content.trim().is_empty() && files == 0 && rows.is_empty() {
        return Err(EMPTY_MESSAGE);
    }
    let text =
        |value: &Value, most: usize| value.as_str().is_some_and(|text| (1..=most).contains(&text.chars().count()));
    let button = |button: &Value| text(&button["label"], 80) && text(&button["custom_id"], 100) && button["type"] == 2;
    let row = |row: &Value| {
        let buttons = row["components"].as_array();
        row["type"] == 1 && buttons.is_some_and(|b| (1..=5).contains(&b.len()) && b.iter().all(button))
    };
    let fits = content.chars().count() <= 2000 && rows.len() <= 5 && rows.iter().all(row) && files <= 10;
    if fits { Ok(()) } else { Err(INVALID_FORM) }
}

/// Whose phone a message of the bot rings.
fn pings(world: &World, body: &Value, message: &Message) -> Vec<String> {
    let allowed = &body["allowed_mentions"];
    let parse = |what: &str| {
        allowed.is_null() || allowed["parse"].as_array().is_some_and(|parse| parse.iter().any(|entry| entry == what))
    };
    let mut pings = Vec::new();
    if parse("everyone") && (message.text.contains("@everyone") || message.text.contains("@here")) {
        pings.push("everyone".to_owned());
    }
    if parse("roles") && message.text.contains(&format!("<@&{}>", world.role)) {
        pings.push(format!("role:{}", world.role));
    }
    for user in world.named_in(&message.text) {
        let id = user.to_string();
        let named = allowed["users"].as_array().is_some_and(|users| users.iter().any(|user| *user == id));
        if parse("users") || named {
            pings.push(id);
        }
    }
    let answered = message.reply_to.and_then(|id| world.messages.get(&id)).map(|answered| answered.author);
    if let Some(author) = answered
        && (allowed.is_null() || allowed["replied_user"] == json!(true))
    {
        pings.push(author.to_string());
    }
    pings
}

fn stored(world: &mut World, files: Vec<(String, String, bytes::Bytes)>) -> Vec<Stored> {
    let store = |(name, media_type, bytes)| Stored { id: world.new_id(), name, media_type, bytes };
    files.into_iter().map(store).collect()
}

fn list(value: &Value) -> Value {
    if value.is_array() { value.clone() } else { json!([]) }
}

/// Tells clients and watchers of a message.
pub(super) fn announce(world: &mut World, kind: &str, message: u64) {
    let event = json::message(world, &world.messages[&message], true);
    world.sessions.dispatch(kind, &event);
    if world.messages[&message].author == world.me {
        world.tell(message);
    }
}
