//! The world's things as Discord writes them.

use serde_json::{Value, json};

use super::world::{Channel, EPOCH_MS, Message, World};

/// What never changes of the guild.
const GUILD: &str = r#"{
    "name": "loopback", "icon": null, "splash": null, "discovery_splash": null, "afk_channel_id": null,
    "afk_timeout": 300, "verification_level": 0, "default_message_notifications": 0, "explicit_content_filter": 0,
    "emojis": [], "features": [], "mfa_level": 0, "application_id": null, "system_channel_id": null,
    "system_channel_flags": 0, "rules_channel_id": null, "vanity_url_code": null, "description": null,
    "banner": null, "premium_tier": 0, "preferred_locale": "en-US", "public_updates_channel_id": null,
    "nsfw_level": 0, "stickers": [], "premium_progress_bar_enabled": false, "unavailable": false, "large": false,
    "joined_at": "2024-01-01T00:00:00.000000+00:00", "voice_states": [], "members": [], "presences": [],
    "stage_instances": [], "guild_scheduled_events": [], "safety_alerts_channel_id": null,
    "incidents_data": null, "soundboard_sounds": []
}"#;

/// Discord's flag of a message whose answer is still to come.
const LOADING: u64 = 1 << 7;

pub(super) fn user(world: &World, id: u64) -> Value {
    let Some(user) = world.users.get(&id) else {
        return json!({ "id": id.to_string(), "username": "gone", "discriminator": "0", "avatar": null });
    };
    json!({
        "id": id.to_string(),
        "username": user.name,
        "global_name": null,
        "discriminator": "0",
        "avatar": null,
        "bot": user.bot,
        "public_flags": 0,
    })
}

fn member(world: &World, id: u64) -> Value {
    json!({
        "nick": world.users.get(&id).and_then(|user| user.nick.clone()),
        "avatar": null,
        "roles": [],
        "joined_at": "2024-01-01T00:00:00.000000+00:00",
        "premium_since": null,
        "deaf": false,
        "mute": false,
        "flags": 0,
        "pending": false,
        "communication_disabled_until": null,
    })
}

/// A member with the user in it, as interactions carry it.
pub(super) fn whole_member(world: &World, id: u64) -> Value {
    let mut member = member(world, id);
    member["user"] = user(world, id);
    member["permissions"] = "2147483647".into();
    member
}

/// A message. With `live`, as the gateway sends it, with the guild and the member.
pub(super) fn message(world: &World, message: &Message, live: bool) -> Value {
    let mut json = flat_message(world, message);
    if let Some(answered) = message.reply_to {
        json["type"] = 19.into();
        json["message_reference"] = json!({ "message_id": answered.to_string(), "channel_id": json["channel_id"] });
        json["referenced_message"] = world.messages.get(&answered).map(|answered| flat_message(world, answered)).into();
    }
    if live && let Some(guild) = world.channels.get(&message.channel).and_then(|channel| channel.guild) {
        json["guild_id"] = guild.to_string().into();
        json["member"] = member(world, message.author);
        for mentioned in json["mentions"].as_array_mut().into_iter().flatten() {
            let id = mentioned["id"].as_str().and_then(|id| id.parse().ok()).unwrap_or_default();
            mentioned["member"] = member(world, id);
        }
        // Only the answer to the sender of a message shows its nonce, and so does the event.
        json["nonce"] = message.nonce.clone().into();
    }
    json
}

fn flat_message(world: &World, message: &Message) -> Value {
    let mentions: Vec<Value> = message.mentions.iter().map(|id| user(world, *id)).collect();
    let files = message.files.iter().map(|file| {
        let url = format!("{}/attachments/{}/{}/{}", world.origin, message.channel, file.id, file.name);
        let size = if world.understated { 1 } else { file.bytes.len() };
        json!({
            "id": file.id.to_string(), "filename": file.name, "size": size, "content_type": file.media_type,
            "url": url, "proxy_url": url,
        })
    });
    let roles: Vec<String> =
        message.text.contains(&format!("<@&{}>", world.role)).then(|| world.role.to_string()).into_iter().collect();
    let mut json = json!({
        "id": message.id.to_string(),
        "channel_id": message.channel.to_string(),
        "author": user(world, message.author),
        "content": message.text,
        "timestamp": stamp((message.id >> 22) + EPOCH_MS),
        "edited_timestamp": message.edited_ms.map(stamp),
        "tts": false,
        "mention_everyone": false,
        "mentions": mentions,
        "mention_roles": roles,
        "attachments": files.collect::<Vec<_>>(),
        "embeds": [],
        "pinned": false,
        "type": 0,
        "flags": if message.thinking { LOADING } else { 0 },
        "components": message.components,
    });
    if message.webhook {
        json["webhook_id"] = message.author.to_string().into();
    }
    for (name, value) in &message.disfigured {
        json[name] = value.clone();
    }
    json
}

