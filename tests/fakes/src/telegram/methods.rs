//! What each method of the Bot API does.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::Shared;
use super::messages;
use super::serve::{Answer, Call};
use super::world::{BOT, BOT_NAME, World};

/// The largest file that a bot may fetch (getFile).
const DOWNLOAD_MAX_BYTES: usize = 20 << 20;

/// An error as Telegram gives it.
#[derive(Debug)]
pub(super) struct Refusal {
    pub code: u16,
    pub description: String,
    pub parameter: Option<(&'static str, i64)>,
}

impl Refusal {
    pub(super) fn new(code: u16, description: &str) -> Refusal {
        Refusal { code, description: description.to_owned(), parameter: None }
    }

    pub(super) fn too_many(seconds: u64) -> Refusal {
        let description = format!("Too Many Requests: retry after {seconds}");
        Refusal { code: 429, description, parameter: Some(("retry_after", seconds as i64)) }
    }

    pub(super) fn bad(description: &str) -> Refusal {
        Refusal::new(400, &format!("Bad Request: {description}"))
    }
}

pub(super) type Outcome = Result<Value, Refusal>;

/// Carries a request out.
pub(super) async fn carry_out(shared: &Shared, method: &str, call: Call) -> Answer {
    if method == "getupdates" {
        return get_updates(shared, &call.params).await;
    }
    let outcome = at_once(&mut shared.world(), method, call);
    match outcome {
        Ok(result) => Answer::Ok(result),
        Err(refusal) => Answer::Refused(refusal),
    }
}

fn at_once(world: &mut World, method: &str, call: Call) -> Outcome {
    let params = &call.params;
    match method {
        "getme" => Ok(get_me(world)),
        "getwebhookinfo" => {
            let url = if world.webhook { "https://bot.example.org/hook" } else { "" };
            let waiting = world.updates.len();
            Ok(json!({"url": url, "has_custom_certificate": false, "pending_update_count": waiting}))
        }
        "deletewebhook" => {
            world.webhook = false;
            Ok(json!(true))
        }
        "setmycommands" => set_my_commands(world, params),
        "sendmessage" => messages::send(world, params),
        "senddocument" => messages::send_document(world, &call),
        "sendmediagroup" => messages::send_media_group(world, &call),
        "editmessagetext" => messages::edit_text(world, params),
        "editmessagecaption" => messages::edit_caption(world, params),
        "editmessagemedia" => messages::edit_media(world, &call),
        "deletemessage" => messages::delete(world, params),
        "setmessagereaction" => messages::react(world, params),
        "sendchataction" => messages::send_action(world, params),
        "answercallbackquery" => answer_callback_query(world, params),
        "getfile" => get_file(world, params),
        _ => Err(Refusal::new(404, "Not Found: method not found")),
    }
}

fn get_me(world: &World) -> Value {
    let mut me = world.users[&BOT].json();
    for (flag, on) in [
        ("can_join_groups", true),
        ("can_read_all_group_messages", !world.privacy),
        ("supports_inline_queries", false),
        ("can_connect_to_business", false),
        ("has_main_web_app", false),
        ("has_topics_enabled", false),
    ] {
        me[flag] = json!(on);
    }
    me
}

async fn get_updates(shared: &Shared, params: &Map<String, Value>) -> Answer {
    let mut changed = shared.changed.subscribe();
    let limit = integer(params, "limit").unwrap_or(100).clamp(1, 100) as usize;
    let timeout = Duration::from_secs(integer(params, "timeout").unwrap_or(0).clamp(0, 50) as u64);
    let poll = {
        let mut world = shared.world();
        world.poll += 1;
        acknowledge(&mut world, integer(params, "offset").unwrap_or(0));
        world.poll
    };
    // Tells a poll that still waits that it is no longer the only one.
    shared.rings();
    let deadline = tokio::time::Instant::now() + timeout;
    loop {
        {
            let mut world = shared.world();
            let conflict = |why: &str| Answer::Refused(Refusal::new(409, &format!("Conflict: {why}")));
            if world.revoked {
                return Answer::Refused(Refusal::new(401, "Unauthorized"));
            }
            if world.webhook {
                return conflict(
                    "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
                );
            }
            if world.poll != poll {
                return conflict(
                    "terminated by other getUpdates request; make sure that only one bot instance is running",
                );
            }
            if std::mem::take(&mut world.cut_poll) {
                return Answer::Cut;
            }
            if !world.updates.is_empty() || tokio::time::Instant::now() >= deadline {
                return Answer::Ok(world.updates.iter().take(limit).map(|(_, update)| update.clone()).collect());
            }
        }
        tokio::select! {
            _ = shared.stop.cancelled() => return Answer::Cut,
            // The sender is in `shared`, so this cannot fail; a failure would be read as a change.
            _ = changed.changed() => {}
            _ = tokio::time::sleep_until(deadline) => {}
        }
    }
}

/// Forgets what lies before the offset; a negative one keeps that many from the end.
fn acknowledge(world: &mut World, offset: i64) {
    if offset < 0 {
        let keep = offset.unsigned_abs() as usize;
        let drop = world.updates.len().saturating_sub(keep);
        world.updates.drain(..drop);
    }
    while offset > 0 && world.updates.front().is_some_and(|(id, _)| *id < offset) {
        world.updates.pop_front();
    }
}

fn set_my_commands(world: &mut World, params: &Map<String, Value>) -> Outcome {
    let given = params.get("commands").and_then(Value::as_array).ok_or_else(|| Refusal::bad("commands are empty"))?;
    let mut commands = Vec::new();
    for command in given {
        let name = command["command"].as_str().unwrap_or_default();
        let about = command["description"].as_str().unwrap_or_default();
        let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if name.is_empty() || name.len() > 32 || !name.chars().all(letters) {
            return Err(Refusal::bad("BOT_COMMAND_INVALID"));
        }
        if about.is_empty() || about.chars().count() > 256 {
            return Err(Refusal::bad("BOT_COMMAND_DESCRIPTION_INVALID"));
        }
        commands.push((name.to_owned(), about.to_owned()));
    }
    if commands.len() > 100 {
        return Err(Refusal::bad("BOT_COMMANDS_TOO_MUCH"));
    }
    world.commands = commands;
    Ok(json!(true))
}

fn answer_callback_query(world: &mut World, params: &Map<String, Value>) -> Outcome {
    let id = params.get("callback_query_id").map(|id| id.as_str().map_or_else(|| id.to_string(), str::to_owned));
    match id.and_then(|id| world.open_clicks.get_mut(&id)) {
        Some(answered) => {
            *answered = true;
            Ok(json!(true))
        }
        None => Err(Refusal::bad("query is too old and response timeout expired or query ID is invalid")),
    }
}

fn get_file(world: &mut World, params: &Map<String, Value>) -> Outcome {
    let id = params.get("file_id").and_then(Value::as_str).unwrap_or_default();
    let file = world.files.get(id).ok_or_else(|| Refusal::bad("invalid file_id"))?;
    if file.bytes.len() > DOWNLOAD_MAX_BYTES {
        return Err(Refusal::bad("file is too big"));
    }
    Ok(json!({
        "file_id": id, "file_unique_id": format!("u{id}"), "file_size": file.bytes.len(), "file_path": file.path,
    }))
}

/// A whole number, as JSON or as text. A chat may be named by `@username`, which only the bot itself has here.
pub(super) fn integer(params: &Map<String, Value>, key: &str) -> Option<i64> {
    let value = params.get(key)?;
    match value {
        Value::String(text) if text.trim_start_matches('@') == BOT_NAME => Some(BOT),
        Value::String(text) => text.parse().ok(),
        _ => value.as_i64(),
    }
}
