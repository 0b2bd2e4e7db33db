//! Whole requests over real sockets, against the loopback model server and its faults. Real time, short limits.

use std::time::Duration;

use base::{Clock, Secret};
use fakes::model::{Fault, ModelServer, Refusal, Reply, Usage as Used};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::json;

use crate::profile::tests::profile;
use crate::request::{Block, Input, Message, ModelRef, Request, Role, System, ToolDef};
use crate::{
    Attempt, Auth, Class, Limits, ModelError, Models, Next, Profile, Progress, Response, StopReason, Usage, Wire,
};

const WIRES: [Wire; 2] = [Wire::Anthropic, Wire::OpenAi];

const LIMITS: Limits = Limits {
    connect: Duration::from_secs(2),
    headers: Duration::from_secs(5),
    idle: Duration::from_secs(5),
    total: Duration::from_secs(20),
    answer_size_max_bytes: 64 << 10,
    attempts_max: 3,
    retry_window: Duration::from_secs(10),
    backoff_first: Duration::from_millis(4),
    backoff_max: Duration::from_millis(8),
};

/// For servers that stay silent on purpose: nothing else has to be quick.
const IMPATIENT: Limits = Limits { headers: Duration::from_millis(150), idle: Duration::from_millis(150), ..LIMITS };

const DEADLINE: Duration = Duration::from_secs(10);

fn models(profiles: Vec<Profile>) -> Models {
    Models::new(profiles, Clock::Wall, LIMITS).expect("usable profiles")
}

fn request(text: &str) -> Request {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}}).into();
    Request {
        system: vec![System { text: "rules".into(), cached: true }],
        tools: [ToolDef { name: "read".into(), about: "Reads.".into(), schema }].into(),
        messages: vec![Message::user(text)],
        output_tokens_max: 1_000,
    }
}

/// What was heard of an answer.
#[derive(Default)]
struct Heard {
    pieces: Vec<String>,
    attempts: Vec<Attempt>,
    started_over: usize,
}

async fn ask(models: &Models, request: &Request) -> (Result<Response, ModelError>, Heard) {
    let mut heard = Heard::default();
    let mut sink = |progress: Progress<'_>| match progress {
        Progress::Text(text) => heard.pieces.push(text.to_owned()),
        Progress::Failed(attempt) => heard.attempts.push(attempt.clone()),
        Progress::StartOver => {
            heard.started_over += 1;
            heard.pieces.clear();
        }
    };
    let model = models.named("test").expect("the profile is there");
    let answer = model.respond(request, &mut sink).await;
    (answer, heard)
}

#[tokio::test]
async fn an_answer_streams_with_its_tools_and_its_counts() {
    for wire in WIRES {
        let server = ModelServer::start().await;
        let used = Used { input: 12, output: 34, cache_read: 560, cache_write: 0 };
        let reply = Reply::text("Let me see… 👀").and_call("read", &json!({"path": "a"}));
        server.queue(reply.and_raw_call("read", "{\"path\": oops").in_chunks(4).with_usage(Some(used)));
        let (answer, heard) = ask(&models(vec![profile(wire, &server.url())]), &request("hi")).await;
        let answer = answer.expect("nothing goes wrong");
        assert_eq!(heard.pieces.concat(), "Let me see… 👀", "{wire}");
        assert_eq!(heard.pieces.len(), 4, "{wire}");
        assert_eq!((answer.stop, answer.model.to_string()), (StopReason::ToolUse, "test:model-1".into()), "{wire}");
        let inputs: Vec<&Input> = answer.tool_uses().map(|call| &call.input).collect();
        assert_eq!(inputs, [&Input::Json(json!({"path": "a"})), &Input::Broken("{\"path\": oops".into())], "{wire}");
        let expected = Usage { input_tokens: 12, output_tokens: 34, cache_read_tokens: 560, cache_write_tokens: 0 };
        assert_eq!(answer.usage, expected, "{wire}");
    }
}

