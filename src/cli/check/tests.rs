//! The door of the trust decision.

use serde_json::{Value, json};

/// Sends lines through the door.
fn answers(lines: &str) -> Vec<Value> {
    let mut output = Vec::new();
    super::trust(lines.as_bytes(), &mut output).expect("memory can be read and written");
    let output = String::from_utf8(output).expect("UTF-8");
    output.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

fn answer(case: &Value) -> Value {
    let mut answers = answers(&case.to_string());
    assert_eq!(answers.len(), 1, "{case}");
    answers.remove(0)
}

/// The reason, with `!` before it if the answer is silent, `+` if it allows, `*` if it allows with the admin role.
fn short(case: &Value) -> String {
    let answer = answer(case);
    let mark = match (answer["decision"].as_str(), &answer["silent"], &answer["admin"]) {
        (Some("allow"), Value::Bool(false), Value::Bool(true)) => "*",
        (Some("allow"), Value::Bool(false), Value::Bool(false)) => "+",
        (Some("deny"), Value::Bool(true), Value::Bool(false)) => "!",
        (Some("deny"), Value::Bool(false), Value::Bool(false)) => "",
        _ => return format!("error {}", answer["error"]),
    };
    format!("{mark}{}", answer["reason"].as_str().expect("a reason"))
}

#[test]
fn an_answer_has_these_fields_and_no_others() {
    let case = json!({"id": "a", "policy": null, "rows": [], "sender": "discord:42", "conversation": "discord:7"});
    let expected = json!({"id": "a", "decision": "deny", "reason": "no_policy", "silent": false, "admin": false});
    assert_eq!(answer(&case), expected);
}

#[test]
fn the_mapping_of_the_configuration_file_decides() {
    let policy = json!({
        "default_policy": "deny",
        "channels": {
            "discord": {
                "policy": "deny",
                "sender_allowlist": ["1", 2, "discord:3"],
                "sender_denylist": [9],
                "channel_overrides": {"7": {"policy": "allow"}, "discord:8": {"policy": "deny"}},
            },
            "telegram": {"policy": "allow"},
        },
    });
    for (sender, conversation, expected) in [
        ("discord:1", "discord:5", "+sender_allowlist"),
        ("discord:2", "discord:8", "+sender_allowlist"),
        ("discord:3", "discord:5", "+sender_allowlist"),
        ("discord:9", "discord:7", "!sender_denylist"),
        ("discord:4", "discord:7", "+channel_override_allow"),
        ("discord:4", "discord:8", "channel_override_deny"),
        ("discord:4", "discord:5", "channel_policy_deny"),
        ("telegram:9", "telegram:7", "+channel_policy_allow"),
        ("web:1", "web:7", "default_policy_deny"),
        ("console:local", "console:local", "*console"),
    ] {
        let case = json!({"policy": policy, "sender": sender, "conversation": conversation});
        assert_eq!(short(&case), expected, "{sender} in {conversation}");
    }
}

#[test]
fn one_sender_may_be_written_in_many_ways() {
    let policy = json!({"channels": {"telegram": {"channel_overrides": {"-100": {"policy": "allow"}}}}});
    for fields in [
        json!({"sender": {"channel_type": "telegram", "sender_id": "5", "channel_id": "-100"}}),
        json!({"sender": {"kind": "telegram", "id": 5, "conversation": "telegram:-100"}}),
        json!({"sender": {"channel_type": "telegram", "sender_id": 5}, "channel_id": -100}),
        json!({"sender": "telegram:5", "conversation": "telegram:-100"}),
        json!({"sender_id": "telegram:5", "channel_id": "-100"}),
        json!({"channel_type": "telegram", "sender_id": 5, "channel_id": -100}),
        json!({"channel_type": "telegram", "sender_id": 5, "channel_id": "-100/7"}),
        json!({"sender": "telegram:5", "conversation": "telegram:77", "parent": "telegram:-100"}),
    ] {
        let mut case = fields.clone();
        case["policy"] = policy.clone();
        assert_eq!(short(&case), "+channel_override_allow", "{fields}");
    }
}

#[test]
fn rows_decide_and_run_out() {
    let row = |more: Value| {
        let mut row = json!({"channel_type": "discord", "sender_id": "42", "trust_level": "trusted"});
        row.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        row
    };
    let here = json!({"channel_id": "7"});
    for (rows, expected) in [
        (vec![row(json!({}))], "+db_trusted"),
        (vec![row(json!({"admin": true}))], "*db_trusted"),
        (vec![row(here.clone())], "+db_trusted"),
        (vec![row(json!({"channel_id": 8}))], "no_policy"),
        (vec![row(here), row(json!({"trust_level": "denied"}))], "!db_denied"),
        (vec![row(json!({"expires_at_ms": 1001, "channel_id": null}))], "+db_trusted"),
        (vec![row(json!({"expires_at_ms": 1000}))], "no_policy"),
        (vec![row(json!({"channel_type": "telegram"}))], "no_policy"),
    ] {
        let case = json!({"rows": rows, "sender": "discord:42", "conversation": "discord:7", "now_ms": 1000});
        assert_eq!(short(&case), expected, "{case}");
    }
}

#[test]
fn without_a_conversation_only_what_holds_everywhere_counts() {
    let row = |conversation: Value| json!({"kind": "discord", "sender_id": 42, "trust_level": "trusted", "channel_id": conversation});
    assert_eq!(short(&json!({"rows": [row(json!(null))], "sender": "discord:42"})), "+db_trusted");
    assert_eq!(short(&json!({"rows": [row(json!("7"))], "sender": "discord:42"})), "no_policy");
}

#[test]
fn admins_are_named_with_their_platform() {
    let case = |sender: &str| json!({"admins": ["discord:1"], "sender": sender});
    assert_eq!(short(&case("discord:1")), "*admin");
    assert_eq!(short(&case("telegram:1")), "no_policy");
}

#[test]
fn long_ids_keep_every_digit() {
    let case = |listed: u64| {
        json!({
            "policy": {"channels": {"discord": {"sender_allowlist": [listed]}}},
            "sender": {"kind": "discord", "id": 1_234_567_890_123_456_789_u64},
        })
    };
    assert_eq!(short(&case(1_234_567_890_123_456_789)), "+sender_allowlist");
    assert_eq!(short(&case(1_234_567_890_123_456_788)), "no_policy");
}

#[test]
fn what_is_not_understood_is_an_error_that_names_the_place() {
    let sender = r#""sender":"discord:42""#;
    for (line, place) in [
        ("{".to_owned(), "not JSON"),
        ("7".to_owned(), "found a number"),
        ("{}".to_owned(), "sender_id: is missing"),
        (format!(r#"{{{sender},"polcy":{{}}}}"#), "polcy: "),
        (format!(r#"{{{sender},"policy":"allow"}}"#), "policy: "),
        (format!(r#"{{{sender},"policy":{{"default_policy":"Allow"}}}}"#), "policy.default_policy: found `Allow`"),
        (format!(r#"{{{sender},"policy":{{"default_policy":true}}}}"#), "policy.default_policy: "),
        (format!(r#"{{{sender},"policy":{{"channels":{{"irc":{{}}}}}}}}"#), "policy.channels.irc: "),
        (
            format!(r#"{{{sender},"policy":{{"channels":{{"discord":{{"sender_allowlist":"42"}}}}}}}}"#),
            "policy.channels.discord.sender_allowlist: ",
        ),
        (
            format!(r#"{{{sender},"policy":{{"channels":{{"discord":{{"sender_allowlist":["1",4.2]}}}}}}}}"#),
            "policy.channels.discord.sender_allowlist[1]: ",
        ),
        (
            format!(r#"{{{sender},"policy":{{"channels":{{"discord":{{"sender_denylist":["telegram:1"]}}}}}}}}"#),
            "policy.channels.discord.sender_denylist[0]: ",
        ),
        (
            format!(r#"{{{sender},"policy":{{"channels":{{"discord":{{"channel_overrides":{{"7":{{}}}}}}}}}}}}"#),
            "policy.channels.discord.channel_overrides.7.policy: is missing",
        ),
        (
            format!(
                r#"{{{sender},"policy":{{"channels":{{"discord":{{"channel_overrides":{{"7":{{"policy":"deny"}},"discord:7":{{"policy":"allow"}}}}}}}}}}}}"#
            ),
            "names the same conversation",
        ),
        (format!(r#"{{{sender},"admins":["1"]}}"#), "admins[0]: "),
        (format!(r#"{{{sender},"rows":[{{"kind":"discord","sender_id":1}}]}}"#), "rows[0].trust_level: is missing"),
        (
            format!(r#"{{{sender},"rows":[{{"kind":"discord","sender_id":1,"trust_level":"maybe"}}]}}"#),
            "rows[0].trust_level: found `maybe`",
        ),
        (
            format!(r#"{{{sender},"rows":[{{"kind":"discord","sender_id":1,"trust_level":"trusted","until":1}}]}}"#),
            "rows[0].until: ",
        ),
        (
            format!(
                r#"{{{sender},"rows":[{{"kind":"discord","sender_id":1,"trust_level":"trusted","expires_at_ms":1}}]}}"#
            ),
            "now_ms: is missing",
        ),
        (
            format!(r#"{{{sender},"rows":[{{"kind":"discord","sender_id":1,"trust_level":"trusted","admin":"no"}}]}}"#),
            "rows[0].admin: ",
        ),
        (r#"{"sender":"42"}"#.to_owned(), "sender: found `42`"),
        (r#"{"sender":"irc:42"}"#.to_owned(), "sender: found `irc:42`"),
        (r#"{"sender":{"kind":"ws","id":"1"}}"#.to_owned(), "sender.kind: found `ws`"),
        (r#"{"sender":{"kind":"discord","id":1e3}}"#.to_owned(), "sender.id: "),
        (r#"{"sender":{"kind":"discord","id":"a b"}}"#.to_owned(), "sender.id: "),
        (r#"{"sender":{"kind":"discord","id":"1","sender_id":"2"}}"#.to_owned(), "says a second time"),
        (format!(r#"{{{sender},"conversation":"telegram:7"}}"#), "conversation: found `telegram:7`"),
        (format!(r#"{{{sender},"policy":{{}},"policy":{{"default_policy":"allow"}}}}"#), "stands twice"),
    ] {
        let answers = answers(&line);
        let error = answers[0]["error"].as_str().unwrap_or_default();
        assert!(error.contains(place), "{line}\n{error}");
        assert_eq!(answers[0].get("decision"), None, "{line}");
    }
}

#[test]
fn every_case_gets_one_line_in_order_whatever_the_others_are() {
    let ids: Vec<Value> =
        answers("{\"id\":7,\"sender\":\"discord:1\"}\n\nnonsense\n{\"sender\":\"web:1\"}\n{\"id\":\"x\"}")
            .iter()
            .map(|answer| answer["id"].clone())
            .collect();
    assert_eq!(ids, [json!(7), json!(3), json!(4), json!("x")]);
}

#[test]
fn the_documented_example_is_true() {
    let (input, expected) = super::jsonl::documented("hive check trust --jsonl");
    let mut output = Vec::new();
    super::trust(input.as_bytes(), &mut output).expect("memory can be read and written");
    assert_eq!(String::from_utf8(output).as_deref(), Ok(expected));
}

#[test]
fn the_documented_example_of_the_tool_policy_is_true() {
    let (input, expected) = super::jsonl::documented("hive check policy --jsonl");
    let catalogue = crate::cli::tools::catalogue().expect("the program's tools");
    let mut output = Vec::new();
    super::each(|case| tools::policy_verdict(&catalogue, case), input.as_bytes(), &mut output)
        .expect("memory can be read and written");
    assert_eq!(String::from_utf8(output).as_deref(), Ok(expected));
}

#[test]
fn the_documented_example_of_the_guard_over_urls_is_true() {
    let (input, expected) = super::jsonl::documented("hive check url --jsonl");
    let mut output = Vec::new();
    super::each(net::verdict, input.as_bytes(), &mut output).expect("memory can be read and written");
    assert_eq!(String::from_utf8(output).as_deref(), Ok(expected));
}
