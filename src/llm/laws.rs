//! Both stream readers against tables of what servers send, and their laws: how a stream is cut into pieces does not
//! matter, and nothing that comes from outside can make them panic.

use bytes::Bytes;
use futures::executor::block_on;
use futures::stream;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::anthropic::stream::MessageReader;
use crate::error::{Class, ModelError};
use crate::openai::stream::CompletionReader;
use crate::profile::Wire;
use crate::request::{Block, Input, Message, ModelRef, Request, Role, ToolUse};
use crate::response::{StopReason, Usage};
use crate::stream::{Form, read};
use crate::wire::{Answer, Stop};

fn model() -> ModelRef {
    ModelRef::new("p", "m")
}

/// Reads an answer that comes in these pieces: the result, and the text that was shown.
fn read_pieces(wire: Wire, form: Form, pieces: Vec<Bytes>) -> (Result<Answer, ModelError>, String) {
    let mut shown = String::new();
    let mut text = |more: &str| shown.push_str(more);
    let bytes = stream::iter(pieces.into_iter().map(Ok));
    let answer = match wire {
        Wire::Anthropic => block_on(read(bytes, form, MessageReader::new(model()), &mut text)),
        Wire::OpenAi => block_on(read(bytes, form, CompletionReader::new(model()), &mut text)),
    };
    (answer, shown)
}

fn read_bytes(wire: Wire, bytes: &[u8]) -> Result<Answer, ModelError> {
    read_pieces(wire, Form::Events, vec![Bytes::copy_from_slice(bytes)]).0
}

/// A stream of events with these data.
fn events(data: &[Value]) -> String {
    data.iter().map(|data| format!("data: {data}\n\n")).collect()
}

fn text(text: &str) -> Block {
    Block::Text(text.into())
}
fn call(id: &str, name: &str, input: Input) -> Block {
    Block::ToolUse(ToolUse { id: id.into(), name: name.into(), input })
}
fn opaque(value: Value) -> Block {
    Block::Opaque { model: model(), value }
}
fn ended(stop: StopReason, content: Vec<Block>, usage: Usage) -> Answer {
    Answer { content, stop: Stop::Ended(stop), usage }
}
fn usage(input_tokens: u64, output_tokens: u64, cache_read_tokens: u64, cache_write_tokens: u64) -> Usage {
    Usage { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens }
}

/// Thinking, words, two tools at once, cache counts, a ping, a comment, unknown events: all at once.
fn rich_anthropic() -> (String, Answer) {
    let stream = [
        r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":25,"cache_creation_input_tokens":7,"cache_read_input_tokens":1000,"output_tokens":1}}}"#,
        r#"event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
        r#"event: ping
data: {"type": "ping"}"#,
        r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm, "}}"#,
        r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"häuser"}}"#,
        r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}"#,
        r#"data: {"type":"content_block_stop","index":0}"#,
        r#"data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"AAA"}}"#,
        r#"data: {"type":"content_block_stop","index":1}"#,
        ": a comment",
        r#"data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}"#,
        r#"data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Let me "}}"#,
        r#"data: {"type":"something_new","index":2}"#,
        r#"data: {"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{}}}"#,
        r#"data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"see… 👀"}}"#,
        r#"data: {"type":"content_block_stop","index":2}"#,
        r#"data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"t1","name":"read","input":{}}}"#,
        r#"data: {"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"t2","name":"list","input":{}}}"#,
        r#"data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}"#,
        r#"data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"path\": \"a"}}"#,
        r#"data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"/b\"}"}}"#,
        r#"data: {"type":"content_block_stop","index":3}"#,
        r#"data: {"type":"content_block_stop","index":4}"#,
        r#"data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89}}"#,
        r#"event: message_stop
