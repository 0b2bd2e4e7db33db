//! An update → what came in. Pure but for the user names that are remembered on the way.

use teloxide::types::{
    CallbackQuery, MaybeInaccessibleMessage, MediaKind, Message, MessageEntity, MessageKind, Update, UpdateKind, User,
};

use super::marks::{Mark, MarkKind, Marked};
use super::names::Names;
use super::{attachment, place};
use crate::{
    Addressed, Answering, Arguments, Content, ConversationId, Hearing, Inbound, Kind, Place, Sender, SenderId, Text,
};

/// Who the bot is, from `getMe`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
pub(super) struct Me {
    pub id: u64,
    pub first_name: String,
    #[serde(default)]
    pub username: String,
    /// Whether privacy mode is off, so that the bot sees all that is said in groups.
    #[serde(default)]
    pub can_read_all_group_messages: bool,
}

/// What the reader needs to know beside the update.
pub(super) struct Reader<'a> {
    pub me: &'a Me,
    pub hearing: &'a Hearing,
    pub names: &'a Names,
    /// The time of events to which Telegram gives none.
    pub now_ms: i64,
}

/// A message with a text, a caption or a file, in the parts from which every event is made.
struct Said<'a> {
    message: &'a Message,
    conversation: ConversationId,
    place: Place,
    sender: Sender,
    media: &'a MediaKind,
    marked: Marked<'a>,
    reply_to: Option<&'a Message>,
}

