//! What came in, once.

use anyhow::{Context, Result};
use base::{InboxId, Moment, RunId, TopicId};
use channels::{ConversationId, Inbound, Kind, SenderId};

use crate::{Conn, sql};

/// Where an inbox row is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Of an unknown sender: kept, shown to nobody, handed over if they are trusted.
    Held,
    /// Of a sender who is denied: never to be read.
    Denied,
    /// To be answered by code or placed in a topic.
    Received,
    /// In a topic's mailbox.
    Placed,
    /// Part of a turn.
    Taken,
    /// Done with: answered by code, or needing no answer.
    Answered,
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            State::Held => "held",
            State::Denied => "denied",
            State::Received => "received",
            State::Placed => "placed",
            State::Taken => "taken",
            State::Answered => "answered",
        }
    }
}

/// A row that is read back.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its id; rows are in the order in which they came.
    pub id: InboxId,
    /// What came in.
    pub event: Inbound,
}

type Raw = (i64, String);

fn row((id, event): Raw) -> Result<Row> {
    let event = serde_json::from_str(&event).with_context(|| format!("read inbox row {id}"))?;
    Ok(Row { id: InboxId(id), event })
}

/// Takes an event in; `None` where it is known already.
pub async fn insert(conn: &mut Conn, event: &Inbound, state: State, now: Moment) -> Result<Option<InboxId>> {
    let sql = "INSERT INTO inbox (conversation, event_id, sender, received_at, event, state)
               VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING RETURNING id";
    let id: Option<i64> = sql::query_scalar(sql)
        .bind(event.conversation.as_str())
        .bind(&event.event_id)
        .bind(event.sender.id.as_str())
        .bind(now)
        .bind(serde_json::to_string(event)?)
        .bind(state.as_str())
        .fetch_optional(conn)
        .await?;
    Ok(id.map(InboxId))
}

/// The conversations in which something waits to be answered or placed.
pub async fn waiting_conversations(conn: &mut Conn) -> Result<Vec<ConversationId>> {
    let sql = "SELECT DISTINCT conversation FROM inbox WHERE state = 'received'";
    let found: Vec<String> = sql::query_scalar(sql).fetch_all(conn).await?;
    found.into_iter().map(|text| Ok(text.parse()?)).collect()
}

/// The oldest row of a conversation that waits to be answered or placed.
pub async fn next_received(conn: &mut Conn, conversation: &ConversationId) -> Result<Option<Row>> {
    let sql = "SELECT id, event FROM inbox WHERE state = 'received' AND conversation = $1 ORDER BY id LIMIT 1";
    let found: Option<Raw> = sql::query_as(sql).bind(conversation.as_str()).fetch_optional(conn).await?;
    found.map(row).transpose()
}

/// Puts a received row into a topic's mailbox. `false` where somebody did already.
pub async fn place(conn: &mut Conn, id: InboxId, topic: TopicId) -> Result<bool> {
    let sql = "UPDATE inbox SET state = 'placed', topic = $2 WHERE id = $1 AND state = 'received'";
    Ok(sql::query(sql).bind(id.0).bind(topic.0).execute(conn).await?.rows_affected() > 0)
}

/// Makes a received copy of a row for one more topic; `None` where there is one.
pub async fn copy_for(conn: &mut Conn, id: InboxId, topic: TopicId) -> Result<Option<InboxId>> {
    let sql = "INSERT INTO inbox (conversation, event_id, sender, received_at, event, state)
               SELECT conversation, event_id || '+' || $2, sender, received_at, event, 'received' FROM inbox WHERE id = $1
               ON CONFLICT DO NOTHING RETURNING id";
    let copy: Option<i64> = sql::query_scalar(sql).bind(id.0).bind(topic.0).fetch_optional(conn).await?;
    Ok(copy.map(InboxId))
}

/// Marks a received row as done with. `false` where it was already.
pub async fn answer(conn: &mut Conn, id: InboxId) -> Result<bool> {
    let sql = "UPDATE inbox SET state = 'answered' WHERE id = $1 AND state = 'received'";
    Ok(sql::query(sql).bind(id.0).execute(conn).await?.rows_affected() > 0)
}

