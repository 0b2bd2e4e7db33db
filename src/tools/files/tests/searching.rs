//! Files are found by their names and by their lines, within bounds.

use std::os::unix::fs::symlink;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::json;

use super::{done, refusal};
use crate::testing::World;

/// A small project with what a search has to leave out.
fn project(world: &World) -> std::path::PathBuf {
    let home = world.home();
    for (at, (path, text)) in [
        ("src/main.rs", "fn main() {\n    hello();\n}\n"),
        ("src/deep/hello.rs", "// says Hello\npub fn hello() {}\n"),
        ("README.md", "hello\n"),
        (".env", "hello=secret\n"),
        (".gitignore", "target/\n*.log\n!keep.log\n"),
        ("target/out.rs", "hello\n"),
        ("a.log", "hello\n"),
        ("keep.log", "hello\n"),
        ("src/.ignore", "gone.rs\n"),
        ("src/gone.rs", "hello\n"),
        (".git/config", "hello\n"),
        ("binary", "hello\0\n"),
    ]
    .into_iter()
    .enumerate()
    {
        let file = home.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        let changed = UNIX_EPOCH + Duration::from_secs(1_000 + at as u64);
        std::fs::File::open(&file).unwrap().set_modified(changed).unwrap();
    }
    // Outside, and reachable by links alone.
    std::fs::write(world.folder.path().join("secret.rs"), "hello\n").unwrap();
    symlink("../..", home.join("src/up")).unwrap();
    symlink("../../secret.rs", home.join("secret.rs")).unwrap();
    std::fs::hard_link(world.folder.path().join("secret.rs"), home.join("twin.rs")).unwrap();
    symlink("src", home.join("round")).unwrap();
    home
}

#[tokio::test]
async fn files_are_found_the_newest_first() {
    let world = World::new().await;
    let home = project(&world);
    std::fs::remove_file(home.join("twin.rs")).unwrap();
    for (input, expected) in [
        (json!({"pattern": "*.rs"}), "src/deep/hello.rs\nsrc/main.rs"),
        (json!({"pattern": "src/*.rs"}), "src/main.rs"),
        (json!({"pattern": "*.rs", "path": "src/deep"}), "src/deep/hello.rs"),
        (json!({"pattern": "deep/*", "path": "src"}), "src/deep/hello.rs"),
        (json!({"pattern": "*.log"}), "keep.log"),
        (
            json!({"pattern": "*.{rs,log}", "include_ignored": true}),
            "src/gone.rs\nkeep.log\na.log\ntarget/out.rs\nsrc/deep/hello.rs\nsrc/main.rs",
        ),
        (json!({"pattern": ".env*"}), ".env"),
        (json!({"pattern": "conf*", "include_hidden": true}), "[no files match]"),
        (json!({"pattern": "conf*", "path": ".git"}), ".git/config"),
        (json!({"pattern": "*.py"}), "[no files match]"),
    ] {
        assert_eq!(done(&world, "glob", input.clone()).await, expected, "{input}");
    }
    for (input, expected) in [
        (json!({"pattern": "../*"}), "leads elsewhere"),
        (json!({"pattern": "/etc/*"}), "leads elsewhere"),
        (json!({"pattern": "["}), "that is no pattern"),
        (json!({"pattern": "*", "path": ".."}), "is outside of the workspace"),
        (json!({"pattern": "*", "path": "src/up"}), "is a link to `../..`"),
        (json!({"pattern": "*", "path": "none"}), "there is no `none`"),
    ] {
        assert!(refusal(&world, "glob", input.clone()).await.contains(expected), "{input}");
    }
}

#[tokio::test]
async fn lines_are_found_with_what_stands_around_them() {
    let world = World::new().await;
    project(&world);
    let twin = "\n[1 file could not be searched: too long, or with several names]";
    for (input, expected) in [
        (
            json!({"pattern": "hello"}),
            format!("README.md:1:hello\nkeep.log:1:hello\nsrc/deep/hello.rs:2:pub fn hello() {{}}\nsrc/main.rs:2:    hello();{twin}"),
        ),
        (json!({"pattern": "hello", "path": "src/main.rs"}), "src/main.rs:2:    hello();".to_owned()),
        (json!({"pattern": "hello", "path": "target/out.rs"}), "target/out.rs:1:hello".to_owned()),
        (
            json!({"pattern": "hello", "path": "src", "context": 1, "type": "rust", "line_numbers": false}),
            "src/deep/hello.rs-// says Hello\nsrc/deep/hello.rs:pub fn hello() {}\n--\nsrc/main.rs-fn main() {\nsrc/main.rs:    hello();\nsrc/main.rs-}".to_owned(),
        ),
        (
            json!({"pattern": "HELLO", "path": "src", "case_insensitive": true, "output_mode": "count"}),
            "src/deep/hello.rs:2\nsrc/main.rs:1".to_owned(),
        ),
        (
            json!({"pattern": "hello", "glob": "!*.rs", "output_mode": "files_with_matches"}),
            "README.md\nkeep.log".to_owned(),
        ),
        (
            json!({"pattern": "main.*hello", "path": "src", "multiline": true}),
            "src/main.rs:1:fn main() {\nsrc/main.rs:2:    hello();".to_owned(),
        ),
        (
            json!({"pattern": "hello", "max_results": 1, "path": "src"}),
            "src/deep/hello.rs:2:pub fn hello() {}\n[there may be more: give a narrower pattern, a folder or a glob]".to_owned(),
        ),
        (json!({"pattern": "--pre=/bin/sh", "path": "src"}), "[nothing matches]".to_owned()),
    ] {
        assert_eq!(done(&world, "grep", input.clone()).await, expected, "{input}");
    }
    for (input, expected) in [
        (json!({"pattern": "("}), "is no pattern"),
        (json!({"pattern": "a\nb"}), "set `multiline`"),
        (json!({"pattern": "(((a{99}){99}){99}){99}"}), "is no pattern"),
        (json!({"pattern": "a", "type": "nonsense"}), "no sort of files is called `nonsense`"),
        (json!({"pattern": "a", "max_results": 0}), "`max_results` goes from 1 to 1000"),
        (json!({"pattern": "a", "context": 51}), "at most 50 lines of context"),
        (json!({"pattern": "hello", "path": "twin.rs"}), "has several names"),
        (json!({"pattern": "hello", "path": "secret.rs"}), "is a link"),
        (json!({"pattern": "hello", "path": "/etc"}), "is outside of the workspace"),
    ] {
        let why = refusal(&world, "grep", input.clone()).await;
        assert!(why.contains(expected), "{input}: {why}");
    }
}

