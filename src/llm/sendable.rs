//! A conversation made to fit the rules of all providers, in one place.
//!
//! Providers refuse a whole request for small faults in its history: a call without a result, an empty text, a
//! name with a dot. A journaled conversation may have any of these (a crash, an edit, another provider), and must
//! still be sendable. What is changed depends only on what stands before it, so a growing conversation keeps its
//! prefix, and with it the provider's cache.

use std::collections::{HashMap, HashSet};

use crate::request::{Block, Message, ModelRef, Role, ToolUse};

/// What a call gets as its result where none is known.
pub const OUTCOME_UNKNOWN: &str = "interrupted, outcome unknown";
/// What the first message is where the conversation begins with the model's.
pub const EARLIER: &str = "(The beginning of this conversation is not shown.)";
/// What stands for a result without text: some servers refuse an empty one.
pub const NO_OUTPUT: &str = "(no output)";

/// The longest tool id that every provider takes: OpenAI's limit.
const ID_LENGTH_MAX: usize = 40;
/// The longest tool name that every provider takes: OpenAI's limit.
const NAME_LENGTH_MAX: usize = 64;

/// The conversation as it can be sent to `model`. What holds afterwards, for any input:
///
/// - it begins with the user, and the two speakers alternate;
/// - no message and no text is empty or blank;
/// - every call has exactly one result, in the user message right after it, before that message's texts and in
///   the order of the calls; a missing one is an error saying [`OUTCOME_UNKNOWN`], one without a call is dropped;
/// - ids are unique and, like names, made of `[A-Za-z0-9_-]`;
/// - opaque blocks are there only where `model` made them, and never alone.
pub fn sendable(messages: &[Message], model: &ModelRef) -> Vec<Message> {
    let mut answers = pair(messages).into_iter();
    let mut ids = Ids::default();
    let mut sent: Vec<Message> = Vec::new();
    // The results that the calls of the last assistant message still need.
    let mut owed: Vec<Block> = Vec::new();
    for message in messages {
        let mut content = match message.role {
            Role::User => std::mem::take(&mut owed),
            Role::Assistant => Vec::new(),
        };
        for block in &message.content {
            match (message.role, block) {
                (_, Block::Text(text)) if !text.trim().is_empty() => content.push(block.clone()),
                (Role::Assistant, Block::ToolUse(call)) => {
                    let answer = answers.next().flatten().unwrap_or((OUTCOME_UNKNOWN, true));
                    let call =
                        ToolUse { id: ids.unique(&call.id), name: wire_safe(&call.name), input: call.input.clone() };
                    owed.push(result(&call.id, answer));
                    content.push(Block::ToolUse(call));
                }
                (Role::Assistant, Block::Opaque { model: by, value }) if by == model && value.is_object() => {
                    content.push(block.clone());
                }
                _ => {}
            }
        }
        push(&mut sent, message.role, content);
    }
    push(&mut sent, Role::User, owed);
    if sent.first().is_none_or(|first| first.role == Role::Assistant) {
        sent.insert(0, Message::user(EARLIER));
    }
    sent
}

/// Appends to the last message where that is by the same speaker. A message of opaque blocks alone says nothing.
fn push(sent: &mut Vec<Message>, role: Role, content: Vec<Block>) {
    if content.iter().all(|block| matches!(block, Block::Opaque { .. })) {
        return;
    }
    match sent.last_mut() {
        Some(last) if last.role == role => last.content.extend(content),
        _ => sent.push(Message { role, content }),
    }
}

/// A result: the text, and whether it is a failure.
type Answer<'a> = (&'a str, bool);

/// For every call in order, its result. A result belongs to the nearest message before it that has an unanswered
/// call with its id, for some servers use the same ids in every response.
fn pair(messages: &[Message]) -> Vec<Option<Answer<'_>>> {
    let mut answers = Vec::new();
    let mut open: HashMap<&str, Vec<(usize, usize)>> = HashMap::new();
    for (at, message) in messages.iter().enumerate() {
        for block in &message.content {
            match block {
                Block::ToolUse(call) if message.role == Role::Assistant => {
                    open.entry(&call.id).or_default().push((at, answers.len()));
                    answers.push(None);
                }
                Block::ToolResult { id, content, is_error } => {
                    let Some(waiting) = open.get_mut(id.as_str()) else { continue };
                    let Some(&(latest, _)) = waiting.last() else { continue };
                    let first = waiting.iter().position(|(at, _)| *at == latest).expect("`latest` is among them");
                    let (_, call) = waiting.remove(first);
                    answers[call] = Some((content.as_str(), *is_error));
                }
                _ => {}
            }
        }
    }
    answers
}

