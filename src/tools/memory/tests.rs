//! The memory tools as a model calls them.

use std::sync::Arc;

use base::TeamName;
use org::memory::Library;
use serde_json::{Value, json};

use super::{MemoryDelete, MemoryList, MemorySave, MemorySearch};
use crate::testing::{World, asked};
use crate::{AnyTool, Call, Executor};

struct Tools {
    world: World,
    executor: Executor,
    step: std::cell::Cell<i64>,
}

impl Tools {
    async fn new() -> Tools {
        let world = World::new().await;
        let (db, clock, library) = (world.db.clone(), world.clock, Library::embedded());
        let tools: Vec<Arc<dyn AnyTool>> = vec![
            Arc::new(MemorySave { db: db.clone(), clock, library: library.clone() }),
            Arc::new(MemoryDelete { db: db.clone(), clock }),
            Arc::new(MemorySearch { db: db.clone(), clock, library }),
            Arc::new(MemoryList { db }),
        ];
        let executor = world.executor(tools);
        Tools { world, executor, step: 0.into() }
    }

    async fn of(&self, team: &str, tool: &str, input: Value) -> (Value, bool) {
        self.step.set(self.step.get() + 1);
        let team: TeamName = team.parse().unwrap();
        let call = Call { team, step: self.step.get(), ..self.world.call() };
        let done = self.executor.run_calls(&call, vec![asked("1", tool, input)]).await.unwrap().remove(0);
        (serde_json::from_str(&done.content).unwrap_or(Value::String(done.content)), done.is_error)
    }

    async fn ok(&self, tool: &str, input: Value) -> Value {
        let (value, is_error) = self.of("main", tool, input).await;
        assert!(!is_error, "{value}");
        value
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_saved_is_found_listed_superseded_and_forgotten() {
    let tools = Tools::new().await;
    let saved = tools.ok("memory_save", json!({"key": "host", "content": "The host is db1.", "type": "note"})).await;
    let entry = json!({
        "id": 1, "team_name": "main", "key": "host", "content": "The host is db1.", "type": "decision",
        "is_active": true, "supersedes_id": null, "supersede_reason": null, "updated_by": "main",
        "created_at": "2026-11-21 20:03 UTC", "updated_at": "2026-11-21 20:03 UTC",
    });
    assert_eq!(saved, json!({"success": true, "entry": entry}));
    assert_eq!(tools.ok("memory_list", json!({"type": "choice"})).await, json!([entry]));
    assert_eq!(tools.ok("memory_list", json!({"type": "lesson"})).await, json!([]));

    let refused = tools.ok("memory_save", json!({"key": "host", "content": "The host is db2."})).await;
    assert_eq!(refused["success"], false);
    assert!(refused["error"].as_str().unwrap().contains("supersede_reason"), "{refused}");
    let again = json!({"key": "host", "content": "The host is db2.", "supersede_reason": "moved"});
    assert_eq!(tools.ok("memory_save", again).await["entry"]["supersedes_id"], 1);

    let found = tools.ok("memory_search", json!({"query": "what's the host?"})).await;
    let rows: Vec<_> = found.as_array().unwrap().iter().map(|hit| (&hit["snippet"], &hit["is_active"])).collect();
    assert_eq!(rows, [(&json!("The host is db2."), &json!(true)), (&json!("The host is db1."), &json!(false))]);
    let fields: Vec<&String> = found[0].as_object().unwrap().keys().collect();
    assert_eq!(fields.len(), 6, "{fields:?}");
    assert_eq!((&found[0]["type"], &found[0]["source"]), (&json!("context"), &json!("hybrid")));
    assert_eq!(tools.of("ops", "memory_search", json!({"query": "host"})).await, (json!([]), false));

    assert_eq!(tools.ok("memory_delete", json!({"key": "host"})).await, json!({"success": true, "deleted": true}));
    assert_eq!(tools.ok("memory_delete", json!({"key": "host"})).await, json!({"success": true, "deleted": false}));
    assert_eq!(tools.ok("memory_search", json!({"query": "host"})).await, json!([]));
    assert_eq!(tools.ok("memory_list", json!({})).await, json!([]));
}

#[tokio::test(start_paused = true)]
async fn wrong_arguments_are_said_in_words() {
    let tools = Tools::new().await;
    let saved = tools.ok("memory_save", json!({"key": "k", "content": "c", "type": "fact"})).await;
    assert!(saved["success"] == false && saved["error"].as_str().unwrap().contains("no type of memory"), "{saved}");
    for (tool, input) in [
        ("memory_list", json!({"type": "fact"})),
        ("memory_delete", json!({"key": " "})),
        ("memory_search", json!({"query": ""})),
        ("memory_search", json!({"query": "x", "max_results": 0})),
        ("memory_search", json!({"query": "x", "max_results": -1})),
        ("memory_save", json!({"key": "k"})),
        ("memory_save", json!({"key": "k", "content": "c", "team": "ops"})),
    ] {
        assert!(tools.of("main", tool, input.clone()).await.1, "{tool} {input}");
    }
    assert_eq!(tools.ok("memory_search", json!({"query": "?!'\"*"})).await, json!([]));
}
