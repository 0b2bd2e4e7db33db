//! Public collections of strings that break file tools.

use serde_json::{Value, json};

use super::super::verdict;
use super::{done, told};
use crate::testing::World;
use crate::{AnyTool, ToolError};

/// The lines of a collection; `None` where it is not there.
fn lines(set: &str) -> Option<Vec<String>> {
    let text = std::fs::read(fakes::testset(set)?).unwrap();
    let text = String::from_utf8_lossy(&text);
    Some(text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect())
}

/// Strings that lead out of a folder; `{FILE}` stands for the file that is wanted.
#[tokio::test]
async fn no_known_traversal_leads_out() {
    let world = World::new().await;
    let home = world.home();
    // What must not come out lies beside the workspace, and above it.
    for place in [home.join("../canary.txt"), world.folder.path().join("canary.txt")] {
        std::fs::write(place, "a canary sings").unwrap();
    }
    let (read, list) =
        (super::Read { workspaces: world.workspaces.clone() }, super::List { workspaces: world.workspaces.clone() });
    let call = world.call();
    for set in ["path/patt_deep_traversal.txt", "path/patt_directory_traversal.txt"] {
        let Some(lines) = lines(set) else { continue };
        assert!(lines.len() > 20, "{set} has only {} lines", lines.len());
        for line in lines {
            for wanted in ["canary.txt", "etc/passwd", ""] {
                let path = line.replace("{FILE}", wanted);
                let read = AnyTool::run(&read, &call, json!({"path": path})).await;
                assert!(matches!(read, Err(ToolError::Refused(_))), "{path:?} was read: {read:?}");
                // A path that stays inside (`./`) may be listed; there is nothing in there.
                match AnyTool::run(&list, &call, json!({"path": path})).await {
                    Err(ToolError::Refused(_)) => {}
                    Ok(text) => assert_eq!(text, "[the folder is empty]", "{path:?}"),
                    Err(broken) => panic!("{path:?}: {broken:?}"),
                }
            }
        }
    }
}

/// Of the same strings, those that are let through stay inside under every reading: they have no step up at all.
#[test]
fn the_verdict_on_known_traversals_is_no() {
    for set in ["path/patt_deep_traversal.txt", "path/patt_directory_traversal.txt"] {
        let Some(lines) = lines(set) else { continue };
        let mut refused = 0;
        for line in &lines {
            let path = line.replace("{FILE}", "etc/passwd");
            for operation in ["read", "list", "write"] {
                let verdict =
                    verdict(&json!({"id": 1, "root": "/srv/hive/teams/ops", "path": path, "operation": operation}));
                assert_ne!(verdict["decision"], "error", "{verdict}");
                let allowed = verdict["decision"] == "allow";
                refused += usize::from(!allowed);
                let steps = path.replace("%2e", ".").replace("%2f", "/");
                assert!(!allowed || !steps.contains(".."), "{path:?} was let through: {verdict}");
            }
        }
        assert!(refused * 100 > lines.len() * 3 * 95, "{set}: {refused} of {} refused", lines.len() * 3);
    }
}

/// Texts that break programs, as contents: what was written is read back.
#[tokio::test]
async fn odd_texts_come_back_as_they_went_in() {
    let world = World::new().await;
    let home = world.home();
    let mut texts: Vec<String> = Vec::new();
    for set in ["fuzzdb_corrupted.txt", "fuzzdb_emoji.txt", "fuzzdb_naughty-unicode.txt", "fuzzdb_right-to-left.txt"] {
        texts.extend(lines(&format!("text/{set}")).unwrap_or_default());
    }
    if let Some(file) = fakes::testset("text/blns.json") {
        let list: Vec<String> = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        assert!(list.len() > 400, "{}", list.len());
        texts.extend(list);
    }
    for (at, text) in texts.iter().enumerate().step_by(7) {
        let path = format!("{at}.txt");
        done(&world, "write_file", json!({"path": path, "content": format!("before {text} after")})).await;
        done(&world, "edit_file", json!({"path": path, "old_string": "before ", "new_string": text})).await;
        assert_eq!(std::fs::read_to_string(home.join(&path)).unwrap(), format!("{text}{text} after"));
        let (read, is_error) = told(&world, "read_file", json!({"path": path})).await;
        assert!(!is_error || text.contains('\0'), "{text:?}: {read}");
    }
    // As names: they are made inside, or refused in words.
    let write = super::Write { pen: super::pen(&world) };
    let call = world.call();
    std::fs::create_dir(home.join("names")).unwrap();
    let mut made = 0;
    for text in &texts {
        let path = format!("names/{text}");
        match AnyTool::run(&write, &call, json!({"path": path, "content": text})).await {
            Ok(_) => made += 1,
            Err(ToolError::Refused(why)) => assert!(!why.is_empty() && !why.contains('\n'), "{path:?}: {why}"),
            Err(broken) => panic!("{path:?}: {broken:?}"),
        }
    }
    assert!(texts.is_empty() || made * 2 > texts.len(), "only {made} of {}", texts.len());
    let beside: Vec<_> = std::fs::read_dir(home.join("..")).unwrap().collect();
    assert_eq!(beside.len(), 1, "nothing beside the workspace");
}

#[test]
fn a_verdict_says_what_and_why() {
    let ask = |input: Value| {
        let verdict = verdict(&input);
        (verdict["decision"].as_str().unwrap().to_owned(), verdict["rule"].as_str().unwrap().to_owned())
    };
    for (input, decision, rule) in [
        (json!({"path": "a.md"}), "allow", "inside"),
        (json!({"path": "/workspace/a.md", "op": "write"}), "allow", "inside"),
        (json!({"root": "/w/ops", "path": "/w/ops/a", "operation": "edit_file"}), "allow", "inside"),
        (json!({"root": "/w/ops", "path": "/w/ops2/a"}), "refuse", "outside"),
        (json!({"path": "config.yaml", "operation": "read"}), "allow", "inside"),
        (json!({"path": "config.yaml", "operation": "write"}), "refuse", "governed"),
        (json!({"path": "rules/a", "operation": "write", "protected": ["/workspace/rules"]}), "refuse", "governed"),
        (json!({"path": "a\nb", "operation": "write"}), "refuse", "control-character"),
        (json!({"path": "a\0b"}), "refuse", "not-a-path"),
        (json!({"path": "", "operation": "write"}), "refuse", "folder"),
        (json!({"path": "..%2f"}), "refuse", "disguised"),
        (json!({"path": "~/x"}), "refuse", "home"),
        (json!({}), "error", "input"),
        (json!([]), "error", "input"),
        (json!({"path": 1}), "error", "input"),
        (json!({"path": "a", "operation": "fly"}), "error", "input"),
        (json!({"path": "a", "root": "relative"}), "error", "input"),
        (json!({"path": "a", "protected": [1]}), "error", "input"),
    ] {
        assert_eq!(ask(input.clone()), (decision.to_owned(), rule.to_owned()), "{input}");
    }
    let verdict = verdict(&json!({"id": "x", "path": "./a//b"}));
    assert_eq!(verdict, json!({"id": "x", "decision": "allow", "rule": "inside", "detail": "a/b"}));
}