#[tokio::test]
async fn an_empty_answer_is_an_answer() {
    for wire in WIRES {
        let server = ModelServer::start().await;
        server.queue(Reply::empty().with_usage(None));
        let (answer, _) = ask(&models(vec![profile(wire, &server.url())]), &request("hi")).await;
        let answer = answer.expect("models do that");
        assert_eq!(
            (answer.content, answer.stop, answer.usage),
            (vec![], StopReason::EndTurn, Usage::default()),
            "{wire}"
        );
    }
}

#[tokio::test]
async fn a_conversation_with_tools_goes_round() {
    for wire in WIRES {
        let server = ModelServer::start().await;
        server.rule_by(|asked| {
            let first = asked.results.is_empty() && asked.tools == ["read"];
            let call = Reply::empty().and_thinking("hm", "c2ln").and_call("read", &json!({"path": "a"}));
            first.then_some(call)
        });
        let models = models(vec![profile(wire, &server.url())]);
        let mut request = request("what does a say?");
        let (answer, _) = ask(&models, &request).await;
        let answer = answer.expect("nothing goes wrong");
        let id = answer.tool_uses().next().expect("a call").id.clone();
        request.messages.push(Message { role: Role::Assistant, content: answer.content });
        let result = Block::ToolResult { id, content: "A says hello.".into(), is_error: false };
        request.messages.push(Message { role: Role::User, content: vec![result] });
        let (answer, _) = ask(&models, &request).await;
        assert_eq!(answer.expect("nothing goes wrong").text(), "The tools said: A says hello.", "{wire}");
        let sent = server.requests()[1].json().to_string();
        assert!(sent.contains("hm"), "thinking goes back to its model: {sent}");
    }
}

#[tokio::test]
async fn every_fault_gets_its_class_and_is_tried_as_often_as_makes_sense() {
    let status = Fault::Status;
    let cases: Vec<(Fault, Class, usize)> = vec![
        (status(Refusal::unauthorized()), Class::Auth, 1),
        (status(Refusal::payment_required()), Class::Quota, 1),
        (status(Refusal::insufficient_quota()), Class::Quota, 1),
        (status(Refusal::rate_limited(None)), Class::RateLimited { retry_after: None }, 3),
        (status(Refusal::rate_limited(Some(60))), Class::RateLimited { retry_after: Some(Duration::from_secs(60)) }, 1),
        (status(Refusal::internal()), Class::Transient, 3),
        (status(Refusal::overloaded()), Class::Overloaded { retry_after: None }, 3),
        (status(Refusal::unknown_model("model-1")), Class::Malformed, 1),
        (status(Refusal::context_too_long()), Class::ContextTooLong, 1),
        (status(Refusal::bad_request("messages: no")), Class::Malformed, 1),
        (Fault::NoHeaders, Class::Silent, 3),
        (Fault::SilentAfter(0), Class::Silent, 3),
        (Fault::SilentAfter(4), Class::Silent, 3),
        (Fault::CutAfter(0), Class::Cut, 3),
        (Fault::CutAfter(4), Class::Cut, 3),
        (Fault::EndAfter(4), Class::Cut, 3),
        (Fault::GarbageAfter(3), Class::Transient, 3),
        (Fault::ErrorAfter(3, Refusal::overloaded()), Class::Overloaded { retry_after: None }, 3),
    ];
    for (fault, class, attempts) in cases {
        let tried = WIRES.map(|wire| {
            let fault = fault.clone();
            async move {
                let server = ModelServer::start().await;
                server.rule("", Reply::text("a longer text than one").in_chunks(4).failing(fault.clone()));
                let limits = if class == Class::Silent { IMPATIENT } else { LIMITS };
                let models = Models::new(vec![profile(wire, &server.url())], Clock::Wall, limits).expect("usable");
                let (answer, heard) = ask(&models, &request("hi")).await;
                let error = answer.expect_err("it always fails");
                assert_eq!((error.class, heard.attempts.len()), (class, attempts), "{wire} {fault:?}: {error}");
                assert_eq!(heard.attempts.last().map(|last| &last.next), Some(&Next::GiveUp), "{wire} {fault:?}");
                assert_eq!(server.count(), attempts as u64, "{wire} {fault:?}");
            }
        });
        futures::future::join_all(tried).await;
    }
}

