//! What happens, in the order in which it does.
//!
//! Most events are written by triggers, in the statement that makes the fact: see `migrations/0021_events.sql`. Ids are
//! given by the one writer, so that a row never appears below one that was seen: a subscriber holds nothing but the
//! id of the last row that it has seen, reads with [`after`], and loses none however slow it is.

use anyhow::Result;
use base::{Moment, RunId, TeamName};

use crate::sql::row;
use crate::{Conn, sql};

/// What happened that has no row of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A team has handed work to another, and waits for it.
    DelegationOpened,
    /// That work has come back.
    DelegationClosed,
    /// The list of a turn is another.
    TodosChanged,
}

impl Kind {
    /// The word in the row.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::DelegationOpened => "delegation_opened",
            Kind::DelegationClosed => "delegation_closed",
            Kind::TodosChanged => "todos_changed",
        }
    }
}

row! {
    /// Something that happened.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Event {
        /// Greater than that of everything that happened before.
        pub id: i64,
        /// When.
        pub at: Moment,
        /// To which team.
        pub team: String,
        /// In which turn, if in one.
        pub run: Option<i64>,
        /// For which task, if for one.
        pub task: Option<i64>,
        /// What: `turn_started`, `tool_called`, …
        pub kind: String,
        /// What else is known of it: a JSON object.
        pub body: String,
    }
}

impl Event {
    /// It as one JSON object on one line, its id first.
    pub fn to_json(&self) -> String {
        let text = |text: &str| serde_json::Value::from(text).to_string();
        let number = |number: Option<i64>| number.map_or_else(|| "null".to_owned(), |number| number.to_string());
        let (id, at, body) = (self.id, self.at, &self.body);
        let (team, kind, run, task) = (text(&self.team), text(&self.kind), number(self.run), number(self.task));
        format!(r#"{{"id":{id},"at_ms":{at},"team":{team},"run":{run},"task":{task},"kind":{kind},"body":{body}}}"#)
    }
}

const COLUMNS: &str = "SELECT id, at, team, run, task, kind, body FROM events";

row! {
    /// One of the things that a turn has handed to other sessions.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Delegation {
        /// The step of the call that handed it over.
        pub step: i64,
        /// The id of that call.
        pub call_id: String,
        /// Which one of that call it is, from 0.
        pub at: i64,
        /// Whether it came back with an answer; `None` while it is out.
        pub ok: Option<bool>,
        /// When it was handed over.
        pub opened_at: Moment,
        /// The body of the event that said so.
        pub body: String,
    }
}

/// What a turn has handed to other sessions, in its order.
pub async fn delegations(conn: &mut Conn, run: RunId) -> Result<Vec<Delegation>> {
    let sql = "SELECT json_extract(o.body, '$.step') AS step, json_extract(o.body, '$.call_id') AS call_id,
                 json_extract(o.body, '$.at') AS at,
                 (SELECT json_extract(c.body, '$.ok') FROM events c
                  WHERE c.run = $1 AND c.kind = 'delegation_closed' AND c.id > o.id
                    AND json_extract(c.body, '$.step') = json_extract(o.body, '$.step')
                    AND json_extract(c.body, '$.call_id') = json_extract(o.body, '$.call_id')
                    AND json_extract(c.body, '$.at') = json_extract(o.body, '$.at')
                  ORDER BY c.id LIMIT 1) AS ok,
                 o.at AS opened_at, o.body
               FROM events o WHERE o.run = $1 AND o.kind = 'delegation_opened' ORDER BY o.id";
    sql::query_as(sql).bind(run.0).fetch_all(conn).await
}

/// Says of what a call has handed over and has not got back that it was cut off: the call is made again. A call that
/// ends does the same by a trigger (`migrations/0030_delegations_close.sql`).
pub async fn cut_off(conn: &mut Conn, run: RunId, step: i64, call_id: &str, now: Moment) -> Result<()> {
    let out = delegations(conn, run).await?.into_iter().filter(|one| one.ok.is_none());
    for one in out.filter(|one| (one.step, one.call_id.as_str()) == (step, call_id)) {
        let mut body: serde_json::Value = serde_json::from_str(&one.body)?;
        body["ok"] = false.into();
        body["how"] = "cut off".into();
        body["ms"] = (now - one.opened_at).max(0).into();
        append(conn, run, Kind::DelegationClosed, &body, now).await?;
    }
    Ok(())
}

