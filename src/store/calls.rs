//! Tool calls: written before the effect, finished after it.

use anyhow::Result;
use base::{Moment, RunId, TeamName};
use channels::SenderId;

use crate::audit::{self, Decision, Outcome};
use crate::sql::row;
use crate::{Conn, sql};

/// A tool call of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The turn.
    pub run: RunId,
    /// The step in which the model asked for it.
    pub step: i64,
    /// The model's id for it, unique in its step.
    pub call_id: String,
    /// The tool's logical name.
    pub tool: String,
    /// Where it is.
    pub state: State,
    /// Whether the result is an error.
    pub is_error: bool,
    /// What the model gets.
    pub result: String,
}

row! {
    /// A tool call with what it was given.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Given {
        /// The step in which the model asked for it.
        pub step: i64,
        /// The model's id for it, unique in its step.
        pub call_id: String,
        /// The tool's logical name.
        pub tool: String,
        /// JSON without secrets, or what the model wrote in its place.
        pub arguments: String,
        /// Whether it has no result yet.
        pub open: bool,
        /// Whether the result is an error.
        pub is_error: bool,
        /// What the model gets.
        pub result: String,
    }
}

/// Where a tool call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It may have had its effect.
    Started,
    /// It has a result.
    Finished,
    /// A crash or a stop came between; nobody knows whether it had its effect.
    Interrupted,
}

type Raw = (i64, i64, String, String, String, bool, String);

fn call((run, step, call_id, tool, state, is_error, result): Raw) -> Call {
    let state = match state.as_str() {
        "started" => State::Started,
        "finished" => State::Finished,
        _ => State::Interrupted,
    };
    Call { run: RunId(run), step, call_id, tool, state, is_error, result }
}

/// Says that a call is about to be made. `false` where it was said before.
pub async fn start(
    conn: &mut Conn,
    run: RunId,
    step: i64,
    call_id: &str,
    tool: &str,
    arguments: &str,
    now: Moment,
) -> Result<bool> {
    let sql = "INSERT INTO tool_calls (run, step, call_id, tool, arguments, state, started_at)
               VALUES ($1, $2, $3, $4, $5, 'started', $6) ON CONFLICT DO NOTHING";
    let done =
        sql::query(sql).bind(run.0).bind(step).bind(call_id).bind(tool).bind(arguments).bind(now).execute(conn).await?;
    Ok(done.rows_affected() > 0)
}

/// How often a run has asked for this very thing: the tool with the same arguments, whatever came of it.
pub async fn repeats(conn: &mut Conn, run: RunId, tool: &str, arguments: &str) -> Result<i64> {
    let sql = "SELECT count(*) FROM tool_calls WHERE run = $1 AND tool = $2 AND arguments = $3";
    sql::query_scalar(sql).bind(run.0).bind(tool).bind(arguments).fetch_one(conn).await
}

/// One call, if it was made.
pub async fn get(conn: &mut Conn, run: RunId, step: i64, call_id: &str) -> Result<Option<Call>> {
    let sql = "SELECT run, step, call_id, tool, state, is_error, result FROM tool_calls
               WHERE run = $1 AND step = $2 AND call_id = $3";
    let row: Option<Raw> = sql::query_as(sql).bind(run.0).bind(step).bind(call_id).fetch_optional(conn).await?;
    Ok(row.map(call))
}

/// Says what came of it. `false` where it has not been started, or that was said before.
pub async fn finish(
    conn: &mut Conn,
    run: RunId,
    step: i64,
    call_id: &str,
    is_error: bool,
    result: &str,
    now: Moment,
) -> Result<bool> {
    let sql = "UPDATE tool_calls SET state = 'finished', is_error = $4, result = $5, finished_at = $6
               WHERE run = $1 AND step = $2 AND call_id = $3 AND state = 'started'";
    let done = sql::query(sql).bind(run.0).bind(step).bind(call_id).bind(is_error).bind(result).bind(now);
    Ok(done.execute(conn).await?.rows_affected() > 0)
}

/// A call whose result is written by whoever has its effect.
#[derive(Clone, Copy, Debug)]
pub struct Made<'a> {
    /// The team whose session called.
    pub team: &'a TeamName,
    /// Who caused the turn.
    pub sender: Option<&'a SenderId>,
    /// The turn.
    pub run: RunId,
    /// The step of it.
    pub step: i64,
    /// The model's id of the call.
    pub call_id: &'a str,
}

/// Writes the result of a call in the transaction that has its effect, and its row in the audit log: a call of such a tool
/// that is only started has had no effect, and may be made again. `false` where it was not started, or has its result.
pub async fn settle(conn: &mut Conn, made: Made<'_>, result: &str, now: Moment) -> Result<bool> {
    let Made { team, sender, run, step, call_id } = made;
    let sql = "SELECT step, call_id, tool, arguments, result <> '' AS promised, started_at FROM tool_calls
               WHERE run = $1 AND step = $2 AND call_id = $3 AND state = 'started'";
    let open: Option<Open> = sql::query_as(sql).bind(run.0).bind(step).bind(call_id).fetch_optional(&mut *conn).await?;
    let Some(open) = open else { return Ok(false) };
    finish(conn, run, step, call_id, false, result, now).await?;
    audit::append(conn, &open.ended(run, team, sender, Outcome::Done, now), now).await?;
    Ok(true)
}

