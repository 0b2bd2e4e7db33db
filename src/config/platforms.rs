//! `channels.yaml`: where the hive goes, and where it answers there.

use std::time::Duration;

use base::Secret;
use channels::{Answering, Hearing, Kind};

use super::environment::Environment;
use super::fault::Log;
use super::form::{Form, duration, one_of, url, whole};
use super::id;
use super::reader::Reader;
use super::token;

/// What concerns Discord.
#[derive(Clone, Debug)]
pub struct Discord {
    /// The bot token; without one the hive does not go there.
    pub token: Option<Secret>,
    /// Another server that speaks Discord's REST protocol, without a slash at the end.
    pub api_url: Option<String>,
    /// Where it answers.
    pub hearing: Hearing,
    /// What is fetched of what was said while the hive was away.
    pub catch_up: CatchUp,
}

/// What is fetched of what was said while the hive was away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatchUp {
    /// Most messages of one channel, the newest; zero: none. Default 100.
    pub per_channel_max: u64,
    /// Nothing older. Default 24 hours.
    pub age_max: Duration,
}

/// What concerns Telegram.
#[derive(Clone, Debug)]
pub struct Telegram {
    /// The bot token; without one the hive does not go there.
    pub token: Option<Secret>,
    /// Another server that speaks the Bot API, without a slash at the end.
    pub api_url: Option<String>,
    /// Where it answers.
    pub hearing: Hearing,
}

/// Reads `discord:`; the variables win over it.
pub(super) fn discord(mut section: Reader<'_>, environment: &Environment, log: &Log) -> Discord {
    let discord = Discord {
        token: token_of("DISCORD_TOKEN", &token::discord(), &mut section, environment, log),
        api_url: environment.read("DISCORD_API_URL", &url(), log),
        hearing: watched(hearing(Kind::Discord, &mut section), &mut section),
        catch_up: catch_up(section.section("catch_up")),
    };
    section.finish();
    discord
}

/// Reads `telegram:`; the variables win over it.
pub(super) fn telegram(mut section: Reader<'_>, environment: &Environment, log: &Log) -> Telegram {
    let telegram = Telegram {
        token: token_of("TELEGRAM_TOKEN", &token::telegram(), &mut section, environment, log),
        api_url: environment.read("TELEGRAM_API_URL", &url(), log),
        hearing: hearing(Kind::Telegram, &mut section),
    };
    section.finish();
    telegram
}

fn token_of(
    variable: &str,
    form: &Form<Secret>,
    section: &mut Reader<'_>,
    environment: &Environment,
    log: &Log,
) -> Option<Secret> {
    // Both are read, so that a fault in the one that does not win is told as well.
    let written = section.find("token", form);
    environment.read(variable, form, log).or(written)
}

fn hearing(kind: Kind, section: &mut Reader<'_>) -> Hearing {
    const ANSWERING: &[(&str, Answering)] =
        &[("always", Answering::Always), ("mentioned", Answering::WhenAddressed), ("never", Answering::Never)];
    let form = one_of(ANSWERING);
    let mut hearing = Hearing { default: section.get("answer", "mentioned", &form), ..Hearing::default() };
    let rooms = id::conversation(kind);
    for (key, value) in section.entries("rooms", "<room>") {
        value.known();
        let answering = value.read(&form);
        match (rooms.read(&key), answering) {
            (Err(message), _) => value.fault(format!("the key: {message}")),
            (Ok(room), _) if hearing.rooms.contains_key(&room) => value.fault(id::TWICE),
            (Ok(room), Some(answering)) => {
                hearing.rooms.insert(room, answering);
            }
            (Ok(_), None) => {}
        }
    }
    hearing
}

/// Who lists channels to watch wants silence in all others; what `rooms` says of a channel still holds.
fn watched(mut hearing: Hearing, section: &mut Reader<'_>) -> Hearing {
    let watched = section.list("watched_channels", &[], &id::conversation(Kind::Discord));
    if !watched.is_empty() {
        let default = std::mem::replace(&mut hearing.default, Answering::Never);
        for channel in watched {
            hearing.rooms.entry(channel).or_insert(default);
        }
    }
    hearing
}

fn catch_up(mut section: Reader<'_>) -> CatchUp {
    let catch_up = CatchUp {
        per_channel_max: section.get("per_channel_max", "100", &whole(0..=10_000)),
        age_max: section.get("age_max", "24h", &duration("0s", "30d")),
    };
    section.finish();
    catch_up
}
