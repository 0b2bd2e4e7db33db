//! What a workspace may hold that is meant to harm, or is only odd: no tool hangs, follows, changes more than it was
//! asked to, or lets a secret in.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use base::Secret;
use serde_json::{Value, json};

use super::{done, refusal, told, tools};
use crate::testing::World;
use crate::tool::AnyTool;
use crate::{Call, ToolError};

/// Every tool that takes a path, with a path.
fn asks(path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("read_file", json!({"path": path})),
        ("write_file", json!({"path": path, "content": "x"})),
        ("edit_file", json!({"path": path, "old_string": "a", "new_string": "b"})),
        ("multi_edit", json!({"path": path, "edits": [{"old_string": "a", "new_string": "b"}]})),
        ("list_directory", json!({"path": path})),
        ("grep", json!({"path": path, "pattern": "."})),
        ("glob", json!({"path": path, "pattern": "*"})),
        ("attach_file", json!({"path": path})),
    ]
}

#[tokio::test]
async fn what_never_ends_or_answers_holds_no_tool_up() {
    let world = World::new().await;
    let home = world.home();
    let made = std::process::Command::new("mkfifo").arg(home.join("pipe")).status().unwrap();
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(home.join("socket")).unwrap();
    for (name, target) in
        [("zero", "/dev/zero"), ("terminal", "/dev/tty"), ("own", "/proc/self/fd/0"), ("loop", "loop")]
    {
        symlink(target, home.join(name)).unwrap();
    }
    let names = ["pipe", "socket", "zero", "terminal", "own", "loop", "pipe/x", "loop/x", "zero/x"];
    for name in names {
        for (tool, input) in asks(name) {
            let told = tokio::time::timeout(Duration::from_secs(10), told(&world, tool, input)).await;
            let (text, is_error) = told.unwrap_or_else(|_| panic!("{tool} hangs on {name}"));
            assert!(is_error, "{tool} {name}: {text}");
        }
    }
    // Beside an honest file they are passed over.
    fs::write(home.join("honest.txt"), "needle\n").unwrap();
    assert_eq!(done(&world, "grep", json!({"pattern": "needle"})).await, "honest.txt:1:needle");
    assert_eq!(done(&world, "glob", json!({"pattern": "*"})).await, "honest.txt");
    let listed = done(&world, "list_directory", json!({"recursive": true})).await;
    assert!(listed.contains("pipe  (neither file nor folder)") && listed.contains("zero  (link)"), "{listed}");
}

/// Text that an editor would like to tidy up: after an edit everything else is byte for byte what it was.
#[tokio::test]
async fn an_edit_changes_nothing_but_what_it_names() {
    let world = World::new().await;
    let home = world.home();
    let long = "y".repeat(3_000_000);
    for (at, (before, old, new, after)) in [
        ("\u{feff}# Title\r\nbody\r\n", "# Title", "# Name", "\u{feff}# Name\r\nbody\r\n"),
        ("\u{feff}a", "a", "b", "\u{feff}b"),
        ("one\r\ntwo", "two", "2\n3", "one\r\n2\r\n3"),
        ("one\r\ntwo\nthree\r", "two", "2", "one\r\n2\nthree\r"),
        ("no end", "no", "still no", "still no end"),
        ("end\n\n\n", "end", "END", "END\n\n\n"),
        ("a\tb \u{a0} c  \n", "b", "B", "a\tB \u{a0} c  \n"),
        ("e\u{301} é\n", "é", "E", "e\u{301} E\n"),
        ("a\u{2028}b\u{85}c\u{c}d\n", "c", "C", "a\u{2028}b\u{85}C\u{c}d\n"),
        (&format!("{long}x{long}"), "x", "X", &format!("{long}X{long}")),
    ]
    .into_iter()
    .enumerate()
    {
        let path = format!("file{at}.txt");
        fs::write(home.join(&path), before).unwrap();
        done(&world, "read_file", json!({"path": path})).await;
        done(&world, "edit_file", json!({"path": path, "old_string": old, "new_string": new})).await;
        assert!(fs::read_to_string(home.join(&path)).unwrap() == after, "case {at}: {old} to {new}");
    }
    // And what is written whole is what was given.
    for content in ["\u{feff}x\r\n", "x", "", "\n", "\r", "a\0b"] {
        fs::remove_file(home.join("whole")).ok();
        done(&world, "write_file", json!({"path": "whole", "content": content})).await;
        assert_eq!(fs::read_to_string(home.join("whole")).unwrap(), content);
    }
}

