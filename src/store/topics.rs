//! Lines of talk.

use anyhow::Result;
use base::{Moment, TopicId};
use channels::{ConversationId, SenderId};

use crate::sql::row;
use crate::{Conn, sql};

/// Whether a topic is talked in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Talked in lately. At most a few of a conversation are.
    Active,
    /// Not talked in for a while; taken up again by talking about it.
    Idle,
    /// Over: no message is placed there any more.
    Closed,
}

impl State {
    /// The word in the row.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Active => "active",
            State::Idle => "idle",
            State::Closed => "closed",
        }
    }
}

/// Who gave a topic its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedBy {
    /// The whole conversation is the topic: a thread.
    Conversation,
    /// Code, from the first words.
    Code,
    /// The classifier.
    Model,
    /// A person; no code or model names it anew.
    Person,
}

impl NamedBy {
    fn as_str(self) -> &'static str {
        match self {
            NamedBy::Conversation => "conversation",
            NamedBy::Code => "code",
            NamedBy::Model => "model",
            NamedBy::Person => "person",
        }
    }
}

/// A topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Its id, which people type in `/topic switch`.
    pub id: TopicId,
    /// The conversation it is in.
    pub conversation: ConversationId,
    /// Its name.
    pub name: String,
    /// What was said in it, in a few words.
    pub summary: String,
    /// Whether it is talked in.
    pub state: State,
    /// Who named it.
    pub named_by: NamedBy,
    /// When somebody last said something in it.
    pub last_activity_at: Moment,
}

row! {
    struct Raw {
        id: i64,
        conversation: String,
        name: String,
        summary: String,
        state: String,
        named_by: String,
        last_activity_at: i64,
    }
}

impl TryFrom<Raw> for Topic {
    type Error = anyhow::Error;
    fn try_from(raw: Raw) -> Result<Topic> {
        let state = match raw.state.as_str() {
            "active" => State::Active,
            "idle" => State::Idle,
            _ => State::Closed,
        };
        let named_by = match raw.named_by.as_str() {
            "conversation" => NamedBy::Conversation,
            "model" => NamedBy::Model,
            "person" => NamedBy::Person,
            _ => NamedBy::Code,
        };
        Ok(Topic {
            id: TopicId(raw.id),
            conversation: raw.conversation.parse()?,
            name: raw.name,
            summary: raw.summary,
            state,
            named_by,
            last_activity_at: raw.last_activity_at,
        })
    }
}

const COLUMNS: &str = "SELECT id, conversation, name, summary, state, named_by, last_activity_at FROM topics";

/// Opens a topic, active. `conversation` and `named_by = Conversation` together are unique.
pub async fn open(
    conn: &mut Conn,
    conversation: &ConversationId,
    name: &str,
    named_by: NamedBy,
    now: Moment,
) -> Result<TopicId> {
    let sql = "INSERT INTO topics (conversation, name, state, named_by, created_at, last_activity_at)
               VALUES ($1, $2, 'active', $3, $4, $4) RETURNING id";
    let id = sql::query_scalar(sql)
        .bind(conversation.as_str())
        .bind(name)
        .bind(named_by.as_str())
        .bind(now)
        .fetch_one(conn)
        .await?;
    Ok(TopicId(id))
}

/// One topic.
pub async fn get(conn: &mut Conn, id: TopicId) -> Result<Option<Topic>> {
    let sql = format!("{COLUMNS} WHERE id = $1");
    let raw: Option<Raw> = sql::query_as(sql).bind(id.0).fetch_optional(conn).await?;
    raw.map(Topic::try_from).transpose()
}

/// The topics of a conversation that are not closed, last talked in first.
pub async fn open_ones(conn: &mut Conn, conversation: &ConversationId) -> Result<Vec<Topic>> {
    let sql =
        format!("{COLUMNS} WHERE conversation = $1 AND state <> 'closed' ORDER BY last_activity_at DESC, id DESC");
    let raws: Vec<Raw> = sql::query_as(sql).bind(conversation.as_str()).fetch_all(conn).await?;
    raws.into_iter().map(Topic::try_from).collect()
}

/// The topic that is the whole conversation, if it is one.
pub async fn whole(conn: &mut Conn, conversation: &ConversationId) -> Result<Option<Topic>> {
    let sql = format!("{COLUMNS} WHERE conversation = $1 AND named_by = 'conversation'");
    let raw: Option<Raw> = sql::query_as(sql).bind(conversation.as_str()).fetch_optional(conn).await?;
    raw.map(Topic::try_from).transpose()
}

/// Every topic that is not closed, last talked in first, at most `limit`.
pub async fn everywhere(conn: &mut Conn, limit: u32) -> Result<Vec<Topic>> {
    let sql = format!("{COLUMNS} WHERE state <> 'closed' ORDER BY last_activity_at DESC, id DESC LIMIT $1");
    let raws: Vec<Raw> = sql::query_as(sql).bind(limit).fetch_all(conn).await?;
    raws.into_iter().map(Topic::try_from).collect()
}

