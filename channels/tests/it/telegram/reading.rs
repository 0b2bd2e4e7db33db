//! Recorded updates and what becomes of them.

use channels::{Content, Inbound};
use fakes::telegram::Say;
use serde::Deserialize;
use serde_json::Value;

use super::bot::Bot;

/// What Telegram sent, and what a host gets of it.
#[derive(Deserialize)]
struct Case {
    name: String,
    kind: String,
    update: Value,
    event: Option<Value>,
}

/// Takes out what is not in the recording: the number of the update, and the time of a click, which Telegram does
/// not say.
fn comparable(event: &Inbound, update: Option<i64>) -> Value {
    let mut event = event.clone();
    if let Content::Click { .. } = event.content {
        event.sent_at_ms = 0;
    }
    if let (Content::Edit { .. }, Some(update)) = (&event.content, update) {
        event.event_id = event.event_id.replace(&update.to_string(), "UPDATE");
    }
    serde_json::to_value(event).expect("an event is JSON")
}

#[tokio::test]
async fn each_recorded_update_becomes_the_event_beside_it() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("payloads/updates.json")).expect("the table is JSON");
    let bot = Bot::new().await;
    let alice = bot.server.user("Sentinel");
    let chat = bot.server.private(alice);
    let _running = bot.receives().await;
    let mut wrong = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let before = bot.host.deliveries().len();
        let update = bot.server.raw_update(&case.kind, case.update.clone());
        let end = format!("end of case {number}");
        bot.server.say(chat, alice, Say::text(end.as_str()));
        bot.hears(&end).await;
        let came: Vec<Value> =
            bot.host.deliveries()[before..].iter().map(|event| comparable(event, Some(update))).collect();
        let expected: Vec<&Value> = case.event.iter().collect();
        let came: Vec<&Value> = came.iter().take(came.len() - 1).collect();
        if came != expected {
            wrong.push(format!("{}:\n  came     {came:?}\n  expected {expected:?}", case.name));
        }
    }
    assert!(cases.len() > 40, "the table has been read");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