#[tokio::test]
async fn odd_names_are_names_and_nothing_else() {
    let world = World::new().await;
    let home = world.home();
    let longest = "n".repeat(255);
    for name in [
        "-rf",
        "--help",
        "a b",
        " lead",
        "trail ",
        "..x",
        "x..",
        "...",
        "é",
        "e\u{301}",
        "日本",
        "🙂.md",
        "#!",
        "!x",
        "[a]*?",
        "$HOME",
        "a;b|c&d",
        "'\"`",
        "null",
        "CON",
        "nul.txt",
        "x~",
        ".hidden",
        longest.as_str(),
    ] {
        let path = format!("odd/{name}");
        let said = told(&world, "write_file", json!({"path": path, "content": name})).await;
        // What could be read as another path is refused whole; the rest is there under this very name.
        if said.1 {
            assert!(!home.join(&path).exists(), "{path}: {}", said.0);
            continue;
        }
        assert_eq!(fs::read_to_string(home.join(&path)).unwrap(), name);
        assert!(done(&world, "read_file", json!({"path": path})).await.contains(name), "{path}");
        let listed = done(&world, "list_directory", json!({"path": "odd"})).await;
        assert!(listed.lines().any(|line| line.starts_with(&format!("{name}  "))), "{path}: {listed}");
    }
    assert!(fs::read_dir(home.join("odd")).unwrap().count() >= 18, "most of them are fine");
    // Case makes two files of it where the file system says so; what is governed has no case.
    done(&world, "write_file", json!({"path": "Readme", "content": "upper"})).await;
    let lower = told(&world, "write_file", json!({"path": "readme", "content": "lower"})).await;
    assert_eq!(fs::read_to_string(home.join("Readme")).unwrap(), "upper", "{lower:?}");
    for path in ["PLUGINS/x.ts", "plugins/../Plugins/x.ts", "plugins", "Config.Yaml", ".RESULTS/x"] {
        assert!(
            refusal(&world, "write_file", json!({"path": path, "content": "x"})).await.contains("governed"),
            "{path}"
        );
    }
    // Names that are no text are passed by, not stumbled over.
    let name: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"bad\xff\nname");
    fs::write(home.join("odd").join(name), "needle\n").unwrap();
    for (tool, input) in [("grep", json!({"pattern": "needle"})), ("glob", json!({"pattern": "**/bad*"}))] {
        assert!(done(&world, tool, input).await.contains("bad\u{fffd}\\nname"), "{tool}");
    }
}

#[tokio::test]
async fn a_huge_file_costs_no_more_than_a_page() {
    let world = World::new().await;
    let home = world.home();
    // A terabyte that takes no room: first a line, then nothing but holes.
    let file = fs::File::create(home.join("huge")).unwrap();
    std::io::Write::write_all(&mut &file, "line\n".repeat(50_000).as_bytes()).unwrap();
    if file.set_len(1 << 40).is_err() {
        eprintln!("skipped: this file system has no such files");
        return;
    }
    let page = done(&world, "read_file", json!({"path": "huge", "limit": 2})).await;
    assert!(page.starts_with("     1|line\n     2|line\n[lines 1 to 2; there is more"), "{page}");
    let edit = json!({"path": "huge", "old_string": "line", "new_string": "x"});
    assert!(refusal(&world, "edit_file", edit).await.contains("is not edited"));
    assert!(refusal(&world, "attach_file", json!({"path": "huge"})).await.contains("is longer than"));
    let found = done(&world, "grep", json!({"pattern": "line", "max_results": 1})).await;
    assert!(found.starts_with("huge:1:line"), "{found}");
}

