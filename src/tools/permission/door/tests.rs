//! The door of the permission formula: what it understands, what it refuses to, and that it says what the formula says.

use org::trust::Policy;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::decide;
use super::*;
use crate::testing::World;

/// The program's tools. The records are all that is looked at.
async fn program() -> (World, Catalogue) {
    let world = World::new().await;
    let catalogue = world.catalogue(Policy::default());
    (world, catalogue)
}

fn short(answer: &Value) -> String {
    format!("{} {}", answer["decision"].as_str().unwrap_or("?"), answer["rule"].as_str().unwrap_or("?"))
}

#[tokio::test]
async fn every_part_of_the_formula_decides() {
    let (_world, catalogue) = program().await;
    let ready = json!({"declared": true, "active": true, "verified": true, "hash_equal": true});
    let deploy = json!({"tool": "eng.deploy", "allowed_tools": ["eng.*"], "plugin": ready});
    let without = |fact: &str| {
        let mut case = deploy.clone();
        case["plugin"][fact] = json!(false);
        case
    };
    let git = |declares: bool, trusted: bool| {
        json!({"tool": "mcp__git__log", "agent": "scout", "allowed_tools": ["mcp__git__*"],
               "mcp": {"declares_read_only": declares, "server_trusted": trusted}})
    };
    for (case, expected) in [
        (json!({"tool": "read_file"}), "allow floor"),
        (json!({"tool": "read"}), "allow floor"),
        (json!({"tool": "memory_search"}), "refuse not_allowed"),
        (json!({"tool": "memory_search", "allowed_tools": ["*"]}), "allow allowed_tools"),
        (json!({"tool": "memory_search", "allowed_tools": ["*"], "toolboxes": []}), "refuse in_no_toolbox"),
        (json!({"tool": "memory_search", "allowed_tools": ["*"], "toolboxes": ["research"]}), "allow toolbox"),
        (json!({"tool": "memory_search", "allowed_tools": ["*"], "toolboxes": [["memory_*"]]}), "allow toolbox"),
        (
            json!({"tool": "memory_search", "allowed_tools": ["*"],
                   "toolboxes": [{"name": "mine", "tools": ["memory_*"]}]}),
            "allow toolbox",
        ),
        (
            json!({"tool": "memory_search", "allowed_tools": ["*"], "toolboxes": [], "direct": ["memory_search"]}),
            "allow direct",
        ),
        (json!({"tool": "create_toolbox", "allowed_tools": ["*"]}), "refuse too_vague"),
        (
            json!({"tool": "create_toolbox", "allowed_tools": ["create_toolbox"], "sender": "admin"}),
            "allow allowed_tools",
        ),
        (json!({"tool": "add_trusted_sender", "allowed_tools": ["*"]}), "refuse not_an_admin"),
        (json!({"tool": "add_trusted_sender", "allowed_tools": ["*"], "sender": "admin"}), "allow allowed_tools"),
        (json!({"tool": "read_file", "sender": "unknown"}), "refuse not_trusted"),
        (json!({"tool": "read_file", "sender": {}}), "refuse not_trusted"),
        (json!({"tool": "read_file", "sender": {"trust": "denied", "admin": true}}), "refuse not_trusted"),
        (json!({"tool": "read_file", "sender": {"admin": true}}), "allow floor"),
        (json!({"tool": "run_shell", "agent": "scout", "allowed_tools": ["*"]}), "refuse scout_writes"),
        (
            json!({"tool": {"name": "x", "partition": "delegate"}, "agent": "scout", "allowed_tools": ["*"]}),
            "refuse scout_delegates",
        ),
        (json!({"tool": "attach_file", "agent": "sub", "allowed_tools": ["*"]}), "refuse availability"),
        (json!({"tool": {"name": "score", "source": "internal"}, "allowed_tools": ["*"]}), "refuse internal"),
        (json!({"tool": "nonesuch", "allowed_tools": ["*"]}), "refuse unknown_tool"),
        (deploy.clone(), "allow allowed_tools"),
        (json!({"tool": "eng.deploy", "allowed_tools": ["*"], "plugin": ready}), "refuse too_vague"),
        (json!({"tool": "eng.deploy", "allowed_tools": ["eng.*"]}), "refuse plugin_not_declared"),
        (without("declared"), "refuse plugin_not_declared"),
        (without("active"), "refuse plugin_inactive"),
        (without("verified"), "refuse plugin_not_verified"),
        (without("hash_equal"), "refuse plugin_changed"),
        (git(true, true), "allow allowed_tools"),
        (git(true, false), "refuse scout_writes"),
        (git(false, true), "refuse scout_writes"),
    ] {
        assert_eq!(short(&verdict(&catalogue, &case)), expected, "{case}");
    }
}

