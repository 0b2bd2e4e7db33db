//! What the bot posts, changes and takes away.

use std::time::Instant;

use serde_json::{Map, Value, json};

use super::Shown;
use super::html::{self, Formatted};
use super::methods::{Outcome, Refusal, integer};
use super::say::store_file;
use super::serve::Call;
use super::world::{BOT, ChatKind, Message, World, marks};

/// The longest text after entities parsing (sendMessage). Counted in UTF-16 units, the strictest reading.
const TEXT_MAX_UNITS: usize = 4096;
/// The longest caption after entities parsing (sendDocument).
const CAPTION_MAX_UNITS: usize = 1024;
/// The longest `callback_data`.
const DATA_MAX_BYTES: usize = 64;

/// Where a message goes, once everything about the place is in order.
struct Place {
    chat: i64,
    thread: Option<i64>,
    reply_to: Option<i64>,
}

/// The chat, if the bot may write there.
fn open_chat(world: &World, params: &Map<String, Value>) -> Result<i64, Refusal> {
    let id = integer(params, "chat_id").ok_or_else(|| Refusal::bad("chat_id is empty"))?;
    let chat = world.chats.get(&id).ok_or_else(|| Refusal::bad("chat not found"))?;
    if let Some(to) = chat.migrated_to {
        let mut refusal = Refusal::bad("group chat was upgraded to a supergroup chat");
        refusal.parameter = Some(("migrate_to_chat_id", to));
        return Err(refusal);
    }
    match chat.closed {
        Some(why) => Err(Refusal::new(403, why)),
        None => Ok(id),
    }
}

fn open_thread(world: &World, params: &Map<String, Value>, id: i64) -> Result<Option<i64>, Refusal> {
    let Some(thread) = integer(params, "message_thread_id") else { return Ok(None) };
    let chat = &world.chats[&id];
    // General is not among the topics: naming it by its id 1 is refused like any thread that is not there.
    match chat.topics.get(&thread) {
        Some(topic) if topic.closed => Err(Refusal::bad("TOPIC_CLOSED")),
        Some(_) if chat.kind == ChatKind::Forum => Ok(Some(thread)),
        _ => Err(Refusal::bad("message thread not found")),
    }
}

fn place(world: &World, params: &Map<String, Value>) -> Result<Place, Refusal> {
    let chat = open_chat(world, params)?;
    let thread = open_thread(world, params, chat)?;
    let reply = params.get("reply_parameters").cloned().unwrap_or(Value::Null);
    let reply_to = match reply["message_id"].as_i64() {
        None => None,
        Some(id) => {
            // In another topic a reply is never sent without its message, whatever was asked for.
            let found = world.chats[&chat].messages.get(&id);
            match found {
                Some(message) if message.shown.thread == thread => Some(id),
                Some(_) => return Err(Refusal::bad("message to be replied not found")),
                None if reply["allow_sending_without_reply"] == true => None,
                None => return Err(Refusal::bad("message to be replied not found")),
            }
        }
    };
    Ok(Place { chat, thread, reply_to })
}

/// The text as people will see it.
fn formatted(params: &Map<String, Value>, key: &str) -> Result<(Formatted, String, bool), Refusal> {
    let source = params.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let html = match params.get("parse_mode").and_then(Value::as_str) {
        Some(mode) if mode.eq_ignore_ascii_case("html") => true,
        None => false,
        Some(_) => return Err(Refusal::bad("unsupported parse_mode")),
    };
    let mut read = if html {
        html::parse(&source).map_err(|description| Refusal::new(400, &description))?
    } else {
        Formatted { text: source.clone(), entities: Vec::new() }
    };
    // Telegram takes white space off both ends.
    if read.entities.is_empty() {
        read.text = read.text.trim().to_owned();
    }
    read.entities.extend(marks(&read.text));
    Ok((read, source, html))
}

fn buttons(params: &Map<String, Value>) -> Result<Vec<Vec<(String, String)>>, Refusal> {
    let Some(rows) = params.get("reply_markup").and_then(|markup| markup["inline_keyboard"].as_array()) else {
        return Ok(Vec::new());
    };
    let button = |button: &Value| {
        let label = button["text"].as_str().unwrap_or_default().to_owned();
        let data = button["callback_data"].as_str().unwrap_or_default().to_owned();
        if label.is_empty() {
            return Err(Refusal::bad("text buttons are unallowed in the inline keyboard"));
        }
        if data.is_empty() || data.len() > DATA_MAX_BYTES {
            return Err(Refusal::bad("BUTTON_DATA_INVALID"));
        }
        Ok((label, data))
    };
    rows.iter().map(|row| row.as_array().into_iter().flatten().map(button).collect()).collect()
}

fn within_rates(world: &mut World, chat: i64) -> Result<(), Refusal> {
    match &mut world.rates {
        Some(rates) => rates.admit(chat, Instant::now()).map_err(Refusal::too_many),
        None => Ok(()),
    }
}