/// The event of one row.
pub async fn event(conn: &mut Conn, id: InboxId) -> Result<Option<Inbound>> {
    let sql = "SELECT id, event FROM inbox WHERE id = $1";
    let found: Option<Raw> = sql::query_as(sql).bind(id.0).fetch_optional(conn).await?;
    Ok(found.map(row).transpose()?.map(|row| row.event))
}

/// The topic's mailbox, oldest first.
pub async fn mailbox(conn: &mut Conn, topic: TopicId, limit: u32) -> Result<Vec<Row>> {
    let sql = "SELECT id, event FROM inbox WHERE topic = $1 AND state = 'placed' ORDER BY id LIMIT $2";
    let rows: Vec<Raw> = sql::query_as(sql).bind(topic.0).bind(limit).fetch_all(conn).await?;
    rows.into_iter().map(row).collect()
}

/// Whether a message waits in the topic's mailbox.
pub async fn waits(conn: &mut Conn, topic: TopicId) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM inbox WHERE topic = $1 AND state = 'placed')";
    sql::query_scalar(sql).bind(topic.0).fetch_one(conn).await
}

/// Whether any of these messages still waits in its mailbox.
pub async fn any_waits(conn: &mut Conn, ids: &[InboxId]) -> Result<bool> {
    let ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
    let sql = "SELECT EXISTS (SELECT 1 FROM inbox WHERE id IN (SELECT value FROM json_each($1)) AND state = 'placed')";
    sql::query_scalar(sql).bind(serde_json::to_string(&ids)?).fetch_one(conn).await
}

/// Makes a waiting message part of a turn. The message as it is now; `None` where it waits no more: a turn has it, or
/// nobody is to read it.
pub async fn take(conn: &mut Conn, id: InboxId, run: RunId) -> Result<Option<Row>> {
    let sql = "UPDATE inbox SET state = 'taken', run = $2 WHERE id = $1 AND state = 'placed' RETURNING id, event";
    let taken: Option<Raw> = sql::query_as(sql).bind(id.0).bind(run.0).fetch_optional(conn).await?;
    taken.map(row).transpose()
}

/// Marks the oldest `limit` messages of a topic's mailbox as done with: no turn takes them in. How many there were.
pub async fn pass_over(conn: &mut Conn, topic: TopicId, limit: u32) -> Result<u64> {
    let sql = "UPDATE inbox SET state = 'answered' WHERE id IN (
                 SELECT id FROM inbox WHERE topic = $1 AND state = 'placed' ORDER BY id LIMIT $2)";
    Ok(sql::query(sql).bind(topic.0).bind(limit).execute(conn).await?.rows_affected())
}

/// Everything that became part of a turn, oldest first.
pub async fn of_run(conn: &mut Conn, run: RunId) -> Result<Vec<Row>> {
    let sql = "SELECT id, event FROM inbox WHERE run = $1 ORDER BY id";
    let rows: Vec<Raw> = sql::query_as(sql).bind(run.0).fetch_all(conn).await?;
    rows.into_iter().map(row).collect()
}

/// The last things that people said in a topic, oldest first.
pub async fn last_of_topic(conn: &mut Conn, topic: TopicId, limit: u32) -> Result<Vec<Inbound>> {
    let sql = "SELECT id, event FROM inbox WHERE topic = $1 AND state IN ('placed', 'taken') ORDER BY id DESC LIMIT $2";
    let mut rows: Vec<Raw> = sql::query_as(sql).bind(topic.0).bind(limit).fetch_all(conn).await?;
    rows.reverse();
    rows.into_iter().map(|raw| Ok(row(raw)?.event)).collect()
}

/// The topic that a message of somebody's went to.
pub async fn topic_of(conn: &mut Conn, conversation: &ConversationId, event_id: &str) -> Result<Option<TopicId>> {
    let sql = "SELECT topic FROM inbox WHERE conversation = $1 AND event_id = $2 AND topic IS NOT NULL";
    let topic: Option<i64> =
        sql::query_scalar(sql).bind(conversation.as_str()).bind(event_id).fetch_optional(conn).await?;
    Ok(topic.map(TopicId))
}

/// Who wrote a message that we know, by the platform's id. Denied and held messages count: an admin answers them to
/// say who is meant.
pub async fn author_of(conn: &mut Conn, conversation: &ConversationId, event_id: &str) -> Result<Option<SenderId>> {
    let sql = "SELECT sender FROM inbox WHERE conversation = $1 AND event_id = $2";
    let sender: Option<String> =
        sql::query_scalar(sql).bind(conversation.as_str()).bind(event_id).fetch_optional(conn).await?;
    Ok(sender.map(|sender| sender.parse()).transpose()?)
}

