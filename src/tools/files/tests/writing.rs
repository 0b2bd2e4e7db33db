//! A file is made, replaced and edited, and only by who has read it.

use serde_json::{Value, json};

use super::{done, refusal};
use crate::testing::World;

fn file(world: &World, name: &str) -> String {
    String::from_utf8_lossy(&std::fs::read(world.home().join(name)).unwrap()).into_owned()
}

#[tokio::test]
async fn a_file_is_written_read_and_edited() {
    let world = World::new().await;
    let home = world.home();
    let write = |content: &str| json!({"path": "notes/a.md", "content": content});
    assert_eq!(done(&world, "write_file", write("one\n")).await, "`notes/a.md` written: 4 bytes, a new file");
    // Who wrote it knows it.
    let edit = json!({"file_path": "notes/a.md", "old_string": "one", "new_string": "two $& \\1"});
    assert_eq!(done(&world, "edit", edit).await, "`notes/a.md` edited: 1 replacement");
    assert_eq!(file(&world, "notes/a.md"), "two $& \\1\n");
    let said = done(&world, "write", write("three\n")).await;
    assert_eq!(said, "`notes/a.md` written: 6 bytes, in place of what was there");
    assert_eq!(
        done(&world, "write_file", write("three\n")).await,
        "`notes/a.md` has this very content already: 6 bytes"
    );

    // By whatever path it was read, it is the same file.
    done(&world, "read_file", json!({"path": world.home().join("notes/../notes/a.md")})).await;
    // What somebody else changed has to be read again.
    std::fs::write(home.join("notes/a.md"), "theirs and ours\n").unwrap();
    let edit = json!({"path": "notes/a.md", "oldText": "theirs", "newText": "yours", "replaceAll": true});
    let why = refusal(&world, "edit_file", edit.clone()).await;
    assert_eq!(why, "`notes/a.md` has changed since it was read: read it again before you change it");
    assert!(refusal(&world, "write_file", write("x")).await.contains("has changed since it was read"));
    done(&world, "read_file", json!({"path": "notes/a.md", "limit": 1})).await;
    done(&world, "edit_file", edit).await;
    assert_eq!(file(&world, "notes/a.md"), "yours and ours\n");
}

#[tokio::test]
async fn what_was_not_read_is_neither_edited_nor_replaced() {
    let world = World::new().await;
    let home = world.home();
    std::fs::write(home.join("theirs.md"), "theirs\n").unwrap();
    let edits = json!([{"old_string": "theirs", "new_string": "mine"}]);
    let expected = "`theirs.md` was not read yet: read it with `read_file` before you change it";
    for (tool, input) in [
        ("write_file", json!({"path": "theirs.md", "content": "mine"})),
        ("edit_file", json!({"path": "theirs.md", "old_string": "theirs", "new_string": "mine"})),
        ("multi_edit", json!({"path": "theirs.md", "edits": edits})),
    ] {
        assert_eq!(refusal(&world, tool, input).await, expected, "{tool}");
        assert_eq!(file(&world, "theirs.md"), "theirs\n");
    }
    // Seeing its name or a line of it is not reading it.
    done(&world, "list_directory", json!({})).await;
    done(&world, "grep", json!({"pattern": "theirs"})).await;
    assert_eq!(refusal(&world, "write_file", json!({"path": "theirs.md", "content": "mine"})).await, expected);
    // Nor does it help that another topic's session has read it.
    done(&world, "read_file", json!({"path": "theirs.md"})).await;
    let mut elsewhere = world;
    elsewhere.origin.topic = None;
    assert_eq!(refusal(&elsewhere, "write_file", json!({"path": "theirs.md", "content": "mine"})).await, expected);
    let none = refusal(&elsewhere, "edit_file", json!({"path": "none", "old_string": "a", "new_string": "b"})).await;
    assert_eq!(none, "there is no `none` in the workspace: make it with `write_file`");
}

#[tokio::test]
async fn several_edits_are_made_all_or_none() {
    let world = World::new().await;
    let home = world.home();
    std::fs::write(home.join("code.rs"), b"fn a() {}\r\nfn b() {}\r\n// caf\xe9\r\nno end").unwrap();
    done(&world, "read_file", json!({"path": "code.rs"})).await;
    let ask = |edits: Value| json!({"path": "code.rs", "edits": edits});
    let bad = json!([
        {"old_string": "fn a", "new_string": "fn c"},
        {"old_string": "fn ", "new_string": "pub fn "},
    ]);
    let before = std::fs::read(home.join("code.rs")).unwrap();
    assert_eq!(
        refusal(&world, "multi_edit", ask(bad)).await,
        "`code.rs`: edit 2 of 2: `old_string` is there 2 times: give more of the text around the one that is meant, or \
         set `replace_all`; nothing was changed"
    );
    assert_eq!(std::fs::read(home.join("code.rs")).unwrap(), before);
    let good = json!([
        {"old_string": "fn ", "new_string": "pub fn ", "replace_all": true},
        {"old_string": "b() {}", "new_string": "b() {\n}"},
    ]);
    // A file with mixed ends of lines keeps each as it is; this one has one sort.
    std::fs::write(home.join("code.rs"), b"fn a() {}\r\nfn b() {}\r\n// caf\xe9\r\nno end").unwrap();
    assert_eq!(done(&world, "multi_edit", ask(good)).await, "`code.rs` edited: 3 replacements");
    let after = std::fs::read(home.join("code.rs")).unwrap();
    assert_eq!(after, b"pub fn a() {}\r\npub fn b() {\r\n}\r\n// caf\xe9\r\nno end");
}

