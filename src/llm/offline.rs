//! The built-in offline model: no key, no network, no chance. It says what it is, repeats, greets, calls the tools
//! that a question plainly asks for, and tells how to add a real model.

use base::text::cut;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::error::ModelError;
use crate::model::{Model, Progress, Sink};
use crate::request::{Block, Input, Message, ModelRef, Request, Role, ToolDef, ToolUse};
use crate::response::{Response, StopReason, Usage};
use crate::tokens;

/// The profile's name in a model reference.
pub const PROFILE: &str = "offline";

/// The offline model's own reference: `offline:scripted`.
pub fn reference() -> ModelRef {
    ModelRef::new(PROFILE, "scripted")
}

/// How much of a message or a result is repeated, in characters.
const REPEATED_MAX: usize = 1_500;

/// How long one streamed piece is, in characters: about what a provider sends at once.
const PIECE: usize = 24;

/// The built-in model.
#[derive(Clone, Debug)]
pub struct Offline {
    reference: ModelRef,
}

impl Offline {
    /// The model; all of them are the same.
    pub fn new() -> Self {
        Offline { reference: reference() }
    }
}

impl Default for Offline {
    fn default() -> Self {
        Offline::new()
    }
}

impl Model for Offline {
    fn respond<'a>(&'a self, request: &'a Request, sink: Sink<'a>) -> BoxFuture<'a, Result<Response, ModelError>> {
        Box::pin(async move {
            let reply = reply(request);
            let mut content = Vec::new();
            let mut output_tokens = 0;
            if let Reply::Say(text) = &reply {
                let chars: Vec<char> = text.chars().collect();
                for piece in chars.chunks(PIECE) {
                    sink(Progress::Text(&piece.iter().collect::<String>()));
                    // Lets the one who streams show it, as a provider's pace would.
                    tokio::task::yield_now().await;
                }
                output_tokens = tokens::of_text(text);
                content.push(Block::Text(text.clone()));
            }
            let mut stop = StopReason::EndTurn;
            if let Reply::Call(call) = reply {
                stop = StopReason::ToolUse;
                content.push(Block::ToolUse(call));
            }
            let usage = Usage { input_tokens: tokens::of_request(request), output_tokens, ..Usage::default() };
            Ok(Response { content, stop, usage, model: self.reference.clone() })
        })
    }

    fn reference(&self) -> &ModelRef {
        &self.reference
    }

    /// It looks at the last messages alone, so any conversation fits.
    fn context_window_tokens(&self) -> u64 {
        1_000_000
    }
}

enum Reply {
    Say(String),
    Call(ToolUse),
}

/// What to answer: a pure function of the request.
fn reply(request: &Request) -> Reply {
    let seen = request.messages.iter().filter(|message| said(message).is_some()).count();
    let seen_text = seen.to_string();
    let tools = tool_names(&request.tools);
    let last = request.messages.iter().rev().find(|message| message.role == Role::User);
    if let Some(results) = last.map(|last| results(last, &request.messages)).filter(|results| !results.is_empty()) {
        return Reply::Say(results);
    }
    let Some(text) = last.and_then(said) else {
        return Reply::Say(fill(include_str!("../../prompts/offline/silence.md"), &[("seen", &seen_text)]));
    };
    match wish(text, &request.tools) {
        Wish::Tool { name, input } => match request.tools.iter().any(|tool| tool.name == name) {
            true => Reply::Call(ToolUse {
                id: format!("offline-{}", request.messages.len()),
                name,
                input: Input::Json(input),
            }),
            false => {
                let template = include_str!("../../prompts/offline/no_such_tool.md");
                Reply::Say(fill(template, &[("tool", &name), ("tools", &tools)]))
            }
        },
        Wish::Words(template) => {
            let text = cut(text.trim(), REPEATED_MAX);
            Reply::Say(fill(template, &[("seen", &seen_text), ("text", &text), ("tools", &tools)]))
        }
    }
}

/// The person's words: the last text of a user message, where there is one.
fn said(message: &Message) -> Option<&str> {
    let mut texts = message.content.iter().filter_map(Block::as_text).filter(|text| !text.trim().is_empty());
    texts.next_back().filter(|_| message.role == Role::User)
}

/// What the tools answered that were called last.
fn results(last: &Message, messages: &[Message]) -> String {
    let calls: Vec<&ToolUse> =
        messages.iter().flat_map(|message| &message.content).filter_map(Block::as_tool_use).collect();
    let mut told = Vec::new();
    for block in &last.content {
        let Block::ToolResult { id, content, is_error } = block else { continue };
        let tool = calls.iter().rev().find(|call| call.id == *id).map_or("the tool", |call| call.name.as_str());
        let template = match is_error {
            true => include_str!("../../prompts/offline/failure.md"),
            false => include_str!("../../prompts/offline/result.md"),
        };
        told.push(fill(template, &[("tool", tool), ("content", &cut(content.trim_end(), REPEATED_MAX))]));
    }
    told.join("\n\n")
}

