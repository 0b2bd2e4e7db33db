//! The public JSON test suite against everything that reads a provider's JSON: arguments of tool calls, and events.
//!
//! <https://github.com/nst/JSONTestSuite>: files that begin with `y_` are JSON, with `n_` are none, with `i_` may be read
//! either way. All of them must be answered: none may make a reader panic or hang.

use std::path::PathBuf;

use bytes::Bytes;
use fakes::testset;
use futures::executor::block_on;
use futures::stream;
use serde_json::{Value, json};

use crate::anthropic::stream::MessageReader;
use crate::error::ModelError;
use crate::openai::stream::CompletionReader;
use crate::profile::Wire;
use crate::request::{Block, Input, ModelRef};
use crate::stream::{Form, read};
use crate::wire::Answer;

/// Name and bytes of every file.
fn suite() -> Option<Vec<(String, Vec<u8>)>> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(testset("json/JSONTestSuite")?)
        .expect("a folder")
        .map(|entry| entry.expect("a file").path())
        .collect();
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
        (name, std::fs::read(&path).expect("the file can be read"))
    };
    let files: Vec<_> =
        paths.into_iter().filter(|path| path.extension().is_some_and(|it| it == "json")).map(read).collect();
    assert!(files.len() > 300, "only {} files", files.len());
    Some(files)
}

fn answer(wire: Wire, form: Form, bytes: Vec<u8>) -> Result<Answer, ModelError> {
    let pieces: Vec<_> = bytes.chunks(1_000).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
    let (bytes, model) = (stream::iter(pieces), ModelRef::new("p", "m"));
    match wire {
        Wire::Anthropic => block_on(read(bytes, form, MessageReader::new(model), &mut |_| {})),
        Wire::OpenAi => block_on(read(bytes, form, CompletionReader::new(model), &mut |_| {})),
    }
}

/// An answer that calls one tool with this text for its arguments, as the provider streams it.
fn calling(wire: Wire, arguments: &str) -> Vec<u8> {
    let events: Vec<Value> = match wire {
        Wire::Anthropic => vec![
            json!({"type": "content_block_start", "index": 0,
                   "content_block": {"type": "tool_use", "id": "t", "name": "read", "input": {}}}),
            json!({"type": "content_block_delta", "index": 0,
                   "delta": {"type": "input_json_delta", "partial_json": arguments}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
            json!({"type": "message_stop"}),
        ],
        Wire::OpenAi => vec![
            json!({"choices": [{"index": 0, "delta": {"tool_calls": [
                {"index": 0, "id": "t", "type": "function", "function": {"name": "read", "arguments": arguments}}]}}]}),
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
        ],
    };
    events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>().into_bytes()
}

/// The arguments of the one call.
fn input(answer: Answer) -> Input {
    let calls: Vec<_> = answer.content.iter().filter_map(Block::as_tool_use).collect();
    assert_eq!(calls.len(), 1);
    calls[0].input.clone()
}

#[test]
fn arguments_are_json_where_the_suite_says_so_and_broken_where_it_says_so() {
    let Some(files) = suite() else { return };
    let mut judged = 0;
    for (name, bytes) in files {
        // Arguments come within a JSON string, which has no bytes that are no text.
        let Ok(text) = String::from_utf8(bytes) else { continue };
        let inputs = [Input::read(&text)].into_iter().chain([Wire::Anthropic, Wire::OpenAi].map(|wire| {
            input(answer(wire, Form::Events, calling(wire, &text)).unwrap_or_else(|error| panic!("{name}: {error}")))
        }));
        for input in inputs {
            match name.as_bytes()[0] {
                b'y' => assert!(matches!(input, Input::Json(_)), "{name} is refused"),
                // No text at all is how providers write "no arguments".
                b'n' if text.is_empty() => assert_eq!(input, Input::Json(json!({})), "{name}"),
                b'n' => assert_eq!(input, Input::Broken(text.clone()), "{name} is taken"),
                _ => {}
            }
            judged += 1;
        }
    }
    assert!(judged > 800, "{judged}");
}

#[test]
fn an_event_or_an_answer_that_is_no_json_is_refused_and_nothing_panics() {
    let Some(files) = suite() else { return };
    let mut refused = 0;
    for (name, bytes) in files {
        for wire in [Wire::Anthropic, Wire::OpenAi] {
            // A line feed ends a line of an event: what stands behind it is one more line of the same data.
            let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
            let data: Vec<u8> = lines.iter().flat_map(|line| [b"data: ", *line, b"\n"].concat()).collect();
            let event = answer(wire, Form::Events, [&data[..], b"\n"].concat());
            // Nothing in the suite is a whole answer, so that even good JSON is none; what counts is that it is told.
            assert!(event.is_err(), "{name} is an answer");
            refused += 1;
            drop(answer(wire, Form::Document, bytes.clone()));
        }
    }
    assert!(refused > 600);
}

#[test]
fn a_hundred_thousand_open_brackets_are_broken_arguments() {
    for text in
        ["[".repeat(100_000), "{\"a\":".repeat(100_000), format!("{}{}", "[".repeat(50_000), "]".repeat(50_000))]
    {
        assert_eq!(Input::read(&text), Input::Broken(text.clone()));
        for wire in [Wire::Anthropic, Wire::OpenAi] {
            let answer = answer(wire, Form::Events, calling(wire, &text)).expect("the answer itself is whole");
            assert_eq!(input(answer), Input::Broken(text.clone()));
        }
    }
}