data: {"type":"message_stop"}"#,
    ]
    .map(|event| format!("{event}\n\n"))
    .concat();
    let answer = ended(
        StopReason::ToolUse,
        vec![
            opaque(json!({"type": "thinking", "thinking": "hm, häuser", "signature": "c2ln"})),
            opaque(json!({"type": "redacted_thinking", "data": "AAA"})),
            text("Let me see… 👀"),
            call("t1", "read", Input::Json(json!({"path": "a/b"}))),
            call("t2", "list", Input::Json(json!({}))),
        ],
        usage(25, 89, 1_000, 7),
    );
    (stream, answer)
}

/// Words, two tools at once in interleaved pieces, usage after the reason, `[DONE]`.
fn rich_openai() -> (String, Answer) {
    let stream = [
        r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}"#,
        r#"data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"reasoning_content":"hm, "}}]}"#,
        r#"data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"reasoning_content":"häuser"}}]}"#,
        r#"data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"Let me "}}]}"#,
        ": OPENROUTER PROCESSING",
        r#"data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"see… 👀"}}]}"#,
        r#"data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"read","arguments":""}}]}}]}"#,
        r#"data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"c2","type":"function","function":{"name":"list","arguments":"{}"}}]}}]}"#,
        r#"data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\": \"a"}}]}}]}"#,
        r#"data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"/b\"}"}}]}}]}"#,
        r#"data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
        r#"data: {"id":"chatcmpl-1","choices":[],"usage":{"prompt_tokens":1032,"completion_tokens":89,"total_tokens":1121,"prompt_tokens_details":{"cached_tokens":1000}}}"#,
        "data: [DONE]",
    ]
    .map(|event| format!("{event}\n\n"))
    .concat();
    let answer = ended(
        StopReason::ToolUse,
        vec![
            opaque(json!({"reasoning_content": "hm, häuser"})),
            text("Let me see… 👀"),
            call("c1", "read", Input::Json(json!({"path": "a/b"}))),
            call("c2", "list", Input::Json(json!({}))),
        ],
        usage(32, 89, 1_000, 0),
    );
    (stream, answer)
}

fn rich() -> [(Wire, String, Answer); 2] {
    let (anthropic, anthropic_answer) = rich_anthropic();
    let (openai, openai_answer) = rich_openai();
    [(Wire::Anthropic, anthropic, anthropic_answer), (Wire::OpenAi, openai, openai_answer)]
}

#[test]
fn wherever_a_stream_is_cut_into_pieces_the_answer_is_the_same() {
    for (wire, stream, answer) in rich() {
        for line_end in ["\n", "\r\n", "\r"] {
            let bytes = Bytes::from(stream.replace('\n', line_end));
            let one_by_one = (0..bytes.len()).map(|at| bytes.slice(at..=at)).collect();
            let (read, shown) = read_pieces(wire, Form::Events, one_by_one);
            assert_eq!((read.as_ref(), shown.as_str()), (Ok(&answer), "Let me see… 👀"), "byte by byte");
            for at in 0..=bytes.len() {
                let (read, shown) = read_pieces(wire, Form::Events, vec![bytes.slice(..at), bytes.slice(at..)]);
                assert_eq!((read.as_ref(), shown.as_str()), (Ok(&answer), "Let me see… 👀"), "{wire} cut at {at}");
            }
        }
        let with_mark = format!("\u{feff}{stream}");
        assert_eq!(read_bytes(wire, with_mark.as_bytes()), Ok(answer.clone()), "a byte order mark");
        let unended = stream.trim_end();
        assert_eq!(read_bytes(wire, unended.as_bytes()), Ok(answer), "no empty line at the end");
    }
}

