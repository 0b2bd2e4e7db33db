//! More conversations at once than turns may run: those that wait for a person leave their places to the others.

use std::fmt::Write as _;
use std::path::Path;

use channels::{Action, Kind};
use libtest_mimic::{Failed, Trial};

use crate::{invariants, language, play};

/// As many as may be at work at once.
const CROWD: usize = 64;
/// How long the model takes until it asks a person, and how long everything else may take, in milliseconds.
const ASKS_AFTER_MS: i64 = 3_000;
const SLACK_MS: i64 = 2_000;

/// The trials.
pub fn trials() -> Vec<Trial> {
    vec![Trial::test("crowd: turns that wait for people leave their places to others", run)]
}

fn run() -> Result<(), Failed> {
    let scenario = language::read(Path::new("crowd"), &text())?;
    let mut played = play::play(&scenario, |_| ())?;
    let mut faults = std::mem::take(&mut played.faults);
    faults.extend(invariants::broken(&mut played));
    if let Some(fault) = faults.first() {
        return Err(fault.clone().into());
    }
    let sent = played.world.memory(Kind::Discord).outbox();
    let says = |out: &Action, text: &str| matches!(out, Action::Send(piece) if piece.text.contains(text));
    let asked: Vec<i64> = sent.iter().filter(|sent| says(&sent.out.action, "Which?")).map(|sent| sent.at_ms).collect();
    let answered = sent.iter().find(|sent| says(&sent.out.action, "pong")).ok_or("nobody answered")?;
    if asked.len() != CROWD {
        return Err(format!("{} were asked", asked.len()).into());
    }
    let waited_ms = answered.at_ms - asked.iter().min().expect("somebody was asked");
    if waited_ms > SLACK_MS {
        return Err(format!("the answer came {waited_ms} ms after places became free").into());
    }
    Ok(())
}

/// All ask their person something at the same moment, and one more has come shortly before.
fn text() -> String {
    let mut text = "trust discord/alice\n\n".to_owned();
    for number in 0..CROWD {
        writeln!(text, "discord/room-{number} alice mention> go").expect("a text takes everything");
        let asks = r#"prompt_human {"prompt_type": "confirm", "question": "Which?"}"#;
        writeln!(text, "main: {ASKS_AFTER_MS}ms {asks}").expect("a text takes everything");
    }
    text.push_str("wait 1s\ndiscord/@alice> ping\nmain: \"pong\"\n");
    text.push_str(&"main: \"So be it.\"\n".repeat(CROWD));
    text
}
