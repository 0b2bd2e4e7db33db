//! Which line of talk a message belongs to.
//!
//! A message gets a topic in two steps. [`place`] knows the cases that need no judgement: a thread is a topic, a
//! hint or a choice wins, an answer joins what it answers, the first message opens one. The rest is judged by a
//! classifier over [`candidates`], and [`settle`] makes its word true. A topic is never refused for want of room:
//! at the cap the least recently used goes idle.

mod classify;
mod hint;

use anyhow::Result;
use base::{Moment, TopicId, text};
use channels::{Content, ConversationId, Inbound, Place, Text};
use store::topics::{NamedBy, Topic};
use store::{Conn, inbox, outbox, topics};

pub use classify::{Candidate, Judgement, candidates, from_words, parse, question};
pub use hint::hint;

/// What a topic is called before anybody has said anything in it that gives a name.
const NAMELESS: &str = "New topic";
/// The longest name that code gives.
const NAME_CHARS: usize = 48;

/// How a conversation's topics are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// At most so many are active; the others wait, idle.
    pub active_max: u32,
}

/// Places a message where no judgement is needed. `None`: ask the classifier.
pub async fn place(conn: &mut Conn, event: &Inbound, rules: Rules, now: Moment) -> Result<Option<TopicId>> {
    let conversation = &event.conversation;
    if let Place::Thread { title, .. } = &event.place {
        return Ok(Some(whole(conn, conversation, title, now).await?));
    }
    let Content::Text(said) = &event.content else { return Ok(None) };
    let open = topics::open_ones(conn, conversation).await?;
    let Some(topic) = decided(conn, event, said, &open).await? else {
        if open.is_empty() {
            let name = name_of(&said.text);
            return Ok(Some(open_new(conn, conversation, &name, NamedBy::Code, rules, now).await?));
        }
        return Ok(None);
    };
    use_topic(conn, conversation, topic, rules, now).await?;
    Ok(Some(topic))
}

/// What hint, choice or answered message say, in this order.
async fn decided(conn: &mut Conn, event: &Inbound, said: &Text, open: &[Topic]) -> Result<Option<TopicId>> {
    if let Some(topic) = hint(&said.text, open) {
        return Ok(Some(topic));
    }
    if let Some(topic) = topics::choice(conn, &event.conversation, &event.sender.id).await? {
        return Ok(Some(topic));
    }
    let Some(message) = &said.reply_to else { return Ok(None) };
    match outbox::topic_of(conn, &event.conversation, message).await? {
        Some(topic) => Ok(Some(topic)),
        None => inbox::topic_of(conn, &event.conversation, message).await,
    }
}

/// The topic that a whole thread is.
async fn whole(conn: &mut Conn, conversation: &ConversationId, title: &str, now: Moment) -> Result<TopicId> {
    if let Some(topic) = topics::whole(conn, conversation).await? {
        topics::touch(conn, topic.id, now).await?;
        return Ok(topic.id);
    }
    let name = match text::headline(title, NAME_CHARS) {
        name if name.is_empty() => NAMELESS.to_owned(),
        name => name,
    };
    topics::open(conn, conversation, &name, NamedBy::Conversation, now).await
}

/// Makes a judgement true. Where the classifier failed or was unsure, the most recent topic gets the message.
pub async fn settle(
    conn: &mut Conn,
    event: &Inbound,
    judgement: Option<&Judgement>,
    rules: Rules,
    now: Moment,
) -> Result<Vec<TopicId>> {
    let conversation = &event.conversation;
    // Looked up anew: the judgement took its time, and a topic may have been closed meanwhile.
    let open = topics::open_ones(conn, conversation).await?;
    let known = |id: TopicId| open.iter().any(|topic| topic.id == id);
    let joined: Vec<TopicId> = match judgement {
        Some(Judgement::Joins(ids)) => ids.iter().copied().filter(|id| known(*id)).collect(),
        Some(Judgement::Opens(name)) => {
            let (name, named_by) = match text::headline(name, NAME_CHARS) {
                name if name.is_empty() => (name_of(said(event)), NamedBy::Code),
                name => (name, NamedBy::Model),
            };
            return Ok(vec![open_new(conn, conversation, &name, named_by, rules, now).await?]);
        }
        None => Vec::new(),
    };
    let joined = if joined.is_empty() { open.first().map(|topic| topic.id).into_iter().collect() } else { joined };
    if joined.is_empty() {
        return Ok(vec![open_new(conn, conversation, &name_of(said(event)), NamedBy::Code, rules, now).await?]);
    }
    for topic in &joined {
        use_topic(conn, conversation, *topic, rules, now).await?;
    }
    Ok(joined)
}

/// Opens a topic by a person's word; nameless without one.
pub async fn open_named(
    conn: &mut Conn,
    conversation: &ConversationId,
    name: &str,
    rules: Rules,
    now: Moment,
) -> Result<TopicId> {
    let name = text::headline(name, NAME_CHARS);
    let (name, named_by) = if name.is_empty() { (NAMELESS.to_owned(), NamedBy::Code) } else { (name, NamedBy::Person) };
    open_new(conn, conversation, &name, named_by, rules, now).await
}

async fn open_new(
    conn: &mut Conn,
    conversation: &ConversationId,
    name: &str,
    named_by: NamedBy,
    rules: Rules,
    now: Moment,
) -> Result<TopicId> {
    let topic = topics::open(conn, conversation, name, named_by, now).await?;
    topics::keep_within_cap(conn, conversation, topic, rules.active_max).await?;
    Ok(topic)
}

/// Takes a topic up: active, the latest, and the others within the cap.
pub async fn use_topic(
    conn: &mut Conn,
    conversation: &ConversationId,
    topic: TopicId,
    rules: Rules,
    now: Moment,
) -> Result<()> {
    topics::touch(conn, topic, now).await?;
    topics::keep_within_cap(conn, conversation, topic, rules.active_max).await
}

/// A topic that code has named gets a better name from the first words said in it.
pub async fn name_from_words(conn: &mut Conn, topic: &Topic, words: &str) -> Result<()> {
    if topic.named_by == NamedBy::Code && topic.name == NAMELESS && !words.trim().is_empty() {
        topics::rename(conn, topic.id, &name_of(words), NamedBy::Code).await?;
    }
    Ok(())
}

/// What a person means by `3`, `#3` or a name, among the topics of a conversation that are not closed.
pub fn find<'a>(open: &'a [Topic], wanted: &str) -> Option<&'a Topic> {
    let wanted = wanted.trim().trim_start_matches('#').to_lowercase();
    let by_id = open.iter().find(|topic| topic.id.to_string() == wanted);
    let by_name = || open.iter().find(|topic| topic.name.to_lowercase() == wanted);
    let by_start =
        || match open.iter().filter(|topic| topic.name.to_lowercase().starts_with(&wanted)).collect::<Vec<_>>() {
            starts if starts.len() == 1 && !wanted.is_empty() => Some(starts[0]),
            _ => None,
        };
    by_id.or_else(by_name).or_else(by_start)
}

fn name_of(words: &str) -> String {
    match text::headline(words, NAME_CHARS) {
        name if name.is_empty() => NAMELESS.to_owned(),
        name => name,
    }
}

fn said(event: &Inbound) -> &str {
    match &event.content {
        Content::Text(said) => &said.text,
        _ => "",
    }
}
