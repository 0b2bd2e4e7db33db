//! What goes out, one platform request a row, in the order of its conversation.

use std::time::Duration;

use anyhow::{Context, Result};
use base::{Moment, OutboxId, RunId, TopicId, clock};
use channels::{Action, ConversationId, ReplyHandle};

use crate::sql::row;
use crate::{Conn, sql};

/// The longest that a row is put off, in milliseconds. A platform that wants more says so again.
const PUT_OFF_MAX_MS: Moment = 3_600_000;

/// A row to be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct New {
    /// Where to.
    pub conversation: ConversationId,
    /// The topic it belongs to: an answer to this message joins it.
    pub topic: Option<TopicId>,
    /// The turn it came from.
    pub run: Option<RunId>,
    /// What to do there.
    pub action: Action,
    /// The row whose message an edit or delete is about; the action's own message id is then left empty.
    pub target: Option<OutboxId>,
    /// The message it answers.
    pub reply_to: Option<String>,
    /// The interaction it answers.
    pub handle: Option<ReplyHandle>,
}

impl New {
    /// A message that belongs to no turn.
    pub fn message(conversation: &ConversationId, action: Action) -> New {
        New {
            conversation: conversation.clone(),
            topic: None,
            run: None,
            action,
            target: None,
            reply_to: None,
            handle: None,
        }
    }
}

/// A row that is read back.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its id: part of the platform's idempotency key.
    pub id: OutboxId,
    /// Where to.
    pub conversation: ConversationId,
    /// The topic.
    pub topic: Option<TopicId>,
    /// The turn.
    pub run: Option<RunId>,
    /// What to do there; of a row with a target, already about the message that the target became.
    pub action: Action,
    /// It has a target, and that never became a message.
    pub target_lost: bool,
    /// The message it answers.
    pub reply_to: Option<String>,
    /// The interaction it answers.
    pub handle: Option<ReplyHandle>,
    /// An attempt was begun and nothing was heard of it: the process ended meanwhile.
    pub cut_off: bool,
    /// Attempts so far.
    pub attempts: i64,
    /// When it was first tried.
    pub first_attempt_at: Option<Moment>,
    /// When it may be tried.
    pub due_at: Moment,
}

impl Row {
    /// Whether it may be sent at `now`: it was never put off, or its moment has come, or is further away than anything is
    /// put off. Then the clock was set back since, and nobody waits until it is there again.
    pub fn is_due(&self, now: Moment) -> bool {
        let put_off = self.attempts > 0 && self.first_attempt_at.is_none_or(|first| self.due_at > first);
        !put_off || self.due_at <= now || self.due_at > now + PUT_OFF_MAX_MS
    }
}

row! {
    struct Raw {
        id: i64,
        conversation: String,
        topic: Option<i64>,
        run: Option<i64>,
        state: String,
        action: String,
        target: Option<i64>,
        target_message: Option<String>,
        reply_to: Option<String>,
        handle: Option<String>,
        attempts: i64,
        first_attempt_at: Option<i64>,
        due_at: i64,
    }
}

impl TryFrom<Raw> for Row {
    type Error = anyhow::Error;
    fn try_from(raw: Raw) -> Result<Row> {
        let context = || format!("read outbox row {}", raw.id);
        let mut action: Action = serde_json::from_str(&raw.action).with_context(context)?;
        if let (Some(found), Action::Edit { message_id, .. } | Action::Delete { message_id }) =
            (&raw.target_message, &mut action)
        {
            message_id.clone_from(found);
        }
        Ok(Row {
            id: OutboxId(raw.id),
            conversation: raw.conversation.parse()?,
            topic: raw.topic.map(TopicId),
            run: raw.run.map(RunId),
            action,
            target_lost: raw.target.is_some() && raw.target_message.is_none(),
            reply_to: raw.reply_to,
            handle: raw.handle.as_deref().map(serde_json::from_str).transpose().with_context(context)?,
            cut_off: raw.state == "sending",
            attempts: raw.attempts,
            first_attempt_at: raw.first_attempt_at,
            due_at: raw.due_at,
        })
    }
}

const COLUMNS: &str = "SELECT o.id, o.conversation, o.topic, o.run, o.state, o.action, o.target,
    t.message_id AS target_message, o.reply_to, o.handle, o.attempts, o.first_attempt_at, o.due_at
    FROM outbox o LEFT JOIN outbox t ON t.id = o.target";

/// Puts a row at the end of its conversation's queue.
pub async fn push(conn: &mut Conn, new: &New, now: Moment) -> Result<OutboxId> {
    insert(conn, new, "due", now).await
}

/// Makes the row of a text that is still being written, before any of it is shown.
pub async fn draft(conn: &mut Conn, new: &New, now: Moment) -> Result<OutboxId> {
    insert(conn, new, "draft", now).await
}

