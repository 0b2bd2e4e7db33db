//! What agents are shown of the tools that ask.

use serde_json::json;

use super::*;
use crate::Grant;
use crate::testing::asked;

fn persona(name: &str, about: &str) -> Persona {
    Persona { name: name.to_owned(), about: about.to_owned() }
}

fn enums(schema: &Value, found: &mut Vec<Value>) {
    match schema {
        Value::Object(fields) => {
            for field in ["team", "assignee"] {
                found
                    .extend(fields.get("properties").and_then(|all| all.get(field)).map(|child| child["enum"].clone()));
            }
            fields.values().for_each(|value| enums(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| enums(item, found)),
        _ => {}
    }
}

#[tokio::test]
async fn an_agent_is_shown_its_children_and_its_subagents_and_nobody_else() {
    let world = World::new().await;
    let catalogue = world.catalogue(Policy::default());
    let all = catalogue.definitions(&catalogue.active(&Grant::main(false)));
    let asks = ["delegate_parallel", "delegate_to", "query_team", "query_teams", "run_subagent", "scout"];
    let names = |definitions: &[crate::Definition]| -> Vec<String> {
        let ours = definitions.iter().map(|definition| definition.name.clone());
        let before: Vec<_> = catalogue.entries().map(|entry| entry.wire_name.clone()).collect();
        ours.filter(|name| asks.contains(&name.as_str()) || !before.contains(name)).collect()
    };
    let personas = [persona("Data  Analyst", "Reads numbers."), persona("grep", "")];
    let subagents = Subagents::of(&catalogue, &personas);
    let children = [team("docs"), team("ops")];
    let fitted = Reach { children: &children, subagents: &subagents }.fit(all.clone());
    assert_eq!(
        names(&fitted),
        ["delegate_parallel", "delegate_to", "Data-Analyst", "subagent-grep", "scout", "query_team", "query_teams"]
    );
    let mut chosen = Vec::new();
    let ours = fitted.iter().filter(|definition| asks.contains(&definition.name.as_str()));
    ours.for_each(|definition| enums(&definition.schema.value(), &mut chosen));
    assert_eq!(chosen.len(), 5, "assignee of two, twice in one of them, and team of two");
    assert!(chosen.iter().all(|names| *names == json!(["docs", "ops"])), "{chosen:?}");
    let alone = Reach { children: &[], subagents: &Subagents::default() }.fit(all.clone());
    assert_eq!(names(&alone), ["scout"]);
    let again = Reach { children: &children, subagents: &Subagents::of(&catalogue, &personas) }.fit(all);
    assert_eq!(format!("{again:?}"), format!("{fitted:?}"), "the same bytes");
}

#[tokio::test]
async fn a_subagent_s_own_tool_is_a_call_of_the_one_that_runs_them() {
    let world = World::new().await;
    let catalogue = world.catalogue(Policy::default());
    let personas = [persona("Ana", ""), persona("ana!", ""), persona("ana", ""), persona("-", ""), persona("日本", "")];
    let subagents = Subagents::of(&catalogue, &personas);
    assert!(!subagents.is_empty());
    let stands_for = |name: &str| {
        let read = subagents.read(asked("7", name, json!({"task": "x", "name": "somebody else"})));
        (read.wire_name, read.input.unwrap()["name"].as_str().unwrap().to_owned())
    };
    for (name, expected) in
        [("Ana", "Ana"), ("ana", "ana"), ("subagent-ana", "ana!"), ("subagent", "-"), ("subagent-2", "日本")]
    {
        assert_eq!(stands_for(name), ("run_subagent".to_owned(), expected.to_owned()));
    }
    let other = asked("7", "grep", json!({}));
    assert_eq!(subagents.read(other.clone()), other);
    let broken = Asked { input: Err("{".into()), ..asked("7", "Ana", json!({})) };
    assert_eq!(subagents.read(broken).input, Err("{".into()));
}

#[test]
fn a_long_name_of_a_subagent_is_one_that_providers_take() {
    let catalogue = crate::Catalogue::new(Vec::new()).unwrap();
    let long = "a ".repeat(60);
    let subagents = Subagents::of(&catalogue, &[persona(&long, "x"), persona(&long, "y")]);
    let definitions = Reach { children: &[], subagents: &subagents }.fit(vec![crate::Definition {
        name: "run_subagent".into(),
        about: String::new(),
        schema: json!({}).into(),
    }]);
    assert_eq!(definitions.len(), 2);
    for definition in definitions {
        assert!(crate::wire::name(&definition.name).is_ok_and(|name| name == definition.name), "{}", definition.name);
    }
}
