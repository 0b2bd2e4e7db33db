//! What holds at the end of every trial, whatever it was about.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use channels::Action;
use channels::memory::Outcome;
use llm::{Block, Request, Role, System, ToolDef};

use crate::names::KINDS;
use crate::play::Played;

/// Everything that is broken.
pub fn broken(played: &mut Played) -> Vec<String> {
    let mut broken = Vec::new();
    // A scenario may end without a process, in the middle of things; then only the file itself can be looked at.
    if played.world.lives == 0 {
        return broken;
    }
    let at_rest = played.world.is_alive() && !played.world.is_dying();
    broken.extend(rows(played, ALWAYS));
    if at_rest {
        broken.extend(rows(played, AT_REST));
        broken.extend(unanswered_calls(played));
        broken.extend(played.world.busy_gates().into_iter().map(|gate| format!("a gate is not free: {gate}")));
    }
    broken.extend(requests(played));
    let own_tools = played.world.chooses_tools() || played.world.has_subagents();
    let tools_change = own_tools || !rows(played, TOOLS_OF_ITS_OWN).is_empty();
    broken.extend(fixed_part(played, tools_change));
    broken.extend(leaks(played));
    broken.extend(order(played));
    broken
}

/// What every row is, by a query for those that are not so.
const ALWAYS: &[(&str, &str)] = &[
    ("two tasks of one lane run", "SELECT lane FROM tasks WHERE state = 'running' GROUP BY lane HAVING count(*) > 1"),
    ("a reference leads nowhere", "SELECT \"table\", rowid, parent FROM pragma_foreign_key_check"),
    ("the database is damaged", "SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'"),
    ("a message was taken and is in no turn", "SELECT id FROM inbox WHERE state = 'taken' AND run IS NULL"),
    (
        "a tool call has ended and is not in the audit log",
        "SELECT c.id, c.tool FROM tool_calls c WHERE c.state <> 'started' AND NOT EXISTS (SELECT 1 FROM audit a
           WHERE a.run = c.run AND a.step = c.step AND a.call_id = c.call_id)",
    ),
    (
        "a secret that was put aside for a call has outlived its turn",
        "SELECT v.team, v.key FROM team_vault v WHERE v.is_secret = 1 AND v.key LIKE 'handed/%' AND NOT EXISTS
           (SELECT 1 FROM runs r WHERE r.state = 'running' AND v.key LIKE 'handed/' || r.id || '/%')",
    ),
    ("what was given up has no reason", "SELECT id FROM outbox WHERE state IN ('dead', 'ambiguous') AND note = ''"),
    (
        "text of a sender who is not trusted is in a journal",
        "SELECT id FROM inbox WHERE state IN ('held', 'denied') AND (topic IS NOT NULL OR run IS NOT NULL)",
    ),
];

/// What holds of a hive that has nothing left to do.
const AT_REST: &[(&str, &str)] = &[
    ("a message waits", "SELECT id, state FROM inbox WHERE state IN ('received', 'placed')"),
    ("a task is open", "SELECT id, state FROM tasks WHERE state IN ('queued', 'running')"),
    ("something is not sent", "SELECT id, state FROM outbox WHERE state IN ('draft', 'due', 'sending')"),
    ("a tool call has no result", "SELECT id, tool FROM tool_calls WHERE state = 'started'"),
    (
        "a team's result has reached nobody who waits for it",
        "SELECT t.id FROM tasks t WHERE t.kind = 'delegate' AND t.state IN ('done', 'failed') AND t.giver = 'main'
           AND t.topic IS NOT NULL AND NOT EXISTS (SELECT 1 FROM notes n
             WHERE n.topic = t.topic AND n.writer = t.team AND n.text LIKE 'Task ' || t.id || ' %' AND n.run IS NOT NULL)",
    ),
    ("a turn is open", "SELECT id FROM runs WHERE state = 'running'"),
    (
        "a delegation was opened and not closed once",
        "SELECT o.id FROM events o WHERE o.kind = 'delegation_opened' AND 1 <> (SELECT count(*) FROM events c
             WHERE c.run = o.run AND c.kind = 'delegation_closed' AND c.id > o.id
               AND c.body ->> '$.step' = o.body ->> '$.step' AND c.body ->> '$.call_id' = o.body ->> '$.call_id'
               AND c.body ->> '$.at' = o.body ->> '$.at'
               AND NOT EXISTS (SELECT 1 FROM events a WHERE a.run = o.run AND a.kind = 'delegation_opened'
                 AND a.id > o.id AND a.id < c.id AND a.body ->> '$.step' = o.body ->> '$.step'
                 AND a.body ->> '$.call_id' = o.body ->> '$.call_id' AND a.body ->> '$.at' = o.body ->> '$.at'))",
    ),
    (
        // What people are asked about a task outlives the turn on purpose.
        "a question is open whose turn is over",
        "SELECT q.id, q.tool FROM questions q JOIN runs r ON r.id = q.run
         WHERE q.outcome IS NULL AND r.state <> 'running' AND q.tool <> 'delegate_task'",
    ),
    (
        "a turn ended without a word to whoever asked",
        "SELECT r.id, r.note FROM runs r JOIN tasks t ON t.id = r.task WHERE t.conversation IS NOT NULL
           AND r.note NOT LIKE 'stopped: Message%' AND r.note NOT LIKE 'stopped: Replaced%' AND r.note <> 'nothing to say'
           AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.run = r.id)",
    ),
    (
        "a settled question still has a notice with buttons",
        "SELECT s.id FROM strangers s JOIN stranger_notices n ON n.stranger = s.id WHERE s.settled_at IS NOT NULL",
    ),
    (
        "more topics are active than may be",
        "SELECT conversation FROM topics WHERE state = 'active' GROUP BY conversation HAVING count(*) > 50",
    ),
];