#[tokio::test]
async fn what_is_no_text_or_too_long_is_said_in_words() {
    let world = World::new().await;
    let home = world.home();
    std::fs::write(home.join("image.png"), b"\x89PNG\0\0").unwrap();
    let edit = |path: &str| json!({"path": path, "old_string": "PNG", "new_string": "GIF"});
    // Told that it is no text, one knows as much of it as can be told: it may be replaced.
    assert_eq!(
        refusal(&world, "read_file", json!({"path": "image.png"})).await,
        "`image.png` is not a text file (6 bytes)"
    );
    assert_eq!(refusal(&world, "edit_file", edit("image.png")).await, "`image.png` is not a text file");
    done(&world, "write_file", json!({"path": "image.png", "content": "a text now"})).await;

    let long = std::fs::File::create(home.join("long.log")).unwrap();
    std::io::Write::write_all(&mut &long, b"PNG\n").unwrap();
    std::io::Write::write_all(&mut &long, "x\n".repeat(5_000_000).as_bytes()).unwrap();
    let page = done(&world, "read_file", json!({"path": "long.log", "limit": 1})).await;
    assert!(page.starts_with("     1|PNG\n"), "{page}");
    let why = refusal(&world, "edit_file", edit("long.log")).await;
    assert_eq!(why, "`long.log` is longer than 8388608 bytes and is not edited");
    done(&world, "write_file", json!({"path": "long.log", "content": ""})).await;
    assert_eq!(std::fs::metadata(home.join("long.log")).unwrap().len(), 0);
}

#[tokio::test]
async fn what_is_governed_is_not_written() {
    let world = World::new().await;
    let home = world.home();
    std::fs::write(home.join("config.yaml"), "allowed_tools: []\n").unwrap();
    done(&world, "read_file", json!({"path": "config.yaml"})).await;
    for path in ["config.yaml", "./CONFIG.yaml", "x/../config.yaml", "config%2eyaml"] {
        for (tool, input) in [
            ("write_file", json!({"path": path, "content": "allowed_tools: ['*']"})),
            ("edit_file", json!({"path": path, "old_string": "[]", "new_string": "['*']"})),
            ("multi_edit", json!({"path": path, "edits": [{"old_string": "[]", "new_string": "['*']"}]})),
        ] {
            assert!(refusal(&world, tool, input).await.contains("is governed by the hive"), "{tool} {path}");
        }
    }
    assert_eq!(file(&world, "config.yaml"), "allowed_tools: []\n");
    for path in ["org-rules/10.md", "team-rules/x.md", "skills/s.md", "subagents/a.md"] {
        done(&world, "write_file", json!({"path": path, "content": "# Rule\n"})).await;
    }
}

#[tokio::test]
async fn folders_are_made_unless_they_are_not_wanted() {
    let world = World::new().await;
    let why = refusal(&world, "write_file", json!({"path": "a/b/c", "content": "", "createDirectories": false})).await;
    assert_eq!(why, "the folder of `a/b/c` is not there");
    assert!(!world.home().join("a").exists());
    assert_eq!(
        done(&world, "write_file", json!({"path": "a/b/c", "content": ""})).await,
        "`a/b/c` written: 0 bytes, a new file"
    );
    assert!(
        refusal(&world, "write_file", json!({"path": "a/b/c/d", "content": ""}))
            .await
            .contains("is a file, not a folder")
    );
}

#[tokio::test]
async fn whoever_writes_what_the_team_works_by_is_told_what_is_wrong_with_it() {
    let world = World::new().await;
    let write = |path: &str, content: &str| json!({"path": path, "content": content});
    let dev = "# Agent: dev\n\n## Role\nWrites.\n\n## Boundaries\nNone.\n\n## Communication Style\nShort.\n\n## Skills\n- build\n";
    let missing = "\nWhat is wrong with it:\n- subagents/dev.md:13: the skill `build` is not in skills/: write \
                   skills/build.md, or take the line out";
    let said = done(&world, "write_file", write("subagents/dev.md", dev)).await;
    assert_eq!(said, format!("`subagents/dev.md` written: 101 bytes, a new file{missing}"));
    let edit = |old: &str, new: &str| json!({"path": "subagents/dev.md", "old_string": old, "new_string": new});
    let said = done(&world, "edit_file", edit("Short.", "Brief.")).await;
    assert_eq!(said, format!("`subagents/dev.md` edited: 1 replacement{missing}"));
    // A name that is nearly the right one has no effect.
    let said = done(&world, "write_file", write("skill/other.md", "Does.\n")).await;
    assert!(
        said.ends_with("\nWhat is wrong with it:\n- skill: it is not read under this name: call it `skills`"),
        "{said}"
    );
    done(&world, "write_file", write("skills/build.md", "Builds.\n\n1. Build.\n")).await;
    let said = done(&world, "edit_file", edit("Brief.", "Clear.")).await;
    assert_eq!(said, "`subagents/dev.md` edited: 1 replacement");
    let said = done(&world, "write_file", write("notes/subagents/x.md", "")).await;
    assert_eq!(said, "`notes/subagents/x.md` written: 0 bytes, a new file");
}
