//! Questions in the middle of a turn: to people, and of a task to whoever gave it.

use anyhow::{Context, Result, bail};
use base::{Moment, OutboxId, RunId, TaskId, TeamName};
use channels::{ConversationId, SenderId};

use crate::sql::row;
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

/// What sort of answer a question wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One of the options.
    One,
    /// Any of the options.
    Several,
    /// A text; the only option is to give none.
    Words,
    /// A value for the vault, which never comes through a chat; the only option is to give none.
    Secret,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Kind::One => "one",
            Kind::Several => "several",
            Kind::Words => "words",
            Kind::Secret => "secret",
        }
    }

    fn read(word: &str) -> Result<Kind> {
        let all = [Kind::One, Kind::Several, Kind::Words, Kind::Secret];
        all.into_iter().find(|kind| kind.as_str() == word).with_context(|| format!("`{word}` is no kind of question"))
    }
}

/// Where a secret goes that a question asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The team in whose vault it is kept.
    pub team: TeamName,
    /// Its key there.
    pub key: String,
}

/// A question that is not asked yet.
#[derive(Clone, Debug)]
pub struct New<'a> {
    /// Which call asks.
    pub asking: &'a Asking,
    /// The tool that asks, or that is asked about.
    pub tool: &'a str,
    /// What sort of answer it wants.
    pub kind: Kind,
    /// What can be chosen.
    pub options: &'a [String],
    /// Who may answer besides admins.
    pub asker: Option<&'a SenderId>,
    /// Of a question for a secret: where it goes.
    pub wanted: Option<&'a Wanted>,
    /// When it is too late.
    pub expires_at: Moment,
}

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Its number, which stands in its buttons.
    pub id: i64,
    /// The tool that asks, or that is asked about.
    pub tool: String,
    /// What sort of answer it wants.
    pub kind: Kind,
    /// What can be chosen.
    pub options: Vec<String>,
    /// Of several: those that are ticked, until somebody says that this is all.
    pub ticked: Vec<usize>,
    /// Who may answer besides admins.
    pub asker: Option<SenderId>,
    /// Of a question for a secret: where it goes.
    pub wanted: Option<Wanted>,
    /// When it is too late for an answer.
    pub expires_at: Moment,
    /// What came of it.
    pub answer: Option<Answer>,
}

/// What came of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Somebody chose these options, by their numbers from 0.
    Chosen {
        /// The options.
        options: Vec<usize>,
        /// Who.
        by: String,
    },
    /// Somebody answered in words.
    Said {
        /// The words.
        text: String,
        /// Who.
        by: String,
    },
    /// Somebody entered the secret: it is in the vault.
    Entered {
        /// Who.
        by: String,
    },
    /// Nobody answered in time, or nobody needed the answer any more.
    Nobody,
}

row! {
    struct Raw {
        id: i64,
        tool: String,
        kind: String,
        options: String,
        ticked: String,
        asker: Option<String>,
        secret_team: Option<String>,
        secret_key: Option<String>,
        expires_at: i64,
        outcome: Option<String>,
        chosen: Option<String>,
        said: Option<String>,
        answered_by: Option<String>,
    }
}

impl TryFrom<Raw> for Question {
    type Error = anyhow::Error;
    fn try_from(raw: Raw) -> Result<Question> {
        let context = || format!("read question {}", raw.id);
        let by = raw.answered_by.unwrap_or_default();
        let answer = match raw.outcome.as_deref() {
            None => None,
            Some("chosen") => {
                let options = serde_json::from_str(raw.chosen.as_deref().unwrap_or("[]")).with_context(context)?;
                Some(Answer::Chosen { options, by })
            }
            Some("said") => Some(Answer::Said { text: raw.said.unwrap_or_default(), by }),
            Some("entered") => Some(Answer::Entered { by }),
            Some("nobody") => Some(Answer::Nobody),
            Some(other) => bail!("question {} came to `{other}`", raw.id),
        };
        let wanted = match raw.secret_team.zip(raw.secret_key) {
            Some((team, key)) => Some(Wanted { team: team.parse().with_context(context)?, key }),
            None => None,
        };
        Ok(Question {
            id: raw.id,
            tool: raw.tool,
            kind: Kind::read(&raw.kind)?,
            options: serde_json::from_str(&raw.options).with_context(context)?,
            ticked: serde_json::from_str(&raw.ticked).with_context(context)?,
            asker: raw.asker.map(|text| text.parse()).transpose()?,
            wanted,
            expires_at: raw.expires_at,
            answer,
        })
    }
}

const COLUMNS: &str = "SELECT q.id, q.tool, q.kind, q.options, q.ticked, q.asker, q.secret_team, q.secret_key,
    q.expires_at, q.outcome, q.chosen, q.said, q.answered_by FROM questions q";

