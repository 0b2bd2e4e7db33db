//! What of its memory a team's prompt carries.
//!
//! Everything of the four types that fits, in blocks; what does not fit is chosen by how well it answers what is being
//! talked about and by how new it is, and the model is told that there is more.

use std::collections::HashMap;

use anyhow::Result;
use base::{Moment, TeamName};
use llm::tokens;
use store::Conn;
use store::memory::{self, Entry};

use super::search::{Question, freshness, ranked};
use super::{Kind, Library};

/// The line above all blocks.
const HEADER: &str = "--- Memory ---";
/// How many entries are looked at, the newest ones.
const ENTRIES_MAX: u32 = 500;
/// How many entries that answer are asked for.
const ANSWERS_MAX: usize = 100;
/// No entry takes more than this share of the budget while others wait.
const SHARE_MAX: u64 = 4;
/// The smallest rest of an entry that says something, in characters.
const CUT_CHARS_MIN: usize = 40;
/// What the team is comes first, then what answers; being new decides the rest.
const IDENTITY: f32 = 2.0;
const NEW: f32 = 0.3;

/// The memory part of a prompt, of at most `budget_tokens` as `llm::tokens` estimates them; empty where there is
/// nothing to say or no room to say it.
pub async fn inject(
    conn: &mut Conn,
    library: &Library,
    team: &TeamName,
    question: &Question,
    budget_tokens: u64,
    now: Moment,
) -> Result<String> {
    let mut entries = Vec::new();
    for kind in Kind::IN_PROMPTS {
        for entry in memory::list(conn, team, Some(kind.as_str()), ENTRIES_MAX).await? {
            entries.push((kind, entry));
        }
    }
    if entries.is_empty() {
        return Ok(String::new());
    }
    let (answers, _) = ranked(conn, library, team, question, ANSWERS_MAX, now).await?;
    let answers: HashMap<i64, f32> = answers.into_iter().map(|(found, score)| (found.memory, score)).collect();
    let value = |(kind, entry): &(Kind, Entry)| {
        let identity = if *kind == Kind::Identity { IDENTITY } else { 0.0 };
        let new = NEW * freshness(Kind::Context, entry.updated_at, now);
        identity + answers.get(&entry.id).copied().unwrap_or(0.0) + new
    };
    entries.sort_by(|a, b| value(b).total_cmp(&value(a)).then(b.1.id.cmp(&a.1.id)));
    Ok(blocks(&entries, budget_tokens))
}

/// The blocks of what fits; `entries` are sorted by their worth.
fn blocks(entries: &[(Kind, Entry)], budget_tokens: u64) -> String {
    let line = |entry: &Entry| format!("  [{}]: {}\n", one_line(&entry.key), indented(&entry.content));
    let whole: u64 = entries.iter().map(|(_, entry)| tokens::of_text(&line(entry))).sum();
    let frame = tokens::of_text(HEADER) + 1 + Kind::IN_PROMPTS.iter().map(|kind| heading_tokens(*kind)).sum::<u64>();
    let mut left = budget_tokens.saturating_sub(frame);
    let all_fit = whole <= left;
    if !all_fit {
        left = left.saturating_sub(tokens::of_text(&more(entries.len())));
    }
    let share = if all_fit { left } else { left / SHARE_MAX };
    let mut shown: Vec<(Kind, &Entry, String)> = Vec::new();
    for (kind, entry) in entries {
        let Some(text) = fitting(line(entry), share.min(left)) else { continue };
        left -= tokens::of_text(&text).min(left);
        shown.push((*kind, entry, text));
    }
    if shown.is_empty() {
        return String::new();
    }
    // In the order of the entries' age: what is said does not jump about from one prompt to the next.
    shown.sort_by_key(|(kind, entry, _)| (*kind, std::cmp::Reverse((entry.updated_at, entry.id))));
    let mut out = format!("{HEADER}\n");
    for block in shown.chunk_by(|(a, ..), (b, ..)| a == b) {
        out.push_str(&heading(block[0].0));
        out.extend(block.iter().map(|(.., text)| text.as_str()));
    }
    if shown.len() < entries.len() {
        out.push_str(&more(entries.len() - shown.len()));
    }
    out.truncate(out.trim_end().len());
    out
}

fn heading(kind: Kind) -> String {
    format!("[{}]\n", kind.as_str().to_uppercase())
}

fn heading_tokens(kind: Kind) -> u64 {
    tokens::of_text(&heading(kind))
}

fn more(count: usize) -> String {
    format!("({count} more not shown here; `memory_search` finds them)\n")
}

/// The line, cut to what fits; `None` where too little of it would be left to say something.
fn fitting(line: String, tokens_max: u64) -> Option<String> {
    if tokens::of_text(&line) <= tokens_max {
        return Some(line);
    }
    let (mut fits, mut too_long) = (0, line.chars().count());
    let cut = |chars: usize| format!("{}\n", base::text::cut(&line, chars));
    while fits + 1 < too_long {
        let middle = usize::midpoint(fits, too_long);
        if tokens::of_text(&cut(middle)) <= tokens_max { fits = middle } else { too_long = middle }
    }
    let key_ends = line.find("]: ").map_or(0, |at| line[..at].chars().count());
    (fits >= key_ends + CUT_CHARS_MIN).then(|| cut(fits))
}

/// Content stays inside its entry: a line of it cannot look like a heading.
fn indented(content: &str) -> String {
    content.trim().replace("\r\n", "\n").replace(['\n', '\r'], "\n    ")
}

fn one_line(key: &str) -> String {
    key.split_whitespace().collect::<Vec<_>>().join(" ")
}
