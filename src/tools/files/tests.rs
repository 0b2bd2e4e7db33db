//! The file tools as a model calls them.

mod attaching;
mod hostile;
mod public_cases;
mod searching;
mod writing;

use std::sync::Arc;

use serde_json::json;

use super::{AttachFile, Edit, Glob, Grep, List, MultiEdit, Pen, Read, Write};
use crate::testing::{World, asked};
use crate::toolboxes::Directory;
use crate::{AnyTool, Call};

fn tools(world: &World) -> Vec<Arc<dyn AnyTool>> {
    let workspaces = || world.workspaces.clone();
    let pen = || pen(world);
    vec![
        Arc::new(AttachFile { db: world.db.clone(), clock: world.clock, workspaces: workspaces() }),
        Arc::new(Edit { pen: pen() }),
        Arc::new(Glob { workspaces: workspaces() }),
        Arc::new(Grep { workspaces: workspaces() }),
        Arc::new(List { workspaces: workspaces() }),
        Arc::new(MultiEdit { pen: pen() }),
        Arc::new(Read { workspaces: workspaces() }),
        Arc::new(Write { pen: pen() }),
    ]
}

fn pen(world: &World) -> Pen {
    Pen { workspaces: world.workspaces.clone(), directory: Directory::new() }
}

/// What a model gets of a call, and whether it is a failure.
async fn told(world: &World, tool: &str, input: serde_json::Value) -> (String, bool) {
    // Each in a step of its own: the journal knows a call by its step and id.
    let step = 1 + i64::try_from(world.rows().await.len()).unwrap();
    let call = Call { step, ..world.call() };
    let executor = crate::Executor {
        limits: crate::Limits { same_call_max: 99, ..Default::default() },
        ..world.executor(tools(world))
    };
    let done = executor.run_calls(&call, vec![asked("1", tool, input)]).await.unwrap().remove(0);
    (done.content, done.is_error)
}

/// What a model gets of a call that succeeds.
async fn done(world: &World, tool: &str, input: serde_json::Value) -> String {
    let (text, is_error) = told(world, tool, input).await;
    assert!(!is_error, "{text}");
    text
}

/// What a model gets of a call that is refused.
async fn refusal(world: &World, tool: &str, input: serde_json::Value) -> String {
    let (text, is_error) = told(world, tool, input).await;
    assert!(is_error, "it was not refused: {text}");
    text
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
        assert_eq!(told(&world, "read_file", input.clone()).await, expected, "{input}");
    }
    let (text, _) = told(&world, "read", json!({"path": "long.txt"})).await;
    assert!(text.ends_with("  2000|line\n[lines 1 to 2000; there is more: go on with offset 2001]\n"), "its alias");
}

#[tokio::test]
async fn a_page_is_never_written_to_yet_another_file() {
    let world = World::new().await;
    let home = world.home();
    std::fs::write(home.join("wide.txt"), format!("{}\n", "x".repeat(5_000)).repeat(500)).unwrap();
    let (text, is_error) = told(&world, "read_file", json!({"path": "wide.txt"})).await;
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
        assert_eq!(told(&world, "list_directory", input.clone()).await, expected, "{input}");
    }
}

#[tokio::test]
async fn a_folder_with_too_much_in_it_is_cut() {
    let world = World::new().await;
    let home = world.home();
    for at in 0..1_005 {
        std::fs::write(home.join(format!("{at:04}")), "").unwrap();
    }
    let (text, _) = told(&world, "list", json!({})).await;
    assert!(text.starts_with("0000  0 bytes\n"));
    assert!(text.ends_with("0999  0 bytes\n[there is more: list a folder inside, or give a pattern]"), "{text}");
}
