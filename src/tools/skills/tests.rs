//! Skills through the executor: taken up, read, run, and not left.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use org::trust::Policy;
use serde_json::{Value, json};

use super::RunSkillScript;
use crate::shell::{self, ShellRules};
use crate::testing::{self, World, asked};
use crate::tool::Tool;
use crate::{AgentKind, Call, Grant, Remit};

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

#[tokio::test(start_paused = true)]
async fn a_skill_that_is_taken_up_is_noted_and_no_more_than_a_few_are() {
    let world = furnished().await;
    for (name, nth) in [("greet", 1), ("count", 2)] {
        tokio::time::advance(Duration::from_millis(1)).await;
        let done = world.ask("activate_skill", json!({"name": name})).await;
        assert!(!done.is_error && done.content.starts_with(&format!("Taken up: the text of `{name}`")), "{done:?}");
        assert_eq!(active(&world).await.len(), nth);
    }
    assert_eq!(active(&world).await, ["greet", "count"], "in the order in which they were taken up");
    let done = world.ask("activate_skill", json!({"name": "nothing"})).await;
    assert_eq!(done.content, "there is no skill `nothing`; there are: `count`, `greet`");
    for number in 0..7 {
        fs::write(world.home().join(format!("skills/s{number}.md")), "Steps.").unwrap();
        let done = world.ask("activate_skill", json!({"name": format!("s{number}")})).await;
        assert_eq!(done.is_error, number == 6, "{done:?}");
    }
    let done = world.ask("activate_skill", json!({"name": "s6"})).await;
    assert!(done.content.starts_with("this turn follows 8 skills already: `greet`, `count`, `s0`"), "{done:?}");
    // One that is followed already is no new one.
    let done = world.ask("use_skill", json!({"skill": "greet"})).await;
    assert!(!done.is_error, "{done:?}");
}

async fn active(world: &World) -> Vec<String> {
    world.db.read(async |conn| store::todos::active_skills(conn, world.run).await).await.unwrap()
}

#[tokio::test]
async fn a_file_that_is_no_skill_by_a_fault_is_told_to_whoever_asks_for_it() {
    let world = furnished().await;
    fs::write(world.home().join("skills/broken.md"), b"# Skill: broken\n\xff").unwrap();
    for tool in ["activate_skill", "use_skill"] {
        let done = world.ask(tool, json!({"name": "broken"})).await;
        let (first, fault) = done.content.split_once('\n').unwrap();
        assert_eq!(first, "there is no skill `broken`; there are: `count`, `greet`");
        assert!(fault.starts_with("skills/broken.md") && fault.contains("not UTF-8"), "{fault}");
    }
}

#[tokio::test]
async fn a_subagent_takes_up_the_skills_of_its_file_and_no_others() {
    let world = furnished().await;
    let executor = world.executor_of(world.catalogue(Policy::default()));
    let remit = |skills: &[&str]| Remit { tools: None, skills: skills.iter().map(|name| (*name).to_owned()).collect() };
    for (step, (skills, tool, input, said)) in (1..).zip([
        (&["count"][..], "activate_skill", json!({"name": "count"}), "Taken up: "),
        (&["count"], "read_skill_file", json!({"skill": "count", "path": "reference/words.md"}), "Words."),
        (
            &["count"],
            "activate_skill",
            json!({"name": "greet"}),
            "`greet` is no skill of this subagent, which follows: `count`",
        ),
        (
            &["greet"],
            "read_skill_file",
            json!({"skill": "count", "path": "reference/words.md"}),
            "`count` is no skill of this",
        ),
        (&["gone"], "activate_skill", json!({"name": "gone"}), "there is no skill `gone`; there are: none"),
        (
            &[],
            "activate_skill",
            json!({"name": "count"}),
            "`activate_skill` may not be used here: the subagent's file names no",
        ),
        (
            &[],
            "run_skill_script",
            json!({"skill": "count", "script": "scripts/count.sh"}),
            "`run_skill_script` may not be used",
        ),
    ]) {
        // No list of the team grants these tools: what a subagent follows, it can take up.
        let allowed_tools = if tool == "run_skill_script" { vec!["*".to_owned()] } else { Vec::new() };
        let grant = Grant { agent: AgentKind::Sub, allowed_tools, remit: Some(remit(skills)), ..Grant::main(false) };
        let call = Call { grant: Arc::new(grant), step, ..world.call() };
        let done = executor.run_calls(&call, vec![asked("1", tool, input)]).await.unwrap().remove(0);
        assert!(done.content.starts_with(said), "{skills:?} {tool}: {}", done.content);
    }
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
    let rules = ShellRules { launcher: testing::program(shell::ARGUMENT), ..ShellRules::default() };
    let tool = RunSkillScript::new(world.workspaces.clone(), Arc::new(rules), world.clock);
    let executor = world.executor(vec![Arc::new(tool)]);
    for (step, args, stdin, ok) in [
        (1, json!(["it's $(x) \"*\"", "0"]), json!("line 'one'\nline two\n"), true),
        (2, json!(["a", "3"]), Value::Null, false),
        // Data is no command: no rule for commands looks at it.
        (3, json!(["b", "0"]), json!("cat /etc/shadow; sudo reboot\n".repeat(2_000)), true),
    ] {
        let input = json!({"skill": "count", "script": "./scripts/count.sh", "args": args, "stdin": stdin});
        let call = Call { step, ..world.call() };
        let done = executor.run_calls(&call, vec![asked("1", "run_skill_script", input)]).await.unwrap().remove(0);
        assert!(!done.is_error, "{}", done.content);
        let ran: Value = serde_json::from_str(&done.content).unwrap();
        let said = format!("count: 2 of {}\n{}", args[0].as_str().unwrap(), stdin.as_str().unwrap_or_default());
        assert_eq!(ran["ok"], json!(ok), "{ran}");
        assert_eq!(ran["stdout_bytes"], json!(said.len()));
        if ran["truncated"] == json!(false) {
            assert_eq!(ran["stdout"], json!(said), "{ran}");
        }
    }
    let long = json!({"skill": "count", "script": "scripts/count.sh", "args": ["c", "0"], "stdin": "x".repeat(65_537)});
    let call = Call { step: 4, ..world.call() };
    let done = executor.run_calls(&call, vec![asked("1", "run_skill_script", long)]).await.unwrap().remove(0);
    assert!(done.is_error && done.content.starts_with("`stdin` has 65537 bytes, and may have 65536"), "{done:?}");
}

#[test]
fn a_script_has_the_bounds_of_a_command() {
    let (script, command) = (RunSkillScript::SPEC, crate::shell::RunShell::SPEC);
    assert_eq!((script.timeout, script.max_result_bytes), (command.timeout, command.max_result_bytes));
}
