//! Our request as Anthropic's.
//!
//! The order on the wire is tools, system, messages: the order in which the provider reads, and caches, them
//! (<https://docs.claude.com/en/docs/build-with-claude/prompt-caching>). A mark says that everything up to it is worth
//! keeping: one behind the tools, so that agents whose rules differ share them; one behind each cached part of the
//! system text; one behind the last message, for the next step of the same conversation.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::request::{Block, Message, ModelRef, Request, Role};
use crate::sendable::sendable;

/// How many marks go to the system text. The provider takes four in all: one is the tools', one the conversation's.
const SYSTEM_MARKS_MAX: usize = 2;

/// The body of the request. Equal inputs give equal bytes.
pub(crate) fn body(request: &Request, model: &ModelRef, output_tokens_max: u32, opaque: Thinking) -> Vec<u8> {
    let mut messages = sendable(&request.messages, model);
    if opaque == Thinking::Drop {
        messages.iter_mut().for_each(|message| message.content.retain(|block| !matches!(block, Block::Opaque { .. })));
    }
    let cached = request.system.iter().any(|part| part.cached);
    let body = Body {
        model: &model.model,
        max_tokens: request.output_tokens_max.min(output_tokens_max).max(1),
        stream: true,
        tools: tools(request, cached),
        system: system(request),
        messages: wire_messages(&messages, cached),
    };
    serde_json::to_vec(&body).expect("strings, numbers and JSON values always become JSON")
}

/// Whether opaque blocks go back to the model that made them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thinking {
    /// They do.
    Keep,
    /// They do not: the provider did not take them back. It ties them to the conversation that they arose in.
    Drop,
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<SystemPart<'a>>,
    messages: Vec<WireMessage<'a>>,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

impl<'a> Tool<'a> {
    fn of(tool: &'a crate::ToolDef) -> Self {
        Tool { name: &tool.name, description: &tool.about, input_schema: tool.schema.raw(), cache_control: None }
    }
}

/// The tools; with `cached` the last one carries a mark.
fn tools(request: &Request, cached: bool) -> Vec<Tool<'_>> {
    let mut tools: Vec<Tool<'_>> = request.tools.iter().map(Tool::of).collect();
    if let Some(last) = tools.last_mut().filter(|_| cached) {
        last.cache_control = Some(EPHEMERAL);
    }
    tools
}

#[derive(Serialize)]
struct SystemPart<'a> {
    r#type: &'static str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Clone, Copy, Serialize)]
struct CacheControl {
    r#type: &'static str,
}

