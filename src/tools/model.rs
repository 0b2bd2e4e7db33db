//! Between tools and models: the only file that knows both.

use llm::{Block, Input, ToolDef, ToolUse};

use crate::catalogue::Definition;
use crate::run::{Asked, Done};

impl From<Definition> for ToolDef {
    fn from(definition: Definition) -> ToolDef {
        ToolDef { name: definition.name, about: definition.about, schema: definition.schema }
    }
}

impl From<&ToolUse> for Asked {
    fn from(call: &ToolUse) -> Asked {
        let input = match &call.input {
            Input::Json(value) => Ok(value.clone()),
            Input::Broken(text) => Err(text.clone()),
        };
        Asked { call_id: call.id.clone(), wire_name: call.name.clone(), input }
    }
}

impl From<Done> for Block {
    fn from(done: Done) -> Block {
        Block::ToolResult { id: done.call_id, content: done.content, is_error: done.is_error }
    }
}
