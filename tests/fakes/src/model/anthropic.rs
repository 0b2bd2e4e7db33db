//! Answers in Anthropic's Messages form.

use serde_json::{Value, json};

use super::reply::{Part, Refusal, Reply, Usage, pieces};

/// The events of a streamed answer, each as its whole text. `number` makes ids unique.
pub(super) fn events(reply: &Reply, model: &str, number: u64) -> Vec<String> {
    let usage = reply.usage.unwrap_or_default();
    let start = json!({ "type": "message_start", "message": {
        "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": read_usage(&usage, 1),
    }});
    let mut events = vec![event(&start), event(&json!({ "type": "ping" }))];
    for (index, part) in reply.parts.iter().enumerate() {
        let block = block(part, number, index, Filled::No);
        events.push(event(&json!({ "type": "content_block_start", "index": index, "content_block": block })));
        for delta in deltas(part, reply.chunks) {
            events.push(event(&json!({ "type": "content_block_delta", "index": index, "delta": delta })));
        }
        events.push(event(&json!({ "type": "content_block_stop", "index": index })));
    }
    let mut delta = json!({ "type": "message_delta", "delta": { "stop_reason": stop(reply), "stop_sequence": null } });
    delta["usage"] = json!({ "output_tokens": usage.output });
    events.push(event(&delta));
    events.push(event(&json!({ "type": "message_stop" })));
    events
}

/// The answer in one piece.
pub(super) fn whole(reply: &Reply, model: &str, number: u64) -> Value {
    let content: Vec<Value> =
        reply.parts.iter().enumerate().map(|(index, part)| block(part, number, index, Filled::Yes)).collect();
    let usage = reply.usage.unwrap_or_default();
    json!({
        "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": model, "content": content,
        "stop_reason": stop(reply), "stop_sequence": null, "usage": read_usage(&usage, usage.output),
    })
}

/// A refusal's body, and the error event within a stream.
pub(super) fn refusal(refusal: &Refusal) -> Value {
    json!({ "type": "error", "error": { "type": refusal.kind, "message": refusal.message } })
}

/// An event with its name, as the provider writes it.
pub(super) fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or("message"))
}

fn stop(reply: &Reply) -> &str {
    reply.stop.as_deref().unwrap_or(if reply.has_calls() { "tool_use" } else { "end_turn" })
}

fn read_usage(usage: &Usage, output: u64) -> Value {
    json!({
        "input_tokens": usage.input, "output_tokens": output, "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_write,
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Filled {
    Yes,
    No,
}

fn block(part: &Part, number: u64, index: usize, filled: Filled) -> Value {
    let put = |text: &str| if filled == Filled::Yes { text.to_owned() } else { String::new() };
    match part {
        Part::Text(text) => json!({ "type": "text", "text": put(text) }),
        Part::Thinking { text, signature } => {
            json!({ "type": "thinking", "thinking": put(text), "signature": put(signature) })
        }
        Part::Call { id, name, arguments } => {
            let id = id.clone().unwrap_or_else(|| format!("toolu_{number}_{index}"));
            // In one piece the provider has to give JSON; arguments that are none become a text.
            let whole = || serde_json::from_str(arguments).unwrap_or_else(|_| Value::String(arguments.clone()));
            let input = if filled == Filled::Yes { whole() } else { json!({}) };
            json!({ "type": "tool_use", "id": id, "name": name, "input": input })
        }
    }
}

fn deltas(part: &Part, chunks: usize) -> Vec<Value> {
    match part {
        Part::Text(text) => {
            pieces(text, chunks).into_iter().map(|text| json!({ "type": "text_delta", "text": text })).collect()
        }
        Part::Call { arguments, .. } => {
            // The provider opens with an empty piece.
            let cut = std::iter::once("").chain(pieces(arguments, chunks));
            cut.map(|piece| json!({ "type": "input_json_delta", "partial_json": piece })).collect()
        }
        Part::Thinking { text, signature } => {
            let cut = pieces(text, chunks).into_iter();
            let mut deltas: Vec<Value> =
                cut.map(|text| json!({ "type": "thinking_delta", "thinking": text })).collect();
            deltas.push(json!({ "type": "signature_delta", "signature": signature }));
            deltas
        }
    }
}
