//! What a catalogue refuses, how it sorts, and that the documentation is true.

use std::borrow::Cow;
use std::path::Path;

use org::trust::Policy;

use super::*;
use crate::permission::AgentKind;
use crate::reference;
use crate::spec::{Effect, Partition};
use crate::testing::{Fake, World, spec};

fn fault(specs: Vec<Spec>) -> String {
    let Err(error) = Catalogue::new(specs.into_iter().map(Fake::echo).collect()) else { return "none".to_owned() };
    error.to_string()
}

#[test]
fn a_record_that_contradicts_itself_is_refused() {
    assert_eq!(fault(vec![spec("a"), spec("b")]), "none");
    for (specs, expected) in [
        (vec![spec("a"), spec("a")], "two tools are called `a`"),
        (vec![spec("a"), Spec { aliases: &["a"], ..spec("b") }], "two tools are called `a`"),
        (
            vec![Spec { name: Cow::Borrowed("a b"), ..spec("a") }],
            "`a b` is not a tool name: use 1 to 200 letters, digits, `_`, single `-` and `.`, which do not stand side \
             by side or at an end",
        ),
        (vec![Spec { about: Cow::Borrowed(" \n"), ..spec("a") }], "nothing says what `a` does"),
        (vec![Spec { domain: Domain::Internal, ..spec("a") }], "`a` is half internal"),
        (vec![Spec { destructive: true, ..spec("a") }], "`a` only reads and yet destroys"),
        (vec![Spec { ops: Ops::Org, ..spec("a") }], "`a` only reads and yet wants the team for itself"),
        (
            vec![Spec { effect: Effect::Once, ..spec("a") }],
            "`a` may overlap with itself and yet has an effect each time",
        ),
        (vec![Spec { max_result_bytes: 0, ..spec("a") }], "`a` may say nothing"),
    ] {
        assert_eq!(fault(specs), expected);
    }
}

#[test]
fn a_tool_is_found_by_every_name_and_shown_by_one() {
    let deploy = Spec { name: Cow::Borrowed("eng.deploy"), source: Source::Plugin, ..spec("a") };
    let look = Spec { aliases: &["see"], domain: Domain::Admin, ..spec("look") };
    let catalogue = Catalogue::new(vec![Fake::echo(deploy), Fake::echo(look), Fake::echo(spec("b"))]).unwrap();
    let order: Vec<_> = catalogue.entries().map(|entry| entry.spec().name.as_ref()).collect();
    assert_eq!(order, ["look", "b", "eng.deploy"], "by domain, then by name");
    let named = |entry: Option<&Entry>| entry.map(|entry| entry.spec().name.to_string());
    assert_eq!(named(catalogue.by_wire("eng--deploy")).as_deref(), Some("eng.deploy"));
    assert_eq!(named(catalogue.by_wire("eng.deploy")), None);
    assert_eq!(named(catalogue.by_name("see")).as_deref(), Some("look"));
    assert_eq!(named(catalogue.by_wire("see")).as_deref(), Some("look"));
    let grant = Grant {
        allowed_tools: vec!["*".into(), "eng.*".into()],
        plugins: [("eng.deploy".to_owned(), crate::PluginFacts::all())].into(),
        ..Grant::main(false)
    };
    let shown = catalogue.definitions(&catalogue.active(&grant));
    assert_eq!(shown.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["look", "b", "eng--deploy"]);
}

#[tokio::test]
async fn what_a_model_is_shown_is_the_same_whoever_asks() {
    let world = World::new().await;
    let catalogue = world.catalogue(Policy::default());
    let bytes = |grant: &Grant| format!("{:?}", catalogue.definitions(&catalogue.active(grant)));
    assert_eq!(bytes(&Grant::main(true)), bytes(&Grant::main(false)));
    assert_eq!(bytes(&Grant::main(true)), {
        let again = world.catalogue(Policy::default());
        format!("{:?}", again.definitions(&again.active(&Grant::main(true))))
    });
}

#[tokio::test]
async fn each_kind_of_agent_has_the_program_s_tools_that_are_for_it() {
    let world = World::new().await;
    let catalogue = world.catalogue(Policy::default());
    let names = |agent, allowed: &[&str]| {
        let allowed_tools = allowed.iter().map(|name| (*name).to_owned()).collect();
        let active = catalogue.active(&Grant { agent, allowed_tools, ..Grant::main(true) });
        active.names().map(str::to_owned).collect::<Vec<_>>()
    };
    let all = names(AgentKind::Main, &["*"]);
    for name in
        ["add_trusted_sender", "list_topics", "list_tools", "memory_search", "read_file", "run_shell", "web_fetch"]
    {
        assert!(all.iter().any(|shown| shown == name), "{name} is not in {all:?}");
    }
    assert!(!all.iter().any(|name| name == "create_toolbox"), "disabled by default");
    let floor = [
        "attach_file",
        "edit_file",
        "grep",
        "list_directory",
        "multi_edit",
        "notify",
        "prompt_human",
        "prompt_secret",
        "read_file",
        "run_shell",
        // By its other name, `task_todos`.
        "set_todos",
        "think",
        "write_file",
    ];
    assert_eq!(names(AgentKind::Main, &[]), floor);
    let of_sub = names(AgentKind::Sub, &[]);
    let of_main_alone = ["attach_file", "prompt_secret"];
    let protocol = ["report_to_parent", "request_input", "update_task_status"];
    let core = floor.into_iter().filter(|name| !of_main_alone.contains(name));
    let sorted: BTreeSet<&str> = core.chain(protocol).collect();
    assert_eq!(of_sub, sorted.into_iter().collect::<Vec<_>>());
    let of_scout = names(AgentKind::Scout, &["*"]);
    let reads = [
        "get_status",
        "glob",
        "grep",
        "list_completed_tasks",
        "list_directory",
        "list_teams",
        "memory_list",
        "memory_search",
        "read_file",
        "read_skill_file",
        "report_to_parent",
        "request_input",
        "sql_query",
        "think",
        "update_task_status",
        "vault_get",
        "vault_list",
    ];
    assert_eq!(of_scout, reads, "a scout only looks, and answers whoever sent it");
    assert_eq!(names(AgentKind::Scout, &[]), ["report_to_parent", "request_input", "think", "update_task_status"]);
}

#[tokio::test]
async fn every_argument_of_the_program_s_tools_is_described() {
    let world = World::new().await;
    let catalogue = world.catalogue(Policy::default());
    let mut seen = 0;
    for entry in catalogue.entries() {
        let schema = entry.schema.json();
        assert!(!schema.contains("$ref") && !schema.contains("$schema"), "{schema}");
        for (name, field) in entry.schema.value()["properties"].as_object().into_iter().flatten() {
            assert!(field["description"].is_string(), "{}.{name}", entry.spec().name);
            seen += 1;
        }
        let wide = Partition::Read == entry.spec().partition;
        assert!(!wide || entry.spec().may_run_again(), "{}", entry.spec().name);
    }
    assert!(seen > 5, "{seen} arguments seen");
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a test that rewrites a file when it is asked to")]
async fn the_reference_is_current() {
    let world = World::new().await;
    let catalogue = world.catalogue(Policy::default());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tools.md");
    let made = reference::markdown(&catalogue);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&file, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(kept, made, "run the tests once with UPDATE=1 to rewrite docs/tools.md");
    let json = reference::json(&catalogue);
    let records = json.as_array().unwrap();
    assert_eq!(records.len(), catalogue.entries().count());
    let list = records.iter().find(|record| record["name"] == "list_directory").unwrap();
    assert_eq!(list["aliases"][0], "list");
}