#[test]
fn a_stream_that_ends_early_is_cut_and_never_taken_for_an_answer() {
    for (wire, stream, answer) in rich() {
        let reason = ["\"stop_reason\":\"", "\"finish_reason\":\"tool"].into_iter().find_map(|mark| stream.find(mark));
        let reason = reason.expect("the sample gives a reason");
        for at in 0..stream.len() {
            match read_bytes(wire, &stream.as_bytes()[..at]) {
                Ok(read) => {
                    assert!(at > reason, "{wire}: taken for whole at {at} of {}", stream.len());
                    assert_eq!(read.content, answer.content);
                }
                // Half a character is no UTF-8 to the parser, which cannot know that more would have come.
                Err(error) => assert!(matches!(error.class, Class::Cut | Class::Transient), "{error}"),
            }
        }
        let Err(error) = read_bytes(wire, &stream.as_bytes()[..reason]) else { panic!("it has no reason to stop") };
        assert_eq!(error.class, Class::Cut);
        // What was counted before the cut is spent.
        let counted = if wire == Wire::Anthropic { usage(25, 1, 1_000, 7) } else { Usage::default() };
        assert_eq!(error.usage, counted);
    }
}

#[test]
fn anthropics_reasons_to_stop_are_understood() {
    let start = json!({"type": "message_start", "message": {"usage": {"input_tokens": 3, "output_tokens": 1}}});
    let said = [
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "a"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "b"}}),
    ];
    for (reason, stop) in [
        ("end_turn", Stop::Ended(StopReason::EndTurn)),
        ("stop_sequence", Stop::Ended(StopReason::EndTurn)),
        ("max_tokens", Stop::Ended(StopReason::OutputLimit)),
        ("model_context_window_exceeded", Stop::Ended(StopReason::OutputLimit)),
        ("refusal", Stop::Ended(StopReason::Refused)),
        ("pause_turn", Stop::Paused),
        ("something_new", Stop::Ended(StopReason::EndTurn)),
        // A server that says so without a call: who reads `ToolUse` would look for one.
        ("tool_use", Stop::Ended(StopReason::EndTurn)),
    ] {
        let delta = json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 9}});
        let mut stream = vec![start.clone()];
        stream.extend(said.clone());
        stream.extend([delta, json!({"type": "message_stop"})]);
        let expected = Answer { content: vec![text("ab")], stop, usage: usage(3, 9, 0, 0) };
        assert_eq!(read_bytes(Wire::Anthropic, events(&stream).as_bytes()), Ok(expected), "{reason}");
    }
}

