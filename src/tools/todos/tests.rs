//! The list of a turn through the executor: what is kept, what is refused, what the model is shown.

use serde_json::{Value, json};

use crate::testing::World;

async fn list(world: &World, tool: &str, input: Value) -> Value {
    let done = world.ask(tool, input).await;
    assert!(!done.is_error, "{}", done.content);
    serde_json::from_str(&done.content).unwrap()
}

#[tokio::test]
async fn a_list_may_be_given_as_its_subjects_alone() {
    let world = World::new().await;
    let input = json!({"items": ["read it", "  ", {"subject": "write", "status": "in_progress"}, "\n"]});
    let items = json!([{"id": "1", "subject": "read it", "status": "pending"},
                       {"id": "2", "subject": "write", "status": "in_progress"}]);
    assert_eq!(list(&world, "set_todos", input).await, json!({"todos": items, "open": 2}));
    for (input, why) in [
        (json!({"items": "read it"}), "bad arguments: invalid type: string \"read it\", expected a sequence"),
        (json!({"items": [7]}), "bad arguments: invalid type: integer `7`, expected struct NewTodo"),
        (json!({"todos": [{"subject": " "}]}), "an item says in its `subject` what is to be done"),
    ] {
        let done = world.ask("set_todos", input).await;
        assert_eq!((done.content.as_str(), done.is_error), (why, true));
    }
}

#[tokio::test]
async fn a_list_is_set_added_to_and_done() {
    let world = World::new().await;
    let input = json!({"todos": [{"subject": " read\nit "}, {"id": "1", "subject": "write", "status": "in_progress"}]});
    let set = list(&world, "set_todos", input.clone()).await;
    let read = json!({"id": "2", "subject": "read it", "status": "pending"});
    let write = |status: &str| json!({"id": "1", "subject": "write", "status": status});
    assert_eq!(set, json!({"todos": [read, write("in_progress")], "open": 2}));
    assert_eq!(list(&world, "task_todos", input).await, set, "the same tool by its other name");
    let test = json!({"id": "3", "subject": "test", "status": "pending"});
    let added = list(&world, "add_todo", json!({"subject": "test"})).await;
    assert_eq!(added, json!({"todos": [read, write("in_progress"), test], "open": 3}));
    assert_eq!(list(&world, "add_todo", json!({"text": "test"})).await, added, "it is there already");
    let completed = list(&world, "complete_todo", json!({"id": "1"})).await;
    assert_eq!(completed, json!({"todos": [read, write("completed"), test], "open": 2}));
    let kept = world.db.read(async |conn| store::todos::of_run(conn, world.run).await).await.unwrap();
    assert_eq!(kept.len(), 3);
    assert_eq!(list(&world, "set_todos", json!({"todos": []})).await, json!({"todos": [], "open": 0}));
}

#[tokio::test]
async fn what_is_no_list_is_refused_and_changes_nothing() {
    let world = World::new().await;
    list(&world, "set_todos", json!({"items": [{"id": "a", "subject": "stay"}]})).await;
    let many: Vec<Value> = (0..31).map(|at| json!({"subject": format!("{at}")})).collect();
    for (tool, input, why) in [
        ("set_todos", json!({"todos": many}), "a list has at most 30 items: put several into one"),
        (
            "set_todos",
            json!({"todos": [{"subject": "x", "status": "in_progress"}, {"subject": "y", "status": "in_progress"}]}),
            "at most one item is in progress: the others are pending, or completed",
        ),
        (
            "set_todos",
            json!({"todos": [{"id": "x", "subject": "x"}, {"id": " x ", "subject": "y"}]}),
            "two items have the id `x`",
        ),
        ("set_todos", json!({"todos": [{"subject": " "}]}), "an item says in its `subject` what is to be done"),
        ("add_todo", json!({"subject": "x".repeat(301)}), "a `subject` has at most 300 characters"),
        ("complete_todo", json!({"id": "b"}), "there is no item `b`; there are: `a`"),
    ] {
        let done = world.ask(tool, input).await;
        assert_eq!((done.content.as_str(), done.is_error), (why, true), "{tool}");
    }
    let wrong = world.ask("set_todos", json!({"todos": [{"subject": "x", "status": "doing"}]})).await;
    assert!(wrong.is_error && wrong.content.starts_with("bad arguments: unknown variant `doing`"), "{wrong:?}");
    let kept = world.db.read(async |conn| store::todos::of_run(conn, world.run).await).await.unwrap();
    assert_eq!(kept.iter().map(|todo| todo.subject.as_str()).collect::<Vec<_>>(), ["stay"]);
}