#[tokio::test]
async fn a_chain_of_parents_hands_down_what_all_of_them_have() {
    let (_world, catalogue) = program().await;
    let case = |parent: Value| json!({"tool": "web_fetch", "allowed_tools": ["*"], "parent": parent});
    for (parent, expected) in [
        (json!(["web_fetch", "grep"]), "allow allowed_tools"),
        (json!(["grep"]), "refuse parent_lacks"),
        (json!([]), "refuse parent_lacks"),
        (json!({"allowed_tools": ["web_*"]}), "allow allowed_tools"),
        (json!({"allowed_tools": []}), "refuse parent_lacks"),
        (json!({"allowed_tools": ["*"], "parent": {"allowed_tools": ["*"]}}), "allow allowed_tools"),
        (json!({"allowed_tools": ["*"], "parent": {"allowed_tools": ["memory_*"]}}), "refuse parent_lacks"),
        (json!({"allowed_tools": ["*"], "toolboxes": ["email"], "parent": ["web_fetch"]}), "refuse parent_lacks"),
        (json!({"agent": "scout", "allowed_tools": ["*"]}), "error input"),
    ] {
        assert_eq!(short(&verdict(&catalogue, &case(parent.clone()))), expected, "{parent}");
    }
}

#[tokio::test]
async fn what_is_not_understood_is_an_error_and_says_where() {
    let (_world, catalogue) = program().await;
    for (case, place) in [
        (json!([]), "not an object"),
        (json!({}), "missing field `tool`"),
        (json!({"tool": 7}), "tool: "),
        (json!({"tool": ""}), "tool: `` is not a tool name"),
        (json!({"tool": "a b"}), "tool: "),
        (json!({"tool": {"name": "x", "colour": "red"}}), "tool: unknown field `colour`"),
        (json!({"tool": {"name": "x", "partition": "Read"}}), "partition: found `Read`"),
        (json!({"tool": {"name": "x", "source": "elsewhere"}}), "source: found `elsewhere`"),
        (json!({"tool": "grep", "agent": "boss"}), "agent: found `boss`"),
        (json!({"tool": "grep", "allowed_tool": ["*"]}), "unknown field `allowed_tool`"),
        (json!({"tool": "grep", "allowed_tools": "*"}), "invalid type"),
        (json!({"tool": "grep", "toolboxes": ["nonesuch"]}), "toolboxes[0]: there is no built-in toolbox `nonesuch`"),
        (json!({"tool": "grep", "toolboxes": [7]}), "toolboxes[0]: "),
        (json!({"tool": "grep", "parent": "main"}), "parent: "),
        (json!({"tool": "grep", "parent": {"agent": "x"}}), "parent.agent: "),
        (json!({"tool": "grep", "parent": {"plugin": {}}}), "parent: unknown field `plugin`"),
        (json!({"tool": "grep", "plugin": {"hash": true}}), "unknown field `hash`"),
        (json!({"tool": "grep", "sender": "owner"}), "sender: found `owner`"),
        (json!({"tool": "grep", "sender": {"admin": "no"}}), "sender: "),
    ] {
        let answer = verdict(&catalogue, &case);
        assert_eq!(short(&answer), "error input", "{case}");
        assert!(answer["detail"].as_str().unwrap().contains(place), "{case}: {}", answer["detail"]);
    }
}

#[tokio::test]
async fn every_tool_of_the_program_is_judged_alike_by_name_and_by_its_printed_record() {
    let (_world, catalogue) = program().await;
    let records = crate::reference::json(&catalogue);
    let records = records.as_array().unwrap();
    assert!(records.len() > 20);
    for record in records {
        for agent in AgentKind::ALL {
            for allowed in [json!([]), json!(["*"]), json!([record["name"]])] {
                let case = |tool: &Value| json!({"tool": tool, "agent": agent.as_str(), "allowed_tools": allowed});
                let by_name = verdict(&catalogue, &case(&record["name"]));
                assert_eq!(by_name, verdict(&catalogue, &case(record)), "{record}");
                let grant = Grant {
                    agent,
                    allowed_tools: serde_json::from_value(allowed.clone()).unwrap(),
                    ..Grant::main(false)
                };
                let entry = catalogue.by_name(record["name"].as_str().unwrap()).unwrap();
                let said = decide(entry.spec(), &grant);
                assert_eq!(by_name["decision"], if said.allowed { "allow" } else { "refuse" });
                assert_eq!(
                    (&by_name["rule"], &by_name["detail"]),
                    (&json!(said.reason.rule()), &json!(said.reason.to_string()))
                );
            }
        }
    }
}

/// Any JSON, made of words that mean something here more often than chance would have it.
fn anything() -> impl Strategy<Value = Value> {
    let words =
        ["tool", "agent", "parent", "grep", "main", "scout", "*", "mcp__a__b", "eng.x", "sender", "admin", "name"];
    let word = move || prop::sample::select(words.to_vec()).prop_map(str::to_owned);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        word().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(word(), inner, 0..5).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

#[test]
fn the_door_is_total_and_says_the_same_every_time() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (_world, catalogue) = runtime.block_on(program());
    proptest!(|(case in anything())| {
        let answer = verdict(&catalogue, &case);
        prop_assert!(["allow", "refuse", "error"].contains(&answer["decision"].as_str().unwrap()));
        prop_assert_eq!(answer, verdict(&catalogue, &case));
    });
}
