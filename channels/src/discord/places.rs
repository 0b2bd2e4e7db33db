//! What Discord told about its channels: a small memory that may forget, because it can ask again.

use std::collections::HashMap;

use serenity::model::channel::{ChannelType, GuildChannel, PartialChannel};

use crate::{ConversationId, Kind, Place};

/// What sort of place a channel is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// One person and the bot.
    Direct,
    /// A guild's channel.
    Channel { title: Box<str> },
    /// A thread or forum post in a guild's channel.
    Thread { parent: Option<u64>, title: Box<str> },
}

impl Room {
    pub(super) fn of_guild_channel(channel: &GuildChannel) -> Self {
        Room::new(channel.kind, channel.parent_id.map(|id| id.get()), &channel.name)
    }

    /// The channel that comes with an interaction.
    pub(super) fn of_partial(channel: &PartialChannel) -> Self {
        Room::new(channel.kind, channel.parent_id.map(|id| id.get()), channel.name.as_deref().unwrap_or_default())
    }

    /// The answer of `GET /channels/{id}`; `None` where it has no readable type.
    pub(super) fn of_json(channel: &serde_json::Value) -> Option<Self> {
        let kind = ChannelType::from(u8::try_from(channel.get("type")?.as_u64()?).ok()?);
        let parent = channel.get("parent_id").and_then(|id| id.as_str()).and_then(|id| id.parse().ok());
        let title = channel.get("name").and_then(|name| name.as_str()).unwrap_or_default();
        Some(Room::new(kind, parent, title))
    }

    fn new(kind: ChannelType, parent: Option<u64>, title: &str) -> Self {
        match kind {
            ChannelType::Private | ChannelType::GroupDm => Room::Direct,
            ChannelType::NewsThread | ChannelType::PublicThread | ChannelType::PrivateThread => {
                Room::Thread { parent, title: title.into() }
            }
            _ => Room::Channel { title: title.into() },
        }
    }

    /// The same in the port's words.
    pub(super) fn place(&self) -> Place {
        match self {
            Room::Direct => Place::Direct,
            Room::Channel { title } => Place::Group { title: title.to_string() },
            // Discord always names a thread's parent; without one it can only be shown as a flat room.
            Room::Thread { parent: None, title } => Place::Group { title: title.to_string() },
            Room::Thread { parent: Some(parent), title } => {
                Place::Thread { parent: ConversationId::new(Kind::Discord, parent), title: title.to_string() }
            }
        }
    }

    /// The channel's name, empty in a direct conversation.
    pub(super) fn title(&self) -> &str {
        match self {
            Room::Direct => "",
            Room::Channel { title } | Room::Thread { title, .. } => title,
        }
    }
}

/// How many channels each of the two generations holds: at 100 bytes each, half a megabyte in all.
const GENERATION_MAX: usize = 2_500;

/// Rooms by channel id. Full, it forgets the half that was not asked for lately.
#[derive(Debug, Default)]
pub(super) struct Places {
    young: HashMap<u64, Room>,
    old: HashMap<u64, Room>,
    /// The direct channels of users to whom something went out first: a handful of admins.
    direct: HashMap<u64, u64>,
}

impl Places {
    /// The direct channel of a user, where it was opened.
    pub(super) fn direct_of(&self, user: u64) -> Option<u64> {
        self.direct.get(&user).copied()
    }

    /// The direct channel of a user was opened.
    pub(super) fn set_direct(&mut self, user: u64, channel: u64) {
        if self.direct.len() >= GENERATION_MAX {
            self.direct.clear();
        }
        self.direct.insert(user, channel);
    }

    /// What is known of `channel`.
    pub(super) fn get(&mut self, channel: u64) -> Option<Room> {
        if let Some(room) = self.young.get(&channel) {
            return Some(room.clone());
        }
        let room = self.old.remove(&channel)?;
        self.put(channel, room.clone());
        Some(room)
    }

    /// The name of `channel`, for people; does not count as asking for it.
    pub(super) fn title(&self, channel: u64) -> Option<&str> {
        self.young.get(&channel).or_else(|| self.old.get(&channel)).map(Room::title).filter(|title| !title.is_empty())
    }

    pub(super) fn put(&mut self, channel: u64, room: Room) {
        if self.young.len() >= GENERATION_MAX && !self.young.contains_key(&channel) {
            self.old = std::mem::take(&mut self.young);
        }
        self.old.remove(&channel);
        self.young.insert(channel, room);
    }

    pub(super) fn forget(&mut self, channel: u64) {
        self.young.remove(&channel);
        self.old.remove(&channel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(n: u64) -> Room {
        Room::Channel { title: n.to_string().into() }
    }

    #[test]
    fn what_was_asked_for_lately_survives_and_the_memory_stays_bounded() {
        let mut places = Places::default();
        for n in 0..20_000 {
            places.put(n, room(n));
            assert_eq!(places.get(0), Some(room(0)), "asked for all the time");
            assert!(places.young.len() + places.old.len() <= 2 * GENERATION_MAX);
        }
        assert_eq!(places.get(1), None, "never asked for again");
        assert_eq!(places.title(19_999), Some("19999"));
        places.forget(19_999);
        assert_eq!(places.get(19_999), None);
    }

    #[test]
    fn every_sort_of_channel_has_its_place() {
        let place = |json: &str| Room::of_json(&serde_json::from_str(json).expect("json")).map(|room| room.place());
        let parent = || ConversationId::new(Kind::Discord, 9);
        let table = [
            (r#"{"type":1}"#, Some(Place::Direct)),
            (r#"{"type":0,"name":"general","parent_id":"9"}"#, Some(Place::Group { title: "general".into() })),
            (r#"{"type":2,"name":"voice"}"#, Some(Place::Group { title: "voice".into() })),
            (r#"{"type":5,"name":"news"}"#, Some(Place::Group { title: "news".into() })),
            (r#"{"type":10,"parent_id":"9"}"#, Some(Place::Thread { parent: parent(), title: String::new() })),
            (
                r#"{"type":11,"name":"a post","parent_id":"9"}"#,
                Some(Place::Thread { parent: parent(), title: "a post".into() }),
            ),
            (r#"{"type":12,"name":"x","parent_id":null}"#, Some(Place::Group { title: "x".into() })),
            (r#"{"type":200,"name":"new sort"}"#, Some(Place::Group { title: "new sort".into() })),
            (r#"{"name":"no type"}"#, None),
            (r#"{"type":-1}"#, None),
        ];
        for (json, want) in table {
            assert_eq!(place(json), want, "{json}");
        }
    }
}
