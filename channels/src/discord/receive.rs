//! The way in: gateway events → lanes → [`Intake`].

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use serde_json::Value;
use serenity::gateway::ConnectionStage;
use serenity::model::application::Interaction;
use serenity::model::channel::{GuildChannel, Message};
use serenity::model::event::{Event, MessageUpdateEvent, UnknownEvent};
use serenity::model::gateway::Ready;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::gateway::{Gateway, Happening};
use super::lanes::{Lanes, Said};
use super::places::Room;
use super::returning::{self, Returning, Seen, Walk};
use super::taking::{self, ReadBack};
use super::words::Us;
use super::{Discord, entrance, history, inbound, menu, snowflake};
use crate::{Closed, Cursor, Intake, Kind, ReceiveError, Report};

/// How long the guilds' channels are waited for after READY, before the return is reported without them.
const GUILDS_LIMIT: Duration = Duration::from_secs(5);
/// How long what has been begun may take to end when receiving stops.
const FINISH_LIMIT: Duration = Duration::from_secs(5);
/// Of how many types of events that nobody here reads it is noted that they were reported.
const REPORTED_MAX: usize = 64;

/// Receives until `stop`, or until waiting does not help.
pub(super) async fn run(discord: &Discord, intake: &dyn Intake, stop: &CancellationToken) -> Result<(), ReceiveError> {
    let url = tokio::select! {
        biased;
        () = stop.cancelled() => return Ok(()),
        url = entrance::gateway_url(discord, intake) => url?,
    };
    let mut gateway = Gateway::open(url, discord.token(), discord.rest.client().clone())
        .map_err(|fault| ReceiveError::Forbidden(format!("no thread for Discord's gateway: {fault}")))?;
    let mut receiving = Receiving {
        discord,
        intake,
        us: Arc::default(),
        connected: false,
        arriving: false,
        lanes: Lanes::default(),
        returning: Returning::default(),
        guilds_due: None,
        takes: FuturesUnordered::new(),
        chores: FuturesUnordered::new(),
        reported: BTreeSet::new(),
    };
    let ended = receiving.until(&mut gateway, stop).await;
    receiving.finish_begun().await;
    gateway.close().await;
    ended
}

/// The state of one run. All of it may be lost: what matters is in the host's cursors.
struct Receiving<'a> {
    discord: &'a Discord,
    intake: &'a dyn Intake,
    us: Arc<Us>,
    connected: bool,
    /// Between READY and the stored positions.
    arriving: bool,
    lanes: Lanes,
    returning: Returning,
    /// When guilds that have not come are not waited for any more.
    guilds_due: Option<Instant>,
    /// Being taken in: waited for when receiving stops.
    takes: FuturesUnordered<BoxFuture<'a, Took>>,
    /// Reading back and registering: dropped when receiving stops.
    chores: FuturesUnordered<BoxFuture<'a, Result<Chore, Closed>>>,
    reported: BTreeSet<String>,
}

/// The end of a [`Intake::take`]; of a lane, or of an interaction.
struct Took {
    lane: Option<u64>,
    taken: Result<(), Closed>,
}

/// The end of a chore.
enum Chore {
    Arrived { application: u64, guilds: Vec<u64>, cursors: Vec<Cursor> },
    Walked { channel: u64, back: ReadBack },
    Registered,
}

