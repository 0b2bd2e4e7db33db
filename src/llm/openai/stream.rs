//! Chat Completions' chunks as an answer.
//!
//! The protocol is simple and its servers are not: usage, ids, indexes and the closing `[DONE]` may be missing,
//! arguments may be an object instead of a string, tools may be called with the reason `stop`, an error may come
//! within a success, and a whole completion instead of chunks. All of these are read.

use serde_json::{Map, Value};

use super::request::THINKING_FIELDS;
use crate::error::ModelError;
use crate::request::{Block, Input, ModelRef, ToolUse};
use crate::response::{StopReason, Usage};
use crate::sendable::wire_chars;
use crate::wire::{Answer, Flow, Reader, Stop, count, parse, told};

/// A reader of one completion.
pub(crate) struct CompletionReader {
    model: ModelRef,
    /// The completion's id, from which ids of calls are made where the server gives none.
    id: String,
    text: String,
    thinking: Map<String, Value>,
    calls: Vec<Building>,
    /// The last reason that was given.
    reason: Option<StopReason>,
    /// Whether the model's words are a refusal.
    refused: bool,
    /// Whether `[DONE]` was read.
    done: bool,
    usage: Usage,
}

/// A call that is being streamed.
#[derive(Default)]
struct Building {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: Arguments,
}

enum Arguments {
    /// Streamed as text.
    Text(String),
    /// Given as JSON, in one piece.
    Json(Value),
}

impl Default for Arguments {
    fn default() -> Self {
        Arguments::Text(String::new())
    }
}

impl CompletionReader {
    /// Nothing read yet; `model` is who answers.
    pub(crate) fn new(model: ModelRef) -> Self {
        CompletionReader {
            model,
            id: String::new(),
            text: String::new(),
            thinking: Map::new(),
            calls: Vec::new(),
            reason: None,
            refused: false,
            done: false,
            usage: Usage::default(),
        }
    }

    fn choice(&mut self, choice: &Value, text: &mut dyn FnMut(&str)) {
        // A whole completion has a `message` where a chunk has a `delta`.
        let delta = choice.get("delta").filter(|delta| delta.is_object()).unwrap_or(&choice["message"]);
        for part in parts(&delta["content"]) {
            self.say(part, text);
        }
        if let Some(refusal) = delta["refusal"].as_str().filter(|refusal| !refusal.is_empty()) {
            self.refused = true;
            self.say(refusal, text);
        }
        for field in THINKING_FIELDS {
            collect(&mut self.thinking, field, &delta[field]);
        }
        for call in delta["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default() {
            self.call(call);
        }
        // The form from before there were several calls.
        if delta["function_call"].is_object() {
            self.call(&serde_json::json!({ "index": 0, "function": delta["function_call"] }));
        }
        match choice["finish_reason"].as_str().unwrap_or("") {
            "" => {}
            "length" => self.reason = Some(StopReason::OutputLimit),
            "content_filter" => self.reason = Some(StopReason::Refused),
            "tool_calls" | "function_call" => self.reason = Some(StopReason::ToolUse),
            // `stop`, and words of other servers (`eos`, `end_turn`).
            _ => self.reason = Some(StopReason::EndTurn),
        }
    }

    fn say(&mut self, more: &str, text: &mut dyn FnMut(&str)) {
        if !more.is_empty() {
            self.text.push_str(more);
            text(more);
        }
    }

    /// A piece of a call: the beginning of a new one, or more of one that is there.
    fn call(&mut self, piece: &Value) {
        let index = piece["index"].as_u64();
        let id = piece["id"].as_str().unwrap_or("");
        let name = piece["function"]["name"].as_str().unwrap_or("");
        let at = self.calls.iter().rposition(|call| match index {
            Some(_) => call.index == index,
            None => true,
        });
        let known = at.filter(|at| !self.calls[*at].is_ended_by(index, id, name));
        let call = match known {
            Some(at) => &mut self.calls[at],
            None => {
                self.calls.push(Building { index, ..Building::default() });
                self.calls.last_mut().expect("it was pushed just now")
            }
        };
        if call.id.is_empty() {
            call.id = id.to_owned();
        }
        if call.name.is_empty() {
            call.name = name.to_owned();
        }
        match (&mut call.arguments, &piece["function"]["arguments"]) {
            (Arguments::Text(so_far), Value::String(more)) => so_far.push_str(more),
            (_, Value::Null | Value::String(_)) => {}
            (arguments, whole) => *arguments = Arguments::Json(whole.clone()),
        }
    }

