//! Skills through the executor: taken up, read, run, and not left.

use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};

use super::RunSkillScript;
use crate::shell::{Launcher, ShellRules};
use crate::testing::{World, asked};
use crate::tool::Tool;

/// A world with a skill of one file, and one with files beside it.
async fn furnished() -> World {
    let world = World::new().await;
    let home = world.home();
    for (path, text) in [
        ("skills/greet.md", "# Skill: greet\n\n## Purpose\nBe kind.\n\n## Steps\n1. Say hello.\n"),
        (
            "skills/count/SKILL.md",
            "# Skill: count\n\n## Required Tools\n- tally\n- sql_query\n\n## Steps\nUse tally, then sql_query.\n",
        ),
        ("skills/count/scripts/count.sh", "echo \"$OPENHIVE_SKILL_NAME: $# of $1\"; cat; exit \"$2\"\n"),
        ("skills/count/reference/words.md", "Words.\n"),
        ("plugins/tally.ts", "export {}\n"),
    ] {
        let path = home.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    world
}

#[tokio::test]
async fn a_skill_s_text_becomes_part_of_the_turn_and_is_noted() {
    let world = furnished().await;
    let done = world.ask("activate_skill", json!({"name": "greet"})).await;
    assert!(!done.is_error && done.content.contains("1. Say hello."), "{done:?}");
    let done = world.ask("activate_skill", json!({"name": "count"})).await;
    assert!(done.content.contains("Use main.tally, then sql_query."), "{}", done.content);
    assert!(done.content.contains("- scripts/count.sh (") && done.content.contains("bytes, a script)"), "{done:?}");
    let active = world.db.read(async |conn| store::todos::active_skills(conn, world.run).await).await.unwrap();
    assert_eq!(active, ["count", "greet"]);
    let done = world.ask("activate_skill", json!({"name": "nothing"})).await;
    assert_eq!(done.content, "there is no skill `nothing`; there are: `count`, `greet`");
}

#[tokio::test]
async fn files_beside_a_skill_are_read_and_none_from_elsewhere() {
    let world = furnished().await;
    fs::write(world.home().join("secret.md"), "no").unwrap();
    std::os::unix::fs::symlink("../../secret.md", world.home().join("skills/count/link.md")).unwrap();
    let ask = async |skill: &str, path: &str| world.ask("read_skill_file", json!({"skill": skill, "path": path})).await;
    assert_eq!(ask("count", "reference/words.md").await.content, "Words.\n");
    for (skill, path) in [
        ("count", "../greet.md"),
        ("count", "../../secret.md"),
        ("count", "link.md"),
        ("count", "/etc/hostname"),
        ("count", "missing.md"),
        ("greet", "x.md"),
        ("none", "x.md"),
    ] {
        let done = ask(skill, path).await;
        assert!(done.is_error, "{skill} {path}: {}", done.content);
    }
}

#[tokio::test]
async fn what_is_no_script_of_the_skill_is_not_run() {
    let world = furnished().await;
    for (skill, script, why) in [
        ("count", "reference/words.md", "there is no script `reference/words.md` beside the skill"),
        ("count", "../greet.md", "there is no script `../greet.md` beside the skill"),
        ("greet", "x.sh", "the skill `greet` has no files beside it"),
        ("none", "x.sh", "there is no skill `none`"),
    ] {
        let done = world.ask("run_skill_script", json!({"skill": skill, "script": script})).await;
        assert!(done.is_error && done.content.starts_with(why), "{}", done.content);
    }
}

#[tokio::test]
async fn a_script_runs_in_the_workspace_with_its_arguments_as_they_are() {
    let world = furnished().await;
    let tests = std::env::current_exe().unwrap();
    let program = tests.ancestors().nth(2).unwrap().join("examples/confine");
    assert!(program.exists(), "{} is not built: `cargo test` without `--lib` does", program.display());
    let rules = ShellRules { launcher: Launcher { program, arguments: vec![] }, ..ShellRules::default() };
    let tool = RunSkillScript::new(world.workspaces.clone(), Arc::new(rules), world.clock);
    let executor = world.executor(vec![Arc::new(tool)]);
    for (step, args, stdin, ok) in [
        (1, json!(["it's $(x) \"*\"", "0"]), json!("line 'one'\nline two\n"), true),
        (2, json!(["a", "3"]), Value::Null, false),
    ] {
        let input = json!({"skill": "count", "script": "./scripts/count.sh", "args": args, "stdin": stdin});
        let call = crate::Call { step, ..world.call() };
        let done = executor.run_calls(&call, vec![asked("1", "run_skill_script", input)]).await.unwrap().remove(0);
        assert!(!done.is_error, "{}", done.content);
        let ran: Value = serde_json::from_str(&done.content).unwrap();
        let said = format!("count: 2 of {}\n{}", args[0].as_str().unwrap(), stdin.as_str().unwrap_or_default());
        assert_eq!((&ran["ok"], &ran["stdout"]), (&json!(ok), &json!(said)), "{ran}");
    }
}

#[test]
fn a_script_has_the_bounds_of_a_command() {
    let (script, command) = (RunSkillScript::SPEC, crate::shell::RunShell::SPEC);
    assert_eq!((script.timeout, script.max_result_bytes), (command.timeout, command.max_result_bytes));
}