#[test]
fn openai_compatible_servers_are_read_with_their_quirks() {
    let delta = |delta: Value, reason: Value| json!({"choices": [{"delta": delta, "finish_reason": reason}]});
    let tools = |calls: Value, reason: &str| delta(json!({ "tool_calls": calls }), json!(reason));
    let function = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
    let path = |path: &str| Input::Json(json!({ "path": path }));
    let reads = |paths: &[(&str, &str)]| {
        let calls = paths.iter().map(|(id, at)| call(id, "read", path(at))).collect();
        ended(StopReason::ToolUse, calls, Usage::default())
    };
    let said = |stop, words: &str| ended(stop, vec![text(words)], Usage::default());
    let cases: Vec<(&str, Vec<Value>, Answer)> = vec![
        ("no usage, no [DONE]", vec![delta(json!({"content": "a"}), json!("stop"))], said(StopReason::EndTurn, "a")),
        ("length", vec![delta(json!({"content": "a"}), json!("length"))], said(StopReason::OutputLimit, "a")),
        ("filtered", vec![delta(json!({"content": "a"}), json!("content_filter"))], said(StopReason::Refused, "a")),
        ("a refusal", vec![delta(json!({"refusal": "no"}), json!("stop"))], said(StopReason::Refused, "no")),
        ("another word for stop", vec![delta(json!({"content": "a"}), json!("eos"))], said(StopReason::EndTurn, "a")),
        (
            "content in parts",
            vec![delta(json!({"content": [{"type": "text", "text": "a"}, {"type": "image"}]}), json!("stop"))],
            said(StopReason::EndTurn, "a"),
        ),
        ("nothing at all", vec![delta(json!({}), json!("stop"))], ended(StopReason::EndTurn, vec![], Usage::default())),
        (
            "called with the reason stop, no id, no index, arguments as an object",
            vec![tools(json!([{"function": function("read", json!({"path": "x"}))}]), "stop")],
            reads(&[("call-0", "x")]),
        ),
        (
            "two without id and index, each in two pieces",
            vec![
                tools(json!([{"function": function("read", json!("{\"path\":"))}]), ""),
                tools(json!([{"function": {"arguments": "\"x\"}"}}]), ""),
                tools(json!([{"function": function("read", json!("{\"path\":"))}]), ""),
                tools(json!([{"function": {"arguments": "\"y\"}"}}]), "tool_calls"),
            ],
            reads(&[("call-0", "x"), ("call-1", "y")]),
        ),
        (
            "every call has the index 0 and an id of its own",
            vec![
                tools(json!([{"index": 0, "id": "a", "function": function("read", json!("{\"path\":\"x\"}"))}]), ""),
                tools(
                    json!([{"index": 0, "id": "b", "function": function("read", json!("{\"path\":\"y\"}"))}]),
                    "stop",
                ),
            ],
            reads(&[("a", "x"), ("b", "y")]),
        ),
        (
            "id and name are repeated with every piece",
            vec![
                tools(json!([{"index": 0, "id": "a", "function": function("read", json!("{\"path\":"))}]), ""),
                tools(json!([{"index": 0, "id": "a", "function": function("read", json!("\"x\"}"))}]), "tool_calls"),
            ],
            reads(&[("a", "x")]),
        ),
        (
            "the form from before there were several",
            vec![delta(json!({"function_call": function("read", json!("{\"path\":\"x\"}"))}), json!("function_call"))],
            reads(&[("call-0", "x")]),
        ),
        (
            "an id made from the completion's",
            vec![
                json!({"id": "cmpl:1", "choices": [{"delta": {"tool_calls": [{"function": function("read", json!("{\"path\":\"x\"}"))}]}, "finish_reason": "stop"}]}),
            ],
            reads(&[("cmpl_1-0", "x")]),
        ),
        (
            "cut off within the arguments",
            vec![tools(json!([{"index": 0, "id": "a", "function": function("read", json!("{\"pa"))}]), "length")],
            ended(StopReason::OutputLimit, vec![call("a", "read", Input::Broken("{\"pa".into()))], Usage::default()),
        ),
        (
            "a whole message in the last chunk, counts with another name for the cache",
            vec![json!({
                "choices": [{"message": {"role": "assistant", "content": "a"}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_hit_tokens": 4},
            })],
            ended(StopReason::EndTurn, vec![text("a")], usage(6, 2, 4, 0)),
        ),
        (
            "only [DONE], and counts that cannot be",
            vec![
                delta(json!({"content": "a"}), Value::Null),
                json!({"choices": null, "usage": {"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": 9}, "completion_tokens": -3}}),
                Value::Null,
            ],
            ended(StopReason::EndTurn, vec![text("a")], usage(0, 0, 1, 0)),
        ),
    ];
    for (name, data, expected) in cases {
        let stream = events(&data).replace("data: null", "data: [DONE]");
        assert_eq!(read_bytes(Wire::OpenAi, stream.as_bytes()), Ok(expected), "{name}");
    }
}

#[test]
fn an_error_within_a_stream_is_an_error_with_its_class() {
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let limited = json!({"error": {"code": 429, "message": "slow down"}, "choices": [{"finish_reason": "error"}]});
    let (anthropic, _) = rich_anthropic();
    let (openai, _) = rich_openai();
    for (wire, stream, error, class) in [
        (Wire::Anthropic, &anthropic, overloaded, Class::Overloaded { retry_after: None }),
        (Wire::OpenAi, &openai, limited, Class::RateLimited { retry_after: None }),
    ] {
        let begun: String = stream.split_inclusive("\n\n").take(4).collect();
        let told = format!("{begun}data: {error}\n");
        assert_eq!(read_bytes(wire, told.as_bytes()).map_err(|error| error.class), Err(class));
        let garbage = format!("{begun}data: {{\"type\": \n\n{begun}");
        let unreadable = read_bytes(wire, garbage.as_bytes()).expect_err("it is not JSON");
        assert_eq!(unreadable.class, Class::Transient);
        assert!(!unreadable.text.contains("type"), "an error quotes nothing of an answer: {unreadable}");
        let not_text = [begun.as_bytes(), b"data: \xff\xfe\n\n"].concat();
        assert_eq!(read_bytes(wire, &not_text).map_err(|error| error.class), Err(Class::Transient));
    }
}

#[test]
fn a_server_that_does_not_stream_is_read_all_the_same() {
    let anthropic = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "a"}, {"type": "tool_use", "id": "t", "name": "read", "input": {"path": "x"}}],
        "usage": {"input_tokens": 3, "output_tokens": 2},
    });
    let function = json!({"name": "read", "arguments": "{\"path\":\"x\"}"});
    let openai = json!({
        "id": "c", "object": "chat.completion",
        "choices": [{"message": {"content": "a", "tool_calls": [{"id": "t", "function": function}]}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2},
    });
    let content = vec![text("a"), call("t", "read", Input::Json(json!({"path": "x"})))];
    let expected = ended(StopReason::ToolUse, content, usage(3, 2, 0, 0));
    for (wire, document) in [(Wire::Anthropic, anthropic), (Wire::OpenAi, openai)] {
        let (answer, shown) = read_pieces(wire, Form::Document, vec![Bytes::from(document.to_string())]);
        assert_eq!((answer, shown.as_str()), (Ok(expected.clone()), "a"), "{wire}");
        let half = document.to_string();
        let (cut, _) = read_pieces(wire, Form::Document, vec![Bytes::from(half[..half.len() / 2].to_owned())]);
        assert!(cut.is_err(), "{wire}");
    }
}