fn result(id: &str, (content, is_error): Answer<'_>) -> Block {
    let content = if content.is_empty() { NO_OUTPUT } else { content };
    Block::ToolResult { id: id.to_owned(), content: content.to_owned(), is_error }
}

/// Gives ids that no earlier call of the conversation has.
#[derive(Default)]
struct Ids(HashSet<String>);

impl Ids {
    fn unique(&mut self, id: &str) -> String {
        let safe = wire_chars(id, ID_LENGTH_MAX, "call");
        let mut unique = safe.clone();
        let mut copy = 2;
        while !self.0.insert(unique.clone()) {
            let suffix = format!("-{copy}");
            unique = format!("{}{suffix}", &safe[..safe.len().min(ID_LENGTH_MAX - suffix.len())]);
            copy += 1;
        }
        unique
    }
}

/// A tool's name as every provider takes it: `[A-Za-z0-9_-]{1,64}`.
fn wire_safe(name: &str) -> String {
    wire_chars(name, NAME_LENGTH_MAX, "unnamed")
}

/// `text` in `[A-Za-z0-9_-]`, at most `length` long; `empty` where nothing is left.
pub(crate) fn wire_chars(text: &str, length: usize, empty: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let text: String = text.chars().take(length).map(safe).collect();
    if text.is_empty() { empty.to_owned() } else { text }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::request::Input;

    fn model() -> ModelRef {
        ModelRef::new("p", "m")
    }
    fn call(id: &str, name: &str) -> Block {
        Block::ToolUse(ToolUse { id: id.into(), name: name.into(), input: Input::read("") })
    }
    fn answer(id: &str, content: &str) -> Block {
        Block::ToolResult { id: id.into(), content: content.into(), is_error: false }
    }
    fn failure(id: &str, content: &str) -> Block {
        Block::ToolResult { id: id.into(), content: content.into(), is_error: true }
    }
    fn by(role: Role, content: Vec<Block>) -> Message {
        Message { role, content }
    }

    #[test]
    fn what_is_in_order_stays_as_it_is() {
        let messages = vec![
            Message::user("a"),
            by(Role::Assistant, vec![Block::Text("b".into()), call("1", "read"), call("2", "list")]),
            by(Role::User, vec![answer("1", "x"), failure("2", "y"), Block::Text("c".into())]),
            Message::assistant("d"),
        ];
        assert_eq!(sendable(&messages, &model()), messages);
    }

    #[test]
    fn faults_of_a_history_are_mended() {
        use Role::{Assistant, User};
        let text = |text: &str| Block::Text(text.into());
        let cases: [(&str, Vec<Message>, Vec<Message>); 7] = [
            ("nothing at all", vec![], vec![Message::user(EARLIER)]),
            (
                "blank texts, two in a row, the model first",
                vec![Message::assistant("hi"), Message::user(" \n"), Message::user("a"), Message::user("b")],
                vec![Message::user(EARLIER), Message::assistant("hi"), by(User, vec![text("a"), text("b")])],
            ),
            (
                "a lost result, and one whose call is gone",
                vec![by(User, vec![answer("9", "?"), text("a")]), by(Assistant, vec![call("1", "read")])],
                vec![
                    Message::user("a"),
                    by(Assistant, vec![call("1", "read")]),
                    by(User, vec![failure("1", OUTCOME_UNKNOWN)]),
                ],
            ),
            (
                "a message between call and result, results in another order, one given twice",
                vec![
                    Message::user("a"),
                    by(Assistant, vec![call("1", "read"), call("2", "read")]),
                    Message::user("b"),
                    by(User, vec![answer("2", "y"), answer("1", ""), answer("1", "again")]),
                ],
                vec![
                    Message::user("a"),
                    by(Assistant, vec![call("1", "read"), call("2", "read")]),
                    by(User, vec![answer("1", NO_OUTPUT), answer("2", "y"), text("b")]),
                ],
            ),
            (
                "the same ids in every response, the first of them never answered",
                vec![
                    Message::user("a"),
                    by(Assistant, vec![call("0", "read")]),
                    Message::user("b"),
                    by(Assistant, vec![call("0", "read")]),
                    by(User, vec![answer("0", "y")]),
                ],
                vec![
                    Message::user("a"),
                    by(Assistant, vec![call("0", "read")]),
                    by(User, vec![failure("0", OUTCOME_UNKNOWN), text("b")]),
                    by(Assistant, vec![call("0-2", "read")]),
                    by(User, vec![answer("0-2", "y")]),
                ],
            ),
            (
                "names and ids that providers refuse",
                vec![Message::user("a"), by(Assistant, vec![call("a.b/ü", "team.tool"), call("", "")])],
                vec![
                    Message::user("a"),
                    by(Assistant, vec![call("a_b__", "team_tool"), call("call", "unnamed")]),
                    by(User, vec![failure("a_b__", OUTCOME_UNKNOWN), failure("call", OUTCOME_UNKNOWN)]),
                ],
            ),
            (
                "thinking of another model, and thinking alone",
                vec![
                    Message::user("a"),
                    by(Assistant, vec![thought("p", "m")]),
                    by(Assistant, vec![thought("q", "m"), thought("p", "m"), text("b")]),
                ],
                vec![Message::user("a"), by(Assistant, vec![thought("p", "m"), text("b")])],
            ),
        ];
        for (name, messages, expected) in cases {
            assert_eq!(sendable(&messages, &model()), expected, "{name}");
        }
    }

    fn thought(profile: &str, of: &str) -> Block {
        Block::Opaque { model: ModelRef::new(profile, of), value: serde_json::json!({"type": "thinking"}) }
    }

    fn any_block() -> impl Strategy<Value = Block> {
        prop_oneof![
            "[ a]{0,3}".prop_map(Block::Text),
            ("[ab.]{0,2}", "[a.]{0,2}").prop_map(|(id, name)| call(&id, &name)),
            ("[ab.]{0,2}", "x?", any::<bool>()).prop_map(|(id, content, is_error)| Block::ToolResult {
                id,
                content,
                is_error
            }),
            "[pq]".prop_map(|profile| thought(&profile, "m")),
        ]
    }

    pub(crate) fn any_conversation() -> impl Strategy<Value = Vec<Message>> {
        let role = prop_oneof![Just(Role::User), Just(Role::Assistant)];
        let message = (role, prop::collection::vec(any_block(), 0..5));
        prop::collection::vec(message.prop_map(|(role, content)| Message { role, content }), 0..8)
    }

    /// The promises of [`sendable`], one by one.
    fn check(sent: &[Message]) {
        let mut ids = HashSet::new();
        for (at, message) in sent.iter().enumerate() {
            assert_eq!(message.role == Role::User, at % 2 == 0, "the speakers alternate, the user first");
            assert!(message.content.iter().any(|block| !matches!(block, Block::Opaque { .. })));
            let calls: Vec<&str> =
                message.content.iter().filter_map(Block::as_tool_use).map(|call| call.id.as_str()).collect();
            assert!(calls.is_empty() || message.role == Role::Assistant);
            assert!(calls.iter().all(|id| ids.insert(id.to_string()) && !id.is_empty()), "ids are unique");
            let next = sent.get(at + 1).map(|next| next.content.as_slice()).unwrap_or_default();
            let results: Vec<&str> = next.iter().map_while(result_id).collect();
            if message.role == Role::Assistant {
                assert_eq!(results, calls, "every call has its result, in order, right after it");
                assert_eq!(next.iter().filter_map(result_id).count(), calls.len(), "and no other");
            } else if at == 0 {
                assert_eq!(message.content.iter().filter_map(result_id).count(), 0);
            }
            for block in &message.content {
                assert!(block.as_text().is_none_or(|text| !text.trim().is_empty()));
                assert!(!matches!(block, Block::Opaque { model: by, .. } if *by != model()));
            }
        }
    }

    fn result_id(block: &Block) -> Option<&str> {
        match block {
            Block::ToolResult { id, .. } => Some(id),
            _ => None,
        }
    }

    proptest! {
        #[test]
        fn any_history_becomes_sendable_and_then_stays(messages in any_conversation()) {
            let sent = sendable(&messages, &model());
            check(&sent);
            prop_assert_eq!(sendable(&sent, &model()), sent);
        }

        #[test]
        fn what_comes_later_does_not_change_what_was_sent(messages in any_conversation(), more in any_conversation()) {
            // Only where nothing is owed: a result that comes later replaces "outcome unknown".
            let mut settled = sendable(&messages, &model());
            settled.push(Message::assistant("settled"));
            let before = sendable(&settled, &model());
            settled.extend(more);
            let after = sendable(&settled, &model());
            let kept = before.len() - 1;
            prop_assert_eq!(&after[..kept], &before[..kept]);
        }
    }
}
