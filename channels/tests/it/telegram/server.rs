//! The loopback server itself: it refuses what Telegram refuses, in the same words.

use fakes::telegram::Telegram as Server;
use serde_json::{Value, json};

/// Posts to the server without an adapter in between.
async fn post(server: &Server, method: &str, params: Value) -> Value {
    let url = format!("{}/bot{}/{method}", server.url(), server.token().replace(':', "%3A"));
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let response = client.post(url).json(&params).send().await.expect("an answer");
    let status = response.status().as_u16();
    let body: Value = response.json().await.expect("JSON");
    let expected = if body["ok"] == true { 200 } else { body["error_code"].as_u64().expect("a code") };
    assert_eq!(u64::from(status), expected);
    body
}

#[tokio::test]
async fn the_server_refuses_what_telegram_refuses_in_its_words() {
    let server = Server::start().await;
    let alice = server.user("Alice");
    let (private, forum) = (server.private(alice), server.forum("Hive"));
    let said = server.say(private, alice, "hello");
    let keyboard = |data: &str| json!({"inline_keyboard": [[{"text": "x", "callback_data": data}]]});
    let (long, data) = ("x".repeat(4097), "x".repeat(65));
    for (method, params, description) in [
        (
            "SendMessage",
            json!({"chat_id": forum, "message_thread_id": 1, "text": "x"}),
            "Bad Request: message thread not found",
        ),
        (
            "sendmessage",
            json!({"chat_id": private, "message_thread_id": 5, "text": "x"}),
            "Bad Request: message thread not found",
        ),
        ("sendMessage", json!({"chat_id": 1, "text": "x"}), "Bad Request: chat not found"),
        ("sendMessage", json!({"chat_id": private, "text": " "}), "Bad Request: message text is empty"),
        ("sendMessage", json!({"chat_id": private, "text": long}), "Bad Request: message is too long"),
        (
            "sendMessage",
            json!({"chat_id": private, "text": "x", "reply_markup": keyboard(&data)}),
            "Bad Request: BUTTON_DATA_INVALID",
        ),
        (
            "sendMessage",
            json!({"chat_id": private, "text": "x", "reply_parameters": {"message_id": 99}}),
            "Bad Request: message to be replied not found",
        ),
        (
            "editMessageText",
            json!({"chat_id": private, "message_id": said, "text": "x"}),
            "Bad Request: message can't be edited",
        ),
        ("deleteMessage", json!({"chat_id": private, "message_id": 99}), "Bad Request: message to delete not found"),
        (
            "answerCallbackQuery",
            json!({"callback_query_id": "1"}),
            "Bad Request: query is too old and response timeout expired or query ID is invalid",
        ),
        ("getFile", json!({"file_id": "1"}), "Bad Request: invalid file_id"),
        ("flyAway", json!({}), "Not Found: method not found"),
    ] {
        assert_eq!(post(&server, method, params.clone()).await["description"], description, "{method} {params}");
    }
    let marked = json!({"chat_id": private, "text": format!("<b>{}</b>", "x".repeat(4096)), "parse_mode": "HTML"});
    assert_eq!(post(&server, "sendMessage", marked).await["ok"], true, "markup does not count");
}

#[tokio::test]
async fn the_documented_rates_are_kept_when_asked_for() {
    let server = Server::start().await;
    server.keep_rates(true);
    let (alice, group) = (server.private(server.user("Alice")), server.group("Garden"));
    let send = async |chat: i64| post(&server, "sendMessage", json!({"chat_id": chat, "text": "x"})).await;
    assert_eq!(send(alice).await["ok"], true);
    let refused = send(alice).await;
    assert_eq!((&refused["error_code"], &refused["parameters"]["retry_after"]), (&json!(429), &json!(1)));
    for number in 0..20 {
        assert_eq!(send(group).await["ok"], true, "message {number}");
    }
    let refused = send(group).await;
    assert!(refused["parameters"]["retry_after"].as_u64().is_some_and(|seconds| seconds > 50), "{refused}");
}