/// Says that something happened in a turn. The body is a JSON object without secrets, and says nothing that only
/// some of the team's conversations may know: all of them can read it.
pub async fn append(conn: &mut Conn, run: RunId, kind: Kind, body: &serde_json::Value, now: Moment) -> Result<()> {
    let sql = "INSERT INTO events (at, team, run, task, kind, body)
               SELECT $2, team, id, task, $3, $4 FROM runs WHERE id = $1";
    sql::query(sql).bind(run.0).bind(now).bind(kind.as_str()).bind(body.to_string()).execute(conn).await?;
    Ok(())
}

/// What happened after the event `seen`, the oldest first.
pub async fn after(conn: &mut Conn, seen: i64, limit: u32) -> Result<Vec<Event>> {
    let sql = format!("{COLUMNS} WHERE id > $1 ORDER BY id LIMIT $2");
    sql::query_as(sql).bind(seen).bind(limit).fetch_all(conn).await
}

/// What happened to a team after the event `seen`, the oldest first: to this one, and not to another of its name that was
/// there before it.
pub async fn of_team_after(conn: &mut Conn, team: &TeamName, seen: i64, limit: u32) -> Result<Vec<Event>> {
    let sql = format!(
        "{COLUMNS} WHERE team = $1
           AND id > max($2, coalesce((SELECT events_after FROM teams WHERE name = $1), 0)) ORDER BY id LIMIT $3"
    );
    sql::query_as(sql).bind(team.as_str()).bind(seen).bind(limit).fetch_all(conn).await
}

/// The newest events, of one team or of all, the oldest first.
pub async fn latest(conn: &mut Conn, team: Option<&TeamName>, limit: u32) -> Result<Vec<Event>> {
    let mut events: Vec<Event> = match team {
        Some(team) => {
            let sql = format!("{COLUMNS} WHERE team = $1 ORDER BY id DESC LIMIT $2");
            sql::query_as(sql).bind(team.as_str()).bind(limit).fetch_all(conn).await?
        }
        None => sql::query_as(format!("{COLUMNS} ORDER BY id DESC LIMIT $1")).bind(limit).fetch_all(conn).await?,
    };
    events.reverse();
    Ok(events)
}

/// The id of the newest event; 0 where nothing has happened.
pub async fn newest(conn: &mut Conn) -> Result<i64> {
    sql::query_scalar("SELECT coalesce(max(id), 0) FROM events").fetch_one(conn).await
}

/// A subscriber of the hive's own. What it has not seen is not deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subscriber {
    /// The files in the teams' folders.
    Files,
}

impl Subscriber {
    fn as_str(self) -> &'static str {
        match self {
            Subscriber::Files => "files",
        }
    }
}

/// The last event that a subscriber is known to have seen. It may have seen more.
pub async fn seen_by(conn: &mut Conn, subscriber: Subscriber) -> Result<i64> {
    let sql = "SELECT seen FROM event_cursors WHERE subscriber = $1";
    Ok(sql::query_scalar(sql).bind(subscriber.as_str()).fetch_optional(conn).await?.unwrap_or(0))
}

/// Says that a subscriber has seen everything up to the event `seen`.
pub async fn note_seen(conn: &mut Conn, subscriber: Subscriber, seen: i64) -> Result<()> {
    let sql = "INSERT INTO event_cursors (subscriber, seen) VALUES ($1, $2)
               ON CONFLICT (subscriber) DO UPDATE SET seen = max(seen, $2)";
    sql::query(sql).bind(subscriber.as_str()).bind(seen).execute(conn).await?;
    Ok(())
}

/// How many of the oldest rows are looked at for each that may be deleted: a clock that was wrong for a while leaves
/// rows behind that look young, and they must not keep those after them.
const LOOKED_AT: u32 = 10;

/// Deletes events from before `before` that every subscriber has seen, at most `limit` of them.
pub(crate) async fn prune(conn: &mut Conn, before: Moment, limit: u32) -> Result<u64> {
    let sql = "DELETE FROM events WHERE id IN (
                 SELECT id FROM (SELECT id, at FROM events ORDER BY id LIMIT $3)
                 WHERE at < $1 AND id <= (SELECT min(seen) FROM event_cursors) AND id < (SELECT max(id) FROM events)
                 LIMIT $2)";
    let looked_at = limit.saturating_mul(LOOKED_AT);
    Ok(sql::query(sql).bind(before).bind(limit).bind(looked_at).execute(conn).await?.rows_affected())
}

#[cfg(test)]
mod tests;
