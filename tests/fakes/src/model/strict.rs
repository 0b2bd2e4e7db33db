//! What the real providers refuse in a request, as far as their documents and error texts tell. The server checks
//! every request, so that a client that only its own tests understand is found out.

use std::collections::HashSet;

use serde_json::Value;

/// What is wrong with a request to Anthropic's Messages, in words like the provider's.
pub(super) fn anthropic(body: &Value) -> Result<(), String> {
    common(body)?;
    if body["max_tokens"].as_u64().is_none_or(|tokens| tokens == 0) {
        return Err("max_tokens: Field required".into());
    }
    if body.to_string().matches("\"cache_control\":{").count() > 4 {
        return Err("A maximum of 4 blocks with cache_control may be provided.".into());
    }
    for tool in list(&body["tools"]) {
        name("tools.name", &tool["name"], 128)?;
        if tool["input_schema"]["type"] != "object" {
            return Err("tools.input_schema.type: Field required".into());
        }
    }
    for part in list(&body["system"]) {
        not_blank("system", &part["text"])?;
    }
    let messages = list(&body["messages"]);
    if messages.first().is_some_and(|first| first["role"] != "user") {
        return Err("messages: first message must use the \"user\" role".into());
    }
    let mut ids = HashSet::new();
    let mut called: Vec<&str> = Vec::new();
    for message in messages {
        called = anthropic_message(message, &called, &mut ids)?;
    }
    match called.first() {
        Some(id) => Err(unanswered(id)),
        None => Ok(()),
    }
}

/// Checks one message after the calls `called`; gives the calls that the next one has to answer.
fn anthropic_message<'a>(
    message: &'a Value,
    called: &[&str],
    ids: &mut HashSet<&'a str>,
) -> Result<Vec<&'a str>, String> {
    if message["content"].is_string() {
        not_blank("messages", &message["content"])?;
        return called.first().map_or(Ok(Vec::new()), |id| Err(unanswered(id)));
    }
    let blocks = list(&message["content"]);
    if blocks.is_empty() {
        return Err("messages: content must be non-empty".into());
    }
    let mut calls = Vec::new();
    let mut answered = Vec::new();
    for block in blocks {
        let id = block["id"].as_str().unwrap_or("");
        match (block["type"].as_str().unwrap_or(""), message["role"].as_str().unwrap_or("")) {
            ("text", "user" | "assistant") => not_blank("messages", &block["text"])?,
            ("tool_use", "assistant") => {
                name("tool_use.id", &block["id"], usize::MAX)?;
                name("tool_use.name", &block["name"], 128)?;
                if !block["input"].is_object() {
                    return Err("messages: tool_use.input: Input should be a valid dictionary".into());
                }
                if !ids.insert(id) {
                    return Err("messages: `tool_use` ids must be unique".into());
                }
                calls.push(id);
            }
            ("tool_result", "user") => {
                let id = block["tool_use_id"].as_str().unwrap_or("");
                if !called.contains(&id) || answered.contains(&id) {
                    return Err(format!("unexpected `tool_use_id` found in `tool_result` blocks: {id}"));
                }
                answered.push(id);
            }
            ("thinking" | "redacted_thinking", "assistant") => {}
            (kind, role) => return Err(format!("messages: `{kind}` blocks are not allowed for `{role}`")),
        }
    }
    if blocks.last().is_some_and(|last| last["type"] == "thinking") {
        return Err("messages: the final block in an assistant message cannot be `thinking`".into());
    }
    let results_first = blocks.iter().take(answered.len()).all(|block| block["type"] == "tool_result");
    match called.iter().find(|id| !answered.contains(id) || !results_first) {
        Some(id) => Err(unanswered(id)),
        None => Ok(calls),
    }
}

fn unanswered(id: &str) -> String {
    format!("`tool_use` ids were found without `tool_result` blocks immediately after: {id}")
}

/// What is wrong with a request to Chat Completions, in words like the provider's.
pub(super) fn openai(body: &Value) -> Result<(), String> {
    common(body)?;
    for tool in list(&body["tools"]) {
        name("tools.function.name", &tool["function"]["name"], 64)?;
    }
    let mut waiting: Vec<&str> = Vec::new();
    for message in list(&body["messages"]) {
        let role = message["role"].as_str().unwrap_or("");
        if role != "tool" && !waiting.is_empty() {
            return Err("An assistant message with 'tool_calls' must be followed by tool messages".into());
        }
        match role {
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap_or("");
                let at = waiting.iter().position(|waiting| *waiting == id);
                let at = at.ok_or("messages with role 'tool' must be a response to a preceeding 'tool_calls'")?;
                waiting.remove(at);
            }
            "system" | "user" if !message["content"].is_string() => {
                return Err("Invalid value for 'content': expected a string, got null.".into());
            }
            "system" | "user" => {}
            "assistant" => {
                let calls = list(&message["tool_calls"]);
                if calls.is_empty() && !message["content"].is_string() {
                    return Err("Invalid value for 'content': expected a string, got null.".into());
                }
                for call in calls {
                    name("tool_calls.function.name", &call["function"]["name"], 64)?;
                    let arguments = call["function"]["arguments"].as_str().unwrap_or("");
                    if !serde_json::from_str::<Value>(arguments).is_ok_and(|arguments| arguments.is_object()) {
                        return Err("tool_calls.function.arguments must be a JSON object in a string".into());
                    }
                    waiting.push(call["id"].as_str().filter(|id| id.len() <= 40).ok_or("tool_calls.id: too long")?);
                }
            }
            other => return Err(format!("Invalid value: '{other}' for 'role'")),
        }
    }
    if waiting.is_empty() { Ok(()) } else { Err("tool_call_ids did not have response messages".into()) }
}

fn common(body: &Value) -> Result<(), String> {
    if body["model"].as_str().is_none_or(str::is_empty) {
        return Err("model: Field required".into());
    }
    if list(&body["messages"]).is_empty() {
        return Err("messages: at least one message is required".into());
    }
    Ok(())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn not_blank(path: &str, text: &Value) -> Result<(), String> {
    match text.as_str().is_some_and(|text| !text.trim().is_empty()) {
        true => Ok(()),
        false => Err(format!("{path}: text content blocks must contain non-whitespace text")),
    }
}

/// Ids and names: `[A-Za-z0-9_-]`, not empty.
fn name(path: &str, name: &Value, length: usize) -> Result<(), String> {
    let name = name.as_str().unwrap_or("");
    let safe = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match !name.is_empty() && name.len() <= length && name.chars().all(safe) {
        true => Ok(()),
        false => Err(format!("{path}: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")),
    }
}
