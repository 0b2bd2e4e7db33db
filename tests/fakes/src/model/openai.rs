//! Answers in OpenAI's Chat Completions form.

use serde_json::{Value, json};

use super::reply::{Part, Refusal, Reply, Usage, pieces};

/// The events of a streamed answer, each as its whole text. `number` makes ids unique. `with_usage` is whether the
/// request asked for it.
pub(super) fn events(reply: &Reply, model: &str, number: u64, with_usage: bool) -> Vec<String> {
    let chunk = |delta: Value, reason: Value| {
        event(&json!({
            "id": format!("chatcmpl-{number}"), "object": "chat.completion.chunk", "created": 0, "model": model,
            "choices": [{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": reason }],
        }))
    };
    let mut events = vec![chunk(json!({ "role": "assistant", "content": "" }), Value::Null)];
    let mut call_index = 0;
    for part in &reply.parts {
        match part {
            Part::Text(text) => {
                let cut = pieces(text, reply.chunks).into_iter();
                events.extend(cut.map(|text| chunk(json!({ "content": text }), Value::Null)));
            }
            Part::Call { id, name, arguments } => {
                let id = id.clone().unwrap_or_else(|| format!("call_{number}_{call_index}"));
                let function = json!({ "name": name, "arguments": "" });
                let opening = json!({ "index": call_index, "id": id, "type": "function", "function": function });
                events.push(chunk(json!({ "tool_calls": [opening] }), Value::Null));
                for piece in pieces(arguments, reply.chunks) {
                    let more = json!({ "index": call_index, "function": { "arguments": piece } });
                    events.push(chunk(json!({ "tool_calls": [more] }), Value::Null));
                }
                call_index += 1;
            }
            Part::Thinking { text, .. } => {
                let cut = pieces(text, reply.chunks).into_iter();
                events.extend(cut.map(|text| chunk(json!({ "reasoning_content": text }), Value::Null)));
            }
        }
    }
    events.push(chunk(json!({}), json!(stop(reply))));
    if let Some(usage) = reply.usage.filter(|_| with_usage) {
        events.push(event(&json!({
            "id": format!("chatcmpl-{number}"), "object": "chat.completion.chunk", "created": 0, "model": model,
            "choices": [], "usage": read_usage(&usage),
        })));
    }
    events.push("data: [DONE]\n\n".to_owned());
    events
}

/// The answer in one piece.
pub(super) fn whole(reply: &Reply, model: &str, number: u64) -> Value {
    let texts: String = reply
        .parts
        .iter()
        .filter_map(|part| if let Part::Text(text) = part { Some(text.as_str()) } else { None })
        .collect();
    let mut message = json!({ "role": "assistant", "content": texts });
    let mut calls = Vec::new();
    for part in &reply.parts {
        if let Part::Call { id, name, arguments } = part {
            let id = id.clone().unwrap_or_else(|| format!("call_{number}_{}", calls.len()));
            let function = json!({ "name": name, "arguments": arguments });
            calls.push(json!({ "id": id, "type": "function", "function": function }));
        }
    }
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    json!({
        "id": format!("chatcmpl-{number}"), "object": "chat.completion", "created": 0, "model": model,
        "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": stop(reply) }],
        "usage": reply.usage.as_ref().map(read_usage),
    })
}

/// A refusal's body, and the error within a stream.
pub(super) fn refusal(refusal: &Refusal) -> Value {
    json!({ "error": {
        "message": refusal.message, "type": refusal.kind, "param": null, "code": refusal.kind,
    }})
}

/// An event; the protocol has no names for them.
pub(super) fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

fn stop(reply: &Reply) -> &str {
    reply.stop.as_deref().unwrap_or(if reply.has_calls() { "tool_calls" } else { "stop" })
}

/// The protocol's counts overlap: the prompt's include what was cached.
fn read_usage(usage: &Usage) -> Value {
    let read = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "prompt_tokens": read, "completion_tokens": usage.output, "total_tokens": read + usage.output,
        "prompt_tokens_details": { "cached_tokens": usage.cache_read },
    })
}
