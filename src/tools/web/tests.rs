//! `web_fetch` as a model calls it, over loopback.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use base::TeamName;
use futures::future::{self, Either};
use net::buckets::BucketRule;
use net::fetch::{FetchRules, Fetcher};
use net::guard::{Allowlist, GuardRules};
use net::resolve::FixedResolver;
use net::teams::{WebRules, WebTeams};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::WebFetch;
use crate::Done;
use crate::testing::{World, asked};

/// Answers every request on loopback with `reply` while `work` runs. What came of the work, and how many asked.
async fn serve<T>(reply: &str, work: impl AsyncFnOnce(u16) -> T) -> (T, usize) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let reply = format!("HTTP/1.1 {}", reply.replace("PORT", &port.to_string()));
    let mut asked = 0;
    let server = async {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            asked += 1;
            let mut request = Vec::new();
            while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                if socket.read_buf(&mut request).await.unwrap() == 0 {
                    break;
                }
            }
            let moved = request.starts_with(b"GET /moved ");
            let elsewhere = format!("HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:{port}/there\r\n\r\n");
            socket.write_all(if moved { elsewhere.as_bytes() } else { reply.as_bytes() }).await.unwrap();
        }
    };
    let done = match future::select(Box::pin(work(port)), Box::pin(server)).await {
        Either::Left((done, _)) => done,
        Either::Right((never, _)) => never,
    };
    (done, asked)
}

/// A tool that may ask this machine.
fn tool(world: &World, teams: &WebTeams) -> WebFetch {
    let guard = GuardRules { loopback_permitted: true, ..GuardRules::default() };
    let rules = FetchRules { guard, total: Duration::from_secs(20), ..FetchRules::default() };
    let table = BTreeMap::from([("inside.example".to_owned(), vec![IpAddr::from([10, 0, 0, 1])])]);
    let fetcher = Fetcher::with_resolver(rules, Arc::new(FixedResolver(table)));
    WebFetch { fetcher, teams: teams.clone(), workspaces: world.workspaces.clone() }
}

/// Each session has a tool of its own; what outlives it is `teams`.
async fn ask(world: &World, teams: &WebTeams, step: i64, input: Value) -> (Value, Done) {
    let executor = world.executor(vec![Arc::new(tool(world, teams))]);
    let call = crate::Call { step, ..world.call() };
    let done = executor.run_calls(&call, vec![asked("1", "web_fetch", input)]).await.unwrap().remove(0);
    (serde_json::from_str(&done.content).unwrap_or(Value::Null), done)
}

#[tokio::test]
async fn an_answer_has_the_status_the_headers_and_the_text() {
    let world = World::new().await;
    let teams = WebTeams::default();
    let page = "404 Not Found\r\ncontent-type: text/html\r\n\r\n<title>Gone</title><p>Not <b>here</b>.";
    let ((plain, moved), _) = serve(page, async |port| {
        let url = |path: &str| json!({"url": format!("http://127.0.0.1:{port}{path}")});
        let plain = ask(&world, &teams, 1, url("/")).await.0;
        (plain, (ask(&world, &teams, 2, url("/moved")).await.0, port))
    })
    .await;
    let expected = json!({
        "success": true, "status": 404, "headers": {"content-type": "text/html"},
        "body": "# Gone\n\nNot **here**.", "truncated": false,
    });
    assert_eq!(plain, expected);
    let (moved, port) = moved;
    assert_eq!(moved["url"], format!("http://127.0.0.1:{port}/there"));
}