/// Who is called so on a platform, by the names that came with their latest messages: the whole name, or the `@name`
/// in it. At most five.
pub async fn senders_called(conn: &mut Conn, kind: Kind, name: &str) -> Result<Vec<SenderId>> {
    let sql = "SELECT DISTINCT sender FROM (SELECT sender, event FROM inbox ORDER BY id DESC LIMIT 5000)
               WHERE sender LIKE $1 || ':%' AND (lower(json_extract(event, '$.sender.name')) = lower($2)
                 OR lower(json_extract(event, '$.sender.name')) LIKE '%(@' || lower($2) || ')') LIMIT 5";
    let found: Vec<String> = sql::query_scalar(sql).bind(kind.as_str()).bind(name).fetch_all(conn).await?;
    found.into_iter().map(|text| Ok(text.parse()?)).collect()
}

/// A message was changed before anybody read it: the waiting row gets the new text. `false` where it was read, or
/// is not known.
pub async fn amend(conn: &mut Conn, conversation: &ConversationId, event_id: &str, text: &str) -> Result<bool> {
    let sql = "UPDATE inbox SET event = json_set(event, '$.content.text.text', $3)
               WHERE conversation = $1 AND event_id = $2 AND state IN ('held', 'received', 'placed')
                 AND json_extract(event, '$.content.text.text') IS NOT NULL";
    let done = sql::query(sql).bind(conversation.as_str()).bind(event_id).bind(text).execute(conn).await?;
    Ok(done.rows_affected() > 0)
}

/// Hands over what a sender wrote while unknown, in one conversation with its threads or in all. How many there were.
pub async fn release(conn: &mut Conn, sender: &SenderId, conversation: Option<&ConversationId>) -> Result<u64> {
    let sql = "UPDATE inbox SET state = 'received' WHERE sender = $1 AND state = 'held'
               AND ($2 IS NULL OR conversation = $2 OR json_extract(event, '$.place.thread.parent') = $2)";
    settle_unread(conn, sql, sender, conversation).await
}

/// Marks what a sender wrote and no turn has taken in yet as never to be read. How many there were.
pub async fn bury(conn: &mut Conn, sender: &SenderId, conversation: Option<&ConversationId>) -> Result<u64> {
    let sql =
        "UPDATE inbox SET state = 'denied', topic = NULL WHERE sender = $1 AND state IN ('held', 'received', 'placed')
               AND ($2 IS NULL OR conversation = $2 OR json_extract(event, '$.place.thread.parent') = $2)";
    settle_unread(conn, sql, sender, conversation).await
}

/// What holds in a place holds in its threads.
async fn settle_unread(
    conn: &mut Conn,
    sql: &'static str,
    sender: &SenderId,
    conversation: Option<&ConversationId>,
) -> Result<u64> {
    let place = conversation.map(ConversationId::as_str);
    Ok(sql::query(sql).bind(sender.as_str()).bind(place).execute(conn).await?.rows_affected())
}

/// How many messages of a sender are kept unread.
pub async fn held_count(conn: &mut Conn, sender: &SenderId) -> Result<i64> {
    let sql = "SELECT count(*) FROM inbox WHERE sender = $1 AND state = 'held'";
    sql::query_scalar(sql).bind(sender.as_str()).fetch_one(conn).await
}

/// Of what a sender wrote while unknown, only the newest `keep` messages are kept for reading.
pub async fn bury_oldest(conn: &mut Conn, sender: &SenderId, keep: i64) -> Result<()> {
    let sql = "UPDATE inbox SET state = 'denied' WHERE id IN (
                 SELECT id FROM inbox WHERE sender = $1 AND state = 'held' ORDER BY id DESC LIMIT -1 OFFSET $2)";
    sql::query(sql).bind(sender.as_str()).bind(keep).execute(conn).await?;
    Ok(())
}

/// How many rows are in each state, by the state's name.
pub async fn counts(conn: &mut Conn) -> Result<Vec<(String, i64)>> {
    sql::query_as("SELECT state, count(*) FROM inbox GROUP BY state ORDER BY state").fetch_all(conn).await
}

#[cfg(test)]
mod tests;