pub(super) fn channel(world: &World, id: u64, channel: &Channel) -> Value {
    let last = channel.messages.last().map(u64::to_string);
    let mut json = json!({ "id": id.to_string(), "type": channel.sort as u8, "last_message_id": last, "flags": 0 });
    if let Some(recipient) = channel.recipient {
        json["recipients"] = json!([user(world, recipient)]);
        return json;
    }
    json["guild_id"] = channel.guild.map(|id| id.to_string()).into();
    json["name"] = channel.name.clone().into();
    json["parent_id"] = channel.parent.map(|id| id.to_string()).into();
    if channel.sort == super::world::Sort::Thread {
        json["owner_id"] = world.me.to_string().into();
        json["message_count"] = channel.messages.len().into();
        json["member_count"] = 2.into();
        json["rate_limit_per_user"] = 0.into();
        json["thread_metadata"] = json!({
            "archived": false, "auto_archive_duration": 1440, "locked": false,
            "archive_timestamp": "2024-01-01T00:00:00.000000+00:00",
        });
    } else {
        json["position"] = 0.into();
        json["permission_overwrites"] = json!([]);
        json["nsfw"] = false.into();
        json["topic"] = Value::Null;
        json["rate_limit_per_user"] = 0.into();
    }
    json
}

/// The guild with all its channels, as GUILD_CREATE brings it.
pub(super) fn guild(world: &World) -> Value {
    use super::world::Sort;
    let of = |threads: bool| {
        let mine = world.channels.iter().filter(move |(_, channel)| {
            channel.guild == Some(world.guild) && (channel.sort == Sort::Thread) == threads
        });
        mine.map(|(id, it)| channel(world, *id, it)).collect::<Vec<_>>()
    };
    let role = json!({
        "id": world.role.to_string(), "name": "hive", "color": 0, "hoist": false, "managed": true,
        "colors": { "primary_color": 0, "secondary_color": null, "tertiary_color": null },
        "mentionable": false, "permissions": "0", "position": 1, "flags": 0,
        "tags": { "bot_id": world.me.to_string() },
    });
    let mut guild: Value = serde_json::from_str(GUILD).expect("a constant that the tests read");
    guild["id"] = world.guild.to_string().into();
    guild["owner_id"] = world.me.to_string().into();
    guild["member_count"] = world.users.len().into();
    guild["roles"] = json!([role]);
    guild["channels"] = of(false).into();
    guild["threads"] = of(true).into();
    guild
}

/// A moment as Discord writes it: RFC 3339 with microseconds, in UTC.
pub(super) fn stamp(ms: u64) -> String {
    let (days, in_day) = (ms / 86_400_000, ms % 86_400_000);
    // Days since 1970 → date, counted in 400-year cycles that begin on the first of March.
    let shifted = days + 719_468;
    let (cycle, day) = (shifted / 146_097, shifted % 146_097);
    let year_of_cycle = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = cycle * 400 + year_of_cycle + u64::from(month <= 2);
    let (hour, minute, second, milli) = (in_day / 3_600_000, in_day / 60_000 % 60, in_day / 1_000 % 60, in_day % 1_000);
    format!("{year:04}-{month:02}-{day_of_month:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}000+00:00")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_discord_does() {
        let table = [
            (0, "1970-01-01T00:00:00.000000+00:00"),
            (951_782_400_000, "2000-02-29T00:00:00.000000+00:00"),
            (1_462_015_105_796, "2016-04-30T11:18:25.796000+00:00"),
            (1_735_689_599_999, "2024-12-31T23:59:59.999000+00:00"),
            (1_772_323_200_000, "2026-03-01T00:00:00.000000+00:00"),
        ];
        for (ms, want) in table {
            assert_eq!(stamp(ms), want);
        }
    }
}