/// Somebody said something in it: active from now on, also if it was idle or closed.
pub async fn touch(conn: &mut Conn, id: TopicId, now: Moment) -> Result<()> {
    let sql = "UPDATE topics SET state = 'active', last_activity_at = max($2, last_activity_at) WHERE id = $1";
    sql::query(sql).bind(id.0).bind(now).execute(conn).await?;
    Ok(())
}

/// Sets the state.
pub async fn set_state(conn: &mut Conn, id: TopicId, state: State) -> Result<()> {
    sql::query("UPDATE topics SET state = $2 WHERE id = $1").bind(id.0).bind(state.as_str()).execute(conn).await?;
    Ok(())
}

/// Makes the least recently used topics of a conversation idle until at most `active_max` are active, never `keep`.
pub async fn keep_within_cap(
    conn: &mut Conn,
    conversation: &ConversationId,
    keep: TopicId,
    active_max: u32,
) -> Result<()> {
    let sql = "UPDATE topics SET state = 'idle' WHERE id IN (
                 SELECT id FROM topics WHERE conversation = $1 AND state = 'active' AND id <> $2
                 ORDER BY last_activity_at DESC, id DESC LIMIT -1 OFFSET $3)";
    let others = i64::from(active_max.max(1)) - 1;
    sql::query(sql).bind(conversation.as_str()).bind(keep.0).bind(others).execute(conn).await?;
    Ok(())
}

/// Gives it a name.
pub async fn rename(conn: &mut Conn, id: TopicId, name: &str, named_by: NamedBy) -> Result<()> {
    // A thread keeps its mark: it is the topic of its conversation whatever it is called.
    let sql = "UPDATE topics SET name = $2,
               named_by = CASE named_by WHEN 'conversation' THEN named_by ELSE $3 END WHERE id = $1";
    sql::query(sql).bind(id.0).bind(name).bind(named_by.as_str()).execute(conn).await?;
    Ok(())
}

/// It got an answer: what was said in it, and that it is active now.
pub async fn answered(conn: &mut Conn, id: TopicId, summary: &str, now: Moment) -> Result<()> {
    let sql = "UPDATE topics SET summary = $2, state = 'active', last_activity_at = max($3, last_activity_at)
               WHERE id = $1";
    sql::query(sql).bind(id.0).bind(summary).bind(now).execute(conn).await?;
    Ok(())
}

/// Makes topics idle that were last talked in before `idle_before`, and closes those before `closed_before`; never
/// one with work in it. How many changed.
pub async fn age(conn: &mut Conn, idle_before: Moment, closed_before: Moment) -> Result<u64> {
    let sql = "UPDATE topics SET state = CASE WHEN last_activity_at < $2 THEN 'closed' ELSE 'idle' END
               WHERE ((state = 'active' AND last_activity_at < $1) OR (state = 'idle' AND last_activity_at < $2))
                 AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.lane = 'main/' || topics.id
                                 AND tasks.state IN ('queued', 'running'))";
    Ok(sql::query(sql).bind(idle_before).bind(closed_before).execute(conn).await?.rows_affected())
}

/// A person chose a topic for what they say next here.
pub async fn choose(
    conn: &mut Conn,
    conversation: &ConversationId,
    sender: &SenderId,
    topic: TopicId,
    now: Moment,
) -> Result<()> {
    let sql = "INSERT INTO topic_choices (conversation, sender, topic, chosen_at) VALUES ($1, $2, $3, $4)
               ON CONFLICT DO UPDATE SET topic = $3, chosen_at = $4";
    sql::query(sql).bind(conversation.as_str()).bind(sender.as_str()).bind(topic.0).bind(now).execute(conn).await?;
    Ok(())
}

/// The topic that a person chose here, while it is active; when it goes idle the choice is over.
pub async fn choice(conn: &mut Conn, conversation: &ConversationId, sender: &SenderId) -> Result<Option<TopicId>> {
    let sql = "SELECT c.topic FROM topic_choices c JOIN topics t ON t.id = c.topic
               WHERE c.conversation = $1 AND c.sender = $2 AND t.state = 'active'";
    let id: Option<i64> =
        sql::query_scalar(sql).bind(conversation.as_str()).bind(sender.as_str()).fetch_optional(conn).await?;
    Ok(id.map(TopicId))
}

/// A conversation has another id now.
pub async fn move_to(conn: &mut Conn, from: &ConversationId, to: &ConversationId) -> Result<u64> {
    let sql = "UPDATE topics SET conversation = $2 WHERE conversation = $1";
    Ok(sql::query(sql).bind(from.as_str()).bind(to.as_str()).execute(conn).await?.rows_affected())
}

/// A person's choice here is over.
pub async fn forget_choice(conn: &mut Conn, conversation: &ConversationId, sender: &SenderId) -> Result<()> {
    let sql = "DELETE FROM topic_choices WHERE conversation = $1 AND sender = $2";
    sql::query(sql).bind(conversation.as_str()).bind(sender.as_str()).execute(conn).await?;
    Ok(())
}