#[tokio::test]
async fn long_lines_and_many_matches_are_cut() {
    let world = World::new().await;
    let home = world.home();
    let line = format!("{}needle{}\n", "ä".repeat(50_000), "x".repeat(50_000));
    std::fs::write(home.join("min.js"), line).unwrap();
    let text = done(&world, "grep", json!({"pattern": "needle"})).await;
    assert!(text.contains("needle") && text.len() < 1_000, "{}", text.len());
    assert!(text.contains(" bytes] … ") && text.contains(" more bytes in this line]"), "{text}");

    std::fs::write(home.join("many.txt"), "needle\n".repeat(100_000)).unwrap();
    let text = done(&world, "grep", json!({"pattern": "needle", "path": "many.txt", "max_results": 1_000})).await;
    assert_eq!(text.lines().count(), 1_001);
    let wide = format!("{}\n", "needle ".repeat(60)).repeat(1_000);
    std::fs::write(home.join("wide.txt"), wide).unwrap();
    let text = done(&world, "grep", json!({"pattern": "needle", "path": "wide.txt", "max_results": 1_000})).await;
    assert!(
        text.len() < 48 * 1_024 && text.ends_with("[there may be more: give a narrower pattern, a folder or a glob]")
    );
    assert!(!home.join(".results").exists(), "never written to yet another file");
}

/// A search whose time is up says what it has.
#[tokio::test]
async fn a_search_that_is_stopped_ends() {
    let world = World::new().await;
    let home = world.home();
    std::fs::write(home.join("a.txt"), "needle\n").unwrap();
    let workspace = world.workspaces.of(&base::TeamName::main()).unwrap();
    let stop = base::Stop::new();
    stop.cancel();
    let mut seen = 0;
    let ended = super::super::walk::walk(&workspace, ".", Default::default(), &stop, &mut |_| {
        seen += 1;
        std::ops::ControlFlow::Continue(())
    });
    assert_eq!((ended.unwrap(), seen), (super::super::walk::Ended::Cut, 0));
}

/// Somebody exchanges a folder for a link to what lies outside while it is searched: nothing of that comes out.
#[tokio::test]
async fn a_folder_that_is_exchanged_for_a_link_meanwhile_is_not_searched() {
    let world = World::new().await;
    let home = world.home();
    let outside = world.folder.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("x.txt"), "needle of theirs\n").unwrap();
    let folder = home.join("folder");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("x.txt"), "needle of ours\n").unwrap();
    let done = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let (stop, swapped) = (done.clone(), home.clone());
    let swapping = tokio::task::spawn_blocking(move || {
        let folder = swapped.join("folder");
        while !stop.load(std::sync::atomic::Ordering::Acquire) {
            std::fs::rename(&folder, swapped.join("away")).unwrap();
            symlink("../../outside", &folder).unwrap();
            std::fs::remove_file(&folder).unwrap();
            std::fs::rename(swapped.join("away"), &folder).unwrap();
        }
    });
    // The same call is made 99 times in a turn at most.
    for _ in 0..95 {
        let (text, _) = super::told(&world, "grep", json!({"pattern": "needle", "path": "folder"})).await;
        assert!(!text.contains("theirs"), "{text}");
        let (text, _) = super::told(&world, "grep", json!({"pattern": "needle"})).await;
        assert!(!text.contains("theirs"), "{text}");
    }
    done.store(true, std::sync::atomic::Ordering::Release);
    swapping.await.unwrap();
    // While it was exchanged all the time, what is there may never have been met.
    let (text, _) = super::told(&world, "grep", json!({"pattern": "needle of", "path": "folder"})).await;
    assert!(text.contains("ours"), "{text}");
}
