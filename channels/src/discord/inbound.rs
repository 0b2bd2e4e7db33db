//! A Discord event → our [`Inbound`]. Pure: what is not in the event comes in as arguments.

use std::collections::BTreeMap;

use serenity::model::application::{
    CommandDataOption, CommandDataOptionValue, CommandInteraction, CommandType, ComponentInteraction,
    ComponentInteractionDataKind,
};
use serenity::model::channel::{Attachment as DiscordAttachment, Message, MessageType};
use serenity::model::event::MessageUpdateEvent;
use serenity::model::guild::{Member, PartialMember};
use serenity::model::user::User;

use super::handle;
use super::places::Room;
use super::snowflake;
use super::words::{Us, readable};
use crate::{
    Addressed, Answering, Arguments, Attachment, Content, ConversationId, Hearing, Inbound, Kind, Place, Sender,
    SenderId, Text,
};

/// What a reader needs to know besides the event.
pub(super) struct Reading<'a> {
    /// Who we are.
    pub us: &'a Us,
    /// Where the bot answers.
    pub hearing: &'a Hearing,
    /// The channel in which it happened.
    pub room: &'a Room,
    /// The names of other channels.
    pub titles: &'a (dyn Fn(u64) -> Option<String> + Sync),
}

/// Whether a message could be for us at all, in whatever room: written by a person, and not a system notice.
pub(super) fn by_a_person(message: &Message) -> bool {
    matches!(message.kind, MessageType::Regular | MessageType::InlineReply)
        && is_person(&message.author)
        && message.webhook_id.is_none()
}

/// A message, as it comes live or from the channel's history. `None` where it is not for us.
pub(super) fn message(message: &Message, reading: &Reading<'_>) -> Option<Inbound> {
    if !by_a_person(message) {
        return None;
    }
    let answered = message.referenced_message.as_deref();
    let reply_to_us = answered.is_some_and(|answered| answered.author.id.get() == reading.us.id);
    let roles = message.mention_roles.iter().map(|role| role.get());
    let mentions_us = reading.mentions_us(&message.mentions, roles);
    let addressed = reading.addressed(message.channel_id.get(), reply_to_us, mentions_us)?;
    // A forwarded message carries what it forwards beside itself and has no text of its own.
    let forwarded = message.message_snapshots.first();
    let written = match forwarded {
        Some(forwarded) if message.content.is_empty() => &forwarded.content,
        _ => &message.content,
    };
    let attachments = message.attachments.iter().chain(forwarded.iter().flat_map(|forwarded| &forwarded.attachments));
    let text = Text {
        text: reading.text(written, &message.mentions),
        attachments: attachments.map(attachment).collect(),
        reply_to: answer_to(message, answered),
        reply_to_sender: answered.map(|answered| sender(&answered.author, None)),
        mentions: reading.others(&message.mentions),
    };
    // A sticker or a poll alone: nothing that could be read, and nobody was spoken to.
    if text.text.is_empty()
        && text.attachments.is_empty()
        && matches!(addressed, Addressed::Direct | Addressed::Overheard)
    {
        return None;
    }
    let id = message.id.get();
    Some(Inbound {
        conversation: ConversationId::new(Kind::Discord, message.channel_id),
        place: reading.room.place(),
        event_id: id.to_string(),
        sender: sender(&message.author, message.member.as_deref().and_then(|member| member.nick.as_deref())),
        sent_at_ms: snowflake::made_at_ms(id),
        addressed,
        content: Content::Text(text),
    })
}

/// A change of a message by its author. `None` where Discord changed it (an embed that loaded), or it is not for us.
pub(super) fn edit(update: &MessageUpdateEvent, reading: &Reading<'_>) -> Option<Inbound> {
    let author = update.author.as_ref().filter(|author| is_person(author))?;
    let content = update.content.as_deref()?;
    let edited_at_ms = i64::try_from(update.edited_timestamp?.unix_timestamp_nanos() / 1_000_000).ok()?;
    if matches!(update.webhook_id, Some(Some(_)))
        || !matches!(update.kind, None | Some(MessageType::Regular | MessageType::InlineReply))
    {
        return None;
    }
    let mentions = update.mentions.as_deref().unwrap_or_default();
    let answered = update.referenced_message.as_ref().and_then(Option::as_deref);
    let reply_to_us = answered.is_some_and(|answered| answered.author.id.get() == reading.us.id);
    let roles = update.mention_roles.iter().flatten().map(|role| role.get());
    let mentions_us = reading.mentions_us(mentions, roles);
    let addressed = reading.addressed(update.channel_id.get(), reply_to_us, mentions_us)?;
    let nick = update.member.as_ref().and_then(Option::as_deref).and_then(|member| member.nick.as_deref());
    Some(Inbound {
        conversation: ConversationId::new(Kind::Discord, update.channel_id),
        place: reading.room.place(),
        event_id: format!("edit:{}:{edited_at_ms}", update.id),
        sender: sender(author, nick),
        sent_at_ms: edited_at_ms,
        addressed,
        content: Content::Edit { message_id: update.id.to_string(), text: reading.text(content, mentions) },
    })
}