fn tool_names(tools: &[ToolDef]) -> String {
    if tools.is_empty() {
        return include_str!("../../prompts/offline/no_tools.md").trim_end().to_owned();
    }
    tools.iter().map(|tool| format!("`{}`", tool.name)).collect::<Vec<_>>().join(", ")
}

/// What a message asks for.
enum Wish {
    Tool { name: String, input: Value },
    Words(&'static str),
}

fn wish(text: &str, tools: &[ToolDef]) -> Wish {
    if let Some(tool) = named_tool(text, tools).or_else(|| plain_tool(text, tools)) {
        return tool;
    }
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let has = |any: &[&str]| words.iter().any(|word| any.contains(word));
    let phrase = |any: &[&str]| any.iter().any(|part| lower.contains(part));
    if has(&["key", "keys", "provider", "providers"]) || phrase(&["real model", "language model"]) {
        return Wish::Words(include_str!("../../prompts/offline/key.md"));
    }
    if has(&["help"]) || phrase(&["who are you", "what are you", "what can you do", "what do you do"]) {
        return Wish::Words(include_str!("../../prompts/offline/introduction.md"));
    }
    // A greeting is short, or it is something else that begins politely.
    if words.len() <= 4 && has(&["hi", "hello", "hey", "hallo", "moin", "morning", "evening", "greetings"]) {
        return Wish::Words(include_str!("../../prompts/offline/greeting.md"));
    }
    if words.len() <= 4 && has(&["thanks", "thank", "thx", "danke"]) {
        return Wish::Words(include_str!("../../prompts/offline/thanks.md"));
    }
    Wish::Words(include_str!("../../prompts/offline/echo.md"))
}

/// `call TOOL`, `use TOOL {"argument": …}`: any tool that is there, with the arguments as given.
fn named_tool(text: &str, tools: &[ToolDef]) -> Option<Wish> {
    let (verb, rest) = text.trim().split_once(char::is_whitespace)?;
    if !["call", "use"].contains(&verb.to_lowercase().as_str()) {
        return None;
    }
    let rest = rest.trim();
    let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let name = name.trim_matches('`');
    let tool = tools.iter().find(|tool| tool.name == name)?;
    let input = serde_json::from_str(arguments.trim()).unwrap_or_else(|_| json!({}));
    Some(Wish::Tool { name: tool.name.clone(), input })
}

/// A plain question that a tool answers.
fn plain_tool(text: &str, tools: &[ToolDef]) -> Option<Wish> {
    let text = text.trim().trim_end_matches(['?', '!', '.', ' ']);
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    let has = |any: &[&str]| words.iter().any(|word| any.contains(word));
    let asks = has(&["which", "what", "list", "show", "who", "are"]);
    let nothing = |name: &str| Some(Wish::Tool { name: name.to_owned(), input: json!({}) });
    if asks && has(&["topics", "topic"]) {
        return nothing("list_topics");
    }
    if asks && (has(&["trusted", "trusts"]) || lower.contains("trusted senders")) {
        return nothing("list_trusted_senders");
    }
    if words == ["ls"] || asks && has(&["files", "folder", "workspace"]) {
        return Some(path_tool("list", ".", tools));
    }
    match (words.first().copied(), text.split_whitespace().nth(1)) {
        (Some("read" | "cat" | "open"), Some(path)) if words.len() == 2 => Some(path_tool("read", path, tools)),
        (Some("read" | "open"), Some(the)) if words.len() <= 4 && ["the", "file"].contains(&the) => {
            Some(path_tool("read", text.split_whitespace().last()?, tools))
        }
        (Some("ls" | "list"), Some(path)) if words.len() == 2 => Some(path_tool("list", path, tools)),
        _ => None,
    }
}

/// A tool that takes a path, under whatever name its schema gives the argument.
fn path_tool(name: &str, path: &str, tools: &[ToolDef]) -> Wish {
    let schema = tools.iter().find(|tool| tool.name == name).map(|tool| tool.schema.value());
    let required = schema.as_ref().and_then(|schema| schema["required"][0].as_str());
    let properties = schema.as_ref().and_then(|schema| schema["properties"].as_object());
    let first = properties.and_then(|properties| match properties.contains_key("path") {
        true => Some("path"),
        false => properties.keys().next().map(String::as_str),
    });
    let argument = required.or(first).unwrap_or("path");
    let path = path.trim_matches(['`', '"', '\'']);
    Wish::Tool { name: name.to_owned(), input: json!({ argument: path }) }
}

/// The template with its `{names}` replaced, each once over: what is put in is not looked at again.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template.trim_end();
    while let Some(open) = rest.find('{') {
        let (before, after) = rest.split_at(open);
        filled.push_str(before);
        let value = values.iter().find_map(|(name, value)| {
            let rest = after[1..].strip_prefix(name)?.strip_prefix('}')?;
            Some((*value, rest))
        });
        match value {
            Some((value, after)) => {
                filled.push_str(value);
                rest = after;
            }
            None => {
                filled.push('{');
                rest = &after[1..];
            }
        }
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, schema: Value) -> ToolDef {
        ToolDef { name: name.into(), about: String::new(), schema: schema.into() }
    }

