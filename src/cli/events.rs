//! `hive events`: what happens, as it happens.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use base::{Clock, TeamName, clock};
use serde_json::{Map, Value};
use store::events::{self, Event};

use super::{block_on, print, run::open};
use crate::config::Config;

/// How often the rows are looked at: another process writes them, and rings no bell here.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Most events that are read at once.
const BATCH: u32 = 500;

/// What is to be shown.
pub(super) struct Wanted {
    /// Of this team alone.
    pub team: Option<TeamName>,
    /// Go on for ever.
    pub follow: bool,
    /// One JSON object a line.
    pub json: bool,
    /// How many that have happened already.
    pub last: u32,
}

pub(super) fn run(config: &Config, wanted: &Wanted) -> Result<ExitCode> {
    block_on(async {
        let db = open(config).await?;
        let (mut seen, latest) = db
            .read(async |conn| {
                let newest = events::newest(conn).await?;
                Ok((newest, events::latest(conn, wanted.team.as_ref(), wanted.last).await?))
            })
            .await?;
        show(&latest, wanted)?;
        // One more may have happened between the two looks.
        seen = latest.last().map_or(seen, |event| event.id.max(seen));
        if !wanted.follow {
            return Ok(ExitCode::SUCCESS);
        }
        loop {
            let some = db.read(async |conn| events::after(conn, seen, BATCH).await).await?;
            match some.last() {
                Some(last) => seen = last.id,
                None => Clock::Wall.sleep(LOOK_EVERY).await,
            }
            let of_team = |event: &Event| wanted.team.as_ref().is_none_or(|team| event.team == team.as_str());
            show(&some.into_iter().filter(of_team).collect::<Vec<_>>(), wanted)?;
        }
    })
}

fn show(events: &[Event], wanted: &Wanted) -> Result<()> {
    for event in events {
        print(&if wanted.json { event.to_json() } else { in_words(event) })?;
    }
    Ok(())
}

fn in_words(event: &Event) -> String {
    let body: Map<String, Value> = serde_json::from_str(&event.body).unwrap_or_default();
    let known = body.iter().filter(|(_, value)| !value.is_null() && value.as_str() != Some(""));
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), |text| base::text::headline(text, 100));
    let known: Vec<String> = known.map(|(name, value)| format!("{name} {}", text(value))).collect();
    let turn = event.run.map(|run| format!("turn {run}"));
    let whose = turn.or_else(|| event.task.map(|task| format!("task {task}"))).unwrap_or_default();
    let (id, at) = (event.id, clock::show(event.at));
    format!("{id:>6}  {at}  {}  {whose}  {}  {}", event.team, event.kind, known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_shown_on_one_line() {
        let event = Event {
            id: 7,
            at: 1_795_291_380_000,
            team: "main".into(),
            run: Some(3),
            task: Some(4),
            kind: "tool_result".into(),
            body: r#"{"tool":"look","is_error":false,"note":"a\nb","none":null,"empty":""}"#.into(),
        };
        let line = "     7  2026-11-21 20:03 UTC  main  turn 3  tool_result  is_error false, note a, tool look";
        assert_eq!(in_words(&event), line);
        let json: Value = serde_json::from_str(&event.to_json()).unwrap();
        assert_eq!((&json["id"], &json["task"], &json["body"]["tool"]), (&7.into(), &4.into(), &"look".into()));
        assert!(event.to_json().starts_with(r#"{"id":7,"#));
    }
}
