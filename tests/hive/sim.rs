//! Scenarios by chance: people, tools and faults in any order. Whatever happens, the invariants hold, and once the
//! faults have stopped everything comes to rest.

use std::path::Path;

use base::chance::Chance;
use libtest_mimic::{Failed, Trial};

use crate::world::Death;
use crate::{invariants, language, play};

/// So many hives, in blocks of [`BLOCK`]. More by hand: `SEEDS=5000 cargo test --test hive sim`.
const SEEDS: u64 = 100;
const BLOCK: u64 = 10;
/// Most runs that a failing script is shortened with.
const SHRINKS_MAX: usize = 120;

/// A trial for each block of seeds.
pub fn trials(seeds: Option<u64>) -> Vec<Trial> {
    let block = |first: u64| {
        Trial::test(format!("sim: seeds {first} to {}", first + BLOCK - 1), move || run_block(first..first + BLOCK))
    };
    (0..seeds.unwrap_or(SEEDS).div_ceil(BLOCK)).map(|number| block(number * BLOCK)).collect()
}

fn run_block(seeds: std::ops::Range<u64>) -> Result<(), Failed> {
    let mut seen = Seen::default();
    for seed in seeds {
        run(seed, &mut seen)?;
    }
    // Hives in which nothing happens would all be well.
    if seen.sent == 0 || seen.asked == 0 || seen.restarts == 0 {
        return Err(format!("too little has happened: {seen:?}").into());
    }
    Ok(())
}

/// What happened in a block of hives.
#[derive(Debug, Default)]
struct Seen {
    sent: usize,
    asked: usize,
    restarts: usize,
}

fn run(seed: u64, seen: &mut Seen) -> Result<(), Failed> {
    let (script, death) = (script(seed), death(seed));
    match faults(&script, death, seen) {
        None => Ok(()),
        Some(fault) => {
            let (script, fault) = shrunk(script, death, fault);
            let text = script.join("\n");
            Err(format!("seed {seed}, {death:?}: {fault}\nas a scenario:\n\n# …\n\n{text}\n").into())
        }
    }
}

/// What is wrong with how a script ends.
fn faults(script: &[String], death: Death, seen: &mut Seen) -> Option<String> {
    let text = script.join("\n") + "\n";
    let played = language::read(Path::new("sim.hive"), &text)
        .and_then(|scenario| play::play(&scenario, |world| world.death = death));
    match played {
        Err(why) => Some(why),
        Ok(mut played) => {
            seen.sent += crate::names::KINDS.map(|kind| played.world.memory(kind).outbox().len()).iter().sum::<usize>();
            seen.asked += played.world.stage.requests().len();
            seen.restarts += played.world.lives - 1;
            let mut faults = std::mem::take(&mut played.faults);
            faults.extend(invariants::broken(&mut played));
            let errors = played.logs.entries();
            // A token that is not accepted is an operator's matter, and says so.
            let ours = |entry: &&crate::logs::Entry| {
                entry.level == tracing::Level::ERROR && !entry.message.contains("does not accept the token")
            };
            faults.extend(errors.iter().filter(ours).map(|entry| format!("an error was logged: {}", entry.message)));
            (!faults.is_empty()).then(|| faults.join("\n"))
        }
    }
}

/// Leaves lines out for as long as it still fails.
fn shrunk(mut script: Vec<String>, death: Death, mut fault: String) -> (Vec<String>, String) {
    let mut runs = 0;
    let mut at = script.len();
    while at > 0 && runs < SHRINKS_MAX {
        at -= 1;
        let mut shorter = script.clone();
        shorter.remove(at);
        runs += 1;
        // A line that means nothing any more is another fault than the one that was found.
        if let Some(found) =
            faults(&shorter, death, &mut Seen::default()).filter(|found| !found.starts_with("sim.hive"))
        {
            (script, fault) = (shorter, found);
        }
    }
    (script, fault)
}

/// What kills the first process of a seed's hive, beside what its script says.
fn death(seed: u64) -> Death {
    let chance = Chance::seeded(!seed);
    match chance.below(3) {
        0 => Death::AfterCommits(1 + chance.below(60)),
        1 => Death::AfterDeliveries(1 + chance.below(15)),
        _ => Death::Scripted,
    }
}