pub(super) fn send(world: &mut World, params: &Map<String, Value>) -> Outcome {
    let place = place(world, params)?;
    let (read, source, html) = formatted(params, "text")?;
    if read.text.trim().is_empty() {
        return Err(Refusal::bad("message text is empty"));
    }
    if read.text.encode_utf16().count() > TEXT_MAX_UNITS {
        return Err(Refusal::bad("message is too long"));
    }
    let buttons = buttons(params)?;
    within_rates(world, place.chat)?;
    let shown = Shown { text: read.text, source, html, entities: read.entities, buttons, ..Shown::default() };
    Ok(post(world, place, params, shown, None))
}

pub(super) fn send_document(world: &mut World, call: &Call) -> Outcome {
    let place = place(world, &call.params)?;
    let shown = caption(&call.params)?;
    let named = call.params.get("document").and_then(Value::as_str).unwrap_or("attach://document");
    let (file, document) = upload(world, call, named)?;
    let buttons = buttons(&call.params)?;
    within_rates(world, place.chat)?;
    Ok(post(world, place, &call.params, Shown { buttons, document: Some(file), ..shown }, Some(document)))
}

pub(super) fn send_media_group(world: &mut World, call: &Call) -> Outcome {
    let media = call.params.get("media").and_then(Value::as_array).cloned().unwrap_or_default();
    if !(2..=10).contains(&media.len()) {
        return Err(Refusal::bad("wrong number of media in an album"));
    }
    let mut ready = Vec::new();
    for one in &media {
        let described = one.as_object().ok_or_else(|| Refusal::bad("can't parse media"))?;
        let shown = caption(described)?;
        let (file, document) = upload(world, call, one["media"].as_str().unwrap_or_default())?;
        ready.push((Shown { document: Some(file), ..shown }, document));
    }
    let chat = place(world, &call.params)?.chat;
    within_rates(world, chat)?;
    let mut posted = Vec::new();
    for (shown, document) in ready {
        let place = place(world, &call.params)?;
        posted.push(post(world, place, &call.params, shown, Some(document)));
    }
    Ok(Value::Array(posted))
}

/// The caption of a file, as people will see it.
fn caption(params: &Map<String, Value>) -> Result<Shown, Refusal> {
    let (read, source, html) = formatted(params, "caption")?;
    if read.text.encode_utf16().count() > CAPTION_MAX_UNITS {
        return Err(Refusal::bad("message caption is too long"));
    }
    Ok(Shown { text: read.text, source, html, entities: read.entities, ..Shown::default() })
}

/// The file that a form carries under `attach://FIELD`, kept: its name and bytes, and the Bot API's view of it.
fn upload(world: &mut World, call: &Call, named: &str) -> Result<((String, Vec<u8>), Value), Refusal> {
    let field = named.strip_prefix("attach://").unwrap_or(named);
    let upload = call.files.iter().find(|file| file.field == field);
    let upload = upload.ok_or_else(|| Refusal::bad("there is no document in the request"))?;
    if upload.bytes.is_empty() {
        return Err(Refusal::bad("file must be non-empty"));
    }
    let (name, bytes) = (upload.name.clone(), upload.bytes.clone());
    let file = store_file(world, &name, bytes.clone());
    let document = json!({
        "file_id": file, "file_unique_id": format!("u{file}"), "file_name": name, "file_size": bytes.len(),
    });
    Ok(((name, bytes), document))
}

/// Puts a message of the bot where everything has been found to be in order.
fn post(world: &mut World, place: Place, params: &Map<String, Value>, shown: Shown, document: Option<Value>) -> Value {
    let id = world.next_message(place.chat);
    let mut json = world.message_json(place.chat, id, BOT, place.thread);
    if let Some(reply) = place.reply_to.and_then(|reply| world.quoted(place.chat, reply)) {
        json["reply_to_message"] = reply;
    }
    if let Some(document) = document {
        json["document"] = document;
    }
    write_text(&mut json, &shown, params);
    let shown = Shown {
        message_id: id,
        thread: place.thread,
        reply_to: place.reply_to,
        sent_at: Some(Instant::now()),
        ..shown
    };
    world.keep(place.chat, id, BOT, json.clone(), shown);
    json
}

fn write_text(json: &mut Value, shown: &Shown, params: &Map<String, Value>) {
    let (text, entities) = match json.get("document") {
        Some(_) => ("caption", "caption_entities"),
        None => ("text", "entities"),
    };
    json[text] = json!(shown.text);
    json[entities] = json!(shown.entities);
    match params.get("reply_markup") {
        Some(markup) => json["reply_markup"] = markup.clone(),
        None => {
            if let Some(object) = json.as_object_mut() {
                object.remove("reply_markup");
            }
        }
    }
}

