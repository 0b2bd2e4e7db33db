//! What a model says when nobody wrote its part: by chance, and the same from the same seed.

use std::time::Duration;

use base::chance::Chance;
use llm::script::Turn;
use llm::{Class, ModelError};
use serde_json::json;

/// A turn by chance: mostly words, at times tools with good and bad arguments, at times a fault.
pub fn turn(chance: &Chance, agent: &str) -> Turn {
    if agent == "classifier" {
        return judgement(chance);
    }
    let number = chance.below(1_000);
    match chance.below(20) {
        0 => Turn::say(format!("Let me look. {number}")).and_call("list", json!({ "path": "." })),
        1 => Turn::call("list_topics", json!({})).and_call("read", json!({ "path": format!("{number}.md") })),
        2 => Turn::call("no_such_tool", json!({ "number": number })),
        3 => Turn::empty().and_broken_call("read", "{\"path\":"),
        4 => Turn::call("list_trusted_senders", json!({})),
        5 => Turn::empty(),
        6 => Turn::fail(fault(chance)),
        7 => Turn::say(format!("Half of {number}")).then_cut(),
        8 => Turn::say("One moment: ").and_wait(Duration::from_secs(chance.below(20))).and_say(format!("{number}.")),
        10 => Turn::call("scout", json!({ "task_description": format!("Look at {number}.") })),
        9 => Turn::say(format!("# {number}\n\n{}", "A line of a long answer.\n\n".repeat(120))),
        _ => Turn::say(format!("Answer {number}.")),
    }
}

fn judgement(chance: &Chance) -> Turn {
    match chance.below(6) {
        0 => Turn::say(json!({ "new": format!("Subject {}", chance.below(9)) }).to_string()),
        1 => Turn::say("I cannot tell."),
        2 => Turn::fail(fault(chance)),
        3 => Turn::say(json!({ "unsure": true }).to_string()).and_wait(Duration::from_secs(chance.below(40))),
        _ => Turn::say(json!({ "topic": 1 + chance.below(4) }).to_string()),
    }
}

fn fault(chance: &Chance) -> ModelError {
    let retry_after = Some(Duration::from_secs(1 + chance.below(5)));
    let class = match chance.below(7) {
        0 => Class::Auth,
        1 => Class::RateLimited { retry_after },
        2 => Class::Overloaded { retry_after: None },
        3 => Class::Transient,
        4 => Class::Silent,
        5 => Class::ContextTooLong,
        _ => Class::Refused,
    };
    ModelError::new(class, "improvised")
}
