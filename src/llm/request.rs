//! What a model is asked, in our own words: each provider's folder translates it.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::schema::Schema;

/// Which model: a profile and one of its provider's models. Written `profile:model`.
///
/// A profile's name has no colon; a model's may (`local:llama3:8b` is the model `llama3:8b` of `local`).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ModelRef {
    /// The profile's name.
    pub profile: String,
    /// The provider's name of the model.
    pub model: String,
}

impl ModelRef {
    /// A reference from its two parts.
    pub fn new(profile: impl Into<String>, model: impl Into<String>) -> Self {
        ModelRef { profile: profile.into(), model: model.into() }
    }
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.profile, self.model)
    }
}

/// A text that is no model reference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a model reference: write `profile:model`")]
pub struct BadModelRef(pub String);

impl FromStr for ModelRef {
    type Err = BadModelRef;
    fn from_str(text: &str) -> Result<Self, BadModelRef> {
        match text.trim().split_once(':') {
            Some((profile, model)) if !profile.is_empty() && !model.is_empty() => Ok(ModelRef::new(profile, model)),
            _ => Err(BadModelRef(text.to_owned())),
        }
    }
}
impl TryFrom<String> for ModelRef {
    type Error = BadModelRef;
    fn try_from(text: String) -> Result<Self, BadModelRef> {
        text.parse()
    }
}
impl From<ModelRef> for String {
    fn from(reference: ModelRef) -> String {
        reference.to_string()
    }
}

/// One question to a model. Equal requests become equal bytes for one provider and model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The system prompt, in parts. The part that never changes comes first, so that a provider can cache it.
    pub system: Vec<System>,
    /// The tools that the model may call. The caller sorts them, for the same reason.
    pub tools: Arc<[ToolDef]>,
    /// The conversation. [`crate::sendable`] makes it fit the providers' rules; the caller need not.
    pub messages: Vec<Message>,
    /// The longest answer, in tokens. The profile's own limit holds where it is lower.
    pub output_tokens_max: u32,
}

/// A part of the system prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct System {
    /// The text. An empty part is left out.
    pub text: String,
    /// Whether a cacheable prefix ends here. Anthropic is told so; OpenAI finds prefixes by itself. A provider
    /// takes few of these marks: the first two count.
    pub cached: bool,
}

/// A tool as a model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDef {
    /// The name that goes out: `[A-Za-z0-9_-]{1,64}`.
    pub name: String,
    /// What it does and when to use it.
    pub about: String,
    /// The JSON Schema of its input: an object.
    pub schema: Schema,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A person, and the results of tools.
    User,
    /// The model.
    Assistant,
}

/// One message of the conversation. Journaled as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said and done, in order.
    pub content: Vec<Block>,
}

impl Message {
    /// A text by a person.
    pub fn user(text: impl Into<String>) -> Self {
        Message { role: Role::User, content: vec![Block::Text(text.into())] }
    }
    /// A text by the model.
    pub fn assistant(text: impl Into<String>) -> Self {
        Message { role: Role::Assistant, content: vec![Block::Text(text.into())] }
    }
    /// The texts of this message, joined.
    pub fn text(&self) -> String {
        text_of(&self.content)
    }
}

/// The texts among `content`, joined.
pub(crate) fn text_of(content: &[Block]) -> String {
    content.iter().filter_map(Block::as_text).collect()
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    /// Words.
    Text(String),
    /// The model asks for a tool.
    ToolUse(ToolUse),
    /// What a tool answered.
    ToolResult {
        /// The id of the [`ToolUse`] that this answers.
        id: String,
        /// The answer.
        content: String,
        /// Whether it is a failure.
        is_error: bool,
    },
    /// Something that only the model that made it can read, for example its thinking with a signature. It goes
    /// back to that model unchanged and to no other.
    Opaque {
        /// The model that made it.
        model: ModelRef,
        /// The provider's own form.
        value: Value,
    },
}

impl Block {
    /// The words, where these are words.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Block::Text(text) => Some(text),
            _ => None,
        }
    }
    /// The tool call, where this is one.
    pub fn as_tool_use(&self) -> Option<&ToolUse> {
        match self {
            Block::ToolUse(call) => Some(call),
            _ => None,
        }
    }
}

/// A model's wish to have a tool run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolUse {
    /// The provider's id of the call; its result carries the same. Unique within one response, and only there:
    /// some servers count from zero in every response.
    pub id: String,
    /// The tool's name as the model wrote it, which may name no tool at all.
    pub name: String,
    /// The arguments.
    pub input: Input,
}

/// The arguments of a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// They are JSON: most often an object, but nothing forces a model to that.
    Json(Value),
    /// They are not JSON: kept as they came, so that the model can be told. Never read as "no arguments".
    Broken(String),
}

impl Input {
    /// Reads arguments as they came. No text at all is how providers write "no arguments", and becomes `{}`.
    pub fn read(text: &str) -> Self {
        if text.is_empty() {
            return Input::Json(Value::Object(serde_json::Map::new()));
        }
        serde_json::from_str(text).map_or_else(|_| Input::Broken(text.to_owned()), Input::Json)
    }

    /// The arguments as an object, which is all that providers take back. Arguments that are none are shown to
    /// the model under the key `not_an_object`, so that it sees what it wrote.
    pub(crate) fn to_object(&self) -> Value {
        match self {
            Input::Json(object @ Value::Object(_)) => object.clone(),
            Input::Json(other) => serde_json::json!({ "not_an_object": other }),
            Input::Broken(text) => serde_json::json!({ "not_an_object": text }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_reads_back_as_it_is_written() {
        for text in ["default:claude-sonnet-4-5", "local:llama3:8b", "router:anthropic/claude"] {
            assert_eq!(text.parse::<ModelRef>().map(|reference| reference.to_string()).as_deref(), Ok(text));
        }
        for bad in ["", "default", ":model", "profile:", ":"] {
            assert_eq!(bad.parse::<ModelRef>(), Err(BadModelRef(bad.to_owned())));
        }
    }

    #[test]
    fn a_journaled_message_reads_back_the_same() {
        let message = Message {
            role: Role::Assistant,
            content: vec![
                Block::Opaque { model: ModelRef::new("a", "b"), value: serde_json::json!({"type": "thinking"}) },
                Block::Text("looking".into()),
                Block::ToolUse(ToolUse { id: "1".into(), name: "read".into(), input: Input::read("{\"path\":") }),
                Block::ToolUse(ToolUse { id: "2".into(), name: "list".into(), input: Input::read("") }),
                Block::ToolResult { id: "2".into(), content: "x".into(), is_error: true },
            ],
        };
        let journaled = serde_json::to_string(&message).expect("messages are JSON");
        assert_eq!(serde_json::from_str::<Message>(&journaled).expect("and read back"), message);
        assert!(journaled.contains(r#"{"broken":"{\"path\":"}"#), "{journaled}");
    }
}
