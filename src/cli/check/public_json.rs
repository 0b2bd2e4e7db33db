//! The public JSON test suite through the doors: what is no JSON is an error, what is JSON is understood, and no line
//! makes a door panic or hang.

use fakes::testset;
use serde_json::{Value, json};

use super::{each, jsonl, trust};

/// Name and bytes of every file.
fn suite() -> Option<Vec<(String, Vec<u8>)>> {
    let folder = std::fs::read_dir(testset("json/JSONTestSuite")?).expect("a folder");
    let mut files: Vec<(String, Vec<u8>)> = folder
        .map(|entry| entry.expect("a file"))
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).expect("a file")))
        .filter(|(name, _)| name.ends_with(".json"))
        .collect();
    files.sort();
    assert!(files.len() > 300, "only {} files", files.len());
    Some(files)
}

/// What a door that repeats its question answers.
fn echo(input: &[u8]) -> Vec<Value> {
    let mut output = Vec::new();
    let repeat = |case: &Value| json!({"id": null, "decision": "understood", "case": case});
    each(repeat, input, &mut output).expect("memory can be read and written");
    let output = String::from_utf8(output).expect("UTF-8");
    output.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

#[test]
fn what_the_suite_calls_json_is_understood_and_what_it_does_not_is_an_error() {
    let Some(files) = suite() else { return };
    let (mut objects, mut refused) = (0, 0);
    for (name, bytes) in files {
        let Ok(text) = String::from_utf8(bytes) else { continue };
        let read = jsonl::object(&text);
        let is_object = text.trim_start().starts_with('{');
        let twice = name.contains("duplicated_key");
        match (name.as_bytes()[0], read) {
            (b'n', read) => {
                assert!(read.is_err(), "{name} is understood");
                refused += 1;
            }
            (b'y', Ok(_)) => {
                assert!(is_object && !twice, "{name}");
                objects += 1;
            }
            // The one thing that is JSON and no question: it would be a guess which of the two is meant.
            (b'y', Err(error)) if twice => assert!(error.contains("stands twice"), "{name}: {error}"),
            (b'y', Err(error)) => {
                assert!(!is_object && error.contains("expected an object"), "{name}: {error}");
            }
            _ => {}
        }
    }
    assert!(objects > 8 && refused > 150, "{objects} {refused}");
}

#[test]
fn every_line_of_the_suite_gets_one_answer_at_every_door() {
    let Some(files) = suite() else { return };
    for (name, bytes) in files {
        let lines = bytes.split(|byte| *byte == b'\n');
        let told = lines.filter(|line| !String::from_utf8_lossy(line).trim().is_empty()).count();
        // A byte order mark alone is a blank line.
        let told = if bytes == b"\xef\xbb\xbf" { 0 } else { told };
        let answers = echo(&bytes);
        assert_eq!(answers.len(), told, "{name}");
        if name.starts_with("n_") {
            let whole = !bytes.contains(&b'\n') || bytes.ends_with(b"\n") && told == 1;
            assert!(!whole || answers.iter().all(|answer| answer["decision"] == "error"), "{name}: {answers:?}");
        }
        let mut output = Vec::new();
        trust(&bytes[..], &mut output).expect("memory can be read and written");
        assert_eq!(output.iter().filter(|byte| **byte == b'\n').count(), told, "{name}");
    }
}

#[test]
fn a_hundred_thousand_open_brackets_are_an_error_and_the_next_line_is_read() {
    let deep = format!("{{\"url\":{}\n{{\"id\":2}}\n", "[".repeat(100_000));
    let answers = echo(deep.as_bytes());
    assert_eq!(
        answers.iter().map(|answer| answer["decision"].as_str()).collect::<Vec<_>>(),
        [Some("error"), Some("understood")]
    );
}