fn rows(played: &mut Played, laws: &[(&str, &str)]) -> Vec<String> {
    let mut broken = Vec::new();
    for (law, sql) in laws {
        let found = played.world.rows().of(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        broken.extend(found.iter().map(|row| format!("{law}: {}", row.join(" | "))));
    }
    broken
}

/// Every tool call in a journal has its row, unless a person stopped the turn before it was made, or the turn was given up.
fn unanswered_calls(played: &mut Played) -> Vec<String> {
    let sql = "SELECT j.run, j.step, j.content FROM journal j JOIN runs r ON r.id = j.run
               WHERE j.role = 'assistant' AND r.state <> 'stopped' AND j.content LIKE '%tool_use%'
                 AND r.note <> 'begun several times without an end'";
    let answers = played.world.rows().of(sql).expect("the query is right");
    let sql = "SELECT run || '/' || step || '/' || call_id FROM tool_calls";
    let known: BTreeSet<String> =
        played.world.rows().of(sql).expect("the query is right").into_iter().flatten().collect();
    let mut broken = Vec::new();
    for row in answers {
        let blocks: Vec<Block> = serde_json::from_str(&row[2]).expect("a journal holds blocks");
        for call in blocks.iter().filter_map(Block::as_tool_use) {
            let key = format!("{}/{}/{}", row[0], row[1], call.id);
            if !known.contains(&key) {
                broken.push(format!("the call {key} of `{}` has no row", call.name));
            }
        }
    }
    broken
}

/// Every request: what is asked of tools is answered right behind it, once, and people speak last.
fn requests(played: &Played) -> Vec<String> {
    let mut broken = Vec::new();
    for (at, (agent, request)) in played.world.stage.requests().iter().enumerate() {
        let told = |why: String| format!("request {} of `{agent}`: {why}", at + 1);
        broken.extend(well_formed(request).into_iter().map(told));
    }
    broken
}

fn well_formed(request: &Request) -> Vec<String> {
    let mut broken = Vec::new();
    let Some(last) = request.messages.last() else { return vec!["it has no message".to_owned()] };
    if last.role != Role::User {
        broken.push("its last word is not a person's or a tool's".to_owned());
    }
    if request.messages[0].role != Role::User {
        broken.push("it begins with the model's own words".to_owned());
    }
    for (at, message) in request.messages.iter().enumerate() {
        let next = request.messages.get(at + 1).map_or(&[][..], |next| &next.content);
        let results =
            |id: &str| next.iter().filter(|b| matches!(b, Block::ToolResult { id: of, .. } if of == id)).count();
        for call in message.content.iter().filter_map(Block::as_tool_use) {
            // A turn that a person stopped may end with calls that were never made.
            if results(&call.id) > 1 {
                broken.push(format!("the call `{}` has {} results", call.id, results(&call.id)));
            }
        }
        let before = at.checked_sub(1).map_or(&[][..], |before| &request.messages[before].content);
        for block in &message.content {
            if let Block::ToolResult { id, .. } = block
                && !before.iter().filter_map(Block::as_tool_use).any(|call| call.id == *id)
            {
                broken.push(format!("the result `{id}` stands behind no call"));
            }
        }
    }
    broken
}

/// The fixed part of the first trial of this process that had one.
static FIXED: OnceLock<(Option<System>, Vec<ToolDef>)> = OnceLock::new();

/// A hive whose owner has granted tools shows others than the rest, from then on.
const TOOLS_OF_ITS_OWN: &[(&str, &str)] = &[
    ("a tool was granted", "SELECT tool FROM tool_grants"),
    // Whom work can be given to is part of the tools' schemas.
    ("a team was made", "SELECT id FROM audit WHERE tool = 'spawn_team'"),
    ("there are teams", "SELECT name FROM teams WHERE parent IS NOT NULL"),
];

/// The fixed part of the main agent's prompt, and its tools, are the same bytes in every request of every hive.
fn fixed_part(played: &Played, tools_change: bool) -> Vec<String> {
    let requests = played.world.stage.requests_of("main");
    let turns: Vec<&Request> = requests.iter().filter(|request| !request.tools.is_empty()).collect();
    let Some(first) = turns.first() else { return Vec::new() };
    let tools = |request: &Request| if tools_change { Vec::new() } else { request.tools.to_vec() };
    let fixed = |request: &Request| (request.system.first().cloned(), tools(request));
    let differs = |request: &&&Request| fixed(request) != fixed(first);
    let mut broken: Vec<String> =
        turns.iter().filter(differs).map(|_| "the fixed part of the prompt has changed".to_owned()).collect();
    if first.system.first().is_none_or(|part| !part.cached) {
        broken.push("the fixed part of the prompt is not marked for caching".to_owned());
    }
    // The owner's rules are the only thing that one hive's fixed part may have and another's not.
    if !tools_change && !played.world.has_rules() && *FIXED.get_or_init(|| fixed(first)) != fixed(first) {
        broken.push("the fixed part of the prompt is not that of the other trials".to_owned());
    }
    broken
}

/// So much of a secret is too much of it.
const SECRET_CHARS: usize = 8;

/// No value that is known to be secret leaves the hive, or stays in what it writes.
fn leaks(played: &mut Played) -> Vec<String> {
    // The beginning of a secret is one as well.
    let begins = |secret: &String| secret.chars().take(SECRET_CHARS).collect();
    let secrets: Vec<String> = played.world.secrets().iter().map(begins).collect();
    let mut broken = Vec::new();
    for secret in &secrets {
        let mut told = |place: &str| broken.push(format!("a secret is in {place}"));
        for kind in KINDS {
            if played.world.memory(kind).outbox().iter().any(|sent| format!("{sent:?}").contains(secret.as_str())) {
                told(&format!("what goes out to {kind}"));
            }
        }
        let logged = played.logs.entries();
        if logged.iter().any(|entry| entry.message.contains(secret.as_str()) || entry.fields.contains(secret.as_str()))
        {
            told("the log");
        }
        let sql = format!("SELECT 1 FROM tool_calls WHERE instr(result || arguments, '{secret}') > 0");
        if !played.world.rows().of(&sql).expect("the query is right").is_empty() {
            told("a tool call's row");
        }
    }
    broken
}

/// In each place people see messages in the order in which they were put into the outbox. Drafts and boards are apart:
/// drafts are shown while others wait, boards let others go first.
fn order(played: &mut Played) -> Vec<String> {
    let sql = "SELECT target FROM outbox WHERE target IS NOT NULL UNION SELECT message FROM boards";
    let drafts: BTreeSet<String> =
        played.world.rows().of(sql).expect("the query is right").into_iter().flatten().collect();
    let mut broken = Vec::new();
    for kind in KINDS {
        let mut last = std::collections::BTreeMap::new();
        for sent in played.world.memory(kind).outbox() {
            let (Action::Send(_), Outcome::Done(_)) = (&sent.out.action, &sent.outcome) else { continue };
            let Some(id) = sent.out.key.rsplit('-').next() else { continue };
            let number: i64 = id.parse().unwrap_or_default();
            if drafts.contains(id) {
                continue;
            }
            let before = last.insert(sent.out.conversation.clone(), number);
            if before.is_some_and(|before| before > number) {
                broken.push(format!("message {number} came after {before:?} in {}", sent.out.conversation));
            }
        }
    }
    broken
}