impl Receiving<'_> {
    async fn until(&mut self, gateway: &mut Gateway, stop: &CancellationToken) -> Result<(), ReceiveError> {
        loop {
            let guilds_due = self.guilds_due;
            tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(()),
                Some(took) = self.takes.next() => {
                    took.taken.map_err(|Closed| ReceiveError::Closed)?;
                    if let Some(channel) = took.lane {
                        self.lanes.done(channel);
                        self.advance(channel);
                    }
                }
                Some(chore) = self.chores.next() => self.end_chore(chore.map_err(|Closed| ReceiveError::Closed)?),
                () = at(guilds_due) => {
                    self.guilds_due = None;
                    self.returning.give_up_guilds();
                    self.walk_on();
                }
                happening = gateway.next(), if !self.arriving => match happening {
                    Some(Happening::Event(event)) => self.hear(*event),
                    Some(Happening::Stage(stage)) => self.stage(stage),
                    Some(Happening::Refused(fault)) => return Err(entrance::refused(&fault)),
                    None => return Err(ReceiveError::Forbidden("Discord's gateway ended".into())),
                },
            }
        }
    }

    /// Lets what has been begun end: acknowledged or not, but not in between.
    async fn finish_begun(&mut self) {
        self.chores.clear();
        let all = async { while self.takes.next().await.is_some() {} };
        if tokio::time::timeout(FINISH_LIMIT, all).await.is_err() {
            tracing::warn!("discord: stopped before everything that came in was taken in; it will be fetched again");
        }
    }

    fn stage(&mut self, stage: ConnectionStage) {
        if self.connected && stage != ConnectionStage::Connected {
            self.connected = false;
            let why = "the gateway's connection was lost".to_owned();
            self.intake.report(Kind::Discord, Report::Disconnected { why });
        }
    }

    fn report_connected(&mut self) {
        if !std::mem::replace(&mut self.connected, true) {
            self.intake.report(Kind::Discord, Report::Connected { name: self.us.name.clone() });
        }
    }

    fn hear(&mut self, event: Event) {
        match event {
            Event::Ready(event) => self.ready(&event.ready),
            Event::Resumed(_) => {
                // serenity tells of a resume only when it has worked.
                self.stage(ConnectionStage::Resuming);
                self.report_connected();
            }
            Event::GuildCreate(event) => {
                let own = event.guild.roles.values().filter(|role| role.tags.bot_id.is_some_and(|id| id == self.us.id));
                let roles: Vec<u64> = own.map(|role| role.id.get()).collect();
                Arc::make_mut(&mut self.us).roles.extend(roles);
                let channels = event.guild.channels.values().chain(&event.guild.threads);
                let channels =
                    channels.map(|c| (c.id.get(), Room::of_guild_channel(c), c.last_message_id.map(|id| id.get())));
                self.guild(event.guild.id.get(), channels);
            }
            Event::GuildDelete(event) => {
                self.returning.guild_seen(event.guild.id.get());
                self.walk_on();
            }
            Event::ChannelCreate(event) => self.learn(&event.channel),
            Event::ChannelUpdate(event) => self.learn(&event.channel),
            Event::ChannelDelete(event) => self.discord.places().forget(event.channel.id.get()),
            Event::ThreadCreate(event) => self.learn(&event.thread),
            Event::ThreadUpdate(event) => self.learn(&event.thread),
            Event::ThreadDelete(event) => self.discord.places().forget(event.thread.id.get()),
            Event::ThreadListSync(event) => event.threads.iter().for_each(|thread| self.learn(thread)),
            Event::MessageCreate(event) => self.said_message(event.message),
            Event::MessageUpdate(event) => self.said_edit(event),
            Event::InteractionCreate(event) => self.interaction(event.interaction),
            Event::Unknown(event) => self.unknown(event),
            _ => {}
        }
    }

    /// A session without a past: everything since the stored positions may have been missed. Until these are known
    /// nothing more is heard.
    fn ready(&mut self, ready: &Ready) {
        let name = ready.user.name.clone();
        self.us = Arc::new(Us { id: ready.user.id.get(), name, roles: self.us.roles.clone() });
        self.report_connected();
        self.arriving = true;
        let (application, guilds) =
            (ready.application.id.get(), ready.guilds.iter().map(|guild| guild.id.get()).collect());
        let intake = self.intake;
        // A chore and not awaited here: what is being taken in goes on meanwhile, and may hold what this waits for.
        let arrive = async move {
            let cursors = intake.cursors(Kind::Discord).await?;
            if !returning::listened_before(&cursors) {
                let value = snowflake::first_of_ms(snowflake::now_ms()).to_string();
                let since = Cursor { stream: returning::SINCE_STREAM.to_owned(), value };
                intake.take(Vec::new(), Some(since)).await?;
            }
            Ok(Chore::Arrived { application, guilds, cursors })
        };
        self.chores.push(arrive.boxed());
    }

    /// The stored positions are known: holds back what must wait for its past, and begins to read that.
    fn arrived(&mut self, application: u64, guilds: Vec<u64>, cursors: &[Cursor]) {
        self.arriving = false;
        let held = self.returning.begin(cursors, guilds);
        held.into_iter().for_each(|channel| self.lanes.hold(channel));
        self.guilds_due = self.returning.awaits_guilds().then(|| Instant::now() + GUILDS_LIMIT);
        self.register_menu(application, cursors);
        self.walk_on();
    }

    fn register_menu(&mut self, application: u64, cursors: &[Cursor]) {
        let body = menu::body(self.discord.menu());
        let value = menu::fingerprint(application, &body);
        if cursors.iter().any(|cursor| cursor.stream == menu::STREAM && cursor.value == value) {
            return;
        }
        let (discord, intake) = (self.discord, self.intake);
        let register = async move {
            if discord.register(application, &body).await {
                intake.take(Vec::new(), Some(Cursor { stream: menu::STREAM.to_owned(), value })).await?;
            }
            Ok(Chore::Registered)
        };
        self.chores.push(register.boxed());
    }

    /// A guild names its channels, with the newest message of each.
    fn guild(&mut self, guild: u64, channels: impl Iterator<Item = (u64, Room, Option<u64>)>) {
        let returning = self.returning.guild_seen(guild);
        for (channel, room, last) in channels {
            let heard = self.discord.reading(&self.us, &room, &|_| None).listens(channel);
            self.discord.places().put(channel, room);
            // A guild that was not expected is one we were invited to just now: what was said before is not for us.
            if !returning || !heard {
                continue;
            }
            match self.returning.channel_seen(channel, last) {
                Seen::Complete { walks, after } => {
                    for _ in 0..walks {
                        self.lanes.release(channel, after);
                    }
                    self.advance(channel);
                }
                Seen::Missed => self.lanes.hold(channel),
                Seen::Nothing => {}
            }
        }
        self.walk_on();
    }

    fn learn(&mut self, channel: &GuildChannel) {
        self.discord.places().put(channel.id.get(), Room::of_guild_channel(channel));
    }

    fn said_message(&mut self, message: Message) {
        if !inbound::by_a_person(&message) {
            return;
        }
        let channel = message.channel_id.get();
        if message.guild_id.is_none() {
            self.discord.places().put(channel, Room::Direct);
        }
        self.lanes.push(channel, Said::Message(Box::new(message)));
        self.advance(channel);
    }

    fn said_edit(&mut self, update: MessageUpdateEvent) {
        let channel = update.channel_id.get();
        if update.edited_timestamp.is_none() || update.author.as_ref().is_none_or(|author| author.bot) {
            return;
        }
        if update.guild_id.is_none() {
            self.discord.places().put(channel, Room::Direct);
        }
        self.lanes.push(channel, Said::Edit(Box::new(update)));
        self.advance(channel);
    }

    /// Begins to take in what waits in a lane, if it may.
    fn advance(&mut self, channel: u64) {
        let Some(said) = self.lanes.next(channel) else { return };
        let (discord, intake, us) = (self.discord, self.intake, self.us.clone());
        let take = async move {
            Took { lane: Some(channel), taken: taking::take_said(discord, intake, &us, channel, said).await }
        };
        self.takes.push(take.boxed());
    }

    fn interaction(&mut self, interaction: Interaction) {
        let (discord, intake) = (self.discord, self.intake);
        let take = async move { Took { lane: None, taken: discord.take_interaction(intake, &interaction).await } };
        self.takes.push(take.boxed());
    }

    /// Begins to read back the next channels, and reports when all have been read.
    fn walk_on(&mut self) {
        while let Some(walk) = self.returning.next() {
            let (discord, intake, us) = (self.discord, self.intake, self.us.clone());
            let read = async move {
                let back = taking::read_back(discord, intake, &us, walk).await?;
                Ok(Chore::Walked { channel: walk.channel, back })
            };
            self.chores.push(read.boxed());
        }
        if let Some(report) = self.returning.report() {
            self.intake.report(Kind::Discord, report);
        }
    }

    fn end_chore(&mut self, chore: Chore) {
        match chore {
            Chore::Arrived { application, guilds, cursors } => self.arrived(application, guilds, &cursors),
            Chore::Walked { channel, back } => {
                self.returning.walked(back.taken, back.skipped);
                if self.lanes.release(channel, back.through) {
                    self.returning.again(Walk { channel, after: back.through });
                }
                self.advance(channel);
                self.walk_on();
            }
            Chore::Registered => {}
        }
    }

    /// An event that serenity could not parse, which it would drop without a word.
    fn unknown(&mut self, event: UnknownEvent) {
        let UnknownEvent { kind, value, .. } = event;
        let fault = match kind.as_str() {
            "MESSAGE_CREATE" => serde_json::from_value::<Message>(value).err(),
            "MESSAGE_UPDATE" => serde_json::from_value::<MessageUpdateEvent>(value).err(),
            "INTERACTION_CREATE" => serde_json::from_value::<Interaction>(value).err(),
            "GUILD_CREATE" => {
                // The guild is new or odd in something we do not need: its channels may still be readable.
                self.guild(history::id_of(&value), raw_channels(&value).into_iter());
                serde_json::from_value::<serenity::model::guild::Guild>(value).err()
            }
            _ => {
                // Types that serenity does not know come all the time: once is enough.
                let known = !self.reported.insert(kind.clone());
                if self.reported.len() > REPORTED_MAX {
                    self.reported.pop_first();
                }
                if known {
                    return;
                }
                None
            }
        };
        let fault = fault.as_ref().map(history::fault_without_content);
        let what = format!("{kind}: {}", fault.as_deref().unwrap_or("not a type that is read here"));
        self.intake.report(Kind::Discord, Report::Unreadable { what });
    }
}

/// At `due`, or never.
async fn at(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// The channels of a guild that could not be parsed as a whole.
fn raw_channels(guild: &Value) -> Vec<(u64, Room, Option<u64>)> {
    let lists = ["channels", "threads"].into_iter().filter_map(|list| guild[list].as_array());
    let read = |channel: &Value| {
        let last = channel["last_message_id"].as_str().and_then(|id| id.parse().ok());
        Some((history::id_of(channel), Room::of_json(channel)?, last))
    };
    lists.flatten().filter_map(read).filter(|(id, ..)| *id > 0).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn the_channels_of_an_odd_guild_are_read_as_far_as_they_go() {
        let guild = serde_json::json!({
            "channels": [{ "id": "1", "type": 0, "name": "a", "last_message_id": "5" }, { "id": "2" }, { "type": 0 }],
            "threads": [{ "id": "3", "type": 11, "name": "t", "parent_id": "1" }],
        });
        let found: HashMap<u64, Option<u64>> =
            raw_channels(&guild).into_iter().map(|(id, _, last)| (id, last)).collect();
        assert_eq!(found, HashMap::from([(1, Some(5)), (3, None)]));
        assert_eq!(raw_channels(&Value::Null).len(), 0);
    }
}