    fn tools() -> Vec<ToolDef> {
        vec![
            tool("list", json!({"type": "object", "properties": {"deep": {}, "path": {}}})),
            tool("list_topics", json!({"type": "object"})),
            tool("list_trusted_senders", json!({"type": "object"})),
            tool("read", json!({"type": "object", "properties": {"file": {}}, "required": ["file"]})),
        ]
    }

    async fn ask(messages: Vec<Message>, tools: Vec<ToolDef>) -> (Response, Vec<String>) {
        let request = Request { messages, tools: tools.into(), output_tokens_max: 1_000, ..Request::default() };
        let mut pieces = Vec::new();
        let mut sink = |progress: Progress<'_>| {
            if let Progress::Text(text) = progress {
                pieces.push(text.to_owned());
            }
        };
        let response = Offline::new().respond(&request, &mut sink).await.expect("it never fails");
        (response, pieces)
    }

    #[tokio::test]
    async fn a_plain_question_calls_the_tool_that_answers_it() {
        for (text, name, input) in [
            ("Which topics are there?", "list_topics", json!({})),
            ("who is trusted?", "list_trusted_senders", json!({})),
            ("read notes/A.md", "read", json!({"file": "notes/A.md"})),
            ("Read the file `plan.md`!", "read", json!({"file": "plan.md"})),
            ("list files", "list", json!({"path": "."})),
            ("ls notes", "list", json!({"path": "notes"})),
            ("call read {\"file\": \"x\"}", "read", json!({"file": "x"})),
            ("use `list_topics`", "list_topics", json!({})),
        ] {
            let (response, pieces) = ask(vec![Message::user(text)], tools()).await;
            let call = response.tool_uses().next().unwrap_or_else(|| panic!("a call for {text}"));
            assert_eq!((call.name.as_str(), &call.input), (name, &Input::Json(input)), "{text}");
            assert_eq!((response.stop, pieces.len()), (StopReason::ToolUse, 0), "{text}");
            let (without, _) = ask(vec![Message::user(text)], Vec::new()).await;
            assert_eq!(without.stop, StopReason::EndTurn, "a tool that is not there is never called: {text}");
        }
    }

    #[tokio::test]
    async fn a_result_is_told_and_no_tool_is_called_again() {
        let mut messages = vec![Message::user("which topics are there?")];
        let (call, _) = ask(messages.clone(), tools()).await;
        let id = call.tool_uses().next().expect("a call").id.clone();
        messages.push(Message { role: Role::Assistant, content: call.content });
        let result = Block::ToolResult { id, content: "lunch, {seen}".into(), is_error: false };
        messages.push(Message { role: Role::User, content: vec![result] });
        let (response, pieces) = ask(messages, tools()).await;
        assert_eq!(response.text(), "`list_topics` answered:\n\n```\nlunch, {seen}\n```");
        assert_eq!(pieces.concat(), response.text());
        assert!(pieces.len() > 1, "it streams");
    }

    #[tokio::test]
    async fn it_says_what_it_is_counts_and_repeats() {
        for (text, part) in [
            ("hi!", "message 2 of this topic"),
            ("who are you?", "built-in offline model"),
            ("how do I add a key?", "ANTHROPIC_API_KEY"),
            ("the sky is {text}", "You wrote: \"the sky is {text}\""),
            ("thank you", "welcome"),
        ] {
            let messages = vec![Message::user("before"), Message::assistant("yes"), Message::user(text)];
            let (first, _) = ask(messages.clone(), tools()).await;
            assert!(first.text().contains(part), "{text}: {}", first.text());
            assert_eq!(ask(messages, tools()).await.0, first, "the same question has the same answer");
        }
        assert!(ask(Vec::new(), Vec::new()).await.0.text().contains("no message"));
    }
}