async fn insert(conn: &mut Conn, new: &New, state: &'static str, now: Moment) -> Result<OutboxId> {
    let sql =
        "INSERT INTO outbox (conversation, topic, run, state, action, target, reply_to, handle, created_at, due_at)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9) RETURNING id";
    let id = sql::query_scalar(sql)
        .bind(new.conversation.as_str())
        .bind(new.topic.map(|topic| topic.0))
        .bind(new.run.map(|run| run.0))
        .bind(state)
        .bind(serde_json::to_string(&new.action)?)
        .bind(new.target.map(|target| target.0))
        .bind(&new.reply_to)
        .bind(new.handle.as_ref().map(serde_json::to_string).transpose()?)
        .bind(now)
        .fetch_one(conn)
        .await?;
    Ok(OutboxId(id))
}

/// The conversations that have something to send, with when their first row is due: the longest waiting first, and before
/// them those whose row may be sent at `now` although its moment has not come ([`Row::is_due`]).
pub async fn waiting(conn: &mut Conn, limit: u32, now: Moment) -> Result<Vec<(ConversationId, Moment)>> {
    // SQLite takes `due_at` from the row that `min(id)` names. That row itself is read only where it waits.
    let sql = "SELECT conversation, CASE WHEN due_at > $2 AND (due_at > $3 OR EXISTS (SELECT 1 FROM outbox o
                   WHERE o.id = first AND (o.attempts = 0 OR o.due_at <= o.first_attempt_at)))
                 THEN $2 ELSE due_at END AS due
               FROM (SELECT conversation, due_at, min(id) AS first FROM outbox WHERE state IN ('due', 'sending')
                 GROUP BY conversation) ORDER BY due, first LIMIT $1";
    let rows: Vec<(String, i64)> =
        sql::query_as(sql).bind(limit).bind(now).bind(now + PUT_OFF_MAX_MS).fetch_all(conn).await?;
    rows.into_iter().map(|(conversation, due_at)| Ok((conversation.parse()?, due_at))).collect()
}

/// The first row of one conversation that is to be sent.
pub async fn head(conn: &mut Conn, conversation: &ConversationId) -> Result<Option<Row>> {
    let sql = format!("{COLUMNS} WHERE o.conversation = $1 AND o.state IN ('due', 'sending') ORDER BY o.id LIMIT 1");
    let raw: Option<Raw> = sql::query_as(sql).bind(conversation.as_str()).fetch_optional(conn).await?;
    raw.map(Row::try_from).transpose()
}

/// One row, whatever its state.
pub async fn get(conn: &mut Conn, id: OutboxId) -> Result<Option<Row>> {
    let sql = format!("{COLUMNS} WHERE o.id = $1");
    let raw: Option<Raw> = sql::query_as(sql).bind(id.0).fetch_optional(conn).await?;
    raw.map(Row::try_from).transpose()
}

/// Says that an attempt is about to be made.
pub async fn begin(conn: &mut Conn, id: OutboxId, now: Moment) -> Result<()> {
    let sql = "UPDATE outbox SET state = CASE state WHEN 'draft' THEN 'draft' ELSE 'sending' END,
                 attempts = attempts + 1, first_attempt_at = coalesce(first_attempt_at, $2)
               WHERE id = $1 AND state IN ('draft', 'due', 'sending')";
    sql::query(sql).bind(id.0).bind(now).execute(conn).await?;
    Ok(())
}

/// Says that it is there. The interaction's token goes: it has done its work.
pub async fn sent(conn: &mut Conn, id: OutboxId, message_id: &str, now: Moment) -> Result<()> {
    let sql = "UPDATE outbox SET state = 'sent', message_id = $2, finished_at = $3, handle = NULL
               WHERE id = $1 AND finished_at IS NULL";
    sql::query(sql).bind(id.0).bind(message_id).bind(now).execute(conn).await?;
    Ok(())
}

/// Says what message a draft is, while it is still being written.
pub async fn shown(conn: &mut Conn, id: OutboxId, message_id: &str) -> Result<()> {
    sql::query("UPDATE outbox SET message_id = $2 WHERE id = $1").bind(id.0).bind(message_id).execute(conn).await?;
    Ok(())
}

/// It was certainly not sent: to be tried again after `wait`, and after an hour at the latest.
pub async fn put_off(conn: &mut Conn, id: OutboxId, wait: Duration, note: &str, now: Moment) -> Result<()> {
    let due_at = now + clock::ms(wait).min(PUT_OFF_MAX_MS);
    let sql = "UPDATE outbox SET state = 'due', due_at = $2, note = $3 WHERE id = $1 AND state = 'sending'";
    sql::query(sql).bind(id.0).bind(due_at).bind(note).execute(conn).await?;
    Ok(())
}

/// Nobody knows whether it was sent: it stays as it is, and is looked at again after `wait`, and after an hour at the
/// latest.
pub async fn wait_in_doubt(conn: &mut Conn, id: OutboxId, wait: Duration, now: Moment) -> Result<()> {
    let due_at = now + clock::ms(wait).min(PUT_OFF_MAX_MS);
    sql::query("UPDATE outbox SET due_at = $2 WHERE id = $1 AND state = 'sending'")
        .bind(id.0)
        .bind(due_at)
        .execute(conn)
        .await?;
    Ok(())
}

