//! What a model answers.

use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

use crate::request::{Block, ModelRef, ToolUse, text_of};

/// A whole answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// What the model said and asked for, in its order. May be empty: models do that.
    pub content: Vec<Block>,
    /// Why it ended.
    pub stop: StopReason,
    /// What it used.
    pub usage: Usage,
    /// The model that answered; after a fallback not the one that was asked first.
    pub model: ModelRef,
}

impl Response {
    /// The texts of the answer, joined.
    pub fn text(&self) -> String {
        text_of(&self.content)
    }
    /// The tools it asks for, in its order.
    pub fn tool_uses(&self) -> impl Iterator<Item = &ToolUse> {
        self.content.iter().filter_map(Block::as_tool_use)
    }
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It is finished.
    EndTurn,
    /// It waits for the tools it asked for. Only where the content has at least one call.
    ToolUse,
    /// It was cut off at the longest allowed answer, or because the context is full. A tool call at its end is
    /// probably [`crate::Input::Broken`].
    OutputLimit,
    /// The provider's filter or the model refused. What was said so far should not be relied on.
    Refused,
}

/// Tokens. The four counts do not overlap: what a provider read from its cache is not in `input_tokens`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Usage {
    /// Read and neither taken from a cache nor written to one.
    pub input_tokens: u64,
    /// Written by the model, thinking included.
    pub output_tokens: u64,
    /// Read from the provider's cache.
    pub cache_read_tokens: u64,
    /// Read and stored in the provider's cache.
    pub cache_write_tokens: u64,
}

impl Add for Usage {
    type Output = Usage;
    fn add(self, other: Usage) -> Usage {
        Usage {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cache_read_tokens: self.cache_read_tokens.saturating_add(other.cache_read_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_add(other.cache_write_tokens),
        }
    }
}
impl AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        *self = *self + other;
    }
}
