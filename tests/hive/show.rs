//! What happened, as lines of a scenario.

use channels::memory::{Delivery, Outcome, Shown};
use channels::{Action, Button, ConversationId, Kind, Piece, SendError};
use llm::{Block, Input, Message, Request, Role};

use crate::names::Names;

/// A line with the lines below it.
pub type Lines = Vec<String>;

/// A delivery: `discord/general < text`, with what is special about it in parentheses. `number` is which of the bot's
/// messages there it became, `again` says that it was there already.
pub fn delivery(names: &Names, of: &Delivery, again: bool) -> Lines {
    let out = &of.out;
    let mut marks = Vec::new();
    match &of.outcome {
        Outcome::Done(_) if again => marks.push("again".to_owned()),
        Outcome::Done(_) => {}
        Outcome::Failed(error) => marks.push(failure(names, error)),
        Outcome::Hung => marks.push("no answer ever".to_owned()),
    }
    let piece = match &out.action {
        Action::Send(piece) => Some(piece),
        Action::Edit { message_id, piece } => {
            marks.push(format!("edit {}", message(message_id)));
            Some(piece)
        }
        Action::Delete { message_id } => {
            marks.push(format!("delete {}", message(message_id)));
            None
        }
    };
    if let Some(reply_to) = &out.reply_to {
        marks.push(format!("re {}", message(reply_to)));
    }
    if out.handle.is_some() {
        marks.push("interaction".to_owned());
    }
    let marks = if marks.is_empty() { String::new() } else { format!("({}) ", marks.join(", ")) };
    let text = piece.map_or(String::new(), piece_text);
    seen(names, &out.conversation, &format!("{marks}{text}"))
}

/// The bot's messages that people see in a place now.
pub fn shown(names: &Names, kind: Kind, messages: &[Shown]) -> Lines {
    let mut lines = Vec::new();
    for shown in messages {
        let files: String = shown.files.iter().map(|name| format!("\n[file {name}]")).collect();
        let text = format!("{}{files}{}", shown.text, buttons(&shown.buttons));
        let text = names.with_names(&text, Some(kind));
        lines.extend(text.lines().enumerate().map(|(at, line)| continued(at, line, "- ")));
    }
    lines
}

fn piece_text(piece: &Piece) -> String {
    let files: String = piece.files.iter().map(|file| format!("\n[file {}]", file.name)).collect();
    format!("{}{files}{}", piece.text, buttons(&piece.buttons))
}

fn buttons(rows: &[Vec<Button>]) -> String {
    let row = |row: &Vec<Button>| row.iter().map(|button| format!("[{}]", button.label)).collect::<Vec<_>>().join(" ");
    rows.iter().map(|buttons| format!("\n{}", row(buttons))).collect()
}

fn failure(names: &Names, error: &SendError) -> String {
    match error {
        SendError::Moved(to) => format!("failed: moved to {}", names.path_of(to)),
        error => format!("failed: {error}"),
    }
}

/// The bot's messages are numbered from b1 in their order; people's have the ids that the scenario gave them.
pub fn message(id: &str) -> String {
    match id.parse::<u64>().ok().and_then(|number| number.checked_sub(9_000_000_000)) {
        Some(number) => format!("b{number}"),
        None => id.to_owned(),
    }
}

/// The platform's id of what a scenario calls `b3`.
pub fn message_id(word: &str) -> String {
    match word.strip_prefix('b').and_then(|number| number.parse::<u64>().ok()) {
        Some(number) => (9_000_000_000 + number).to_string(),
        None => word.to_owned(),
    }
}

fn seen(names: &Names, conversation: &ConversationId, text: &str) -> Lines {
    let text = names.with_names(text, Some(conversation.kind()));
    let head = format!("{} <", names.path_of(conversation));
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        lines.push(match at {
            0 => format!("{head} {line}").trim_end().to_owned(),
            _ => format!("  | {line}").trim_end().to_owned(),
        });
    }
    if lines.is_empty() { vec![head] } else { lines }
}

