//! Our request as Chat Completions'.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::request::{Block, Message, ModelRef, Request, Role};
use crate::sendable::sendable;

/// The fields of a message in which servers give a model's thinking and want it back.
pub(super) const THINKING_FIELDS: [&str; 2] = ["reasoning_content", "reasoning_details"];

/// Words with which servers say that they do not know a field.
const UNKNOWN_FIELD: [&str; 8] =
    ["unsupported", "not supported", "unknown", "unrecognized", "unexpected", "not permitted", "not allowed", "extra"];

/// What a server is known to take. Compatible servers differ in two fields, and say so when asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    /// Whether the longest answer is `max_completion_tokens` (OpenAI's newer models take nothing else) or
    /// `max_tokens` (nearly every other server takes nothing else).
    pub(crate) completion_tokens: bool,
    /// Whether the usage may be asked for. Without it there is none.
    pub(crate) usage: bool,
}

impl Dialect {
    /// What to try first with the server at `host`.
    pub(crate) fn guess(host: &str) -> Self {
        let newer = ["api.openai.com", "openai.azure.com"].iter().any(|name| host.ends_with(name));
        Dialect { completion_tokens: newer, usage: true }
    }

    /// What to try instead, after a server refused a request as invalid with this text. `None` where it was
    /// something else.
    pub(crate) fn corrected(self, refusal: &str) -> Option<Self> {
        // A field may also be named because of its value ("max_tokens is too large").
        let lower = refusal.to_ascii_lowercase();
        if UNKNOWN_FIELD.iter().all(|word| !lower.contains(word)) {
            return None;
        }
        if refusal.contains("stream_options") && self.usage {
            return Some(Dialect { usage: false, ..self });
        }
        // Both fields may be named: "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
        let newer = refusal.contains("max_completion_tokens");
        let older = refusal.replace("max_completion_tokens", "").contains("max_tokens");
        match (self.completion_tokens, newer, older) {
            (false, true, true) => Some(Dialect { completion_tokens: true, ..self }),
            (true, true, _) => Some(Dialect { completion_tokens: false, ..self }),
            _ => None,
        }
    }
}

/// The body of the request. Equal inputs give equal bytes.
pub(crate) fn body(request: &Request, model: &ModelRef, output_tokens_max: u32, dialect: Dialect) -> Vec<u8> {
    let conversation = sendable(&request.messages, model);
    let tokens = request.output_tokens_max.min(output_tokens_max).max(1);
    let body = Body {
        model: &model.model,
        stream: true,
        stream_options: dialect.usage.then_some(StreamOptions { include_usage: true }),
        max_tokens: (!dialect.completion_tokens).then_some(tokens),
        max_completion_tokens: dialect.completion_tokens.then_some(tokens),
        tools: request.tools.iter().map(Tool::of).collect(),
        messages: messages(request, &conversation),
    };
    serde_json::to_vec(&body).expect("strings, numbers and JSON values always become JSON")
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<WireMessage<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
}

impl<'a> Tool<'a> {
    fn of(tool: &'a crate::ToolDef) -> Self {
        let function = Function { name: &tool.name, description: &tool.about, parameters: tool.schema.raw() };
        Tool { r#type: "function", function }
    }
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum WireMessage<'a> {
    System {
        content: String,
    },
    User {
        content: String,
    },
    Assistant {
        /// Null where the model only called tools.
        content: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
        #[serde(flatten)]
        thinking: Map<String, Value>,
    },
    Tool {
        tool_call_id: &'a str,
        content: String,
    },
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Arguments<'a>,
}

#[derive(Serialize)]
struct Arguments<'a> {
    name: &'a str,
    /// JSON within a string. Always an object: templates of many servers read it.
    arguments: String,
}

fn messages<'a>(request: &'a Request, conversation: &'a [Message]) -> Vec<WireMessage<'a>> {
    let mut wire = Vec::new();
    let system: Vec<&str> =
        request.system.iter().map(|part| part.text.as_str()).filter(|text| !text.trim().is_empty()).collect();
    if !system.is_empty() {
        wire.push(WireMessage::System { content: system.join("\n\n") });
    }
    // Thinking goes back while the tools that it asked for are being worked off. Servers do without it afterwards,
    // and some refuse it.
    let since = conversation.iter().rposition(|message| message.role == Role::User && !message.text().is_empty());
    for (at, message) in conversation.iter().enumerate() {
        match message.role {
            Role::User => user(message, &mut wire),
            Role::Assistant => wire.push(assistant(message, since.is_none_or(|since| at > since))),
        }
    }
    wire
}