/// The question that a call has asked, if it has.
pub async fn of_call(conn: &mut Conn, asking: &Asking) -> Result<Option<Question>> {
    let sql = format!("{COLUMNS} WHERE q.run = $1 AND q.step = $2 AND q.call_id = $3");
    let raw: Option<Raw> =
        sql::query_as(sql).bind(asking.run.0).bind(asking.step).bind(&asking.call_id).fetch_optional(conn).await?;
    raw.map(Question::try_from).transpose()
}

/// Whether a turn has asked such a tool's question already.
pub async fn asked_by(conn: &mut Conn, run: RunId, tool: &str) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM questions WHERE run = $1 AND tool = $2)";
    sql::query_scalar(sql).bind(run.0).bind(tool).fetch_one(conn).await
}

/// How many questions of such a tool a turn has asked.
pub async fn count_by(conn: &mut Conn, run: RunId, tool: &str) -> Result<i64> {
    let sql = "SELECT count(*) FROM questions WHERE run = $1 AND tool = $2";
    sql::query_scalar(sql).bind(run.0).bind(tool).fetch_one(conn).await
}

/// The latest question of such a tool that a turn has asked.
pub async fn last_by(conn: &mut Conn, run: RunId, tool: &str) -> Result<Option<Question>> {
    let sql = format!("{COLUMNS} WHERE q.run = $1 AND q.tool = $2 ORDER BY q.id DESC LIMIT 1");
    let raw: Option<Raw> = sql::query_as(sql).bind(run.0).bind(tool).fetch_optional(conn).await?;
    raw.map(Question::try_from).transpose()
}

/// The questions of a turn that have no answer.
pub async fn open_of_run(conn: &mut Conn, run: RunId) -> Result<Vec<Question>> {
    let sql = format!("{COLUMNS} WHERE q.run = $1 AND q.outcome IS NULL ORDER BY q.id");
    let raws: Vec<Raw> = sql::query_as(sql).bind(run.0).fetch_all(conn).await?;
    raws.into_iter().map(Question::try_from).collect()
}

/// What is true of a question that a turn waits for: it has no answer, and its call is not made before it has one. The
/// others are those of calls that were made, and are answered without their turn.
const WAITED_FOR: &str = "q.outcome IS NULL AND NOT EXISTS (SELECT 1 FROM tool_calls c
    WHERE c.run = q.run AND c.step = q.step AND c.call_id = q.call_id)";

/// The questions that a turn waits for.
pub async fn waited_for_by(conn: &mut Conn, run: RunId) -> Result<Vec<Question>> {
    let sql = format!("{COLUMNS} WHERE q.run = $1 AND {WAITED_FOR} ORDER BY q.id");
    let raws: Vec<Raw> = sql::query_as(sql).bind(run.0).fetch_all(conn).await?;
    raws.into_iter().map(Question::try_from).collect()
}

/// The questions that turns in the middle of others wait for, in all of them that have not ended.
pub async fn waited_for_within(conn: &mut Conn) -> Result<Vec<Question>> {
    let sql = format!(
        "{COLUMNS} JOIN runs r ON r.id = q.run
         WHERE r.state = 'running' AND r.parent IS NOT NULL AND {WAITED_FOR} ORDER BY q.id"
    );
    let raws: Vec<Raw> = sql::query_as(sql).fetch_all(conn).await?;
    raws.into_iter().map(Question::try_from).collect()
}

/// The running tasks whose turns do nothing but wait for an answer. One that waits beside other calls, or for a session
/// that itself waits, is none of them.
pub async fn waiting_tasks(conn: &mut Conn) -> Result<Vec<TaskId>> {
    let sql = format!(
        "SELECT DISTINCT t.id FROM tasks t INDEXED BY one_running_task_per_lane
           JOIN runs r ON r.task = t.id JOIN questions q ON q.run = r.id
         WHERE t.state = 'running' AND {WAITED_FOR}
           AND NOT EXISTS (SELECT 1 FROM tool_calls o WHERE o.run = q.run AND o.state = 'started') ORDER BY t.id"
    );
    let ids: Vec<i64> = sql::query_scalar(sql).fetch_all(conn).await?;
    Ok(ids.into_iter().map(TaskId).collect())
}

/// Up to `limit` questions that are open for nothing, oldest first: their turns are over, and either waited for them or
/// left them to people, whose time is up as well.
pub async fn left_over(conn: &mut Conn, limit: u32, now: Moment) -> Result<Vec<Question>> {
    let sql = format!(
        "{COLUMNS} INDEXED BY questions_open JOIN runs r ON r.id = q.run
         WHERE q.outcome IS NULL AND r.state <> 'running' AND (q.expires_at <= $1 OR ({WAITED_FOR}))
         ORDER BY q.id LIMIT $2"
    );
    let raws: Vec<Raw> = sql::query_as(sql).bind(now).bind(limit).fetch_all(conn).await?;
    raws.into_iter().map(Question::try_from).collect()
}

