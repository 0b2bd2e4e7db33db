//! The fixed part of a request is the same bytes whoever asks, in the order in which providers read: tools, then the
//! fixed part of the system text, then everything else.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::anthropic::request::Thinking;
use crate::openai::request::Dialect;
use crate::request::{Block, Input, Message, ModelRef, Request, Role, System, ToolDef, ToolUse};
use crate::{anthropic, openai};

/// Where the fixed text ends. No test text has this in it.
const END: &str = "the fixed part ends here";

fn tools() -> Arc<[ToolDef]> {
    let tool = |name: &str| ToolDef {
        name: name.to_owned(),
        about: format!("Does \"{name}\".\nAnd no more."),
        schema: json!({"type": "object", "properties": {"b": {"type": "string"}, "a": {"enum": ["é", "\n"]}}}).into(),
    };
    [tool("glob"), tool("grep"), tool("web_fetch")].into()
}

/// A session: what varies of it, what was said, and how long an answer may be.
fn session() -> impl Strategy<Value = Request> {
    let call = ("[a-z0-9]{1,9}", "\\PC{0,9}").prop_map(|(id, input)| {
        Block::ToolUse(ToolUse { id, name: "grep".to_owned(), input: Input::Json(json!({ "a": input })) })
    });
    let block = prop_oneof![3 => "\\PC{0,20}".prop_map(Block::Text), 1 => call];
    let message = (any::<bool>(), prop::collection::vec(block, 1..4))
        .prop_map(|(person, content)| Message { role: if person { Role::User } else { Role::Assistant }, content });
    ("\\PC{0,60}", prop::collection::vec(message, 0..6)).prop_map(|(varies, messages)| Request {
        system: vec![
            System { text: format!("Rules of \"everybody\": é\n{END}"), cached: true },
            System { text: varies, cached: false },
        ],
        tools: tools(),
        messages,
        output_tokens_max: 1_000,
    })
}

fn bodies(request: &Request) -> [String; 2] {
    let model = ModelRef::new("p", "m");
    let anthropic = anthropic::request::body(request, &model, 500, Thinking::Keep);
    let openai = openai::request::body(request, &model, 500, Dialect { completion_tokens: false, usage: true });
    [anthropic, openai].map(|bytes| String::from_utf8(bytes).expect("JSON"))
}

/// The fixed part as bytes: everything before the end of the fixed text.
fn fixed(body: &str) -> &str {
    let end = body.find(END).expect("the fixed text is in it");
    &body[..end + END.len()]
}

proptest! {
    #[test]
    fn the_fixed_part_is_the_same_bytes_in_every_session(one in session(), other in session()) {
        for (one, other) in bodies(&one).iter().zip(&bodies(&other)) {
            prop_assert_eq!(fixed(one), fixed(other));
            let (tools, text) = (one.find("\"tools\""), one.find("everybody"));
            prop_assert!(tools.is_some() && tools < text, "the tools stand before the system text: {}", one);
        }
    }

    #[test]
    fn agents_with_other_rules_share_the_bytes_of_the_tools(request in session(), rules in "\\PC{1,40}") {
        let mut other = request.clone();
        other.system[0].text = format!("Other rules: {rules}");
        for (one, other) in bodies(&request).iter().zip(&bodies(&other)) {
            let end = one.find("web_fetch").expect("the last tool");
            prop_assert_eq!(&one[..end], &other[..end]);
        }
    }
}

#[test]
fn a_mark_stands_behind_the_tools_and_behind_the_fixed_text_alone() {
    let mut request = Request {
        system: vec![
            System { text: "rules".to_owned(), cached: true },
            System { text: "place".to_owned(), cached: false },
        ],
        tools: tools(),
        messages: vec![Message::user("hi"), Message::assistant("hello"), Message::user("more")],
        output_tokens_max: 9,
    };
    let marks = |request: &Request| {
        let body: Value = serde_json::from_str(&bodies(request)[0]).expect("JSON");
        let of = |list: &Value| -> Vec<bool> {
            list.as_array().expect("a list").iter().map(|item| !item["cache_control"].is_null()).collect()
        };
        let said: Vec<bool> =
            body["messages"].as_array().expect("a list").iter().flat_map(|m| of(&m["content"])).collect();
        (of(&body["tools"]), of(&body["system"]), said)
    };
    let expected = (vec![false, false, true], vec![true, false], vec![false, false, true]);
    assert_eq!(marks(&request), expected);
    request.tools = request.tools.iter().rev().cloned().collect();
    assert_eq!(marks(&request).0, [false, false, true], "the last, whichever it is");
}