impl Reader<'_> {
    /// What a host may have to act on in this update, if anything.
    pub(super) fn read(&self, update: &Update) -> Option<Inbound> {
        match &update.kind {
            UpdateKind::Message(message) => self.message(message),
            UpdateKind::EditedMessage(message) => self.edit(message, update.id.0),
            UpdateKind::CallbackQuery(query) => self.click(query),
            _ => None,
        }
    }

    fn message(&self, message: &Message) -> Option<Inbound> {
        let said = self.said(message)?;
        if let Some((command, end)) = said.marked.command() {
            return self.command(&said, command, end);
        }
        let addressed = self.addressed(&said)?;
        let attachments = attachment::of(said.media);
        if said.marked.text.is_empty() && attachments.is_empty() {
            return None;
        }
        let content = Content::Text(Text {
            text: self.without_own_mention(&said.marked).to_owned(),
            attachments,
            reply_to: said.reply_to.map(|reply| reply.id.0.to_string()),
            reply_to_sender: said.reply_to.and_then(author),
            mentions: self.mentions(&said.marked),
        });
        Some(said.event(message.id.0.to_string(), message.date.timestamp_millis(), addressed, content))
    }

    fn edit(&self, message: &Message, update: u32) -> Option<Inbound> {
        let said = self.said(message)?;
        if said.marked.text.is_empty() {
            return None;
        }
        let addressed = self.addressed(&said)?;
        let text = self.without_own_mention(&said.marked).to_owned();
        let content = Content::Edit { message_id: message.id.0.to_string(), text };
        let at = message.edit_date().map_or(self.now_ms, |date| date.timestamp_millis());
        // Two edits in one second have the same date; the update's number is the same at each redelivery.
        Some(said.event(format!("edit:{}:{update}", message.id.0), at, addressed, content))
    }

    fn command(&self, said: &Said<'_>, command: &str, end: usize) -> Option<Inbound> {
        let (name, bot) = match command[1..].split_once('@') {
            Some((name, bot)) => (name, Some(bot)),
            None => (&command[1..], None),
        };
        if bot.is_some_and(|bot| !bot.eq_ignore_ascii_case(&self.me.username)) || self.rule(said) == Answering::Never {
            return None;
        }
        let content = Content::Command {
            name: name.to_lowercase(),
            arguments: Arguments::Line(self.arguments(&said.marked, end)),
            reply_to: said.reply_to.map(|reply| reply.id.0.to_string()),
            reply_to_sender: said.reply_to.and_then(author),
            handle: None,
        };
        let message = said.message;
        let at = message.date.timestamp_millis();
        Some(said.event(message.id.0.to_string(), at, Addressed::Explicit, content))
    }

    fn click(&self, query: &CallbackQuery) -> Option<Inbound> {
        let data = query.data.clone()?;
        let sender = self.person(&query.from)?;
        let (message_id, conversation, place) = match query.message.as_ref()? {
            MaybeInaccessibleMessage::Regular(message) => {
                let (conversation, place) = place::of_message(message);
                (message.id, conversation, place)
            }
            MaybeInaccessibleMessage::Inaccessible(message) => {
                let place = if message.chat.is_private() {
                    Place::Direct
                } else {
                    Place::Group { title: message.chat.title().unwrap_or_default().to_owned() }
                };
                (message.message_id, place::chat_id(message.chat.id), place)
            }
        };
        Some(Inbound {
            conversation,
            place,
            event_id: format!("click:{}", query.id.0),
            sender,
            sent_at_ms: self.now_ms,
            addressed: Addressed::Explicit,
            content: Content::Click { data, message_id: message_id.0.to_string(), handle: None },
        })
    }

    /// Takes a message apart. `None` for what no person has said to a chat with the bot: service messages, posts of
    /// channels, what other bots say.
    fn said<'m>(&self, message: &'m Message) -> Option<Said<'m>> {
        let MessageKind::Common(common) = &message.kind else { return None };
        if common.is_automatic_forward || message.chat.is_channel() {
            return None;
        }
        if let MediaKind::Migration(migration) = &common.media_kind {
            tracing::info!(chat = message.chat.id.0, ?migration, "a Telegram group has become a supergroup");
            return None;
        }
        let sender = match (&message.sender_chat, &message.from) {
            // An anonymous admin, or somebody who speaks as a channel: who it is, nobody can know.
            (Some(chat), _) => author_chat(chat),
            (None, Some(user)) => self.person(user)?,
            (None, None) => return None,
        };
        let (conversation, place) = place::of_message(message);
        let none: &[MessageEntity] = &[];
        let marked = match (message.text(), message.caption()) {
            (Some(text), _) => Marked::new(text, message.entities().unwrap_or(none)),
            (None, Some(caption)) => Marked::new(caption, message.caption_entities().unwrap_or(none)),
            (None, None) => Marked::new("", none),
        };
        // What stands in a topic without answering anything names the topic's first message as its reply.
        let root = message.thread_id.filter(|_| message.is_topic_message).map(|thread| thread.0);
        let reply_to = common.reply_to_message.as_deref().filter(|reply| {
            let opens_topic = reply.forum_topic_created().is_some() || Some(reply.id) == root;
            !opens_topic
        });
        if let Some(user) = reply_to.and_then(|reply| reply.from.as_ref())
            && !user.is_bot
        {
            self.names.saw(&of_user(user), user.username.as_deref());
        }
        Some(Said { message, conversation, place, sender, media: &common.media_kind, marked, reply_to })
    }

    /// A person, remembered under their user name. `None` for a bot.
    fn person(&self, user: &User) -> Option<Sender> {
        if user.is_bot {
            return None;
        }
        let sender = of_user(user);
        self.names.saw(&sender, user.username.as_deref());
        Some(sender)
    }

    fn rule(&self, said: &Said<'_>) -> Answering {
        let parent = match &said.place {
            _ if said.message.chat.is_private() => return Answering::Always,
            Place::Thread { parent, .. } => Some(parent),
            Place::Direct | Place::Group { .. } => None,
        };
        self.hearing.rule(&said.conversation, parent)
    }

    /// How a message speaks to the bot, `None` if it does not.
    fn addressed(&self, said: &Said<'_>) -> Option<Addressed> {
        if said.message.chat.is_private() {
            return Some(Addressed::Direct);
        }
        let rule = self.rule(said);
        if rule == Answering::Never {
            return None;
        }
        if said.marked.marks.iter().any(|mark| self.is_me(&said.marked, mark)) {
            return Some(Addressed::Mention);
        }
        let answers = said.reply_to.and_then(|reply| reply.from.as_ref()).is_some_and(|user| user.id.0 == self.me.id);
        if answers {
            return Some(Addressed::Reply);
        }
        (rule == Answering::Always).then_some(Addressed::Overheard)
    }

    /// Whether a mark means the bot: `@hive_bot`, `/anything@hive_bot`, or a mention of its user.
    fn is_me(&self, marked: &Marked<'_>, mark: &Mark<'_>) -> bool {
        let mine = |name: &str| !self.me.username.is_empty() && name.eq_ignore_ascii_case(&self.me.username);
        match mark.kind {
            MarkKind::Name(name) => mine(name),
            MarkKind::User(user) => user.id.0 == self.me.id,
            MarkKind::Command => marked.text[mark.range.clone()].split_once('@').is_some_and(|(_, bot)| mine(bot)),
        }
    }

    /// The text without a mention of the bot at its start.
    fn without_own_mention<'t>(&self, marked: &Marked<'t>) -> &'t str {
        let start = marked.text.len() - marked.text.trim_start().len();
        let first = marked.marks.iter().find(|mark| mark.range.start == start);
        match first {
            Some(mark) if !matches!(mark.kind, MarkKind::Command) && self.is_me(marked, mark) => {
                marked.text[mark.range.end..].trim_start()
            }
            _ => marked.text,
        }
    }

    /// The other people whom a text mentions, once each, in their order.
    fn mentions(&self, marked: &Marked<'_>) -> Vec<Sender> {
        let mut mentions: Vec<Sender> = Vec::new();
        for mark in marked.marks.iter().filter(|mark| !self.is_me(marked, mark)) {
            if let Some(sender) = self.mentioned(mark)
                && !mentions.iter().any(|known| known.id == sender.id)
            {
                mentions.push(sender);
            }
        }
        mentions
    }

    fn mentioned(&self, mark: &Mark<'_>) -> Option<Sender> {
        match mark.kind {
            MarkKind::User(user) => Some(of_user(user)),
            MarkKind::Name(name) => self.names.owner(name),
            MarkKind::Command => None,
        }
    }

    /// What follows a command, with each mention of a known person as their address: a line of words can carry
    /// `telegram:42`, and a name that anybody may take cannot name a person.
    fn arguments(&self, marked: &Marked<'_>, from: usize) -> String {
        let mut line = String::new();
        let mut at = from;
        for mark in &marked.marks {
            if mark.range.start < at {
                continue;
            }
            if let Some(sender) = self.mentioned(mark) {
                line.push_str(&marked.text[at..mark.range.start]);
                line.push_str(sender.id.as_str());
                at = mark.range.end;
            }
        }
        line.push_str(&marked.text[at..]);
        line.trim().to_owned()
    }
}

impl Said<'_> {
    fn event(&self, event_id: String, sent_at_ms: i64, addressed: Addressed, content: Content) -> Inbound {
        Inbound {
            conversation: self.conversation.clone(),
            place: self.place.clone(),
            event_id,
            sender: self.sender.clone(),
            sent_at_ms,
            addressed,
            content,
        }
    }
}

/// Who wrote a message: the chat in whose name it was written, or the user, bots included.
fn author(message: &Message) -> Option<Sender> {
    match &message.sender_chat {
        Some(chat) => Some(author_chat(chat)),
        None => message.from.as_ref().map(of_user),
    }
}

fn author_chat(chat: &teloxide::types::Chat) -> Sender {
    let id = SenderId::new(Kind::Telegram, chat.id.0);
    Sender { id, name: chat.title().unwrap_or_default().to_owned() }
}

fn of_user(user: &User) -> Sender {
    Sender { id: SenderId::new(Kind::Telegram, user.id.0), name: user.full_name() }
}
