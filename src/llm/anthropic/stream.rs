//! Anthropic's events as an answer.
//!
//! `message_start`, then per block `content_block_start`, any number of `content_block_delta` and
//! `content_block_stop`, then `message_delta` and `message_stop`; `ping` and `error` anywhere. Kinds that are not
//! known are passed over, as the provider asks its clients to.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::error::ModelError;
use crate::request::{Block, Input, ModelRef, ToolUse};
use crate::response::{StopReason, Usage};
use crate::wire::{Answer, Flow, Reader, Stop, count, parse, told};

/// A reader of one message.
pub(crate) struct MessageReader {
    model: ModelRef,
    /// By the provider's index.
    blocks: BTreeMap<u64, Building>,
    stop: Option<Stop>,
    usage: Usage,
}

/// A block that is being streamed.
enum Building {
    Text(String),
    ToolUse {
        id: String,
        name: String,
        /// What the block was opened with: `{}`, or the whole input where a server does not stream it.
        opened_with: Value,
        /// The arguments as streamed.
        json: String,
    },
    /// Thinking, and kinds that we do not know: the block as it was opened, with the deltas added to its fields.
    Opaque(Value),
}

impl MessageReader {
    /// Nothing read yet; `model` is who answers.
    pub(crate) fn new(model: ModelRef) -> Self {
        MessageReader { model, blocks: BTreeMap::new(), stop: None, usage: Usage::default() }
    }

    fn open(&mut self, index: u64, block: &Value, text: &mut dyn FnMut(&str)) {
        let building = match string(block, "type") {
            "text" => {
                let opened_with = string(block, "text");
                if !opened_with.is_empty() {
                    text(opened_with);
                }
                Building::Text(opened_with.to_owned())
            }
            "tool_use" => Building::ToolUse {
                id: string(block, "id").to_owned(),
                name: string(block, "name").to_owned(),
                opened_with: block.get("input").cloned().unwrap_or(Value::Null),
                json: String::new(),
            },
            _ if block.is_object() => Building::Opaque(block.clone()),
            _ => return,
        };
        self.blocks.insert(index, building);
    }

    fn grow(&mut self, index: u64, delta: &Value, text: &mut dyn FnMut(&str)) {
        let Some(building) = self.blocks.get_mut(&index) else { return };
        match (building, string(delta, "type")) {
            (Building::Text(so_far), "text_delta") => {
                let more = string(delta, "text");
                if !more.is_empty() {
                    so_far.push_str(more);
                    text(more);
                }
            }
            (Building::ToolUse { json, .. }, "input_json_delta") => json.push_str(string(delta, "partial_json")),
            (Building::Opaque(block), "thinking_delta") => append(block, "thinking", string(delta, "thinking")),
            (Building::Opaque(block), "signature_delta") => append(block, "signature", string(delta, "signature")),
            // Citations and kinds to come: the text is complete without them.
            _ => {}
        }
    }

    fn count(&mut self, usage: &Value) {
        let known = self.usage;
        self.usage = Usage {
            input_tokens: count(usage, "/input_tokens").unwrap_or(known.input_tokens),
            output_tokens: count(usage, "/output_tokens").unwrap_or(known.output_tokens),
            cache_read_tokens: count(usage, "/cache_read_input_tokens").unwrap_or(known.cache_read_tokens),
            cache_write_tokens: count(usage, "/cache_creation_input_tokens").unwrap_or(known.cache_write_tokens),
        };
    }

    /// A whole message in one piece, from a server that does not stream.
    fn whole(&mut self, message: &Value, text: &mut dyn FnMut(&str)) {
        let blocks = message.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for (index, block) in (0..).zip(blocks) {
            self.open(index, block, text);
        }
        self.stopped(message);
        self.count(&message["usage"]);
    }

    /// Takes the stop reason from a `message_delta`'s delta or from a whole message.
    fn stopped(&mut self, from: &Value) {
        let Some(reason) = from.get("stop_reason").and_then(Value::as_str) else { return };
        self.stop = Some(match reason {
            "tool_use" => Stop::Ended(StopReason::ToolUse),
            "max_tokens" | "model_context_window_exceeded" => Stop::Ended(StopReason::OutputLimit),
            "refusal" => Stop::Ended(StopReason::Refused),
            "pause_turn" => Stop::Paused,
            // `end_turn`, `stop_sequence` and reasons to come.
            _ => Stop::Ended(StopReason::EndTurn),
        });
    }
}

impl Reader for MessageReader {
    fn event(&mut self, data: &str, text: &mut dyn FnMut(&str)) -> Result<Flow, ModelError> {
        let event: Value = parse(data)?;
        let index = event.get("index").and_then(Value::as_u64).unwrap_or(0);
        match string(&event, "type") {
            "message_start" => self.count(&event["message"]["usage"]),
            "content_block_start" => self.open(index, &event["content_block"], text),
            "content_block_delta" => self.grow(index, &event["delta"], text),
            "message_delta" => {
                self.count(&event["usage"]);
                self.stopped(&event["delta"]);
            }
            "message_stop" => return Ok(Flow::Done),
            "message" => {
                self.whole(&event, text);
                return Ok(Flow::Done);
            }
            "error" => return Err(told(&event["error"])),
            // `content_block_stop`, `ping`, and kinds to come.
            _ => {}
        }
        Ok(Flow::More)
    }

    fn finish(self) -> Option<Answer> {
        let mut stop = self.stop?;
        let model = self.model;
        let content: Vec<Block> = self.blocks.into_values().filter_map(|building| built(building, &model)).collect();
        let calls = content.iter().any(|block| block.as_tool_use().is_some());
        // The reason follows the content where a server gets it wrong: who reads `ToolUse` looks for a call.
        match stop {
            Stop::Ended(StopReason::ToolUse) if !calls => stop = Stop::Ended(StopReason::EndTurn),
            Stop::Ended(StopReason::EndTurn) if calls => stop = Stop::Ended(StopReason::ToolUse),
            _ => {}
        }
        Some(Answer { content, stop, usage: self.usage })
    }

    fn usage(&self) -> Usage {
        self.usage
    }

    fn is_whole(&self) -> bool {
        self.stop.is_some()
    }
}

fn built(building: Building, model: &ModelRef) -> Option<Block> {
    Some(match building {
        Building::Text(text) if text.is_empty() => return None,
        Building::Text(text) => Block::Text(text),
        Building::ToolUse { id, name, opened_with, json } => {
            let streamed = json.is_empty() && !opened_with.is_null();
            let input = if streamed { Input::Json(opened_with) } else { Input::read(&json) };
            Block::ToolUse(ToolUse { id, name, input })
        }
        Building::Opaque(value) => Block::Opaque { model: model.clone(), value },
    })
}

/// A field's text, or nothing.
fn string<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or("")
}

fn append(block: &mut Value, field: &str, more: &str) {
    let Some(fields) = block.as_object_mut() else { return };
    match fields.get_mut(field) {
        Some(Value::String(so_far)) => so_far.push_str(more),
        _ => drop(fields.insert(field.to_owned(), Value::String(more.to_owned()))),
    }
}