#[tokio::test]
async fn after_a_cut_the_answer_starts_over() {
    for wire in WIRES {
        let server = ModelServer::start().await;
        // The first events are slow enough to be on their way before the connection breaks.
        let cut = Reply::text("Hello there").in_chunks(3).paced(Duration::from_millis(10));
        server.queue(cut.failing(Fault::CutAfter(4)));
        server.queue(Reply::text("Hello again").in_chunks(3));
        let (answer, heard) = ask(&models(vec![profile(wire, &server.url())]), &request("hi")).await;
        assert_eq!(answer.expect("the second works").text(), "Hello again", "{wire}");
        assert_eq!((heard.started_over, heard.pieces.concat().as_str()), (1, "Hello again"), "{wire}");
        assert_eq!(heard.attempts.len(), 1, "{wire}");
    }
}

#[tokio::test]
async fn a_wait_that_the_provider_asks_for_is_kept() {
    let server = ModelServer::start().await;
    let limited = Refusal::new(429, "rate_limit_error", "slow down").header("retry-after-ms", "350");
    server.queue(Reply::refuse(limited));
    let (before, models) = (Clock::Wall.now(), models(vec![profile(Wire::OpenAi, &server.url())]));
    let (answer, heard) = ask(&models, &request("hi")).await;
    assert_eq!(answer.expect("the second works").text(), "You said: hi");
    assert!(Clock::Wall.now() - before >= 350);
    let Next::Retry { wait } = heard.attempts[0].next else { panic!("it is tried again") };
    assert!(wait >= Duration::from_millis(350));
}

#[tokio::test]
async fn a_slow_answer_is_fine_as_long_as_it_is_not_silent() {
    let limits = Limits { idle: Duration::from_secs(1), ..LIMITS };
    let words = "x".repeat(40);
    let asked = WIRES.map(|wire| {
        let (words, limits) = (words.clone(), limits.clone());
        async move {
            let server = ModelServer::start().await;
            server.queue(Reply::text(words.as_str()).in_chunks(40).paced(Duration::from_millis(35)));
            let models = Models::new(vec![profile(wire, &server.url())], Clock::Wall, limits).expect("usable");
            let (answer, heard) = ask(&models, &request("hi")).await;
            assert_eq!(answer.expect("each pause is short").text(), words, "{wire}");
            assert_eq!((heard.pieces.len(), heard.attempts.len()), (40, 0), "{wire}");
        }
    });
    futures::future::join_all(asked).await;
}

#[tokio::test]
async fn an_answer_without_end_is_ended() {
    let limits = Limits { total: Duration::from_millis(400), attempts_max: 1, ..LIMITS };
    let server = ModelServer::start().await;
    server.queue(Reply::text("x".repeat(1_000)).in_chunks(1_000).paced(Duration::from_millis(10)));
    let models = Models::new(vec![profile(Wire::Anthropic, &server.url())], Clock::Wall, limits).expect("usable");
    assert_eq!(ask(&models, &request("hi")).await.0.map_err(|error| error.class), Err(Class::Cut));
    assert!(server.wait_streams(0, DEADLINE).await, "the server is told");
}

#[tokio::test]
async fn an_answer_without_measure_is_refused() {
    for wire in WIRES {
        let server = ModelServer::start().await;
        server.queue(Reply::text("x".repeat(LIMITS.answer_size_max_bytes)).in_chunks(100));
        let (answer, heard) = ask(&models(vec![profile(wire, &server.url())]), &request("hi")).await;
        assert_eq!((answer.map_err(|error| error.class), heard.attempts.len()), (Err(Class::Malformed), 1), "{wire}");
    }
}

