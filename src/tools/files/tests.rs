//! `read` and `list` as a model calls them.

use serde_json::json;

use crate::ToolError;
use crate::testing::World;

async fn told(world: &World, tool: &str, input: serde_json::Value) -> (String, bool) {
    let done = world.ask(tool, input).await;
    (done.content, done.is_error)
}

fn ok(text: &str) -> (String, bool) {
    (text.to_owned(), false)
}

fn refused(text: &str) -> (String, bool) {
    (text.to_owned(), true)
}

#[tokio::test]
async fn a_file_is_read_in_pages() {
    let world = World::new().await;
    let home = world.home();
    std::fs::write(home.join("poem.txt"), "one\ntwo\nthree\n").unwrap();
    std::fs::write(home.join("empty"), "").unwrap();
    std::fs::write(home.join("image.png"), b"\x89PNG\0\0").unwrap();
    std::fs::write(home.join("latin.txt"), b"caf\xe9").unwrap();
    let long = "line\n".repeat(2_500);
    std::fs::write(home.join("long.txt"), long).unwrap();

    for (input, expected) in [
        (json!({"path": "poem.txt"}), ok("     1|one\n     2|two\n     3|three\n")),
        (
            json!({"file_path": "poem.txt", "offset": 2, "limit": 1}),
            ok("     2|two\n[lines 2 to 2; there is more: go on with offset 3]\n"),
        ),
        (json!({"path": "poem.txt", "offset": 9}), refused("`poem.txt` ends at line 3")),
        (json!({"path": "poem.txt", "offset": 0}), refused("`offset` and `limit` count from 1")),
        (json!({"path": "empty"}), ok("[the file is empty]")),
        (json!({"path": "image.png"}), refused("`image.png` is not a text file (6 bytes)")),
        (
            json!({"path": "latin.txt"}),
            ok("     1|caf\u{fffd}\n[some bytes are not UTF-8 and are shown as \u{fffd}]\n"),
        ),
        (json!({"path": "none"}), refused("there is no `none` in the workspace")),
        (json!({}), refused("bad arguments: missing field `path`")),
        (json!([]), refused("bad arguments: expected a JSON object")),
        (
            json!({"path": "poem.txt", "mode": "r"}),
            refused("bad arguments: unknown field `mode`, expected one of `file_path`, `path`, `offset`, `limit`"),
        ),
    ] {
        assert_eq!(told(&world, "read", input.clone()).await, expected, "{input}");
    }
    let (text, _) = told(&world, "read_file", json!({"path": "long.txt"})).await;
    assert!(text.ends_with("  2000|line\n[lines 1 to 2000; there is more: go on with offset 2001]\n"), "its alias");
}

#[tokio::test]
async fn a_page_is_never_written_to_yet_another_file() {
    let world = World::new().await;
    let home = world.home();
    std::fs::write(home.join("wide.txt"), format!("{}\n", "x".repeat(5_000)).repeat(500)).unwrap();
    let (text, is_error) = told(&world, "read", json!({"path": "wide.txt"})).await;
    assert!(!is_error && text.contains("there is more: go on with offset"), "{}", text.len());
    assert!(!home.join(".results").exists());
}

#[tokio::test]
async fn a_folder_is_listed() {
    let world = World::new().await;
    let home = world.home();
    std::fs::create_dir_all(home.join("notes/old/older")).unwrap();
    std::fs::write(home.join("b.txt"), "12345").unwrap();
    std::fs::write(home.join("a'\n.txt"), "").unwrap();
    std::fs::write(home.join("notes/n.md"), "x").unwrap();
    std::fs::write(home.join("notes/old/o.md"), "xy").unwrap();
    std::os::unix::fs::symlink("/etc", home.join("notes/etc")).unwrap();
    std::fs::create_dir(home.join("void")).unwrap();

    for (input, expected) in [
        (json!({}), ok("a'\\n.txt  0 bytes\nb.txt  5 bytes\nnotes/\nvoid/")),
        (json!({"path": "notes"}), ok("etc  (link)\nn.md  1 bytes\nold/")),
        (json!({"recursive": true, "max_depth": 2, "pattern": "*.md"}), ok("notes/n.md  1 bytes")),
        (
            json!({"path": "notes", "recursive": true}),
            ok("etc  (link)\nn.md  1 bytes\nold/\nold/o.md  2 bytes\nold/older/"),
        ),
        (json!({"path": "void"}), ok("[the folder is empty]")),
        (json!({"pattern": "?"}), ok("[nothing matches]")),
        (json!({"recursive": true, "max_depth": 99}), refused("`max_depth` goes from 1 to 10")),
        (
            json!({"path": "notes/etc"}),
            refused("`notes/etc` is a link elsewhere, and links are not followed: name the file itself"),
        ),
        (json!({"path": ".."}), refused("`..` is outside of the workspace")),
    ] {
        assert_eq!(told(&world, "list", input.clone()).await, expected, "{input}");
    }
}

#[tokio::test]
async fn a_folder_with_too_much_in_it_is_cut() {
    let world = World::new().await;
    let home = world.home();
    for at in 0..1_005 {
        std::fs::write(home.join(format!("{at:04}")), "").unwrap();
    }
    let (text, _) = told(&world, "list_directory", json!({})).await;
    assert!(text.starts_with("0000  0 bytes\n"));
    assert!(text.ends_with("0999  0 bytes\n[there is more: list a folder inside, or give a pattern]"), "{text}");
}

/// Public collections of strings that lead out of a folder; `{FILE}` stands for the file that is wanted.
#[tokio::test]
async fn no_known_traversal_leads_out() {
    let world = World::new().await;
    let home = world.home();
    // What must not come out lies beside the workspace, and above it.
    for place in [home.join("../canary.txt"), world.folder.path().join("canary.txt")] {
        std::fs::write(place, "a canary sings").unwrap();
    }
    let catalogue = world.catalogue(org::trust::Policy::default());
    let call = world.call();
    for set in ["path/patt_deep_traversal.txt", "path/patt_directory_traversal.txt"] {
        let Some(file) = fakes::testset(set) else { continue };
        let text = std::fs::read(file).unwrap();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        assert!(lines.len() > 20, "{set} has only {} lines", lines.len());
        for line in lines {
            for wanted in ["canary.txt", "etc/passwd", ""] {
                let path = line.replace("{FILE}", wanted);
                let answer = async |tool: &str| {
                    let entry = catalogue.by_name(tool).unwrap();
                    entry.tool.run(&call, json!({"path": path})).await
                };
                let read = answer("read").await;
                assert!(matches!(read, Err(ToolError::Refused(_))), "{path:?} was read: {read:?}");
                // A path that stays inside (`./`) may be listed; there is nothing in there.
                match answer("list").await {
                    Err(ToolError::Refused(_)) => {}
                    Ok(text) => assert_eq!(text, "[the folder is empty]", "{path:?}"),
                    Err(broken) => panic!("{path:?}: {broken:?}"),
                }
            }
        }
    }
}
