//! What people do on the platforms: words of a scenario → events as the adapters would give them.

use std::collections::BTreeMap;

use channels::memory::Outcome;
use channels::{
    Action, Addressed, Arguments, Attachment, Content, ConversationId, Cursor, Inbound, Kind, Place, ReplyHandle,
    Sender, Text,
};

use crate::fatal::SLOW;
use crate::language::{FileSaid, Says};
use crate::show;
use crate::world::World;

/// The people of a trial.
#[derive(Default)]
pub struct People {
    /// Numbers events that have no id of their own.
    counter: usize,
    /// Who wrote what.
    authors: BTreeMap<(ConversationId, String), Sender>,
}

impl People {
    /// A person writes, changes a message, or gives a command.
    pub fn says(&mut self, world: &mut World, says: &Says) -> Result<(), String> {
        let (conversation, place) = world.names.place(&says.place)?;
        let kind = conversation.kind();
        let sender = sender(world, kind, &says.sender);
        let text = world.names.with_ids(&says.text, Some(kind))?;
        self.counter += 1;
        let now = world.now();
        let id = says.id.clone().unwrap_or_else(|| format!("m{}", self.counter));
        let reply_to = says.reply.as_deref().map(|word| message_meant(world, &conversation, word)).transpose()?;
        let of_bot = reply_to.as_deref().is_some_and(|id| show::message(id) != id);
        let reply_to_sender = reply_to.as_ref().and_then(|id| self.authors.get(&(conversation.clone(), id.clone())));
        let reply_to_sender = reply_to_sender.cloned();
        let (event_id, content) = if let Some(message_id) = &says.edit {
            let edit = Content::Edit { message_id: message_id.clone(), text };
            (format!("edit:{message_id}:{}", self.counter), edit)
        } else if says.command {
            let content = self.command(kind, &text, reply_to, reply_to_sender, now)?;
            (if kind == Kind::Telegram { id.clone() } else { format!("command:{id}") }, content)
        } else {
            let attachments = says.files.iter().map(|file| attachment(world, kind, &id, file)).collect();
            (id.clone(), Content::Text(Text { text, attachments, reply_to, reply_to_sender, mentions: Vec::new() }))
        };
        self.authors.insert((conversation.clone(), event_id.clone()), sender.clone());
        let addressed = match &place {
            Place::Direct => Addressed::Direct,
            _ if says.command => Addressed::Explicit,
            _ if says.mention => Addressed::Mention,
            _ if of_bot => Addressed::Reply,
            _ => Addressed::Overheard,
        };
        self.inject(world, Inbound { conversation, place, event_id, sender, sent_at_ms: now, addressed, content });
        Ok(())
    }

    fn inject(&self, world: &World, event: Inbound) {
        let kind = event.conversation.kind();
        let stream = match kind {
            Kind::Telegram => "telegram/updates".to_owned(),
            kind => format!("{kind}/{}", event.conversation.local()),
        };
        let cursor = Cursor { stream, value: self.counter.to_string() };
        world.memory(kind).inject(event, Some(cursor));
    }

    fn command(
        &mut self,
        kind: Kind,
        line: &str,
        reply_to: Option<String>,
        reply_to_sender: Option<Sender>,
        now: i64,
    ) -> Result<Content, String> {
        let (name, arguments) = if kind == Kind::Discord {
            named(line)?
        } else {
            let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
            (name.to_owned(), Arguments::Line(rest.to_owned()))
        };
        let handle = (kind == Kind::Discord)
            .then(|| ReplyHandle { token: format!("token-{}", self.counter), expires_at_ms: now + 15 * 60_000 });
        Ok(Content::Command { name, arguments, reply_to, reply_to_sender, handle })
    }

    /// A person presses a button.
    pub fn clicks(
        &mut self,
        world: &mut World,
        place: &str,
        sender: &str,
        label: &str,
        on: Option<&str>,
    ) -> Result<(), String> {
        let (conversation, place) = world.names.place(place)?;
        let sender = self::sender(world, conversation.kind(), sender);
        let on = on.map(show::message_id);
        // People click what they see, which may be older than what there is.
        let deliveries = world.memory(conversation.kind()).outbox();
        let found = deliveries.iter().rev().find_map(|delivery| {
            let (Action::Send(piece), Outcome::Done(sent)) = (&delivery.out.action, &delivery.outcome) else {
                return None;
            };
            let meant = on.as_ref().is_none_or(|on| *on == sent.message_id);
            let here = delivery.out.conversation == conversation
                || is_reached_as(world, &conversation, &delivery.out.conversation);
            let button = piece.buttons.iter().flatten().find(|button| button.label == label)?;
            (meant && here).then(|| (button.data.clone(), sent.message_id.clone()))
        });
        let (data, message_id) = found.ok_or_else(|| format!("there never was a button `{label}`"))?;
        self.counter += 1;
        let event_id = format!("click:{}", self.counter);
        let content = Content::Click { data, message_id, handle: None };
        let (sent_at_ms, addressed) = (world.now(), Addressed::Explicit);
        self.inject(world, Inbound { conversation, place, event_id, sender, sent_at_ms, addressed, content });
        Ok(())
    }
}

fn sender(world: &mut World, kind: Kind, name: &str) -> Sender {
    let shown = name.split('-').map(|word| {
        let mut letters = word.chars();
        letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
    });
    Sender { id: world.names.person(kind, name), name: shown.collect::<Vec<_>>().join(" ") }
}

fn attachment(world: &World, kind: Kind, id: &str, file: &FileSaid) -> Attachment {
    let end = if file.slow { SLOW } else { "" };
    let reference = format!("{id}/{}{end}", file.name);
    if file.there {
        let size = usize::try_from(file.size_bytes.min(1 << 20)).expect("a megabyte fits");
        world.memory(kind).attach(&reference, vec![b'x'; size]);
    }
    let FileSaid { name, media_type, size_bytes, .. } = file.clone();
    Attachment { reference, name, media_type, size_bytes }
}

/// `last` is the bot's last message in the place.
fn message_meant(world: &World, conversation: &ConversationId, word: &str) -> Result<String, String> {
    if word != "last" {
        return Ok(show::message_id(word));
    }
    let shown = world.memory(conversation.kind()).shown(conversation);
    shown.last().map(|shown| shown.message_id.clone()).ok_or_else(|| "the bot has said nothing there".to_owned())
}

/// Discord opens a direct channel of somebody who is written `@id`: both are the same place.
fn is_reached_as(world: &World, conversation: &ConversationId, written: &ConversationId) -> bool {
    let names = &world.names;
    names.path_of(conversation) == names.path_of(written)
}

/// `trust add who=discord:42 expires=7d`: the path, and named values as Discord gives them.
fn named(line: &str) -> Result<(String, Arguments), String> {
    let mut path = Vec::new();
    let mut values: Vec<(String, String)> = Vec::new();
    for word in line.split_whitespace() {
        match (word.split_once('='), values.last_mut()) {
            (Some((name, value)), _) => values.push((name.to_owned(), value.to_owned())),
            (None, Some((_, value))) => {
                value.push(' ');
                value.push_str(word);
            }
            (None, None) => path.push(word),
        }
    }
    if path.is_empty() {
        return Err("a command has a name".to_owned());
    }
    Ok((path.join(" "), Arguments::Named(values)))
}