/// A tool's results are messages of their own, right after the calls; the person's words follow.
fn user<'a>(message: &'a Message, wire: &mut Vec<WireMessage<'a>>) {
    for block in &message.content {
        if let Block::ToolResult { id, content, is_error } = block {
            // The protocol has no field for a failure, so the text says it.
            let content = if *is_error { format!("Error: {content}") } else { content.clone() };
            wire.push(WireMessage::Tool { tool_call_id: id, content });
        }
    }
    let words = words(message);
    if !words.is_empty() {
        wire.push(WireMessage::User { content: words });
    }
}

fn assistant(message: &Message, with_thinking: bool) -> WireMessage<'_> {
    let calls = message.content.iter().filter_map(Block::as_tool_use);
    let words = words(message);
    let mut thinking = Map::new();
    for block in &message.content {
        if let (true, Block::Opaque { value: Value::Object(fields), .. }) = (with_thinking, block) {
            let known = fields.iter().filter(|(name, _)| THINKING_FIELDS.contains(&name.as_str()));
            thinking.extend(known.map(|(name, value)| (name.clone(), value.clone())));
        }
    }
    WireMessage::Assistant {
        content: (!words.is_empty()).then_some(words),
        tool_calls: calls
            .map(|call| Call {
                id: &call.id,
                r#type: "function",
                function: Arguments { name: &call.name, arguments: call.input.to_object().to_string() },
            })
            .collect(),
        thinking,
    }
}

/// The texts of a message, a blank line between two.
fn words(message: &Message) -> String {
    message.content.iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::request::{Input, System, ToolDef, ToolUse};

    fn call(id: &str, input: &str) -> Block {
        Block::ToolUse(ToolUse { id: id.into(), name: "read".into(), input: Input::read(input) })
    }

    #[test]
    fn the_bytes_are_exactly_these() {
        let model = ModelRef::new("p", "m");
        let thought =
            Block::Opaque { model: model.clone(), value: json!({"reasoning_content": "hm", "role": "system"}) };
        let request = Request {
            system: ["rules", " ", "team"].map(|text| System { text: text.into(), cached: true }).to_vec(),
            tools: vec![ToolDef {
                name: "read".into(),
                about: "Reads.".into(),
                schema: json!({"type": "object"}).into(),
            }]
            .into(),
            messages: vec![
                Message::user("hi"),
                Message { role: Role::Assistant, content: vec![thought.clone(), Block::Text("hello".into())] },
                Message { role: Role::User, content: vec![Block::Text("a".into()), Block::Text("b".into())] },
                Message {
                    role: Role::Assistant,
                    content: vec![thought, call("1", "{\"path\":\"x\"}"), call("2", "[")],
                },
                Message {
                    role: Role::User,
                    content: vec![Block::ToolResult { id: "1".into(), content: "text".into(), is_error: false }],
                },
            ],
            output_tokens_max: 9_000,
        };
        let bytes = body(&request, &model, 500, Dialect::guess("localhost"));
        let expected = concat!(
            r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":500,"#,
            r#""tools":[{"type":"function","function":{"name":"read","description":"Reads.","#,
            r#""parameters":{"type":"object"}}}],"#,
            r#""messages":[{"role":"system","content":"rules\n\nteam"},{"role":"user","content":"hi"},"#,
            r#"{"role":"assistant","content":"hello"},{"role":"user","content":"a\n\nb"},"#,
            r#"{"role":"assistant","content":null,"tool_calls":["#,
            r#"{"id":"1","type":"function","function":{"name":"read","arguments":"{\"path\":\"x\"}"}},"#,
            r#"{"id":"2","type":"function","function":{"name":"read","arguments":"{\"not_an_object\":\"[\"}"}}],"#,
            r#""reasoning_content":"hm"},"#,
            r#"{"role":"tool","tool_call_id":"1","content":"text"},"#,
            r#"{"role":"tool","tool_call_id":"2","content":"Error: interrupted, outcome unknown"}]}"#,
        );
        assert_eq!(String::from_utf8_lossy(&bytes), expected);
    }

    #[test]
    fn a_server_s_refusal_teaches_its_dialect() {
        let older = Dialect::guess("127.0.0.1");
        let newer = Dialect::guess("api.openai.com");
        assert_eq!((older.completion_tokens, newer.completion_tokens), (false, true));
        let refusal = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
        assert_eq!(older.corrected(refusal), Some(newer));
        assert_eq!(newer.corrected("unknown field `max_completion_tokens`"), Some(older));
        assert_eq!(older.corrected("max_tokens is too large"), None);
        assert_eq!(newer.corrected("max_completion_tokens is too large: 99999"), None);
        assert_eq!(
            older.corrected("Extra inputs are not permitted (body.stream_options)").map(|d| d.usage),
            Some(false)
        );
        let without = older.corrected("Unrecognized request argument supplied: stream_options");
        assert_eq!(without, Some(Dialect { usage: false, ..older }));
        assert_eq!(without.and_then(|dialect| dialect.corrected("stream_options")), None);
        assert_eq!(older.corrected("tools are not supported"), None);
    }
}