/// The script of a seed.
fn script(seed: u64) -> Vec<String> {
    let chance = Chance::seeded(seed);
    let mut lines = vec![format!("improvise {seed}"), "admins discord/root telegram/boss".to_owned()];
    lines.extend(
        ["trust discord/alice", "trust telegram/bob", "trust discord/carol in discord/general"].map(str::to_owned),
    );
    if chance.below(2) == 0 {
        lines.push("classifier".to_owned());
    }
    if chance.below(3) == 0 {
        lines.push("model fallback=spare window=20000 output=500".to_owned());
    }
    let during = ["inject", "queue", "interrupt"][below(&chance, 3)];
    lines.extend(["config".to_owned(), "  topics:".to_owned(), format!("    during_turn: {during}")]);
    if chance.below(3) == 0 {
        lines.extend(["  outbox:".to_owned(), "    ambiguous: report".to_owned()]);
    }
    // Somebody whom every admin is asked about, so that there are buttons to press.
    lines.extend([String::new(), "discord/@eve> hello".to_owned(), String::new()]);
    for _ in 0..12 + chance.below(20) {
        lines.extend(step(&chance));
    }
    lines.push(String::new());
    lines
}

fn below(chance: &Chance, bound: usize) -> usize {
    usize::try_from(chance.below(bound as u64)).expect("it is below a usize")
}

/// Somebody does something, something fails, or time passes.
fn step(chance: &Chance) -> Vec<String> {
    let people = [
        "discord/@alice>",
        "discord/general alice mention>",
        "discord/general carol mention>",
        "discord/general/thread alice>",
        "discord/general eve mention>",
        "telegram/@bob>",
        "telegram/group bob mention>",
        "telegram/forum/plans bob>",
        "telegram/@eve>",
        "console/local>",
    ];
    let who = people[below(chance, people.len())];
    let number = chance.below(1_000);
    match chance.below(25) {
        0..=9 => vec![format!("{who} message {number}")],
        10 => vec![format!("{who} /{}", COMMANDS[below(chance, COMMANDS.len())])],
        11 => vec![format!("{who} #1 about {number}")],
        12 => vec![format!("{} again", who.replace('>', " id=m1>"))],
        13 => vec![format!("{} changed {number}", who.replace('>', &format!(" edit=m{}>", 1 + chance.below(12))))],
        14 => vec![format!("discord/@root> /{}", ADMINS[below(chance, ADMINS.len())])],
        15 => vec![send_fault(chance)],
        16 => vec!["crash".to_owned(), format!("restart after={}s", 1 + chance.below(300))],
        17 => vec!["stop".to_owned(), "restart".to_owned()],
        18 => vec![format!("{who} /stop")],
        20 => vec![format!(
            "{} clicks {}",
            ["discord/@root", "telegram/@boss"][below(chance, 2)],
            ["Trust", "Deny"][below(chance, 2)]
        )],
        19 => vec![format!("wait {}m", 1 + chance.below(90))],
        _ => vec![format!("wait {}s", 1 + chance.below(30))],
    }
}

const COMMANDS: &[&str] = &[
    "topics",
    "topic new",
    "topic new Something",
    "topic switch 1",
    "topic switch auto",
    "topic close",
    "status",
    "usage",
    "help",
    "whoami",
    "topic rename 1 Another",
    "trust list",
    "pair WRONG123",
];

const ADMINS: &[&str] = &[
    "trust add {eve}",
    "trust deny {eve}",
    "trust revoke {eve}",
    "trust add {carol} expires=1h",
    "trust add telegram:{eve}",
    "trust revoke telegram:{bob}",
    "trust add telegram:{bob}",
    "trust list",
    "status",
    "usage",
];

fn send_fault(chance: &Chance) -> String {
    let places = [
        "discord/@alice",
        "discord/general",
        "discord/general/thread",
        "telegram/@bob",
        "telegram/group",
        "discord",
        "telegram",
    ];
    let whole = places[below(chance, places.len())];
    let kinds = if whole.contains('/') { 9 } else { 5 };
    let fault = match below(chance, kinds) {
        0 => format!("429 after={}s", 1 + chance.below(40)),
        1 => format!("500 x{}", 1 + chance.below(4)),
        2 => "401".to_owned(),
        3 => "forbidden".to_owned(),
        4 => "gone-message".to_owned(),
        5 => "ambiguous".to_owned(),
        6 => "ambiguous out".to_owned(),
        7 => "interaction".to_owned(),
        _ => "gone".to_owned(),
    };
    format!("fail {whole} send {fault}")
}