#[tokio::test]
async fn a_file_that_lost_its_rights_is_neither_read_nor_replaced_by_force() {
    let world = World::new().await;
    let home = world.home();
    fs::write(home.join("closed"), "text\n").unwrap();
    done(&world, "read_file", json!({"path": "closed"})).await;
    fs::set_permissions(home.join("closed"), fs::Permissions::from_mode(0o444)).unwrap();
    let why = refusal(&world, "write_file", json!({"path": "closed", "content": "x"})).await;
    assert_eq!(why, "`closed` is marked as read-only");
    assert_eq!(fs::metadata(home.join("closed")).unwrap().permissions().mode() & 0o777, 0o444);
}

#[tokio::test]
async fn no_secret_comes_into_a_file_or_out_as_one() {
    let world = World::new().await;
    let secret = "Zq8Wm2Rt5Yv1Xc4Nb7Lk";
    world.scrub.learn(&Secret::new(secret));
    let guarded = World { workspaces: world.workspaces.clone().keeping_out(&world.scrub), ..world };
    let home = guarded.home();
    let call = guarded.call();
    let tools = tools(&guarded);
    let run = async |name: &str, input: Value| {
        let tool = tools.iter().find(|tool| tool.spec().name == name).unwrap();
        AnyTool::run(&**tool, &Call { ..call.clone() }, input).await
    };
    run("write_file", json!({"path": "plain", "content": "key: \n"})).await.unwrap();
    let base64 = "WnE4V20yUnQ1WXYxWGM0TmI3TGs=";
    for (tool, input) in [
        ("write_file", json!({"path": "new", "content": format!("key: {secret}\n")})),
        ("write_file", json!({"path": "new", "content": format!("key: {base64}\n")})),
        ("write_file", json!({"path": "plain", "content": secret})),
        ("edit_file", json!({"path": "plain", "old_string": "key: ", "new_string": format!("key: {secret}")})),
        ("multi_edit", json!({"path": "plain", "edits": [{"old_string": "key: ", "new_string": secret}]})),
    ] {
        match run(tool, input).await {
            Err(ToolError::Refused(why)) => {
                assert!(why.starts_with("a secret would stand in the file") && !why.contains(secret), "{why}");
            }
            other => panic!("{tool}: {other:?}"),
        }
    }
    // In two halves, which an edit would join.
    run("write_file", json!({"path": "halves", "content": format!("{}|{}", &secret[..10], &secret[10..])}))
        .await
        .unwrap();
    let join = json!({"path": "halves", "old_string": "|", "new_string": ""});
    assert!(matches!(run("edit_file", join).await, Err(ToolError::Refused(_))));
    assert!(!home.join("new").exists());
    assert_eq!(fs::read_to_string(home.join("plain")).unwrap(), "key: \n");
    // One that a person put there stays, may be worked around, and does not leave.
    fs::write(home.join("theirs"), format!("key: {secret}\nmode: a\n")).unwrap();
    run("read_file", json!({"path": "theirs"})).await.unwrap();
    run("edit_file", json!({"path": "theirs", "old_string": "mode: a", "new_string": "mode: b"})).await.unwrap();
    assert_eq!(fs::read_to_string(home.join("theirs")).unwrap(), format!("key: {secret}\nmode: b\n"));
    match run("attach_file", json!({"path": "theirs"})).await {
        Err(ToolError::Refused(why)) => assert_eq!(why, "a secret stands in the file, and secrets are not sent"),
        other => panic!("{other:?}"),
    }
}
