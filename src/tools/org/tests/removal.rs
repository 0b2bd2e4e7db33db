//! A team that is shut down is gone, whatever cuts off the call that wanted it.

use std::time::Duration;

use store::calls;
use store::tables::{Ask, Tables};

use super::*;

/// A database of the team's own.
fn keep(hive: &Hive, name: &str) -> std::path::PathBuf {
    let ask = Ask { team: &team(name), sql: "CREATE TABLE kept (x)", values: &[], rows_max: 0 };
    Tables::beside(&hive.world.db).exec(&ask, &base::Stop::new()).unwrap();
    let file = hive.world.folder.path().join(format!("tables/{name}.db"));
    assert!(file.is_file());
    file
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_that_nobody_waits_for_any_more_takes_the_database_too() {
    let hive = Hive::new().await;
    let file = keep(&hive, "docs");
    let gate = hive.world.gates.of(&team("docs"));
    let pass = gate.enter(crate::Admission::Daily, Duration::ZERO).await.unwrap();
    let mut bell = hive.world.db.changes(store::Bell::Events);
    // It takes longer than a call may, and says so.
    let began = hive.world.clock.now();
    let why = hive.say("main", "shutdown_team", json!({"name": "docs"})).await.unwrap_err();
    assert!(why.contains("`docs` takes nothing more") && why.contains("has not ended yet"), "{why}");
    assert!(hive.world.clock.now() - began < 120_000, "before its time is up");
    assert!(file.is_file());
    drop(pass);
    let gone = async {
        while hive.world.db.read(async |conn| teams::get(conn, &team("docs")).await).await.unwrap().is_some() {
            // A row that only goes rings no bell: whichever comes first.
            let _ = tokio::time::timeout(Duration::from_secs(1), bell.changed()).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(600), gone).await.expect("it goes on by itself");
    assert!(!file.exists());
    // Another one of the name has a database of its own.
    hive.say("main", "spawn_team", json!({"name": "docs", "scope_accepts": ["x"]})).await.unwrap();
    assert!(!file.exists());
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_that_a_crash_cuts_off_has_its_result_when_the_turn_goes_on() {
    let hive = Hive::new().await;
    let begin = async |conn: &mut Conn| calls::start(conn, hive.world.run, 1, "9", "shutdown_team", "{}", START).await;
    assert!(hive.world.db.tx("start", begin).await.unwrap());
    let call = Call { call_id: "9".into(), ..hive.world.call() };
    let tool = &hive.tools.by_name("shutdown_team").unwrap().tool;
    assert!(tool.spec().may_run_again(), "what has promised nothing has not begun");
    let answer = Hive::answer(tool.run(&call, json!({"name": "ops", "cascade": true})).await).unwrap();
    // The process died before the call was finished: what was written down is what it came to.
    let row = async |conn: &mut Conn| calls::get(conn, hive.world.run, 1, "9").await;
    let row = hive.world.db.read(row).await.unwrap().unwrap();
    assert_eq!(row.state, calls::State::Started);
    assert_eq!(serde_json::from_str::<Value>(&row.result).unwrap(), answer);
    let executor = hive.world.executor_of(hive.world.catalogue(Policy::default()));
    let again = asked("9", "shutdown_team", json!({"name": "ops", "cascade": true}));
    let done = executor.run_calls(&hive.world.call(), vec![again]).await.unwrap().remove(0);
    assert_eq!((done.is_error, serde_json::from_str::<Value>(&done.content).unwrap()), (false, answer));
    let row = async |conn: &mut Conn| calls::get(conn, hive.world.run, 1, "9").await;
    assert_eq!(hive.world.db.read(row).await.unwrap().unwrap().state, calls::State::Finished);
}