    fn count(&mut self, usage: &Value) {
        let read = count(usage, "/prompt_tokens").unwrap_or(0);
        let cached = count(usage, "/prompt_tokens_details/cached_tokens")
            .or_else(|| count(usage, "/prompt_cache_hit_tokens"))
            .unwrap_or(0);
        self.usage = Usage {
            // The provider's count includes what was cached; ours does not overlap.
            input_tokens: read.saturating_sub(cached),
            output_tokens: count(usage, "/completion_tokens").unwrap_or(0),
            cache_read_tokens: cached.min(read),
            cache_write_tokens: 0,
        };
    }
}

impl Building {
    /// Whether a piece with these marks begins another call. Some servers give every call the index 0, some give
    /// neither index nor id; a name is only repeated by those that repeat everything.
    fn is_ended_by(&self, index: Option<u64>, id: &str, name: &str) -> bool {
        if name.is_empty() {
            return false;
        }
        if !id.is_empty() && !self.id.is_empty() {
            return id != self.id;
        }
        match &self.arguments {
            Arguments::Json(_) => true,
            // With an index of its own it is the same call, whatever is repeated.
            Arguments::Text(_) if index.is_some() => false,
            Arguments::Text(text) => name != self.name || serde_json::from_str::<Value>(text).is_ok(),
        }
    }
}

impl Reader for CompletionReader {
    fn event(&mut self, data: &str, text: &mut dyn FnMut(&str)) -> Result<Flow, ModelError> {
        if data.trim() == "[DONE]" {
            self.done = true;
            return Ok(Flow::Done);
        }
        let chunk: Value = parse(data)?;
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            return Err(told(error));
        }
        if self.id.is_empty() {
            self.id = chunk["id"].as_str().unwrap_or("").to_owned();
        }
        // Only one choice is ever asked for.
        if let Some(choice) = chunk["choices"].get(0) {
            self.choice(choice, text);
        }
        if chunk["usage"].is_object() {
            self.count(&chunk["usage"]);
        }
        Ok(if chunk["object"] == "chat.completion" { Flow::Done } else { Flow::More })
    }

    fn finish(self) -> Option<Answer> {
        if !self.is_whole() {
            return None;
        }
        let (model, id) = (self.model, self.id);
        let mut content = Vec::new();
        if !self.thinking.is_empty() {
            content.push(Block::Opaque { model, value: Value::Object(self.thinking) });
        }
        if !self.text.is_empty() {
            content.push(Block::Text(self.text));
        }
        let said = content.len();
        content.extend((0..).zip(self.calls).map(|(at, call)| Block::ToolUse(built(call, at, &id))));
        let calls = content.len() > said;
        let stop = match self.reason {
            _ if self.refused => StopReason::Refused,
            Some(reason @ (StopReason::OutputLimit | StopReason::Refused)) => reason,
            _ if calls => StopReason::ToolUse,
            _ => StopReason::EndTurn,
        };
        Some(Answer { content, stop: Stop::Ended(stop), usage: self.usage })
    }

    fn usage(&self) -> Usage {
        self.usage
    }

    fn is_whole(&self) -> bool {
        self.done || self.reason.is_some()
    }
}

/// `content` is a text; some servers give a list of parts, of which the texts are ours.
fn parts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => Vec::new(),
    }
}

/// Adds a delta of the thinking: texts are joined, lists too.
fn collect(thinking: &mut Map<String, Value>, field: &str, more: &Value) {
    match (thinking.get_mut(field), more) {
        (_, Value::Null) => {}
        (Some(Value::String(so_far)), Value::String(more)) => so_far.push_str(more),
        (Some(Value::Array(so_far)), Value::Array(more)) => so_far.extend(more.iter().cloned()),
        (Some(_), _) => {}
        (None, more) => drop(thinking.insert(field.to_owned(), more.clone())),
    }
}

fn built(call: Building, at: usize, completion: &str) -> ToolUse {
    let id = match call.id {
        id if !id.is_empty() => id,
        _ if completion.is_empty() => format!("call-{at}"),
        // Room for the number within what providers take as an id.
        _ => format!("{}-{at}", wire_chars(completion, 32, "call")),
    };
    let input = match call.arguments {
        Arguments::Text(text) => Input::read(&text),
        Arguments::Json(value) => Input::Json(value),
    };
    ToolUse { id, name: call.name, input }
}
