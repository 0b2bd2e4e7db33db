//! The team's database through the executor.

use std::time::Duration;

use base::Tasks;
use serde_json::{Value, json};

use super::{SqlQuery, TeamTables};
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
async fn as_many_rows_are_given_as_are_wanted() {
    let world = World::new().await;
    let count = |shown: &Value| shown["rows"].as_array().unwrap().len();
    let numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2000) SELECT i FROM n";
    for (limit, rows) in [(json!(2), 2), (json!(null), 500), (json!(5_000), 1_000)] {
        let shown = told(&world, "sql_query", json!({"sql": numbers, "limit": limit})).await;
        assert_eq!((count(&shown), &shown["truncated"]), (rows, &json!(true)), "{limit}");
    }
    let done = world.ask("sql_query", json!({"sql": numbers, "limit": 0})).await;
    assert!(done.is_error && done.content.starts_with("a `limit` is at least 1"), "{done:?}");
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

/// What takes too much while it is compiled: many statements, many parentheses, names that stand for each other.
fn too_much() -> Vec<(&'static str, String)> {
    let nested =
        |depth: usize| format!("SELECT 1 FROM {}(SELECT 1){}", "(SELECT 1 FROM ".repeat(depth), ")".repeat(depth));
    let mut names = String::from("WITH a0 AS (SELECT 1 x)");
    for at in 1..40 {
        names.push_str(&format!(", a{at} AS (SELECT p.x FROM a{0} p, a{0} q)", at - 1));
    }
    vec![
        ("many statements", "SELECT 1;".repeat(11_000)),
        ("nested deeply", nested(6_000)),
        ("names that stand for two of the one before", format!("{names} SELECT * FROM a39")),
    ]
}

#[tokio::test]
async fn sql_that_takes_too_much_is_refused_and_ends_nothing_else() {
    let world = World::new().await;
    told(&world, "sql_exec", json!({"sql": "CREATE TABLE t (a)"})).await;
    for tool in ["sql_query", "sql_exec"] {
        for (what, sql) in too_much() {
            let done = world.ask(tool, json!({"sql": sql})).await;
            let given = done.content == r#"{"columns":["1"],"rows":[[1]],"truncated":false}"# || !done.is_error;
            let refused = ["than one call may", "one statement at a time", "took longer"];
            let refused = done.is_error && refused.iter().any(|why| done.content.contains(why));
            assert!(given || refused, "{tool}, {what}: {}", base::text::cut(&done.content, 300));
        }
    }
    let expected = json!({"columns": ["count(*)"], "rows": [[0]], "truncated": false});
    assert_eq!(told(&world, "sql_query", json!({"sql": "SELECT count(*) FROM t"})).await, expected);
}

#[tokio::test]
async fn views_upon_views_end_nothing_but_their_call() {
    let world = World::new().await;
    let view = |at: usize| match at {
        0 => "CREATE VIEW v0 AS SELECT 1 AS x;".to_owned(),
        at => format!("CREATE VIEW v{at} AS SELECT p.x FROM v{0} p, v{0} q;", at - 1),
    };
    told(&world, "sql_exec", json!({"sql": (0..40).map(view).collect::<String>()})).await;
    let done = world.ask("sql_query", json!({"sql": "SELECT * FROM v39"})).await;
    // SQLite itself counts how often a view is named.
    let refused = ["than one call may", "too many references"].iter().any(|why| done.content.contains(why));
    assert!(done.is_error && refused, "{}", done.content);
    let expected = json!({"columns": ["x"], "rows": [[1]], "truncated": false});
    assert_eq!(told(&world, "sql_query", json!({"sql": "SELECT * FROM v3"})).await, expected);
}

#[tokio::test]
async fn a_program_that_does_not_do_it_is_a_fault_of_ours() {
    let world = World::new().await;
    for (step, path) in [(1, "/nowhere/at/all"), (2, "/bin/true"), (3, "/bin/false")] {
        let tables = TeamTables::of(&world.db, path.as_ref());
        let executor = world.executor(vec![std::sync::Arc::new(SqlQuery { tables })]);
        // Each asks something else: the same call is not made again and again.
        let asked = asked("1", "sql_query", json!({"sql": format!("SELECT {step}")}));
        let call = Call { step, ..world.call() };
        assert!(executor.run_calls(&call, vec![asked]).await.is_err(), "{path}");
    }
}