const EPHEMERAL: CacheControl = CacheControl { r#type: "ephemeral" };

fn system(request: &Request) -> Vec<SystemPart<'_>> {
    let mut parts: Vec<SystemPart<'_>> = Vec::new();
    let mut marks = 0;
    for part in &request.system {
        let blank = part.text.trim().is_empty();
        if !blank {
            parts.push(SystemPart { r#type: "text", text: &part.text, cache_control: None });
        }
        // The mark of a part without text belongs to the one before it: the same prefix ends there.
        let Some(last) = parts.last_mut().filter(|_| part.cached && marks < SYSTEM_MARKS_MAX) else { continue };
        if last.cache_control.replace(EPHEMERAL).is_none() {
            marks += 1;
        }
    }
    parts
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: &'static str,
    content: Vec<Content<'a>>,
}

#[derive(Serialize)]
struct Content<'a> {
    #[serde(flatten)]
    kind: Kind<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Kind<'a> {
    Text { r#type: &'static str, text: &'a str },
    ToolUse { r#type: &'static str, id: &'a str, name: &'a str, input: Value },
    ToolResult { r#type: &'static str, tool_use_id: &'a str, content: &'a str, is_error: bool },
    Opaque(&'a Value),
}

/// The messages; with `cached` the last one carries a mark, so that the next step of the same conversation reads
/// all of this one from the cache.
fn wire_messages(messages: &[Message], cached: bool) -> Vec<WireMessage<'_>> {
    let mut wire: Vec<WireMessage<'_>> = messages
        .iter()
        .map(|message| WireMessage {
            role: match message.role {
                Role::User => "user",
                Role::Assistant => "assistant",
            },
            content: message.content.iter().map(content).collect(),
        })
        .collect();
    let last = wire.last_mut().filter(|last| cached && last.role == "user").and_then(|last| last.content.last_mut());
    if let Some(last) = last {
        last.cache_control = Some(EPHEMERAL);
    }
    wire
}

fn content(block: &Block) -> Content<'_> {
    let kind = match block {
        Block::Text(text) => Kind::Text { r#type: "text", text },
        Block::ToolUse(call) => {
            Kind::ToolUse { r#type: "tool_use", id: &call.id, name: &call.name, input: call.input.to_object() }
        }
        Block::ToolResult { id, content, is_error } => {
            Kind::ToolResult { r#type: "tool_result", tool_use_id: id, content, is_error: *is_error }
        }
        Block::Opaque { value, .. } => Kind::Opaque(value),
    };
    Content { kind, cache_control: None }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::request::{Input, System, ToolDef, ToolUse};

    fn request() -> Request {
        let part = |text: &str, cached| System { text: text.into(), cached };
        Request {
            system: vec![part("rules", true), part("", true), part("team", false)],
            tools: vec![ToolDef {
                name: "read".into(),
                about: "Reads.".into(),
                schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}).into(),
            }]
            .into(),
            messages: vec![
                Message::user("hi"),
                Message {
                    role: Role::Assistant,
                    content: vec![
                        Block::Opaque {
                            model: ModelRef::new("p", "m"),
                            value: json!({"type": "thinking", "thinking": "", "signature": "s"}),
                        },
                        Block::ToolUse(ToolUse {
                            id: "t1".into(),
                            name: "read".into(),
                            input: Input::Broken("{\"path".into()),
                        }),
                    ],
                },
                Message {
                    role: Role::User,
                    content: vec![Block::ToolResult { id: "t1".into(), content: "bad".into(), is_error: true }],
                },
            ],
            output_tokens_max: 1_000,
        }
    }

    #[test]
    fn the_bytes_are_exactly_these() {
        let bytes = body(&request(), &ModelRef::new("p", "m"), 500, Thinking::Keep);
        let expected = concat!(
            r#"{"model":"m","max_tokens":500,"stream":true,"#,
            r#""tools":[{"name":"read","description":"Reads.","input_schema":"#,
            r#"{"properties":{"path":{"type":"string"}},"type":"object"},"cache_control":{"type":"ephemeral"}}],"#,
            r#""system":[{"type":"text","text":"rules","cache_control":{"type":"ephemeral"}},"#,
            r#"{"type":"text","text":"team"}],"#,
            r#""messages":[{"role":"user","content":[{"type":"text","text":"hi"}]},"#,
            r#"{"role":"assistant","content":[{"signature":"s","thinking":"","type":"thinking"},"#,
            r#"{"type":"tool_use","id":"t1","name":"read","input":{"not_an_object":"{\"path"}}]},"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"bad","is_error":true,"#,
            r#""cache_control":{"type":"ephemeral"}}]}]}"#,
        );
        assert_eq!(String::from_utf8_lossy(&bytes), expected);
        let without = body(&request(), &ModelRef::new("p", "m"), 500, Thinking::Drop);
        assert!(!String::from_utf8_lossy(&without).contains("thinking"));
    }

    #[test]
    fn no_more_marks_go_out_than_the_provider_takes() {
        let mut request = request();
        request.system = (0..9).map(|at| System { text: format!("{at}"), cached: true }).collect();
        let sent = String::from_utf8(body(&request, &ModelRef::new("p", "m"), 9, Thinking::Keep)).expect("JSON");
        assert_eq!(sent.matches("cache_control").count(), 4);
        request.system.iter_mut().for_each(|part| part.cached = false);
        let sent = String::from_utf8(body(&request, &ModelRef::new("p", "m"), 9, Thinking::Keep)).expect("JSON");
        assert_eq!(sent.matches("cache_control").count(), 0, "who wants no cache gets none");
    }
}