fn own_message<'w>(world: &'w mut World, params: &Map<String, Value>) -> Result<(i64, &'w mut Message), Refusal> {
    let chat = open_chat(world, params)?;
    let id = integer(params, "message_id").ok_or_else(|| Refusal::bad("message identifier is not specified"))?;
    let message = world.chat(chat).messages.get_mut(&id);
    let message = message.ok_or_else(|| Refusal::bad("message to edit not found"))?;
    if message.from != BOT {
        return Err(Refusal::bad("message can't be edited"));
    }
    Ok((chat, message))
}

pub(super) fn edit_text(world: &mut World, params: &Map<String, Value>) -> Outcome {
    let (read, source, html) = formatted(params, "text")?;
    let (_, message) = own_message(world, params)?;
    if message.shown.document.is_some() {
        return Err(Refusal::bad("there is no text in the message to edit"));
    }
    if read.text.trim().is_empty() {
        return Err(Refusal::bad("message text is empty"));
    }
    if read.text.encode_utf16().count() > TEXT_MAX_UNITS {
        return Err(Refusal::bad("MESSAGE_TOO_LONG"));
    }
    change(world, params, read, source, html)
}

pub(super) fn edit_caption(world: &mut World, params: &Map<String, Value>) -> Outcome {
    let (read, source, html) = formatted(params, "caption")?;
    let (_, message) = own_message(world, params)?;
    if message.shown.document.is_none() {
        return Err(Refusal::bad("there is no caption in the message to edit"));
    }
    if read.text.encode_utf16().count() > CAPTION_MAX_UNITS {
        return Err(Refusal::bad("MEDIA_CAPTION_TOO_LONG"));
    }
    change(world, params, read, source, html)
}

pub(super) fn edit_media(world: &mut World, call: &Call) -> Outcome {
    let described = call.params.get("media").and_then(Value::as_object).cloned().unwrap_or_default();
    let shown = caption(&described)?;
    let named = described.get("media").and_then(Value::as_str).unwrap_or_default().to_owned();
    own_message(world, &call.params)?;
    let (file, document) = upload(world, call, &named)?;
    let buttons = buttons(&call.params)?;
    let (chat, _) = own_message(world, &call.params)?;
    within_rates(world, chat)?;
    let (_, message) = own_message(world, &call.params)?;
    let old = std::mem::take(&mut message.shown);
    message.shown = Shown {
        buttons,
        document: Some(file),
        message_id: old.message_id,
        thread: old.thread,
        reply_to: old.reply_to,
        edits: old.edits + 1,
        sent_at: old.sent_at,
        ..shown
    };
    if let Some(json) = message.json.as_object_mut() {
        json.remove("text");
        json.remove("entities");
        json.insert("document".to_owned(), document);
    }
    write_text(&mut message.json, &message.shown, &call.params);
    Ok(message.json.clone())
}

fn change(world: &mut World, params: &Map<String, Value>, read: Formatted, source: String, html: bool) -> Outcome {
    let buttons = buttons(params)?;
    let (chat, message) = own_message(world, params)?;
    let now = (&read.text, &read.entities, &buttons);
    if now == (&message.shown.text, &message.shown.entities, &message.shown.buttons) {
        return Err(Refusal::bad(
            "message is not modified: specified new message content and reply markup are exactly the same as a \
             current content and reply markup of the message",
        ));
    }
    within_rates(world, chat)?;
    let (_, message) = own_message(world, params)?;
    message.shown.edits += 1;
    let old = std::mem::take(&mut message.shown);
    message.shown = Shown { text: read.text, source, html, entities: read.entities, buttons, ..old };
    write_text(&mut message.json, &message.shown, params);
    message.json["edit_date"] = json!(super::world::unix_s());
    Ok(message.json.clone())
}

pub(super) fn delete(world: &mut World, params: &Map<String, Value>) -> Outcome {
    let chat = open_chat(world, params)?;
    let id = integer(params, "message_id").ok_or_else(|| Refusal::bad("message identifier is not specified"))?;
    match world.chat(chat).messages.remove(&id) {
        Some(_) => Ok(json!(true)),
        None => Err(Refusal::bad("message to delete not found")),
    }
}

pub(super) fn react(world: &mut World, params: &Map<String, Value>) -> Outcome {
    let chat = open_chat(world, params)?;
    let message = integer(params, "message_id").unwrap_or_default();
    if !world.chat(chat).messages.contains_key(&message) {
        return Err(Refusal::bad("message to react not found"));
    }
    let emoji = params.get("reaction").and_then(|all| all[0]["emoji"].as_str()).unwrap_or_default().to_owned();
    world.chat(chat).reactions.push((message, emoji));
    Ok(json!(true))
}

pub(super) fn send_action(world: &mut World, params: &Map<String, Value>) -> Outcome {
    let chat = open_chat(world, params)?;
    let thread = open_thread(world, params, chat)?;
    let action = params.get("action").and_then(Value::as_str).unwrap_or_default();
    if action != "typing" {
        return Err(Refusal::bad("wrong parameter action in request"));
    }
    world.chat(chat).actions.push((action.to_owned(), thread));
    Ok(json!(true))
}