/// The arguments of a tool call as they come, streamed in two pieces, by both readers.
fn as_arguments(arguments: &str) -> [Input; 2] {
    let half = (0..=arguments.len() / 2).rev().find(|at| arguments.is_char_boundary(*at)).unwrap_or(0);
    let (first, second) = arguments.split_at(half);
    let anthropic = events(&[
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "x", "input": {}}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": first}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": second}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
    ]);
    let piece = |arguments: &str, reason: &str| {
        let calls = json!([{"index": 0, "id": "t", "function": {"name": "x", "arguments": arguments}}]);
        json!({"choices": [{"delta": {"tool_calls": calls}, "finish_reason": reason}]})
    };
    let openai = events(&[piece(first, ""), piece(second, "tool_calls")]);
    [(Wire::Anthropic, anthropic), (Wire::OpenAi, openai)].map(|(wire, stream)| {
        let answer = read_bytes(wire, stream.as_bytes()).expect("the stream around the arguments is sound");
        let call = answer.content.into_iter().find_map(|block| block.as_tool_use().cloned());
        call.expect("the call is there").input
    })
}

/// A history with this call is sendable, and its arguments are an object on the wire.
fn goes_back(input: Input) {
    let call = Block::ToolUse(ToolUse { id: "t".into(), name: "x".into(), input });
    let messages = vec![Message::user("a"), Message { role: Role::Assistant, content: vec![call] }];
    let request = Request { messages, output_tokens_max: 9, ..Request::default() };
    let keep = crate::anthropic::request::Thinking::Keep;
    let body: Value =
        serde_json::from_slice(&crate::anthropic::request::body(&request, &model(), 9, keep)).expect("JSON");
    assert!(body["messages"][1]["content"][0]["input"].is_object());
    let dialect = crate::openai::request::Dialect::guess("");
    let body: Value =
        serde_json::from_slice(&crate::openai::request::body(&request, &model(), 9, dialect)).expect("JSON");
    let arguments = body["messages"][1]["tool_calls"][0]["function"]["arguments"].as_str().expect("a text");
    assert!(serde_json::from_str::<Value>(arguments).expect("JSON within").is_object());
}