/// The interaction cannot be answered any more: an ordinary message instead, at once.
pub async fn drop_handle(conn: &mut Conn, id: OutboxId) -> Result<()> {
    let sql = "UPDATE outbox SET state = 'due', handle = NULL WHERE id = $1 AND state = 'sending'";
    sql::query(sql).bind(id.0).execute(conn).await?;
    Ok(())
}

/// How a row ends that is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Nobody knows whether it was sent, and it is not sent again.
    Ambiguous,
    /// It cannot be delivered.
    Dead,
}

/// Gives a row up, with the reason.
pub async fn give_up(conn: &mut Conn, id: OutboxId, loss: Loss, note: &str, now: Moment) -> Result<()> {
    let state = match loss {
        Loss::Ambiguous => "ambiguous",
        Loss::Dead => "dead",
    };
    let sql = "UPDATE outbox SET state = $2, note = $3, finished_at = $4, handle = NULL
               WHERE id = $1 AND finished_at IS NULL";
    sql::query(sql).bind(id.0).bind(state).bind(note).bind(now).execute(conn).await?;
    Ok(())
}

/// Replaces what a row that was not sent yet will do.
pub async fn replace(conn: &mut Conn, id: OutboxId, action: &Action) -> Result<()> {
    let sql = "UPDATE outbox SET action = $2 WHERE id = $1 AND finished_at IS NULL";
    sql::query(sql).bind(id.0).bind(serde_json::to_string(action)?).execute(conn).await?;
    Ok(())
}

/// A draft's only attempt was certainly not carried out: it is as if it had not been tried.
pub async fn not_shown(conn: &mut Conn, id: OutboxId) -> Result<()> {
    let sql = "UPDATE outbox SET attempts = 0, first_attempt_at = NULL
               WHERE id = $1 AND state = 'draft' AND attempts = 1 AND message_id IS NULL";
    sql::query(sql).bind(id.0).execute(conn).await?;
    Ok(())
}

/// Everything that waits for a conversation that has moved goes to its new id.
pub async fn move_to(conn: &mut Conn, from: &ConversationId, to: &ConversationId) -> Result<u64> {
    let sql = "UPDATE outbox SET conversation = $2, state = CASE state WHEN 'sending' THEN 'due' ELSE state END
               WHERE conversation = $1 AND finished_at IS NULL";
    Ok(sql::query(sql).bind(from.as_str()).bind(to.as_str()).execute(conn).await?.rows_affected())
}

/// The text that a run is still writing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// Its row.
    pub id: OutboxId,
    /// The message, where it is known.
    pub message_id: Option<String>,
    /// Whether it was ever tried: without a message id, nobody knows whether it is there.
    pub tried: bool,
}

/// The draft of a run, if there is one.
pub async fn draft_of(conn: &mut Conn, run: RunId) -> Result<Option<Draft>> {
    let sql = "SELECT id, message_id, attempts > 0 FROM outbox WHERE run = $1 AND state = 'draft' ORDER BY id LIMIT 1";
    let found: Option<(i64, Option<String>, bool)> = sql::query_as(sql).bind(run.0).fetch_optional(conn).await?;
    Ok(found.map(|(id, message_id, tried)| Draft { id: OutboxId(id), message_id, tried }))
}

/// Ends a draft: it is a message like any other now (`Some`), it was never shown (`None`).
pub async fn end_draft(conn: &mut Conn, draft: &Draft, now: Moment) -> Result<()> {
    match &draft.message_id {
        Some(message_id) => sent(conn, draft.id, message_id, now).await,
        None if draft.tried => {
            // Sent again under the same key where the platform knows keys: that shows which message it was.
            let sql = "UPDATE outbox SET state = 'sending' WHERE id = $1 AND state = 'draft'";
            sql::query(sql).bind(draft.id.0).execute(conn).await?;
            Ok(())
        }
        None => {
            sql::query("DELETE FROM outbox WHERE id = $1 AND state = 'draft'").bind(draft.id.0).execute(conn).await?;
            Ok(())
        }
    }
}

/// The topic that one of our messages belongs to.
pub async fn topic_of(conn: &mut Conn, conversation: &ConversationId, message_id: &str) -> Result<Option<TopicId>> {
    let sql = "SELECT topic FROM outbox WHERE conversation = $1 AND message_id = $2 AND topic IS NOT NULL
               ORDER BY id DESC LIMIT 1";
    let topic: Option<i64> =
        sql::query_scalar(sql).bind(conversation.as_str()).bind(message_id).fetch_optional(conn).await?;
    Ok(topic.map(TopicId))
}

/// How many rows are in each state, by the state's name.
pub async fn counts(conn: &mut Conn) -> Result<Vec<(String, i64)>> {
    sql::query_as("SELECT state, count(*) FROM outbox GROUP BY state ORDER BY state").fetch_all(conn).await
}

/// The newest rows that were given up: conversation, state, note, when.
pub async fn losses(conn: &mut Conn, limit: u32) -> Result<Vec<(String, String, String, Moment)>> {
    let sql = "SELECT conversation, state, note, finished_at FROM outbox WHERE state IN ('ambiguous', 'dead')
               ORDER BY id DESC LIMIT $1";
    sql::query_as(sql).bind(limit).fetch_all(conn).await
}
