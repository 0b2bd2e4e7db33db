//! Questions to people in the middle of a turn.

use anyhow::{Context, Result};
use base::{Moment, OutboxId, RunId};
use channels::SenderId;

use crate::{Conn, sql};

/// Which call of which turn asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asking {
    /// The turn.
    pub run: RunId,
    /// The step of it.
    pub step: i64,
    /// The provider's id of the call.
    pub call_id: String,
}

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Its number, which stands in its buttons.
    pub id: i64,
    /// What the buttons say.
    pub options: Vec<String>,
    /// Who may answer besides admins.
    pub asker: Option<SenderId>,
    /// The message with the buttons.
    pub notice: Option<OutboxId>,
    /// When it is too late for an answer.
    pub expires_at: Moment,
    /// What came of it.
    pub answer: Option<Answer>,
}

/// What came of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Somebody chose this option.
    Chosen {
        /// The option's number, from 0.
        option: usize,
        /// Who.
        by: String,
    },
    /// Nobody answered in time.
    Nobody,
}

const NOBODY: i64 = -1;

type Raw = (i64, String, Option<String>, Option<i64>, i64, Option<i64>, Option<String>);

fn question((id, options, asker, notice, expires_at, answer, by): Raw) -> Result<Question> {
    let options = serde_json::from_str(&options).with_context(|| format!("read question {id}"))?;
    let answer = answer.zip(by).map(|(option, by)| match usize::try_from(option) {
        Ok(option) => Answer::Chosen { option, by },
        Err(_) => Answer::Nobody,
    });
    let asker = asker.map(|text| text.parse()).transpose()?;
    Ok(Question { id, options, asker, notice: notice.map(OutboxId), expires_at, answer })
}

const COLUMNS: &str = "SELECT id, options, asker, notice, expires_at, answer, answered_by FROM questions";

/// The question that a call has asked, if it has.
pub async fn of_call(conn: &mut Conn, asking: &Asking) -> Result<Option<Question>> {
    let sql = format!("{COLUMNS} WHERE run = $1 AND step = $2 AND call_id = $3");
    let raw: Option<Raw> =
        sql::query_as(sql).bind(asking.run.0).bind(asking.step).bind(&asking.call_id).fetch_optional(conn).await?;
    raw.map(question).transpose()
}

/// The questions of a turn that have no answer.
pub async fn open_of_run(conn: &mut Conn, run: RunId) -> Result<Vec<Question>> {
    let sql = format!("{COLUMNS} WHERE run = $1 AND answer IS NULL ORDER BY id");
    let raws: Vec<Raw> = sql::query_as(sql).bind(run.0).fetch_all(conn).await?;
    raws.into_iter().map(question).collect()
}

/// One question.
pub async fn get(conn: &mut Conn, id: i64) -> Result<Option<Question>> {
    let raw: Option<Raw> = sql::query_as(format!("{COLUMNS} WHERE id = $1")).bind(id).fetch_optional(conn).await?;
    raw.map(question).transpose()
}

/// Writes a question down, before anybody sees it. Its number.
pub async fn ask(
    conn: &mut Conn,
    asking: &Asking,
    options: &[String],
    asker: Option<&SenderId>,
    (now, expires_at): (Moment, Moment),
) -> Result<i64> {
    let sql = "INSERT INTO questions (run, step, call_id, options, asker, asked_at, expires_at)
               VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id";
    sql::query_scalar(sql)
        .bind(asking.run.0)
        .bind(asking.step)
        .bind(&asking.call_id)
        .bind(serde_json::to_string(options)?)
        .bind(asker.map(SenderId::as_str))
        .bind(now)
        .bind(expires_at)
        .fetch_one(conn)
        .await
}

/// Says which message has its buttons.
pub async fn shown(conn: &mut Conn, id: i64, notice: OutboxId) -> Result<()> {
    sql::query("UPDATE questions SET notice = $2 WHERE id = $1").bind(id).bind(notice.0).execute(conn).await?;
    Ok(())
}

/// Answers it: the first who does wins. `false` where it has an answer.
pub async fn answer(conn: &mut Conn, id: i64, answer: &Answer) -> Result<bool> {
    let (option, by) = match answer {
        Answer::Chosen { option, by } => (i64::try_from(*option)?, by.as_str()),
        Answer::Nobody => (NOBODY, "nobody"),
    };
    let sql = "UPDATE questions SET answer = $2, answered_by = $3 WHERE id = $1 AND answer IS NULL";
    Ok(sql::query(sql).bind(id).bind(option).bind(by).execute(conn).await?.rows_affected() > 0)
}