#[tokio::test]
async fn dropping_the_answer_ends_the_request() {
    for wire in WIRES {
        let server = ModelServer::start().await;
        server.queue(Reply::text("x".repeat(500)).in_chunks(500).paced(Duration::from_millis(20)));
        let models = models(vec![profile(wire, &server.url())]);
        let request = request("hi");
        let asking = ask(&models, &request);
        let begun = server.wait_streams(1, DEADLINE);
        tokio::select! {
            _ = asking => panic!("it takes ten seconds"),
            begun = begun => assert!(begun),
        }
        assert!(server.wait_streams(0, Duration::from_secs(3)).await, "{wire}: the server sees that nobody listens");
    }
}

#[tokio::test]
async fn a_held_server_answers_when_it_is_released() {
    let server = ModelServer::start().await;
    server.hold();
    let models =
        Models::new(vec![profile(Wire::Anthropic, &server.url())], Clock::Wall, Limits { headers: DEADLINE, ..LIMITS })
            .expect("usable");
    let request = request("hi");
    let release = async {
        let came = server.wait_requests(1, DEADLINE).await.expect("the request is recorded while it is held");
        server.release();
        came.len()
    };
    let ((answer, _), came) = tokio::join!(ask(&models, &request), release);
    assert_eq!((answer.expect("released").text().as_str(), came), ("You said: hi", 1));
    let few = server.wait_requests(2, Duration::from_millis(20)).await.expect_err("there was only one");
    assert_eq!(few.came, 1);
}

#[tokio::test]
async fn where_one_provider_fails_the_next_answers() {
    let first = ModelServer::start().await;
    let second = ModelServer::start().await;
    first.accept_only("another key");
    let other = Profile { name: "other".into(), ..profile(Wire::OpenAi, &second.url()) };
    let fallback = vec![ModelRef::new("other", "model-2")];
    let models = models(vec![Profile { fallback, ..profile(Wire::Anthropic, &first.url()) }, other]);
    let (answer, heard) = ask(&models, &request("hi")).await;
    let answer = answer.expect("the second works");
    assert_eq!((answer.text().as_str(), answer.model.to_string().as_str()), ("You said: hi", "other:model-2"));
    assert_eq!(heard.attempts.len(), 1);
    assert_eq!(heard.attempts[0].error.class, Class::Auth);
    assert_eq!(heard.attempts[0].next, Next::Fallback { to: ModelRef::new("other", "model-2") });
    assert_eq!(second.requests()[0].json()["model"], "model-2");
}

