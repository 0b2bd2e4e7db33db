//! Toolboxes, from the tools that make them to the rows.

use base::TeamName;
use serde_json::{Value, json};
use store::toolboxes;

use super::built_in;
use crate::permission::Grant;
use crate::testing::{START, World, asked};
use crate::{Call, Done};

/// Everything that toolboxes are made with is disabled by default: here it is granted by name.
async fn ask(world: &World, step: i64, tool: &str, input: Value) -> Done {
    let executor = world.executor_of(world.catalogue(org::trust::Policy::default()));
    let names = ["*", "create_toolbox", "update_toolbox", "delete_toolbox"];
    let grant = Grant { allowed_tools: names.map(str::to_owned).to_vec(), ..Grant::main(true) };
    let call = Call { step, grant: std::sync::Arc::new(grant), team: TeamName::main(), ..world.call() };
    executor.run_calls(&call, vec![asked("1", tool, input)]).await.unwrap().remove(0)
}

fn json_of(done: &Done) -> Value {
    assert!(!done.is_error, "{}", done.content);
    serde_json::from_str(&done.content).unwrap()
}

#[test]
fn the_built_in_toolboxes_are_those_that_are_documented() {
    let toolboxes = built_in().unwrap();
    let names: Vec<_> = toolboxes.iter().map(|toolbox| toolbox.name.as_str()).collect();
    let expected = ["address-book", "all", "calendar", "code", "configurator", "email", "ops", "research", "scout"];
    assert_eq!(names, expected);
    for toolbox in &toolboxes {
        assert_eq!(toolbox.tools.is_empty(), toolbox.about.contains("not built yet"), "{}", toolbox.name);
    }
}

#[tokio::test(start_paused = true)]
async fn seeding_twice_changes_nothing_and_takes_no_custom_toolbox_away() {
    let world = World::new().await;
    let mine = |name: &str| toolboxes::Toolbox {
        name: name.into(),
        about: String::new(),
        tools: vec!["grep".into()],
        builtin: false,
    };
    world
        .db
        .tx("test", async |conn| {
            toolboxes::set(conn, &mine("mine"), START).await?;
            toolboxes::set(conn, &mine("ops"), START).await?;
            for _ in 0..2 {
                toolboxes::seed(conn, &built_in()?, START).await?;
            }
            let all = toolboxes::list(conn).await?;
            assert_eq!(all.iter().filter(|toolbox| toolbox.builtin).count(), 9);
            let custom: Vec<_> = all.iter().filter(|it| !it.builtin).map(|it| it.name.as_str()).collect();
            assert_eq!(custom, ["mine", "ops-custom"]);
            assert!(!toolboxes::remove(conn, "ops").await?, "a built-in one stays");
            Ok(())
        })
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_toolbox_is_made_changed_and_listed() {
    let world = World::new().await;
    world.db.tx("seed", async |conn| toolboxes::seed(conn, &built_in()?, START).await).await.unwrap();
    let made = ask(&world, 1, "create_toolbox", json!({"name": "Lookers", "tools": ["list_topics", " list_topics "]}));
    let made = json_of(&made.await);
    assert_eq!(made, json!({"success": true, "name": "lookers", "tools": ["list_topics"], "toolCount": 1}));
    for (step, input, why) in [
        (2, json!({"name": "lookers", "tools": []}), "NAME_TAKEN"),
        (3, json!({"name": "no spaces", "tools": []}), "NAME_REQUIRED"),
        (4, json!({"name": "typo", "tools": ["list_topic"]}), "there is no tool called `list_topic`"),
    ] {
        let done = ask(&world, step, "create_toolbox", input).await;
        assert!(done.is_error && done.content.contains(why), "{}", done.content);
    }
    let change =
        json!({"toolbox": "lookers", "name": "seers", "add": ["list_trusted_senders"], "remove": ["list_topics"]});
    let changed = json_of(&ask(&world, 5, "update_toolbox", change).await);
    assert_eq!(changed["tools"], json!(["list_trusted_senders"]));
    let refused = ask(&world, 6, "update_toolbox", json!({"toolbox": "all", "tools": []})).await;
    assert!(refused.is_error && refused.content.contains("cannot be changed"), "{}", refused.content);
    let both = ask(&world, 7, "update_toolbox", json!({"toolbox": "seers", "tools": [], "add": ["x"]})).await;
    assert!(both.is_error && both.content.contains("not both"), "{}", both.content);
    let listed = json_of(&ask(&world, 8, "list_toolboxes", json!({})).await);
    let seers = listed["toolboxes"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&seers["name"], &seers["builtin"], &seers["toolCount"]), (&json!("seers"), &json!(false), &json!(1)));
}

#[tokio::test(start_paused = true)]
async fn tools_are_found_by_words_and_say_whether_they_may_be_used() {
    let world = World::new().await;
    let found = json_of(&world.ask("list_tools", json!({"query": "TOOLBOX makes"})).await);
    let names: Vec<_> = found["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, ["create_toolbox"]);
    let usable = found["tools"][0]["usable"].as_str().unwrap();
    assert!(usable.starts_with("no: ") && usable.contains("disabled by default"), "{usable}");
    let unknown = world.ask("list_tools", json!({"domain": "kitchen"})).await;
    assert!(unknown.is_error && unknown.content.contains("there are: admin"), "{}", unknown.content);
    // A word that is none must not look like a source without tools.
    let unknown = world.ask("list_tools", json!({"source": "natve"})).await;
    let expected = "there is no source of that name; there are: native, custom, plugin, mcp";
    assert_eq!((unknown.is_error, unknown.content.as_str()), (true, expected));
    let mcp = json_of(&world.ask("list_tools", json!({"source": "mcp"})).await);
    assert_eq!(mcp["tools"], json!([]));
}
