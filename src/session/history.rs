//! Rows → the model's messages: what was said before, as real chat turns.

use std::collections::HashMap;

use anyhow::{Context, Result};
use base::{RunId, TopicId};
use llm::{Block, Message, Role};
use store::calls::Call;
use store::journal::Entry;
use store::topics::Topic;
use store::{Conn, calls, journal, summaries, topics};

/// A topic's talk, ready to be shown to a model.
#[derive(Debug)]
pub(super) struct History {
    /// The topic itself.
    pub topic: Option<Topic>,
    /// What was said before the entries, in fewer words.
    pub summary: Option<String>,
    /// The entries, oldest first, this turn's last.
    pub entries: Vec<Entry>,
    /// The tool calls of those turns.
    pub calls: Vec<Call>,
}

/// What a model is shown of earlier turns.
#[derive(Clone, Debug)]
pub(super) enum Talk {
    /// A topic's.
    Topic(TopicId),
    /// These, oldest first: a team's turn knows nothing but what it goes on with.
    Runs(Vec<RunId>),
}

impl Talk {
    /// Reads the talk up to now, this turn's part of it last.
    pub(super) async fn read(&self, conn: &mut Conn, run: RunId, limit: u32) -> Result<History> {
        match self {
            Talk::Topic(topic) => of_topic(conn, *topic, run, limit).await,
            Talk::Runs(earlier) => of_runs(conn, earlier, run).await,
        }
    }
}

async fn of_runs(conn: &mut Conn, earlier: &[RunId], run: RunId) -> Result<History> {
    let mut history = History { topic: None, summary: None, entries: Vec::new(), calls: Vec::new() };
    for run in earlier.iter().chain([&run]) {
        history.entries.extend(journal::of_run(conn, *run).await?);
        history.calls.extend(calls::of_run(conn, *run).await?);
    }
    Ok(history)
}

/// A turn is shown whole or not at all.
async fn of_topic(conn: &mut Conn, topic: TopicId, run: RunId, limit: u32) -> Result<History> {
    let (upto, summary) = summaries::latest(conn, topic).await?.map_or((0, None), |(upto, text)| (upto, Some(text)));
    let mut entries = journal::of_topic(conn, topic, upto, None, limit).await?;
    if entries.len() == limit as usize
        && let Some(first) = entries.first().map(|entry| entry.run)
        && first != run
    {
        // The limit may have cut the oldest turn in two: a tool call would stand there without its question.
        entries.retain(|entry| entry.run != first);
    }
    let first = entries.first().map_or(run, |entry| entry.run);
    let calls = if entries.iter().any(|entry| entry.role == journal::Role::Assistant) {
        calls::of_topic(conn, topic, first).await?
    } else {
        Vec::new()
    };
    Ok(History { topic: topics::get(conn, topic).await?, summary, entries, calls })
}

impl History {
    /// The messages: each answer of the model is followed by the results of the tools that it asked for.
    pub(super) fn messages(&self) -> Result<Vec<Message>> {
        let mut results: HashMap<(RunId, i64), Vec<&Call>> = HashMap::new();
        for call in &self.calls {
            results.entry((call.run, call.step)).or_default().push(call);
        }
        let mut messages = Vec::with_capacity(self.entries.len());
        for entry in &self.entries {
            let content = blocks(entry)?;
            let asked: Vec<_> = content.iter().filter_map(Block::as_tool_use).map(|call| call.id.clone()).collect();
            let role = match entry.role {
                journal::Role::User => Role::User,
                journal::Role::Assistant => Role::Assistant,
            };
            messages.push(Message { role, content });
            if asked.is_empty() {
                continue;
            }
            let of_step = results.get(&(entry.run, entry.step)).map_or(&[][..], Vec::as_slice);
            let done = asked.iter().filter_map(|id| of_step.iter().find(|call| call.call_id == *id));
            let content: Vec<Block> = done
                .filter(|call| call.state != store::calls::State::Started)
                .map(|call| Block::ToolResult {
                    id: call.call_id.clone(),
                    content: call.result.clone(),
                    is_error: call.is_error,
                })
                .collect();
            if !content.is_empty() {
                messages.push(Message { role: Role::User, content });
            }
        }
        Ok(messages)
    }

    /// This turn's last word, if it is the model's.
    pub(super) fn last_answer(&self, run: RunId) -> Result<Option<(i64, Vec<Block>)>> {
        match self.entries.last() {
            Some(last) if last.run == run && last.role == journal::Role::Assistant => {
                Ok(Some((last.step, blocks(last)?)))
            }
            _ => Ok(None),
        }
    }

    /// What the model said in earlier steps of this turn, which people have not seen as a message of its own.
    pub(super) fn said_so_far(&self, run: RunId) -> Result<String> {
        let mut said = Vec::new();
        for entry in self.entries.iter().filter(|entry| entry.run == run && entry.role == journal::Role::Assistant) {
            let text = text_of(&blocks(entry)?);
            if !text.trim().is_empty() {
                said.push(text);
            }
        }
        Ok(said.join("\n\n"))
    }
}

fn blocks(entry: &Entry) -> Result<Vec<Block>> {
    serde_json::from_str(&entry.content).with_context(|| format!("read journal row {}", entry.id))
}

/// The text of blocks.
pub(super) fn text_of(blocks: &[Block]) -> String {
    blocks.iter().filter_map(Block::as_text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm::{Input, ToolUse};

    fn entry(id: i64, run: i64, step: i64, role: journal::Role, content: Vec<Block>) -> Entry {
        Entry { id, run: RunId(run), step, role, content: serde_json::to_string(&content).unwrap() }
    }

    fn asked(id: &str) -> Block {
        Block::ToolUse(ToolUse { id: id.into(), name: "read".into(), input: Input::read("{}") })
    }

    #[test]
    fn results_stand_right_behind_the_answer_that_asked_for_them() {
        let call = |step, id: &str| Call {
            run: RunId(1),
            step,
            call_id: id.into(),
            tool: "read".into(),
            state: store::calls::State::Finished,
            is_error: false,
            result: format!("result of {id}"),
        };
        let history = History {
            topic: None,
            summary: None,
            entries: vec![
                entry(1, 1, 1, journal::Role::User, vec![Block::Text("go".into())]),
                entry(2, 1, 1, journal::Role::Assistant, vec![asked("b"), asked("a")]),
                entry(3, 1, 2, journal::Role::User, vec![Block::Text("and hurry".into())]),
                entry(4, 1, 2, journal::Role::Assistant, vec![Block::Text("done".into())]),
            ],
            calls: vec![call(1, "a"), call(1, "b")],
        };
        let messages = history.messages().unwrap();
        let result =
            |id: &str| Block::ToolResult { id: id.into(), content: format!("result of {id}"), is_error: false };
        assert_eq!(messages.len(), 5);
        assert_eq!(messages[2], Message { role: Role::User, content: vec![result("b"), result("a")] });
        assert_eq!(history.last_answer(RunId(1)).unwrap(), Some((2, vec![Block::Text("done".into())])));
        assert_eq!(history.last_answer(RunId(2)).unwrap(), None);
        assert_eq!(history.said_so_far(RunId(1)).unwrap(), "done");
    }
}
