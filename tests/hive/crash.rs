//! Every crash-safe scenario, killed after each of its commits, and after each of its deliveries before that is noted:
//! whatever moment it is, people see the same in the end and the rows say the same.
//!
//! What a turn has handed to another session is not done again after a crash: whoever asked is told that nobody knows what
//! came of it. Such a scenario is crash-lawful: it may end in other words, but in an order that all laws hold of.

use std::path::Path;

use channels::Kind;
use libtest_mimic::{Failed, Trial};

use crate::language::{Means, Question, Scenario};
use crate::names::KINDS;
use crate::play::{self, Played};
use crate::scenarios;
use crate::stage::Memory;
use crate::world::Death;
use crate::{invariants, show};

/// What stands before a text that may be there twice, on platforms that cannot tell.
const MARK: &str = "↻ (this may be a repeat) ";
/// No scenario of ours has so many commits or deliveries.
const DEATHS_MAX: u64 = 500;

/// What a scenario ends in.
#[derive(Debug, PartialEq)]
struct End {
    /// The bot's messages that people see, by place, in their order.
    shown: Vec<(String, Vec<String>)>,
    /// The scenario's own questions about rows, with their answers; and the ones that all are asked.
    facts: Vec<(String, Vec<Vec<String>>)>,
}

/// What every scenario is asked beside its own facts. Nothing about attempts, which a crash may add to.
const FACTS: &[&str] = &[
    "SELECT conversation, event_id, sender, state FROM inbox ORDER BY conversation, id",
    "SELECT name, state, named_by FROM topics ORDER BY id",
    "SELECT topic, role, content FROM journal ORDER BY topic, id",
    "SELECT tool, arguments, state, is_error, result FROM tool_calls ORDER BY id",
    "SELECT sender_id, channel_id, trust_level, admin, granted_by FROM sender_trust ORDER BY id",
    "SELECT sender, settled_by FROM strangers ORDER BY id",
    "SELECT stream, value FROM cursors ORDER BY stream",
];

/// A trial for each crash-safe and each crash-lawful scenario.
pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (name, path) in scenarios::files() {
        let Ok((scenario, _)) = scenarios::load(&path) else { continue };
        if scenario.is_crash_safe() || scenario.is_crash_lawful() {
            trials.push(Trial::test(format!("crash: {name}"), move || run(&path)));
        }
    }
    trials
}

fn run(path: &Path) -> Result<(), Failed> {
    let (scenario, _) = scenarios::load(path)?;
    let mut whole = play::play(&scenario, |_| ())?;
    let memory = whole.world.stage.memory();
    let expected = if scenario.is_crash_safe() { Some(end(&scenario, &mut whole)?) } else { None };
    for what in ["commit", "delivery"] {
        for count in 1..=DEATHS_MAX {
            let told = |why: String| format!("killed after {what} {count}: {why}");
            let death = if what == "commit" { Death::AfterCommits(count) } else { Death::AfterDeliveries(count) };
            let (died, faults) = run_killed(&scenario, death, &memory, expected.as_ref()).map_err(told)?;
            if let Some(fault) = faults.first() {
                return Err(told(fault.clone()).into());
            }
            match (died, count) {
                (false, 1) => return Err(format!("it has no {what} to be killed after").into()),
                (false, _) => break,
                (true, DEATHS_MAX) => return Err(format!("it still dies after {what} {count}").into()),
                (true, _) => {}
            }
        }
    }
    Ok(())
}

/// Whether it died, and what is wrong with how it ended: against `expected`, or against the laws alone.
fn run_killed(
    scenario: &Scenario,
    death: Death,
    memory: &Memory,
    expected: Option<&End>,
) -> Result<(bool, Vec<String>), String> {
    let mut played = play::play(scenario, |world| {
        world.death = death;
        world.stage.recall(memory.clone());
    })?;
    let mut faults = invariants::broken(&mut played);
    let Some(expected) = expected else { return Ok((played.world.lives > 1, faults)) };
    let found = end(scenario, &mut played)?;
    faults.append(&mut played.faults);
    if found != *expected {
        let text = |end: &End| format!("{end:#?}");
        faults.push(format!("it ends otherwise\n{}", scenarios::difference(&text(expected), &text(&found))));
    }
    Ok((played.world.lives > 1, faults))
}

fn end(scenario: &Scenario, played: &mut Played) -> Result<End, String> {
    let mut shown = Vec::new();
    for kind in KINDS {
        let memory = played.world.memory(kind).clone();
        for place in memory.conversations() {
            let texts = show::shown(&played.world.names, kind, &memory.shown(&place));
            shown.push((place.to_string(), if kind == Kind::Discord { texts } else { unmarked(texts) }));
        }
    }
    let own = scenario.lines.iter().filter_map(|line| match &line.means {
        Means::Asks(Question::Facts(sql)) => Some(sql.as_str()),
        _ => None,
    });
    let questions: Vec<String> = own.chain(FACTS.iter().copied()).map(str::to_owned).collect();
    let mut facts = Vec::new();
    for sql in questions {
        let meant = played.world.names.with_ids(&sql, None)?;
        facts.push((sql, played.world.rows().of(&meant)?));
    }
    Ok(End { shown, facts })
}

/// Where a platform cannot tell whether a message arrived, a marked repeat of it is allowed: one of the two counts.
/// So is the beginning of a text that was being written when its process died: the whole text follows.
fn unmarked(texts: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for text in texts {
        let plain = text.replacen(MARK, "", 1);
        let begun = |last: &String| last.strip_suffix('…').is_some_and(|begun| plain.starts_with(begun));
        if plain != text && kept.last() == Some(&plain) {
            continue;
        }
        if kept.last().is_some_and(begun) {
            kept.pop();
        }
        kept.push(plain);
    }
    kept
}