/// A slash command. `None` for other kinds of commands, of which we register none.
pub(super) fn command(command: &CommandInteraction, place: Place) -> Option<Inbound> {
    if command.data.kind != CommandType::ChatInput || !is_person(&command.user) {
        return None;
    }
    let mut name = command.data.name.clone();
    let mut options = &command.data.options;
    while let [CommandDataOption { name: step, value, .. }] = options.as_slice() {
        let (CommandDataOptionValue::SubCommand(inner) | CommandDataOptionValue::SubCommandGroup(inner)) = value else {
            break;
        };
        name = format!("{name} {step}");
        options = inner;
    }
    let named = options.iter().filter_map(|option| Some((option.name.clone(), value(&option.value)?))).collect();
    let id = command.id.get();
    Some(Inbound {
        conversation: ConversationId::new(Kind::Discord, command.channel_id),
        place,
        event_id: format!("command:{id}"),
        sender: sender(&command.user, nick_of(command.member.as_deref())),
        sent_at_ms: snowflake::made_at_ms(id),
        addressed: Addressed::Explicit,
        content: Content::Command {
            name: name.to_lowercase(),
            arguments: Arguments::Named(named),
            reply_to: None,
            reply_to_sender: None,
            handle: Some(handle::of_interaction(id, command.application_id.get(), &command.token)),
        },
    })
}

/// A pressed button. It has no handle: its answer is an ordinary message, because an edit of the interaction's
/// own message would replace the text that carries the button.
pub(super) fn click(click: &ComponentInteraction, place: Place) -> Option<Inbound> {
    if !matches!(click.data.kind, ComponentInteractionDataKind::Button) || !is_person(&click.user) {
        return None;
    }
    let id = click.id.get();
    Some(Inbound {
        conversation: ConversationId::new(Kind::Discord, click.channel_id),
        place,
        event_id: format!("click:{id}"),
        sender: sender(&click.user, nick_of(click.member.as_ref())),
        sent_at_ms: snowflake::made_at_ms(id),
        addressed: Addressed::Explicit,
        content: Content::Click {
            data: click.data.custom_id.clone(),
            message_id: click.message.id.to_string(),
            handle: None,
        },
    })
}

impl Reading<'_> {
    fn mentions_us(&self, users: &[User], roles: impl IntoIterator<Item = u64>) -> bool {
        users.iter().any(|user| user.id.get() == self.us.id)
            || roles.into_iter().any(|role| self.us.roles.contains(&role))
    }

    /// How something said in `channel` speaks to the bot; `None` where it does not, or the bot is not to answer there.
    fn addressed(&self, channel: u64, reply_to_us: bool, mentions_us: bool) -> Option<Addressed> {
        let conversation = ConversationId::new(Kind::Discord, channel);
        let parent = match self.room {
            Room::Direct => return Some(Addressed::Direct),
            Room::Channel { .. } => None,
            Room::Thread { parent, .. } => parent.map(|parent| ConversationId::new(Kind::Discord, parent)),
        };
        match self.hearing.rule(&conversation, parent.as_ref()) {
            Answering::Never => None,
            _ if reply_to_us => Some(Addressed::Reply),
            _ if mentions_us => Some(Addressed::Mention),
            Answering::Always => Some(Addressed::Overheard),
            Answering::WhenAddressed => None,
        }
    }

    /// Whether anything said in `channel` could ever be for us.
    pub(super) fn listens(&self, channel: u64) -> bool {
        self.addressed(channel, true, true).is_some()
    }

    fn text(&self, written: &str, mentions: &[User]) -> String {
        let mut names: BTreeMap<u64, String> =
            mentions.iter().map(|user| (user.id.get(), name(user, nick_in(user)).to_owned())).collect();
        names.insert(self.us.id, self.us.name.clone());
        readable(self.us.addressed_off(written), &names, self.titles)
    }

    fn others(&self, mentions: &[User]) -> Vec<Sender> {
        mentions.iter().filter(|user| user.id.get() != self.us.id).map(|user| sender(user, nick_in(user))).collect()
    }
}