fn continued(at: usize, line: &str, first: &str) -> String {
    let mark = if at == 0 { first } else { "| " };
    format!("  {mark}{line}").trim_end().to_owned()
}

/// A request, message by message. The fixed part is named, not shown: that it is the same everywhere is a law.
pub fn request(names: &Names, request: &Request, workspace: &str) -> Lines {
    whole(names, request, workspace, Some("the fixed part"))
}

/// The lines of a request that have `text` in them, wherever they stand in it.
pub fn lines_with(names: &Names, request: &Request, workspace: &str, text: &str) -> Lines {
    let mut lines = whole(names, request, workspace, None);
    lines.retain(|line| line.contains(text));
    if lines.is_empty() { vec!["  (none)".to_owned()] } else { lines }
}

/// A request, with something in the place of its fixed part where that is wanted.
fn whole(names: &Names, request: &Request, workspace: &str, fixed: Option<&str>) -> Lines {
    let mut lines = Vec::new();
    for (at, part) in request.system.iter().enumerate() {
        let text = fixed.filter(|_| at == 0).unwrap_or(part.text.as_str());
        push(&mut lines, names, "system", text, workspace);
    }
    for Message { role, content } in &request.messages {
        for block in content {
            let who = match role {
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            match block {
                Block::Text(text) => push(&mut lines, names, who, text, workspace),
                Block::ToolUse(call) => {
                    push(&mut lines, names, "calls", &format!("{} {}", call.name, input(&call.input)), workspace)
                }
                Block::ToolResult { .. } => lines.extend(result(names, block, "result", workspace)),
                Block::Opaque { .. } => push(&mut lines, names, who, "(opaque)", workspace),
            }
        }
    }
    lines
}

/// The results at the end of a request, each with the tool that was called.
pub fn results(names: &Names, request: &Request, workspace: &str) -> Lines {
    let asked = request.messages.iter().rposition(|message| message.content.iter().any(|b| b.as_tool_use().is_some()));
    let Some(asked) = asked else { return Vec::new() };
    let mut lines = Vec::new();
    for call in request.messages[asked].content.iter().filter_map(Block::as_tool_use) {
        let after = request.messages[asked + 1..].iter().flat_map(|message| &message.content);
        let mut found =
            after.filter(|block| matches!(block, Block::ToolResult { id, .. } if *id == call.id)).peekable();
        if found.peek().is_none() {
            lines.push(format!("  {}: NO RESULT", call.name));
        }
        found.for_each(|block| lines.extend(result(names, block, &call.name, workspace)));
    }
    lines
}

fn result(names: &Names, block: &Block, name: &str, workspace: &str) -> Lines {
    let Block::ToolResult { content, is_error, .. } = block else { return Vec::new() };
    let mut lines = Vec::new();
    let head = if *is_error { format!("{name} failed") } else { name.to_owned() };
    push(&mut lines, names, &head, content, workspace);
    lines
}

fn input(input: &Input) -> String {
    match input {
        Input::Json(value) => value.to_string(),
        Input::Broken(text) => format!("(no JSON) {text}"),
    }
}

fn push(lines: &mut Lines, names: &Names, head: &str, text: &str, workspace: &str) {
    // The main team's workspace, and the folder that all of them are in.
    let teams = workspace.trim_end_matches(base::ids::MAIN);
    let text = text.replace(workspace, "{workspace}").replace(teams, "{teams}/");
    let text = names.with_names(&text, None);
    let mut rows = text.lines();
    lines.push(format!("  {head}: {}", rows.next().unwrap_or_default()).trim_end().to_owned());
    lines.extend(rows.map(|row| format!("  | {row}").trim_end().to_owned()));
}

/// Rows of a query, one a line.
pub fn rows(names: &Names, rows: &[Vec<String>]) -> Lines {
    let line = |row: &Vec<String>| names.with_names(&row.join(" | ").replace('\n', "\\n"), None);
    if rows.is_empty() {
        return vec!["  (none)".to_owned()];
    }
    rows.iter().map(|row| format!("  {}", line(row)).trim_end().to_owned()).collect()
}