#[test]
fn arguments_that_are_json_are_read_and_all_others_are_kept() {
    let Some(folder) = fakes::testset("json/JSONTestSuite") else { return };
    let mut seen = [0, 0];
    for entry in std::fs::read_dir(folder).expect("the folder was there just now") {
        let path = entry.expect("its entries can be read").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // A stream of events is UTF-8, so no other bytes can come this far.
        let Ok(arguments) = String::from_utf8(std::fs::read(&path).expect("the file can be read")) else { continue };
        for input in as_arguments(&arguments) {
            let json = matches!(input, Input::Json(_));
            if name.starts_with("y_") {
                assert!(json, "{name} is JSON");
                seen[0] += 1;
            } else if name.starts_with("n_") && !arguments.is_empty() {
                assert_eq!(input, Input::Broken(arguments.clone()), "{name} is kept as it came");
                seen[1] += 1;
            } else if arguments.is_empty() {
                assert_eq!(input, Input::Json(json!({})), "no text is how providers write no arguments");
            }
            goes_back(input);
        }
    }
    assert!(seen[0] > 150 && seen[1] > 300, "{seen:?}");
}

proptest! {
    #[test]
    fn no_bytes_make_a_reader_panic(
        which in 0..2usize,
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
    ) {
        let (wire, stream, _) = rich()[which].clone();
        let mut bytes = stream.into_bytes();
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = read_bytes(wire, &bytes);
    }

    #[test]
    fn any_json_in_place_of_an_event_is_survived(
        which in 0..2usize,
        path in prop::sample::select(vec!["", "/type", "/message", "/content_block", "/delta", "/delta/stop_reason", "/usage",
            "/index", "/error", "/choices", "/choices/0", "/choices/0/delta", "/choices/0/delta/tool_calls",
            "/choices/0/delta/tool_calls/0/function", "/choices/0/finish_reason"]),
        put in prop::sample::select(vec!["null", "0", "-1", "1e9", "\"x\"", "[]", "[[]]", "{}", "[{}]", "true",
            "18446744073709551615", "{\"type\":\"text\"}", "{\"type\":[]}"]),
    ) {
        let (wire, stream, _) = rich()[which].clone();
        let put: Value = serde_json::from_str(put).expect("the cases are JSON");
        let mangled: String = stream.split_inclusive("\n\n").map(|event| {
            let Some(data) = event.trim().lines().find_map(|line| line.strip_prefix("data: ")) else { return event.to_owned() };
            let Ok(mut data) = serde_json::from_str::<Value>(data) else { return event.to_owned() };
            if let Some(place) = data.pointer_mut(path) {
                *place = put.clone();
            }
            format!("data: {data}\n\n")
        }).collect();
        if let Ok(answer) = read_bytes(wire, mangled.as_bytes()) {
            let message = Message { role: Role::Assistant, content: answer.content };
            let request = Request { messages: vec![message], output_tokens_max: 9, ..Request::default() };
            let keep = crate::anthropic::request::Thinking::Keep;
            crate::anthropic::request::body(&request, &model(), 9, keep);
            crate::openai::request::body(&request, &model(), 9, crate::openai::request::Dialect::guess(""));
        }
    }

    #[test]
    fn equal_requests_become_equal_bytes(messages in crate::sendable::tests::any_conversation()) {
        let request = Request { messages, output_tokens_max: 9, ..Request::default() };
        let journaled: Vec<Message> =
            serde_json::from_str(&serde_json::to_string(&request.messages).expect("JSON")).expect("reads back");
        let again = Request { messages: journaled, ..request.clone() };
        let keep = crate::anthropic::request::Thinking::Keep;
        let anthropic = |request: &Request| crate::anthropic::request::body(request, &model(), 9, keep);
        prop_assert_eq!(anthropic(&request), anthropic(&again));
        let dialect = crate::openai::request::Dialect::guess("");
        let openai = |request: &Request| crate::openai::request::body(request, &model(), 9, dialect);
        prop_assert_eq!(openai(&request), openai(&again));
    }
}
