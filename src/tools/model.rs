//! Between tools and models: definitions, calls and results in the words of the other.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_call_stays_broken() {
        let ask = |text: &str| Asked::from(&ToolUse { id: "1".into(), name: "read".into(), input: Input::read(text) });
        assert_eq!(ask("{\"path\":").input, Err("{\"path\":".to_owned()));
        assert_eq!(ask("").input, Ok(serde_json::json!({})));
        let done = Done { call_id: "1".into(), content: "no".into(), is_error: true };
        assert_eq!(Block::from(done), Block::ToolResult { id: "1".into(), content: "no".into(), is_error: true });
    }
}
