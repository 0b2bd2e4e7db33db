//! What was said while the bot was away: a channel's messages after a known one.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::Value;
use serenity::http::{LightMethod, Route};
use serenity::model::channel::Message;
use serenity::model::id::ChannelId;

use super::errors::Fault;
use super::inbound::{self, Reading};
use super::rest::Call;
use super::{CatchUp, Discord, snowflake};
use crate::Inbound;

/// The most messages that Discord gives at once
/// (<https://discord.com/developers/docs/resources/message#get-channel-messages>).
const PAGE: usize = 100;
/// How many pages of messages that are too old are looked through only to count what is left out.
const COUNTED_PAGES: usize = 10;
/// How many pages are read of one channel. Beyond, it talks faster than it is worth to read back.
const PAGES_MAX: usize = 100;
/// Between attempts while Discord does not answer: at first, and at most.
const PATIENCE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// What a walk through a channel's history found.
#[derive(Debug, Default)]
pub(super) struct Walked {
    /// For us, oldest first.
    pub events: Vec<Inbound>,
    /// The newest message that was seen, for us or not.
    pub through: u64,
    /// For us, but too old or too many.
    pub skipped: usize,
    /// Types and faults of what could not be read.
    pub unreadable: Vec<String>,
}

/// One page: the messages after `after`, oldest first, as they came.
pub(super) async fn page_after(discord: &Discord, channel: u64, after: u64) -> Result<Vec<Value>, Fault> {
    let route = Route::ChannelMessages { channel_id: ChannelId::new(channel) };
    let call = Call::new(LightMethod::Get, route).query("limit", PAGE).query("after", after);
    let mut page = messages(discord.aside(call).await?)?;
    page.sort_by_key(id_of);
    Ok(page)
}

/// The newest messages of a channel, as they came.
pub(super) async fn newest(discord: &Discord, channel: u64) -> Result<Vec<Value>, Fault> {
    let route = Route::ChannelMessages { channel_id: ChannelId::new(channel) };
    messages(discord.aside(Call::new(LightMethod::Get, route).query("limit", PAGE)).await?)
}

/// Reads `channel` from after the message `after` to its end, however long Discord takes to answer: nothing newer
/// of the channel may be taken in before. `Err` where the channel cannot be read at all.
pub(super) async fn walk(
    discord: &Discord,
    channel: u64,
    after: u64,
    limits: CatchUp,
    reading: &Reading<'_>,
) -> Result<Walked, Fault> {
    let oldest = snowflake::first_since(limits.age_max);
    let mut walked = Walked { through: after, ..Walked::default() };
    let mut kept: VecDeque<Inbound> = VecDeque::new();
    for page_number in 0..PAGES_MAX {
        if page_number == COUNTED_PAGES && walked.through < oldest {
            walked.through = oldest.saturating_sub(1);
        }
        let page = page_patiently(discord, channel, walked.through).await?;
        let full = page.len() >= PAGE;
        let through_before = walked.through;
        for value in page {
            let id = id_of(&value);
            walked.through = walked.through.max(id);
            match read(value, reading) {
                Ok(Some(_)) if id < oldest => walked.skipped += 1,
                Ok(Some(event)) => kept.push_back(event),
                Ok(None) => {}
                Err(what) => walked.unreadable.push(what),
            }
            if kept.len() > limits.per_channel_max {
                kept.pop_front();
                walked.skipped += 1;
            }
        }
        // A page that brings nothing new would be asked for again for ever.
        if !full || walked.through == through_before {
            break;
        }
    }
    walked.events = kept.into();
    Ok(walked)
}

async fn page_patiently(discord: &Discord, channel: u64, after: u64) -> Result<Vec<Value>, Fault> {
    let (mut patience, most) = PATIENCE;
    loop {
        let fault = match page_after(discord, channel, after).await {
            Ok(page) => return Ok(page),
            Err(fault) => fault,
        };
        let wait = fault.passing().ok_or(fault)?;
        tokio::time::sleep(wait.max(patience)).await;
        patience = (patience * 2).min(most);
    }
}

fn read(value: Value, reading: &Reading<'_>) -> Result<Option<Inbound>, String> {
    let id = id_of(&value);
    match serde_json::from_value::<Message>(value) {
        Ok(message) => Ok(inbound::message(&message, reading)),
        Err(fault) => Err(format!("message {id}: {}", fault_without_content(&fault))),
    }
}

/// What a parser says, as far as it cannot quote anybody.
pub(super) fn fault_without_content(fault: &serde_json::Error) -> String {
    let said = fault.to_string();
    if said.starts_with("missing field") { said } else { said.split([':', ',']).next().unwrap_or_default().to_owned() }
}

fn messages(answer: Value) -> Result<Vec<Value>, Fault> {
    match answer {
        Value::Array(messages) => Ok(messages),
        _ => Err(Fault::Malformed("the answer is no list of messages".to_owned())),
    }
}

/// The id of a raw message; 0 where there is none.
pub(super) fn id_of(message: &Value) -> u64 {
    message["id"].as_str().and_then(|id| id.parse().ok()).unwrap_or(0)
}
