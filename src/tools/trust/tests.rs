//! The trust tools as a model calls them. What a change does to rows is tested where it is made.

use std::collections::BTreeSet;
use std::sync::Arc;

use channels::{Kind, SenderId};
use org::trust::Policy;
use serde_json::{Value, json};
use store::trust::{self, Level};

use crate::testing::{World, asked};
use crate::{Call, Grant};

async fn told(world: &World, tool: &str, input: Value) -> Value {
    let done = world.ask(tool, input).await;
    assert!(!done.is_error, "{}", done.content);
    serde_json::from_str(&done.content).unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_admin_trusts_denies_lists_and_revokes() {
    let world = World::new().await;
    let yes = json!({"success": true});
    let alice = json!({"channel_type": "telegram", "sender_id": "42"});
    let here = json!({"channel_type": "telegram", "sender_id": "telegram:42", "channel_id": "-100"});
    let bob = json!({"channel_type": "discord", "sender_id": "7", "trust_level": "denied"});
    for input in [&alice, &here, &bob] {
        assert_eq!(told(&world, "add_trusted_sender", input.clone()).await, yes, "{input}");
    }
    let at = "2026-11-21 20:03 UTC";
    let row = |kind: &str, sender: &str, level: &str| {
        json!({
            "channelType": kind, "senderId": sender, "trustLevel": level, "admin": false,
            "grantedBy": "telegram:1", "createdAt": at,
        })
    };
    let mut in_one_place = row("telegram", "42", "trusted");
    in_one_place["channelId"] = json!("-100");
    let all = json!([row("discord", "7", "denied"), row("telegram", "42", "trusted"), in_one_place]);
    assert_eq!(told(&world, "list_trusted_senders", json!({})).await, json!({"success": true, "senders": all}));
    for (filter, count) in [
        (json!({"channel_type": "telegram"}), 2),
        (json!({"trust_level": "denied"}), 1),
        (json!({"channel_type": "web", "trust_level": "trusted"}), 0),
    ] {
        let listed = told(&world, "list_trusted_senders", filter.clone()).await;
        assert_eq!(listed["senders"].as_array().map(Vec::len), Some(count), "{filter}");
    }

    assert_eq!(told(&world, "revoke_sender_trust", here.clone()).await, yes);
    let reason = "nothing was said about telegram:42 in telegram:-100, only everywhere";
    assert_eq!(told(&world, "revoke_sender_trust", here).await, json!({"success": false, "reason": reason}));
    let rows = world.db.read(async |conn| trust::list(conn, None, None).await).await.unwrap();
    let left: Vec<_> = rows.iter().map(|row| (row.sender.to_string(), row.level)).collect();
    assert_eq!(left, [("discord:7".to_owned(), Level::Denied), ("telegram:42".to_owned(), Level::Trusted)]);
    let log = world.db.read(async |conn| trust::log_latest(conn, true, 9).await).await.unwrap();
    let log: Vec<_> = log.iter().map(|entry| (entry.decision.as_str(), entry.reason.as_str())).collect();
    assert_eq!(log, [("revoked", "tool"), ("denied", "tool"), ("trusted", "tool"), ("trusted", "tool")]);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_changed_is_told_with_the_reason() {
    let world = World::new().await;
    for (input, reason) in [
        (
            json!({"channel_type": "telegram", "sender_id": "@alice"}),
            "sender_id: `@alice` is not a Telegram user id: digits such as `123456789`",
        ),
        (
            json!({"channel_type": "discord", "sender_id": "4", "channel_id": "general"}),
            "channel_id: `general` is not a Discord channel id: digits such as `123456789012345678`",
        ),
        (
            json!({"channel_type": "telegram", "sender_id": "1", "trust_level": "denied"}),
            "that would take the right to speak from yourself: ask another admin, or use the command line",
        ),
        (
            json!({"channel_type": "console", "sender_id": "local", "trust_level": "denied"}),
            "the terminal is always trusted: whoever runs the hive sits there",
        ),
    ] {
        let expected = json!({"success": false, "reason": reason});
        assert_eq!(told(&world, "add_trusted_sender", input).await, expected);
    }
    for (input, text) in [
        (
            json!({"channel_type": "irc", "sender_id": "4"}),
            "bad arguments: unknown variant `irc`, expected one of `discord`, `telegram`, `console`, `web`",
        ),
        (
            json!({"channel_type": "web", "sender_id": "4", "trust_level": "admin"}),
            "bad arguments: unknown variant `admin`, expected `trusted` or `denied`",
        ),
    ] {
        let done = world.ask("add_trusted_sender", input).await;
        assert_eq!((done.content.as_str(), done.is_error), (text, true));
    }
    let rows = world.db.read(async |conn| trust::list(conn, None, None).await).await.unwrap();
    assert!(rows.is_empty());
}

#[tokio::test(start_paused = true)]
async fn only_a_turn_that_an_admin_caused_changes_trust() {
    let world = World::new().await;
    let boss = SenderId::new(Kind::Discord, 9);
    let policy = Policy { admins: BTreeSet::from([boss]), ..Policy::default() };
    let executor = world.executor_of(world.catalogue(policy));
    let denial = json!({"channel_type": "discord", "sender_id": "9", "trust_level": "denied"});
    let someone = json!({"channel_type": "discord", "sender_id": "9"});
    let anyone = Call { grant: Arc::new(Grant::main(false)), ..world.call() };
    for (step, tool, input) in [(1, "add_trusted_sender", &denial), (2, "revoke_sender_trust", &someone)] {
        let call = Call { step, ..anyone.clone() };
        let done = executor.run_calls(&call, vec![asked("1", tool, input.clone())]).await.unwrap();
        let expected = format!("`{tool}` may not be used here: only a turn that an admin caused may use it");
        assert_eq!((done[0].content.as_str(), done[0].is_error), (expected.as_str(), true));
    }
    let by_admin = Call { step: 3, ..world.call() };
    let done = executor.run_calls(&by_admin, vec![asked("1", "add_trusted_sender", denial)]).await.unwrap();
    let expected = json!({"success": false, "reason": "discord:9 is one of HIVE_ADMINS: take them out there first"});
    assert_eq!(serde_json::from_str::<Value>(&done[0].content).unwrap(), expected);
}