#[tokio::test]
async fn keys_are_shown_as_each_provider_wants_them_and_never_told() {
    for (wire, auth, header, shown) in [
        (Wire::Anthropic, Auth::ApiKey, "x-api-key", "key-for-tests-only"),
        (Wire::Anthropic, Auth::OAuthBearer, "authorization", "Bearer key-for-tests-only"),
        (Wire::OpenAi, Auth::ApiKey, "authorization", "Bearer key-for-tests-only"),
        (Wire::OpenAi, Auth::OAuthBearer, "authorization", "Bearer key-for-tests-only"),
    ] {
        let server = ModelServer::start().await;
        server.queue(Reply::text("fine"));
        server.queue(Reply::refuse(Refusal::new(401, "authentication_error", "bad key key-for-tests-only!")));
        let models = models(vec![Profile { auth, ..profile(wire, &server.url()) }]);
        assert!(ask(&models, &request("hi")).await.0.is_ok());
        let (refused, _) = ask(&models, &request("hi")).await;
        assert_eq!(refused.expect_err("refused").text, "HTTP 401: bad key [REDACTED]!");
        let sent = &server.requests()[0];
        assert_eq!(sent.header(header), Some(shown), "{wire} {auth:?}");
        let other = if header == "x-api-key" { "authorization" } else { "x-api-key" };
        assert_eq!(sent.header(other), None, "{wire} {auth:?}");
        assert_eq!(sent.header("anthropic-version").is_some(), wire == Wire::Anthropic);
    }
    let server = ModelServer::start().await;
    let models = models(vec![Profile { key: None, ..profile(Wire::OpenAi, &server.url()) }]);
    assert!(ask(&models, &request("hi")).await.0.is_ok(), "a server of one's own wants no key");
    assert_eq!(server.requests()[0].header("authorization"), None);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (server, thief) = (ModelServer::start().await, ModelServer::start().await);
    server.queue(Reply::refuse(Refusal::new(307, "", "").header("location", &format!("{}/v1/messages", thief.url()))));
    let (answer, _) = ask(&models(vec![profile(Wire::Anthropic, &server.url())]), &request("hi")).await;
    assert_eq!(answer.map_err(|error| error.class), Err(Class::Malformed));
    assert_eq!(thief.count(), 0);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_without_its_address() {
    let server = ModelServer::start().await;
    let url = server.url().replace("http://", "http://person:password@");
    let address = server.address();
    drop(server);
    let models = models(vec![profile(Wire::Anthropic, &url)]);
    // The listener goes when its task is next run.
    while tokio::net::TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    let (answer, heard) = ask(&models, &request("hi")).await;
    let error = answer.expect_err("nobody is there");
    assert_eq!((error.class, heard.attempts.len()), (Class::Transient, 3));
    assert!(error.text.starts_with("no connection: ") && !error.text.contains("password"), "{error}");
    assert_eq!(models.check("test").await.map_err(|error| error.class), Err(Class::Transient));
}

#[tokio::test]
async fn a_server_teaches_its_dialect_once() {
    let server = ModelServer::start().await;
    server.rule_by(|asked| {
        let refuse = |message: &str| Some(Reply::refuse(Refusal::bad_request(message)));
        match () {
            () if !asked.body["max_tokens"].is_null() => {
                refuse("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
            }
            () if !asked.body["stream_options"].is_null() => refuse("unknown field: stream_options"),
            () => None,
        }
    });
    let models = models(vec![profile(Wire::OpenAi, &server.url())]);
    for total in [3, 4] {
        let (answer, heard) = ask(&models, &request("hi")).await;
        assert_eq!(answer.expect("the third form is taken").text(), "You said: hi");
        assert_eq!((server.count(), heard.attempts.len()), (total, 0));
    }
}

#[tokio::test]
async fn thinking_that_is_not_taken_back_is_left_out() {
    let server = ModelServer::start().await;
    server.rule_by(|asked| {
        let thought = asked.body["messages"].to_string().contains("\"thinking\"");
        let refusal = Refusal::bad_request("messages.1.content.0: Invalid `signature` in `thinking` block");
        thought.then(|| Reply::refuse(refusal))
    });
    let models = models(vec![profile(Wire::Anthropic, &server.url())]);
    let mut request = request("hi");
    let value = json!({"type": "thinking", "thinking": "hm", "signature": "from elsewhere"});
    let thought = Block::Opaque { model: ModelRef::new("test", "model-1"), value };
    request.messages.push(Message { role: Role::Assistant, content: vec![thought, Block::Text("hello".into())] });
    request.messages.push(Message::user("and now?"));
    assert_eq!(ask(&models, &request).await.0.expect("the second form is taken").text(), "You said: and now?");
    assert_eq!(server.count(), 2);
}

#[tokio::test]
async fn a_paused_answer_is_gone_on_with() {
    let server = ModelServer::start().await;
    server.queue(Reply::text("first, ").stopped("pause_turn"));
    server.queue(Reply::text("second"));
    let (answer, heard) = ask(&models(vec![profile(Wire::Anthropic, &server.url())]), &request("hi")).await;
    let answer = answer.expect("nothing goes wrong");
    assert_eq!((answer.text().as_str(), answer.stop), ("first, second", StopReason::EndTurn));
    assert_eq!(answer.usage.output_tokens, 10, "both parts count");
    assert_eq!(heard.pieces, ["first, ", "second"]);
    assert_eq!(server.requests()[1].json()["messages"][1]["content"][0]["text"], "first, ");
}

#[tokio::test]
async fn any_history_is_taken_by_a_strict_server() {
    let server = ModelServer::start().await;
    let mut runner = TestRunner::deterministic();
    let histories = crate::sendable::tests::any_conversation();
    let by_wire = WIRES.map(|wire| models(vec![profile(wire, &server.url())]));
    for _ in 0..100 {
        let messages = histories.new_tree(&mut runner).expect("a history").current();
        for models in &by_wire {
            let request = Request { messages: messages.clone(), ..request("") };
            let (answer, _) = ask(models, &request).await;
            assert!(answer.is_ok(), "{answer:?} for {messages:#?}");
        }
    }
    assert_eq!(server.count(), 200);
}

#[tokio::test]
async fn equal_requests_are_equal_on_the_wire() {
    for wire in WIRES {
        let server = ModelServer::start().await;
        let models = models(vec![profile(wire, &format!("{}/v1/", server.url()))]);
        for _ in 0..2 {
            assert!(ask(&models, &request("hi")).await.0.is_ok());
        }
        let sent = server.requests();
        assert_eq!(sent[0].body, sent[1].body, "{wire}");
        let path = if wire == Wire::Anthropic { "/v1/messages" } else { "/v1/chat/completions" };
        assert_eq!(sent[0].path, path);
    }
}

#[tokio::test]
async fn a_check_proves_address_and_key() {
    for wire in WIRES {
        let server = ModelServer::start().await;
        server.accept_only("key-for-tests-only");
        let wrong =
            Profile { name: "wrong".into(), key: Some(Secret::new("another key")), ..profile(wire, &server.url()) };
        let models = models(vec![profile(wire, &server.url()), wrong]);
        assert_eq!(models.check("test").await, Ok(()), "{wire}");
        assert_eq!(models.check("wrong").await.map_err(|error| error.class), Err(Class::Auth), "{wire}");
        assert_eq!(models.check("offline").await, Ok(()));
        assert!(models.check("nobody").await.is_err());
        assert_eq!(server.count(), 0, "a check asks for no answer");
    }
}

#[tokio::test]
async fn profiles_are_judged_all_at_once_and_found_by_name() {
    let good = profile(Wire::Anthropic, "https://api.anthropic.com");
    let bad = vec![
        Profile { api_url: "nonsense".into(), fallback: vec![ModelRef::new("nobody", "x")], ..good.clone() },
        Profile { name: "offline".into(), key: Some(Secret::new("line\nbreak")), ..good.clone() },
        Profile { name: "twin".into(), model: String::new(), ..good.clone() },
        Profile { name: "twin".into(), ..good.clone() },
    ];
    let faults = Models::new(bad, Clock::Wall, LIMITS).err().expect("they are bad");
    let told: Vec<&str> = faults.iter().map(|fault| fault.profile.as_str()).collect();
    assert_eq!(told, ["test", "test", "offline", "offline", "twin", "twin", "twin"], "{faults:#?}");
    assert!(faults.iter().all(|fault| !fault.why.contains("line\n") && !fault.why.contains("nonsense")), "{faults:#?}");

    let models = models(vec![Profile { model: "claude-sonnet-4-5".into(), ..good }]);
    let name = |text: &str| models.named(text).map(|model| model.reference().to_string());
    assert_eq!(name("test").as_deref(), Ok("test:claude-sonnet-4-5"));
    assert_eq!(name("test:other").as_deref(), Ok("test:other"));
    assert_eq!(name("offline").as_deref(), Ok("offline:scripted"));
    let unknown = name("tset").expect_err("there is none");
    assert_eq!(unknown.to_string(), "there is no model profile `tset`; there are: `test`, `offline`");
    let used = Usage { input_tokens: 1_000_000, ..Usage::default() };
    let cost = |text: &str| models.cost(&models.reference(text).expect("known"), &used);
    assert_eq!((cost("test"), cost("test:mine"), cost("offline")), (Some(3_000_000), None, Some(0)));
}

#[tokio::test]
async fn many_at_once_are_all_answered() {
    let server = ModelServer::start().await;
    server.record(false);
    let models = models(vec![profile(Wire::Anthropic, &server.url())]);
    let request = request("hi");
    let many = futures::future::join_all((0..200).map(|_| ask(&models, &request))).await;
    assert!(many.iter().all(|(answer, heard)| answer.is_ok() && heard.attempts.is_empty()));
    assert_eq!((server.count(), server.requests().len()), (200, 0), "counted, and not recorded");
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[tokio::test]
async fn vectors_come_in_the_order_of_their_texts_however_many_there_are() {
    let server = ModelServer::start().await;
    server.accept_only("key-for-tests-only");
    let models = models(vec![profile(Wire::OpenAi, &format!("{}/v1/", server.url()))]);
    let embeddings = models.embeddings(&ModelRef::new("test", "vectors-1")).expect("it has embeddings");
    assert_eq!(embeddings.reference().to_string(), "test:vectors-1");
    let many: Vec<String> = (0..130).map(|number| format!("text of number{number}")).collect();
    let vectors = embeddings.embed(&many).await.expect("nothing goes wrong");
    assert_eq!((vectors.len(), server.count()), (130, 3));
    for at in [0, 63, 64, 129] {
        let alone = embeddings.embed(&many[at..=at]).await.expect("nothing goes wrong");
        assert_eq!(alone, vectors[at..=at], "{at}");
    }
    let sent = &server.requests()[0];
    assert_eq!((sent.path.as_str(), sent.json()["model"].as_str()), ("/v1/embeddings", Some("vectors-1")));
    assert_eq!(embeddings.embed(&[]).await, Ok(Vec::new()));
}

#[tokio::test]
async fn a_server_without_vectors_says_why_and_is_not_waited_for_for_ever() {
    let cases = [
        (Reply::refuse(Refusal::unauthorized()), Class::Auth),
        (Reply::refuse(Refusal::rate_limited(None)), Class::RateLimited { retry_after: None }),
        (Reply::refuse(Refusal::internal()), Class::Transient),
        (Reply::text("<html>"), Class::Malformed),
        (Reply::text(r#"{"data":[{"embedding":[1,2]}]}"#), Class::Malformed),
        (Reply::text(r#"{"data":[{"embedding":[1,2]},{"embedding":[1]}]}"#), Class::Malformed),
        (Reply::text("x".repeat(LIMITS.answer_size_max_bytes + 1)), Class::Malformed),
        (Reply::empty().failing(Fault::NoHeaders), Class::Silent),
    ];
    let server = ModelServer::start().await;
    let models = Models::new(vec![profile(Wire::OpenAi, &server.url())], Clock::Wall, IMPATIENT).expect("usable");
    let embeddings = models.embeddings(&ModelRef::new("test", "vectors-1")).expect("it has embeddings");
    for (reply, class) in cases {
        let shown = format!("{:?}", reply.fault);
        server.queue(reply);
        let refused = embeddings.embed(&texts(&["one", "two"])).await;
        assert_eq!(refused.map_err(|error| error.class), Err(class), "{shown}");
    }
    assert!(embeddings.embed(&texts(&["one", "two"])).await.is_ok(), "it can do it after all");
}

#[tokio::test]
async fn who_has_no_embeddings_is_told_so() {
    let models = models(vec![profile(Wire::Anthropic, "https://api.anthropic.com")]);
    for (profile, why) in
        [("test", "no embeddings"), ("nobody", "there is no model profile"), ("offline", "no vectors")]
    {
        let refused = models.embeddings(&ModelRef::new(profile, "m")).err().expect("refused");
        assert!(refused.to_string().contains(why), "{refused}");
    }
}