#[tokio::test]
async fn a_file_goes_to_the_workspace_and_takes_no_others_place() {
    let world = World::new().await;
    let teams = WebTeams::default();
    let reply =
        "200 OK\r\ncontent-type: application/zip\r\ncontent-disposition: attachment; filename=\"../a.zip\"\r\n\r\nPK\0";
    let (files, _) = serve(reply, async |port| {
        let input = json!({"url": format!("http://127.0.0.1:{port}/")});
        let (first, _) = ask(&world, &teams, 1, input.clone()).await;
        (first, ask(&world, &teams, 2, input).await.0)
    })
    .await;
    assert_eq!((&files.0["file"], &files.0["body"]), (&json!("downloads/a.zip"), &json!("")));
    assert_eq!(files.1["file"], "downloads/a-2.zip");
    for name in ["a.zip", "a-2.zip"] {
        assert_eq!(std::fs::read(world.home().join("downloads").join(name)).unwrap(), b"PK\0");
    }
}

#[tokio::test]
async fn what_is_refused_says_why_and_asks_nobody() {
    let world = World::new().await;
    let teams = WebTeams::default();
    let allowed = Allowlist::parse(&["127.0.0.1", "inside.example", "10.0.0.1"]).unwrap();
    teams.set(&TeamName::main(), WebRules { allowed, ..WebRules::default() });
    let (answers, requests) = serve("200 OK\r\n\r\n", async |port| {
        let mut answers = Vec::new();
        for (step, input) in [
            json!({"url": "http://10.0.0.1/"}),
            json!({"url": "http://inside.example/"}),
            json!({"url": format!("http://localhost:{port}/")}),
            json!({"url": "ftp://127.0.0.1/"}),
            json!({"url": format!("http://127.0.0.1:{port}/"), "headers": {"Host": "inside"}}),
            json!({"url": format!("http://127.0.0.1:{port}/"), "body": "x"}),
            json!({"url": format!("http://a:b@127.0.0.1:{port}/")}),
        ]
        .into_iter()
        .enumerate()
        {
            answers.push(ask(&world, &teams, 1 + i64::try_from(step).unwrap(), input).await.0);
        }
        answers
    })
    .await;
    assert_eq!((answers.len(), requests), (7, 0));
    for answer in answers {
        assert_eq!(answer["success"], false, "{answer}");
        assert!(answer["error"].as_str().is_some_and(|error| !error.is_empty()), "{answer}");
        assert_eq!(answer.as_object().unwrap().len(), 2, "{answer}");
    }
}

#[tokio::test]
async fn a_rate_outlives_the_session_and_an_unknown_key_is_no_rate() {
    let world = World::new().await;
    let teams = WebTeams::default();
    let buckets = BTreeMap::from([("news".to_owned(), BucketRule { rps: 0.01, burst: 1 })]);
    teams.set(&TeamName::main(), WebRules { buckets, ..WebRules::default() });
    let (answers, requests) = serve("200 OK\r\n\r\nnews", async |port| {
        let mut answers = Vec::new();
        for (step, key) in ["news", "news", "other", "other"].iter().enumerate() {
            let input = json!({"url": format!("http://127.0.0.1:{port}/"), "rate_limit_key": key});
            answers.push(ask(&world, &teams, 1 + i64::try_from(step).unwrap(), input).await.0);
        }
        // What the guard refuses takes nothing.
        let input = json!({"url": "http://10.0.0.1/", "rate_limit_key": "news"});
        answers.push(ask(&world, &teams, 9, input).await.0);
        answers
    })
    .await;
    assert_eq!(
        answers.iter().map(|answer| answer["success"] == true).collect::<Vec<_>>(),
        [true, false, true, true, false]
    );
    let retry_after_ms = answers[1]["retry_after_ms"].as_u64().unwrap();
    assert!((1..=100_000).contains(&retry_after_ms), "{retry_after_ms}");
    assert_eq!(requests, 3);
    assert_eq!(answers[4].get("retry_after_ms"), None);
}

#[tokio::test]
async fn arguments_that_it_does_not_know_are_refused() {
    let world = World::new().await;
    for input in [json!({}), json!({"url": "http://x/", "method": "TRACE"}), json!({"url": "http://x/", "timeout": 1})]
    {
        let (_, done) = ask(&world, &WebTeams::default(), 1, input).await;
        assert!(done.is_error && done.content.contains("bad arguments"), "{}", done.content);
    }
}