/// Writes down what a started call will come to, whatever happens: for an effect that is begun in one transaction, and
/// finished by a start of the hive where a crash cuts it off.
pub async fn promise(conn: &mut Conn, run: RunId, step: i64, call_id: &str, result: &str) -> Result<()> {
    let sql = "UPDATE tool_calls SET result = $4 WHERE run = $1 AND step = $2 AND call_id = $3 AND state = 'started'";
    sql::query(sql).bind(run.0).bind(step).bind(call_id).bind(result).execute(conn).await?;
    Ok(())
}

/// Says that nobody knows what came of the calls of a run that had started, here and in the audit log. How many there are.
pub async fn interrupt(conn: &mut Conn, run: RunId, now: Moment) -> Result<u64> {
    let sql = "SELECT step, call_id, tool, arguments, result <> '' AS promised, started_at FROM tool_calls
               WHERE run = $1 AND state = 'started' ORDER BY id";
    let open: Vec<Open> = sql::query_as(sql).bind(run.0).fetch_all(&mut *conn).await?;
    if open.is_empty() {
        return Ok(0);
    }
    // What was promised comes true, whoever waits for it.
    let sql = "UPDATE tool_calls SET finished_at = $2, is_error = result = '',
                 state = CASE result WHEN '' THEN 'interrupted' ELSE 'finished' END,
                 result = CASE result WHEN '' THEN 'interrupted, outcome unknown: look before you do it again' ELSE result END
               WHERE run = $1 AND state = 'started'";
    let count = sql::query(sql).bind(run.0).bind(now).execute(&mut *conn).await?.rows_affected();
    let sql = "SELECT team, sender FROM runs WHERE id = $1";
    let (team, sender): (String, Option<String>) = sql::query_as(sql).bind(run.0).fetch_one(&mut *conn).await?;
    let (team, sender): (TeamName, Option<SenderId>) = (team.parse()?, sender.map(|text| text.parse()).transpose()?);
    for open in open {
        let outcome = if open.promised { Outcome::Done } else { Outcome::Unknown };
        audit::append(conn, &open.ended(run, &team, sender.as_ref(), outcome, now), now).await?;
    }
    Ok(count)
}

row! {
    /// A call that has no result yet.
    struct Open {
        step: i64,
        call_id: String,
        tool: String,
        arguments: String,
        promised: bool,
        started_at: Moment,
    }
}

impl Open {
    /// Its row in the audit log, where it ends now.
    fn ended(
        self,
        run: RunId,
        team: &TeamName,
        sender: Option<&SenderId>,
        outcome: Outcome,
        now: Moment,
    ) -> audit::Entry {
        audit::Entry {
            team: team.clone(),
            tool: self.tool,
            sender: sender.cloned(),
            run,
            step: self.step,
            call_id: self.call_id,
            arguments: self.arguments,
            decision: Decision::Allowed,
            outcome,
            duration_ms: (now - self.started_at).max(0),
        }
    }
}

/// Says the same of the calls of all turns in the middle of others that have not ended.
pub(crate) async fn interrupt_within(conn: &mut Conn, now: Moment) -> Result<()> {
    let sql = "SELECT id FROM runs WHERE state = 'running' AND parent IS NOT NULL ORDER BY id DESC";
    // Those that were asked last end first, as they would have.
    let runs: Vec<i64> = sql::query_scalar(sql).fetch_all(&mut *conn).await?;
    for run in runs {
        interrupt(conn, RunId(run), now).await?;
    }
    Ok(())
}

/// A run's calls, in the order in which they started.
pub async fn of_run(conn: &mut Conn, run: RunId) -> Result<Vec<Call>> {
    let sql = "SELECT run, step, call_id, tool, state, is_error, result FROM tool_calls WHERE run = $1 ORDER BY id";
    let rows: Vec<Raw> = sql::query_as(sql).bind(run.0).fetch_all(conn).await?;
    Ok(rows.into_iter().map(call).collect())
}

/// A run's calls of these tools with what they were given, in the order in which they started.
pub async fn of_tools(conn: &mut Conn, run: RunId, tools: &[&str]) -> Result<Vec<Given>> {
    let sql = "SELECT step, call_id, tool, arguments, state = 'started' AS open, is_error, result FROM tool_calls
               WHERE run = $1 AND tool IN (SELECT value FROM json_each($2)) ORDER BY id";
    sql::query_as(sql).bind(run.0).bind(serde_json::to_string(tools)?).fetch_all(conn).await
}

/// The calls of several runs of a topic, from `first` on.
pub async fn of_topic(conn: &mut Conn, topic: base::TopicId, first: RunId) -> Result<Vec<Call>> {
    let sql = "SELECT c.run, c.step, c.call_id, c.tool, c.state, c.is_error, c.result FROM tool_calls c
               JOIN runs r ON r.id = c.run WHERE r.topic = $1 AND c.run >= $2 ORDER BY c.id";
    let rows: Vec<Raw> = sql::query_as(sql).bind(topic.0).bind(first.0).fetch_all(conn).await?;
    Ok(rows.into_iter().map(call).collect())
}

#[cfg(test)]
mod tests;
