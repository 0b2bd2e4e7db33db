//! What is said of a team's tools.

use serde_json::Value;
use tempfile::TempDir;

use super::*;
use crate::config::{self, Environment};

/// A configuration with this `config.yaml`, in a folder of its own.
fn configured(yaml: &str) -> (TempDir, Config) {
    let folder = tempfile::tempdir().expect("a folder");
    let (data, run) = (folder.path().join("data"), folder.path().join("run"));
    std::fs::create_dir_all(&data).expect("a folder");
    std::fs::write(data.join("config.yaml"), yaml).expect("a file");
    let paths = [("HIVE_DATA_DIR", &data), ("HIVE_RUN_DIR", &run)];
    let environment = Environment::from_pairs(paths.map(|(name, path)| (name, path.display().to_string())));
    (folder, config::load(&environment).expect("a configuration"))
}

fn records(config: &Config, agent: AgentKind) -> Vec<Value> {
    let (catalogue, grant) = block_on(granted(config, "main", agent)).expect("there is a main team");
    let Value::Array(records) = tools::json_of(&catalogue, &grant) else { panic!("no list") };
    records
}

#[test]
fn a_team_that_there_is_not_is_an_error_that_names_those_there_are() {
    let (_folder, config) = configured("");
    let error = block_on(granted(&config, "nonesuch", AgentKind::Main)).err().expect("there is no such team");
    assert_eq!(error.to_string(), "there is no team `nonesuch`; there is: main");
}

#[test]
fn every_record_says_whether_the_agent_has_the_tool_and_why() {
    let (_folder, config) = configured("team:\n  allowed_tools: [\"memory_*\", \"list_topics\"]\n");
    let fields: Vec<&str> = "name id aliases wire_name about domain source availability partition ops effect \
                             destructive timeout_s max_result_bytes default_disabled provenance input output active \
                             rule detail"
        .split_whitespace()
        .collect();
    for agent in AgentKind::ALL {
        let records = records(&config, agent);
        assert!(records.len() > 20);
        for record in &records {
            let record = record.as_object().expect("a record");
            assert_eq!(record.len(), fields.len(), "{record:?}");
            assert!(fields.iter().all(|field| record.contains_key(*field)), "{record:?}");
        }
        let rule = |name: &str| {
            let record = records.iter().find(|record| record["name"] == name).expect(name);
            (record["active"].as_bool().expect("a yes or no"), record["rule"].as_str().expect("a rule").to_owned())
        };
        let is = |active, rule: &str| (active, rule.to_owned());
        assert_eq!(rule("memory_search"), is(true, "allowed_tools"));
        assert!(!rule("web_fetch").0);
        match agent {
            AgentKind::Scout => assert_eq!(rule("run_shell"), is(false, "scout_writes")),
            _ => assert_eq!(rule("run_shell"), is(true, "floor")),
        }
    }
}

#[test]
fn nobody_who_works_for_the_main_agent_has_what_it_lacks() {
    let (_folder, config) = configured("team:\n  allowed_tools: [\"memory_search\"]\n");
    let main = records(&config, AgentKind::Main);
    let sub = records(&config, AgentKind::Sub);
    for (above, below) in main.iter().zip(&sub) {
        assert_eq!(above["name"], below["name"]);
        assert!(below["active"] == false || above["active"] == true || below["rule"] == "floor", "{below}");
    }
}

#[test]
fn a_subagent_is_explained_by_the_lists_that_name_it() {
    let (_folder, config) = configured("team:\n  allowed_tools: [react-dev]\n");
    for name in ["react-dev", "tester", "grep"] {
        let path = config.run_dir.join(format!("teams/main/subagents/{name}.md"));
        std::fs::create_dir_all(path.parent().expect("it has a folder")).expect("a folder");
        std::fs::write(path, format!("# Agent: {name}\n\n## Role\nWorks.\n")).expect("a file");
    }
    for (tool, said, allowed) in [
        ("react-dev", "A main agent may use the subagent `react-dev`: `react-dev` in allowed_tools grants it.", true),
        ("tester", "A main agent may not use the subagent `tester`: nothing in allowed_tools names it.", false),
        ("grep", "A main agent may use `grep`: every main agent has it.", true),
    ] {
        let question =
            Question { team: "main".to_owned(), tool: tool.to_owned(), agent: AgentKind::Main, sender: None };
        assert_eq!(block_on(answer(&config, &question)).expect("an answer"), (said.to_owned(), allowed));
    }
}
