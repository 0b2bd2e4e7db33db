//! A long topic in fewer words: older turns become a summary, whole turns only, so that no tool call is parted from
//! its result.

use anyhow::Result;
use base::{RunId, TopicId, text};
use llm::{Block, Message, Progress, Request, Role, System};
use store::{summaries, usage};

use super::Sessions;
use super::agent::{Agent, Mind};
use super::budget::{Ledger, Spender};
use super::history::History;

const INSTRUCTION: &str = include_str!("../../prompts/internal/summarize.md");
/// The longest summary, in tokens.
const SUMMARY_TOKENS: u32 = 1_500;
/// How much of one block a summary is made from, in characters: a long file is not what was said about it.
const BLOCK_CHARS: usize = 4_000;
/// How much of a talk is kept where no model shortens it, in characters.
const CUT_CHARS: usize = 6_000;

/// Whether a request leaves too little of the model's window free.
pub(super) fn is_due(mind: &Mind, request: &Request) -> bool {
    let window = mind.model.context_window_tokens();
    llm::tokens::of_request(request).saturating_add(mind.reserve_tokens) > window
}

/// Replaces the older half of the topic's finished turns by a summary. `false` where there is no finished turn.
pub(super) async fn shorten(
    session: &Sessions,
    agent: &Agent,
    topic: TopicId,
    run: RunId,
    history: &History,
) -> Result<bool> {
    let Some(upto) = cut(history, run) else { return Ok(false) };
    let old: Vec<_> = history.entries.iter().filter(|entry| entry.id <= upto).cloned().collect();
    let old = History {
        topic: None,
        summary: None,
        calls: history.calls.iter().filter(|call| old.iter().any(|entry| entry.run == call.run)).cloned().collect(),
        entries: old,
    };
    let talk = as_text(history.summary.as_deref(), &old.messages()?);
    let request = Request {
        system: vec![System { text: INSTRUCTION.trim().to_owned(), cached: false }],
        tools: [].into(),
        messages: vec![Message::user(talk)],
        output_tokens_max: SUMMARY_TOKENS,
    };
    let (summary, spent) = summarized(session, agent, (topic, run), &request).await?;
    // Without a model's help the older talk is cut down by code: worse, and better than a turn that fails.
    let summary = summary.unwrap_or_else(|| text::cut(&request.messages[0].text(), CUT_CHARS));
    let now = session.clock.now();
    session
        .db
        .tx("shorten a topic", async |conn| {
            for entry in &spent {
                usage::add(conn, entry, now).await?;
            }
            summaries::add(conn, topic, upto, summary.trim(), now).await
        })
        .await?;
    Ok(true)
}

/// What the model makes of a talk, and what asking it cost. No summary where a budget has nothing left for it, or the
/// model says nothing.
async fn summarized(
    session: &Sessions,
    agent: &Agent,
    (topic, run): (TopicId, RunId),
    request: &Request,
) -> Result<(Option<String>, Vec<usage::Entry>)> {
    let (ledger, model) = (&session.office.ledger, &agent.mind.model);
    let of = Spender { team: &agent.team, run: Some(run), topic: Some(topic), sender: None };
    let budgets = (Some(topic), Some((&agent.team, agent.budgets)));
    if let Some(over) = ledger.refuses(&session.db, budgets, model.reference(), request, session.clock.now()).await? {
        tracing::warn!("the topic {topic} is cut down by code: {}", over.sentence());
        return Ok((None, Vec::new()));
    }
    let mut failed = Vec::new();
    let answer = model.respond(request, &mut |progress: Progress<'_>| Ledger::hear(progress, &mut failed)).await;
    let answer = answer.ok();
    let spent = ledger.entries(&of, "summarize", &failed, answer.as_ref());
    Ok((answer.map(|answer| answer.text()).filter(|said| !said.trim().is_empty()), spent))
}

/// The last journal row of the older half of the finished turns.
fn cut(history: &History, run: RunId) -> Option<i64> {
    let mut runs: Vec<RunId> = Vec::new();
    for entry in history.entries.iter().filter(|entry| entry.run != run) {
        if !runs.contains(&entry.run) {
            runs.push(entry.run);
        }
    }
    let last = *runs.get(runs.len().checked_sub(1)? / 2)?;
    history.entries.iter().filter(|entry| entry.run == last).map(|entry| entry.id).max()
}

fn as_text(summary: Option<&str>, messages: &[Message]) -> String {
    let mut text = String::new();
    if let Some(summary) = summary {
        text.push_str(&format!("<earlier>\n{summary}\n</earlier>\n\n"));
    }
    for message in messages {
        let who = match message.role {
            Role::User => "person",
            Role::Assistant => "agent",
        };
        for block in &message.content {
            let said = match block {
                Block::Text(text) => text::cut(text, BLOCK_CHARS),
                Block::ToolUse(call) => format!("(asks for {})", call.name),
                Block::ToolResult { content, .. } => format!("(result: {})", text::cut(content, BLOCK_CHARS / 4)),
                Block::Opaque { .. } => continue,
            };
            text.push_str(&format!("{who}: {said}\n"));
        }
    }
    text
}

/// Cuts the results of tools in this turn down where even one turn does not fit: the newest stay whole.
pub(super) fn squeeze(messages: &mut [Message]) -> bool {
    const KEPT: usize = 2_000;
    const WORTH_IT: usize = KEPT + 500;
    let mut squeezed = false;
    let last = messages.len().saturating_sub(2);
    for message in &mut messages[..last] {
        for block in &mut message.content {
            if let Block::ToolResult { content, .. } = block
                && content.chars().nth(WORTH_IT).is_some()
            {
                *content = format!("{}\n[cut: the whole result is in the journal]", text::cut(content, KEPT));
                squeezed = true;
            }
        }
    }
    squeezed
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::journal::{self, Entry};

    #[test]
    fn the_cut_lies_between_turns_and_never_in_this_one() {
        let entry =
            |id: i64, run: i64| Entry { id, run: RunId(run), step: 1, role: journal::Role::User, content: "[]".into() };
        let history = |runs: &[i64]| History {
            topic: None,
            summary: None,
            entries: runs.iter().enumerate().map(|(at, run)| entry(at as i64 + 1, *run)).collect(),
            calls: Vec::new(),
        };
        assert_eq!(cut(&history(&[1, 1, 2, 2, 3, 3, 9]), RunId(9)), Some(4));
        assert_eq!(cut(&history(&[1, 1, 9]), RunId(9)), Some(2));
        assert_eq!(cut(&history(&[9, 9]), RunId(9)), None);
    }

    #[test]
    fn the_newest_results_stay_whole() {
        let result = |text: String| Message {
            role: Role::User,
            content: vec![Block::ToolResult { id: "1".into(), content: text, is_error: false }],
        };
        let mut messages = vec![result("x".repeat(9_000)), Message::assistant("so"), result("y".repeat(9_000))];
        assert!(squeeze(&mut messages));
        assert!(!squeeze(&mut messages), "once is enough");
        assert_eq!(messages[2], result("y".repeat(9_000)));
    }
}