/// The question without an answer that one of our messages shows.
pub async fn open_in_message(
    conn: &mut Conn,
    conversation: &ConversationId,
    message_id: &str,
) -> Result<Option<Question>> {
    let sql = format!(
        "{COLUMNS} JOIN question_notices n ON n.question = q.id JOIN outbox o ON o.id = n.outbox
         WHERE o.conversation = $1 AND o.message_id = $2 AND q.outcome IS NULL ORDER BY q.id DESC LIMIT 1"
    );
    let raw: Option<Raw> = sql::query_as(sql).bind(conversation.as_str()).bind(message_id).fetch_optional(conn).await?;
    raw.map(Question::try_from).transpose()
}

/// The latest question in a conversation that wants words, has none, and whose turn still waits for them.
pub async fn words_wanted_in(conn: &mut Conn, conversation: &ConversationId, now: Moment) -> Result<Option<Question>> {
    let sql = format!(
        "{COLUMNS} JOIN runs r ON r.id = q.run
         JOIN question_notices n ON n.question = q.id JOIN outbox o ON o.id = n.outbox
         WHERE q.outcome IS NULL AND q.kind = 'words' AND q.expires_at > $2 AND r.state = 'running'
           AND o.conversation = $1 ORDER BY q.id DESC LIMIT 1"
    );
    let raw: Option<Raw> = sql::query_as(sql).bind(conversation.as_str()).bind(now).fetch_optional(conn).await?;
    raw.map(Question::try_from).transpose()
}

/// The questions that wait for a secret, oldest first.
pub async fn secrets_wanted(conn: &mut Conn, now: Moment) -> Result<Vec<Question>> {
    let sql = format!(
        "{COLUMNS} WHERE q.outcome IS NULL AND q.kind = 'secret' AND q.expires_at > $1 ORDER BY q.id LIMIT 100"
    );
    let raws: Vec<Raw> = sql::query_as(sql).bind(now).fetch_all(conn).await?;
    raws.into_iter().map(Question::try_from).collect()
}

/// One question.
pub async fn get(conn: &mut Conn, id: i64) -> Result<Option<Question>> {
    let raw: Option<Raw> = sql::query_as(format!("{COLUMNS} WHERE q.id = $1")).bind(id).fetch_optional(conn).await?;
    raw.map(Question::try_from).transpose()
}

/// Writes a question down, before anybody sees it. Its number.
pub async fn ask(conn: &mut Conn, new: &New<'_>, now: Moment) -> Result<i64> {
    let sql =
        "INSERT INTO questions (run, step, call_id, tool, kind, options, asker, secret_team, secret_key, asked_at,
                 expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING id";
    sql::query_scalar(sql)
        .bind(new.asking.run.0)
        .bind(new.asking.step)
        .bind(&new.asking.call_id)
        .bind(new.tool)
        .bind(new.kind.as_str())
        .bind(serde_json::to_string(new.options)?)
        .bind(new.asker.map(SenderId::as_str))
        .bind(new.wanted.map(|wanted| wanted.team.as_str()))
        .bind(new.wanted.map(|wanted| wanted.key.as_str()))
        .bind(now)
        .bind(new.expires_at)
        .fetch_one(conn)
        .await
}

/// Says that a message shows it.
pub async fn shown(conn: &mut Conn, id: i64, notice: OutboxId) -> Result<()> {
    let sql = "INSERT INTO question_notices (question, outbox) VALUES ($1, $2)";
    sql::query(sql).bind(id).bind(notice.0).execute(conn).await?;
    Ok(())
}

/// The messages that show it.
pub async fn notices(conn: &mut Conn, id: i64) -> Result<Vec<OutboxId>> {
    let sql = "SELECT outbox FROM question_notices WHERE question = $1 ORDER BY outbox";
    let ids: Vec<i64> = sql::query_scalar(sql).bind(id).fetch_all(conn).await?;
    Ok(ids.into_iter().map(OutboxId).collect())
}

/// Says which of several options are ticked, while it has no answer.
pub async fn tick(conn: &mut Conn, id: i64, ticked: &[usize]) -> Result<()> {
    let sql = "UPDATE questions SET ticked = $2 WHERE id = $1 AND outcome IS NULL";
    sql::query(sql).bind(id).bind(serde_json::to_string(ticked)?).execute(conn).await?;
    Ok(())
}

/// Answers it: the first who does wins. `false` where it has an answer.
pub async fn answer(conn: &mut Conn, id: i64, answer: &Answer, now: Moment) -> Result<bool> {
    let (outcome, chosen, said, by) = match answer {
        Answer::Chosen { options, by } => ("chosen", Some(serde_json::to_string(options)?), None, Some(by)),
        Answer::Said { text, by } => ("said", None, Some(text), Some(by)),
        Answer::Entered { by } => ("entered", None, None, Some(by)),
        Answer::Nobody => ("nobody", None, None, None),
    };
    let sql = "UPDATE questions SET outcome = $2, chosen = $3, said = $4, answered_by = $5, answered_at = $6
               WHERE id = $1 AND outcome IS NULL";
    let update = sql::query(sql).bind(id).bind(outcome).bind(chosen).bind(said).bind(by).bind(now);
    Ok(update.execute(conn).await?.rows_affected() > 0)
}

#[cfg(test)]
mod tests;