/// Not a bot (ours or another) and not Discord itself.
fn is_person(user: &User) -> bool {
    !user.bot && !user.system
}

fn sender(user: &User, nick: Option<&str>) -> Sender {
    Sender { id: SenderId::new(Kind::Discord, user.id), name: name(user, nick).to_owned() }
}

/// The name people see: the one in this guild, else the one everywhere, else the account's.
fn name<'a>(user: &'a User, nick: Option<&'a str>) -> &'a str {
    nick.or(user.global_name.as_deref()).unwrap_or(&user.name)
}

fn nick_of(member: Option<&Member>) -> Option<&str> {
    member.and_then(|member| member.nick.as_deref())
}

/// The name in this guild, where a mention brings it along.
fn nick_in(user: &User) -> Option<&str> {
    user.member.as_deref().and_then(|member: &PartialMember| member.nick.as_deref())
}

fn attachment(attachment: &DiscordAttachment) -> Attachment {
    Attachment {
        reference: attachment.url.clone(),
        name: attachment.filename.clone(),
        media_type: attachment.content_type.clone().unwrap_or_default(),
        size_bytes: u64::from(attachment.size),
    }
}

/// The message that this one answers; a forwarded message refers to one too, but does not answer it.
fn answer_to(message: &Message, answered: Option<&Message>) -> Option<String> {
    if message.kind != MessageType::InlineReply {
        return None;
    }
    let referenced = message.message_reference.as_ref().and_then(|reference| reference.message_id);
    answered.map(|answered| answered.id).or(referenced).map(|id| id.to_string())
}

/// An option's value; people and rooms as their addresses. `None` for what our menu never asks for.
fn value(value: &CommandDataOptionValue) -> Option<String> {
    Some(match value {
        CommandDataOptionValue::String(text) => text.clone(),
        CommandDataOptionValue::Boolean(value) => value.to_string(),
        CommandDataOptionValue::Integer(value) => value.to_string(),
        CommandDataOptionValue::Number(value) => value.to_string(),
        CommandDataOptionValue::User(user) => SenderId::new(Kind::Discord, user).to_string(),
        CommandDataOptionValue::Channel(channel) => ConversationId::new(Kind::Discord, channel).to_string(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use serenity::model::application::Interaction;

    use super::*;

    /// What Discord sends, in what sort of channel and under which rule, and what becomes of it (`null`: nothing).
    const CASES: &str = include_str!("../../tests/payloads/discord.json");

    fn read(case: &Value) -> Option<Inbound> {
        let default = match case["rule"].as_str().expect("a rule") {
            "always" => Answering::Always,
            "never" => Answering::Never,
            _ => Answering::WhenAddressed,
        };
        let hearing = Hearing { default, ..Hearing::default() };
        let room = Room::of_json(&case["room"]).expect("a channel");
        let us = Us { id: 7, name: "hive".into(), roles: [70].into() };
        let titles = |id| (id == 55).then(|| "rules".to_owned());
        let reading = Reading { us: &us, hearing: &hearing, room: &room, titles: &titles };
        let data = case["d"].clone();
        match case["event"].as_str().expect("a type") {
            "MESSAGE_CREATE" => message(&serde_json::from_value(data).expect("a message"), &reading),
            "MESSAGE_UPDATE" => edit(&serde_json::from_value(data).expect("an update"), &reading),
            _ => match serde_json::from_value(data).expect("an interaction") {
                Interaction::Command(it) => command(&it, room.place()),
                Interaction::Component(it) => click(&it, room.place()),
                other => panic!("{other:?}"),
            },
        }
    }

    #[test]
    fn every_recorded_event_becomes_what_it_means() {
        let cases: Vec<Value> = serde_json::from_str(CASES).expect("a list");
        assert!(cases.len() >= 30, "{} cases", cases.len());
        for case in &cases {
            let read = serde_json::to_value(read(case)).expect("it can be written");
            assert_eq!(read, case["want"], "{}", case["name"]);
        }
    }
}
