//! The team's database through the executor.

use std::time::Duration;

use base::Tasks;
use serde_json::{Value, json};

use crate::testing::{World, asked};
use crate::{Call, Executor};
use org::trust::Policy;

async fn told(world: &World, tool: &str, input: Value) -> Value {
    let done = world.ask(tool, input).await;
    assert!(!done.is_error, "{}", done.content);
    serde_json::from_str(&done.content).unwrap()
}

#[tokio::test]
async fn a_team_keeps_tables_of_its_own() {
    let world = World::new().await;
    let sql = "CREATE TABLE visits (page TEXT, seen INTEGER)";
    assert_eq!(told(&world, "sql_exec", json!({"sql": sql})).await, json!({"changes": 0}));
    let sql = "INSERT INTO visits VALUES (?, ?), (?, ?) RETURNING page";
    let input = json!({"sql": sql, "params": ["a", 1, "b", null]});
    let expected = json!({"changes": 2, "columns": ["page"], "rows": [["a"], ["b"]], "truncated": false});
    assert_eq!(told(&world, "db_exec", input).await, expected);
    let input = json!({"sql": "SELECT * FROM visits WHERE seen IS NOT ?", "params": [null]});
    let expected = json!({"columns": ["page", "seen"], "rows": [["a", 1]], "truncated": false});
    assert_eq!(told(&world, "sql_query", input).await, expected);
    let hives = world.db.read(async |conn| store::settings::get(conn, "visits").await).await;
    assert!(hives.is_ok(), "the hive's own database is another");
    for (tool, sql, why) in [
        ("sql_query", "DELETE FROM visits", "here is only read, and rows are changed by this"),
        ("sql_query", "SELECT * FROM tasks", "no such table: tasks"),
        ("sql_exec", "DROP TABLE tasks", "no such table: tasks"),
    ] {
        let done = world.ask(tool, json!({"sql": sql})).await;
        assert_eq!((done.content.as_str(), done.is_error), (why, true), "{sql}");
    }
}

#[tokio::test]
async fn neither_a_file_tool_nor_a_path_leads_to_it() {
    let world = World::new().await;
    told(&world, "sql_exec", json!({"sql": "CREATE TABLE t (a)"})).await;
    let file = world.folder.path().join("tables/main.db");
    assert!(file.is_file());
    for path in [file.to_str().unwrap(), "../../tables/main.db"] {
        let done = world.ask("write_file", json!({"path": path, "content": "x"})).await;
        assert!(done.is_error && done.content.ends_with("is outside of the workspace"), "{done:?}");
    }
}

#[tokio::test]
async fn a_stopped_turn_ends_a_query_that_never_would() {
    let world = World::new().await;
    let executor: Executor = world.executor_of(world.catalogue(Policy::default()));
    let call: Call = world.call();
    let (tasks, stop, clock) = (Tasks::new(), call.stop.clone(), world.clock);
    tasks.spawn("stop", async move {
        clock.sleep(Duration::from_millis(50)).await;
        stop.cancel();
    });
    let sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let done = executor.run_calls(&call, vec![asked("1", "sql_query", json!({"sql": sql}))]).await.unwrap();
    assert!(done[0].is_error && done[0].content.contains("stopped"), "{done:?}");
}
