//! Who asked to speak and is not known.

use anyhow::Result;
use base::{Moment, OutboxId};
use channels::{ConversationId, Sender, SenderId};

use crate::{Conn, sql};

/// A sender who asked to speak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranger {
    /// The row, which the notice's buttons carry.
    pub id: i64,
    /// Who.
    pub sender: SenderId,
    /// The name people see.
    pub name: String,
    /// Where they first wrote.
    pub conversation: ConversationId,
    /// Who decided about them, if somebody did.
    pub settled_by: Option<String>,
}

/// Meets a stranger. The row's id where they are new, or were settled before and are unknown again (a grant that was
/// revoked or has expired): then they are told and shown to the admins. `None` where that was done already.
pub async fn meet(conn: &mut Conn, sender: &Sender, conversation: &ConversationId, now: Moment) -> Result<Option<i64>> {
    let sql = "INSERT INTO strangers (sender, name, conversation, first_at) VALUES ($1, $2, $3, $4)
               ON CONFLICT (sender) DO UPDATE SET name = $2, conversation = $3, first_at = $4,
                 settled_at = NULL, settled_by = NULL WHERE settled_at IS NOT NULL
               RETURNING id";
    let id = sql::query_scalar(sql)
        .bind(sender.id.as_str())
        .bind(&sender.name)
        .bind(conversation.as_str())
        .bind(now)
        .fetch_optional(conn)
        .await?;
    Ok(id)
}

/// One stranger.
pub async fn get(conn: &mut Conn, id: i64) -> Result<Option<Stranger>> {
    type Raw = (i64, String, String, String, Option<String>);
    let sql = "SELECT id, sender, name, conversation, settled_by FROM strangers WHERE id = $1";
    let found: Option<Raw> = sql::query_as(sql).bind(id).fetch_optional(conn).await?;
    found
        .map(|(id, sender, name, conversation, settled_by)| {
            let (sender, conversation) = (sender.parse()?, conversation.parse()?);
            Ok(Stranger { id, sender, name, conversation, settled_by })
        })
        .transpose()
}

/// The open row about a sender.
pub async fn open_of(conn: &mut Conn, sender: &SenderId) -> Result<Option<Stranger>> {
    let sql = "SELECT id FROM strangers WHERE sender = $1 AND settled_at IS NULL";
    let id: Option<i64> = sql::query_scalar(sql).bind(sender.as_str()).fetch_optional(&mut *conn).await?;
    match id {
        Some(id) => get(conn, id).await,
        None => Ok(None),
    }
}

/// Remembers a notice about a stranger.
pub async fn add_notice(conn: &mut Conn, id: i64, notice: OutboxId) -> Result<()> {
    sql::query("INSERT INTO stranger_notices (stranger, outbox) VALUES ($1, $2)")
        .bind(id)
        .bind(notice.0)
        .execute(conn)
        .await?;
    Ok(())
}

/// Settles a stranger: the first who does wins. The notices whose buttons are to go, or `None` where somebody else
/// had settled it.
pub async fn settle(conn: &mut Conn, id: i64, by: &str, now: Moment) -> Result<Option<Vec<OutboxId>>> {
    let sql = "UPDATE strangers SET settled_at = $3, settled_by = $2 WHERE id = $1 AND settled_at IS NULL";
    if sql::query(sql).bind(id).bind(by).bind(now).execute(&mut *conn).await?.rows_affected() == 0 {
        return Ok(None);
    }
    let sql = "DELETE FROM stranger_notices WHERE stranger = $1 RETURNING outbox";
    let mut notices: Vec<i64> = sql::query_scalar(sql).bind(id).fetch_all(conn).await?;
    notices.sort_unstable();
    Ok(Some(notices.into_iter().map(OutboxId).collect()))
}
