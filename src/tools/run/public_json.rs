//! The public JSON test suite as the arguments of calls: what is no JSON is an error result, what is JSON reaches the
//! tool, and whatever comes has exactly one result.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use fakes::testset;
use llm::{Input, ToolUse};
use serde_json::{Value, json};

use super::*;
use crate::testing::{Fake, World, spec};

/// Name and text of every file that is text: arguments come within a JSON string, which has no other bytes.
fn suite() -> Option<Vec<(String, String)>> {
    let folder = std::fs::read_dir(testset("json/JSONTestSuite")?).unwrap();
    let mut paths: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        let text = String::from_utf8(std::fs::read(&path).unwrap()).ok()?;
        name.ends_with(".json").then_some((name, text))
    };
    let files: Vec<_> = paths.into_iter().filter_map(read).collect();
    assert!(files.len() > 280, "only {} files", files.len());
    Some(files)
}

/// A call as a model's answer has it.
fn asked(text: &str) -> Asked {
    Asked::from(&ToolUse { id: "a".to_owned(), name: "take".to_owned(), input: Input::read(text) })
}

#[tokio::test(start_paused = true)]
async fn arguments_of_the_public_suite_reach_a_tool_only_where_they_are_json() {
    let Some(files) = suite() else { return };
    let world = World::new().await;
    let taken = Arc::new(Mutex::new(Vec::<Value>::new()));
    let seen = taken.clone();
    let take = Fake::tool(spec("take"), move |_, input| {
        seen.lock().unwrap().push(input);
        async { Ok("taken".to_owned()) }
    });
    let mut executor = world.executor(vec![take]);
    // Some files say the same thing.
    executor.limits.same_call_max = 1_000;
    let (mut step, mut good, mut bad) = (0, 0, 0);
    for (name, text) in files {
        // As it is, and as one argument of several.
        for text in [text.clone(), format!("{{\"value\":{text}}}")] {
            step += 1;
            let call = Call { step, ..world.call() };
            let done = executor.run_calls(&call, vec![asked(&text)]).await.unwrap();
            let reached = taken.lock().unwrap().drain(..).count();
            assert_eq!(done.len(), 1, "{name}");
            match name.as_bytes()[0] {
                b'y' => {
                    assert_eq!((reached, done[0].is_error), (1, false), "{name}: {}", done[0].content);
                    good += 1;
                }
                // No text at all is how providers write "no arguments".
                b'n' if text.is_empty() => assert_eq!(reached, 1),
                b'n' => {
                    assert_eq!((reached, done[0].is_error), (0, true), "{name}");
                    assert!(done[0].content.starts_with("the arguments are not JSON"), "{name}: {}", done[0].content);
                    bad += 1;
                }
                _ => assert_eq!(reached == 1, !done[0].is_error, "{name}"),
            }
        }
    }
    assert!(good > 180 && bad > 300, "{good} {bad}");
}

#[tokio::test(start_paused = true)]
async fn of_a_key_that_stands_twice_in_arguments_the_last_counts_and_is_what_is_journaled() {
    let world = World::new().await;
    let executor = world.executor(vec![Fake::echo(spec("take"))]);
    let done = executor.run_calls(&world.call(), vec![asked(r#"{"path":"a","path":"b"}"#)]).await.unwrap();
    assert_eq!(done[0].content, json!({"path": "b"}).to_string());
    let run = world.run;
    let journaled = world.db.read(async |conn| store::calls::repeats(conn, run, "take", r#"{"path":"b"}"#).await);
    assert_eq!(journaled.await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn deep_arguments_are_no_arguments_and_harm_nobody() {
    let world = World::new().await;
    let executor = world.executor(vec![Fake::echo(spec("take"))]);
    for (step, text) in (1..).zip(["[".repeat(100_000), "{\"a\":".repeat(100_000)]) {
        let call = Call { step, ..world.call() };
        let done = executor.run_calls(&call, vec![asked(&text)]).await.unwrap();
        assert!(done[0].is_error && done[0].content.starts_with("the arguments are not JSON"));
    }
}
