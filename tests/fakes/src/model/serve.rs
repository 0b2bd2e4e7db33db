//! The HTTP side: takes requests, finds the answer, sends it with its faults.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, Response, Uri};
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::reply::{Fault, Part, Refusal, Reply};
use super::{Asked, Recorded, Shared, Wire, anthropic, embeddings, openai, strict};

/// The largest request, in bytes: Anthropic's own limit.
const REQUEST_SIZE_MAX_BYTES: usize = 32 << 20;

pub(super) fn spawn(listener: TcpListener, shared: Arc<Shared>) {
    let stop = shared.stop.clone();
    let router = Router::new().fallback(answer).layer(DefaultBodyLimit::max(REQUEST_SIZE_MAX_BYTES)).with_state(shared);
    tokio::spawn(async move {
        let serving = axum::serve(listener, router).with_graceful_shutdown(async move { stop.cancelled().await });
        serving.await.expect("accepting on loopback does not fail");
    });
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let path = uri.path().trim_end_matches('/');
    let wire = match path {
        _ if path.ends_with("/messages") => Wire::Anthropic,
        _ if path.ends_with("/chat/completions") => Wire::OpenAi,
        _ if path.ends_with("/models") && method == Method::GET => return models(&shared, &headers),
        _ if path.ends_with("/embeddings") && method == Method::POST => {
            return vectors(&shared, &uri, &headers, body).await;
        }
        _ => return refuse(Wire::OpenAi, &Refusal::new(404, "not_found_error", "no such path")),
    };
    if method != Method::POST {
        return refuse(wire, &Refusal::new(405, "invalid_request_error", "use POST"));
    }
    let Ok(json) = serde_json::from_slice::<Value>(&body) else {
        return refuse(wire, &Refusal::bad_request("The request body is not valid JSON."));
    };
    let number = note(&shared, &uri, &headers, body);
    if !wait_released(&shared).await {
        return refuse(wire, &Refusal::new(503, "api_error", "the server stops"));
    }
    let reply = match admit(&shared, wire, &headers, &json) {
        Ok(()) => choose(&shared, wire, &json),
        Err(refusal) => Reply::refuse(refusal),
    };
    match reply.fault {
        Some(Fault::Status(refusal)) => refuse(wire, &refusal),
        Some(Fault::NoHeaders) => {
            shared.stop.cancelled().await;
            refuse(wire, &Refusal::new(503, "api_error", "the server stops"))
        }
        _ if json["stream"] == true => streamed(&shared, wire, &reply, &json, number),
        _ => whole(wire, &reply, &json, number),
    }
}

/// Answers a request for vectors. Of a queued answer only its fault counts, or its words as a body of their own.
async fn vectors(shared: &Shared, uri: &Uri, headers: &HeaderMap, body: Bytes) -> Response<Body> {
    let json: Value = serde_json::from_slice(&body).unwrap_or_default();
    note(shared, uri, headers, body);
    if !wait_released(shared).await {
        return refuse(Wire::OpenAi, &Refusal::new(503, "api_error", "the server stops"));
    }
    let (knows, queued) = {
        let mut state = shared.lock();
        (knows_key(state.key.as_deref(), headers), state.queue.pop_front())
    };
    if !knows {
        return refuse(Wire::OpenAi, &Refusal::unauthorized());
    }
    match queued {
        Some(Reply { fault: Some(Fault::Status(refusal)), .. }) => refuse(Wire::OpenAi, &refusal),
        Some(Reply { fault: Some(_), .. }) => {
            shared.stop.cancelled().await;
            refuse(Wire::OpenAi, &Refusal::new(503, "api_error", "the server stops"))
        }
        Some(reply) => {
            let words =
                reply.parts.iter().filter_map(|part| if let Part::Text(text) = part { Some(&**text) } else { None });
            Response::new(Body::from(words.collect::<String>()))
        }
        None => match embeddings::answer(&json) {
            Ok(answer) => document(200, &answer),
            Err(refusal) => refuse(Wire::OpenAi, &refusal),
        },
    }
}

/// Counts and records a request. Its number.
fn note(shared: &Shared, uri: &Uri, headers: &HeaderMap, body: Bytes) -> u64 {
    {
        let mut state = shared.lock();
        if !state.recording_off {
            let text = |value: &axum::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
            let headers = headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
            let path = uri.path_and_query().map_or_else(|| uri.path().to_owned(), ToString::to_string);
            state.records.push(Recorded { path, headers, body });
        }
    }
    let mut number = 0;
    shared.count.send_modify(|count| {
        *count += 1;
        number = *count;
    });
    number
}

/// Waits while answers are held. `false` where the server stops meanwhile.
async fn wait_released(shared: &Shared) -> bool {
    let mut held = shared.held.subscribe();
    tokio::select! {
        biased;
        () = shared.stop.cancelled() => false,
        released = held.wait_for(|held| !held) => released.is_ok(),
    }
}

fn admit(shared: &Shared, wire: Wire, headers: &HeaderMap, body: &Value) -> Result<(), Refusal> {
    let state = shared.lock();
    if !knows_key(state.key.as_deref(), headers) {
        return Err(Refusal::unauthorized());
    }
    let model = body["model"].as_str().unwrap_or("");
    if state.models.as_ref().is_some_and(|models| models.iter().all(|known| known != model)) {
        return Err(Refusal::unknown_model(model));
    }
    let checked = match wire {
        Wire::Anthropic => strict::anthropic(body),
        Wire::OpenAi => strict::openai(body),
    };
    checked.map_err(|fault| Refusal::bad_request(&fault))
}

fn knows_key(key: Option<&str>, headers: &HeaderMap) -> bool {
    let shown = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = shown("authorization").and_then(|value| value.strip_prefix("Bearer "));
    key.is_none_or(|key| [shown("x-api-key"), bearer].contains(&Some(key)))
}

fn choose(shared: &Shared, wire: Wire, body: &Value) -> Reply {
    let mut state = shared.lock();
    if let Some(reply) = state.queue.pop_front() {
        return reply;
    }
    let asked = asked(wire, body);
    state.rules.iter().find_map(|rule| rule(&asked)).unwrap_or_else(|| echo(&asked))
}

/// What is said where nothing is queued and no rule applies.
fn echo(asked: &Asked) -> Reply {
    match asked.results.is_empty() {
        true => Reply::text(format!("You said: {}", asked.text)),
        false => Reply::text(format!("The tools said: {}", asked.results.join(" | "))),
    }
}

fn asked(wire: Wire, body: &Value) -> Asked {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let (text, results) = match wire {
        Wire::Anthropic => {
            let user = messages.iter().rev().filter(|message| message["role"] == "user");
            let text = user.flat_map(texts).next().unwrap_or_default();
            let last = messages.last().and_then(|last| last["content"].as_array());
            let results = last.into_iter().flatten().filter(|block| block["type"] == "tool_result");
            (text, results.map(|block| block["content"].as_str().unwrap_or("").to_owned()).collect())
        }
        Wire::OpenAi => {
            let text = messages.iter().rev().find(|message| message["role"] == "user").map(texts);
            let results = messages.iter().rev().take_while(|message| message["role"] == "tool");
            let results: Vec<String> =
                results.map(|message| message["content"].as_str().unwrap_or("").to_owned()).collect();
            (text.into_iter().flatten().next().unwrap_or_default(), results.into_iter().rev().collect())
        }
    };
    let name = |tool: &Value| tool["name"].as_str().or(tool["function"]["name"].as_str()).map(str::to_owned);
    let tools = body["tools"].as_array().into_iter().flatten().filter_map(name).collect();
    let model = body["model"].as_str().unwrap_or("").to_owned();
    Asked { wire, model, text, results, tools, body: body.clone() }
}

/// The texts of a message, the last first.
fn texts(message: &Value) -> Vec<String> {
    match &message["content"] {
        Value::String(text) => vec![text.clone()],
        Value::Array(blocks) => {
            blocks.iter().rev().filter_map(|block| block["text"].as_str()).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

fn models(shared: &Shared, headers: &HeaderMap) -> Response<Body> {
    let state = shared.lock();
    if !knows_key(state.key.as_deref(), headers) {
        return refuse(Wire::OpenAi, &Refusal::unauthorized());
    }
    let list: Vec<Value> =
        state.models.iter().flatten().map(|model| json!({ "id": model, "object": "model", "type": "model" })).collect();
    document(200, &json!({ "object": "list", "data": list, "has_more": false }))
}

fn refuse(wire: Wire, refusal: &Refusal) -> Response<Body> {
    let body = match wire {
        Wire::Anthropic => anthropic::refusal(refusal),
        Wire::OpenAi => openai::refusal(refusal),
    };
    let mut response = document(refusal.status, &body);
    for (name, value) in &refusal.headers {
        let name = axum::http::HeaderName::try_from(name).expect("a test's header name");
        response.headers_mut().insert(name, value.try_into().expect("a test's header value"));
    }
    response
}

fn whole(wire: Wire, reply: &Reply, body: &Value, number: u64) -> Response<Body> {
    let model = body["model"].as_str().unwrap_or("");
    match wire {
        Wire::Anthropic => document(200, &anthropic::whole(reply, model, number)),
        Wire::OpenAi => document(200, &openai::whole(reply, model, number)),
    }
}

fn document(status: u16, body: &Value) -> Response<Body> {
    let response = Response::builder().status(status).header("content-type", "application/json");
    response.body(Body::from(body.to_string())).expect("a status and a header of our own")
}

fn streamed(shared: &Arc<Shared>, wire: Wire, reply: &Reply, body: &Value, number: u64) -> Response<Body> {
    let model = body["model"].as_str().unwrap_or("");
    let mut events = match wire {
        Wire::Anthropic => anthropic::events(reply, model, number),
        Wire::OpenAi => openai::events(reply, model, number, body["stream_options"]["include_usage"] == true),
    };
    let mut end = End::Clean;
    match &reply.fault {
        Some(Fault::SilentAfter(count)) => {
            events.truncate(*count);
            end = End::Silence;
        }
        Some(Fault::CutAfter(count)) => {
            events.truncate(*count);
            end = End::Break;
        }
        Some(Fault::EndAfter(count)) => events.truncate(*count),
        Some(Fault::GarbageAfter(count)) => {
            events.truncate(*count);
            events.push("data: {\"type\": \"content_block_delta\", \"delta\": \n\n".to_owned());
        }
        Some(Fault::ErrorAfter(count, refusal)) => {
            events.truncate(*count);
            events.push(match wire {
                Wire::Anthropic => anthropic::event(&anthropic::refusal(refusal)),
                Wire::OpenAi => openai::event(&openai::refusal(refusal)),
            });
        }
        Some(Fault::Status(_) | Fault::NoHeaders) | None => {}
    }
    let stream = play(shared.clone(), events, reply.pace, end);
    let response = Response::builder().header("content-type", "text/event-stream; charset=utf-8");
    response.body(Body::from_stream(stream)).expect("a header of our own")
}

/// How a stream ends.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Clean,
    Silence,
    Break,
}

fn play(
    shared: Arc<Shared>,
    events: Vec<String>,
    pace: Duration,
    end: End,
) -> BoxStream<'static, Result<Bytes, io::Error>> {
    let stop = shared.stop.clone();
    let under_way = UnderWay::begin(shared);
    let paced = stream::iter(events).then(move |event| async move {
        wait(pace).await;
        Ok(Bytes::from(event))
    });
    let last = stream::once(async move {
        match end {
            End::Clean => None,
            End::Silence => {
                stop.cancelled().await;
                None
            }
            End::Break => {
                // What was said before is on its way, or the break would take it along.
                wait(Duration::from_millis(2)).await;
                Some(Err(io::Error::from(io::ErrorKind::ConnectionReset)))
            }
        }
    });
    let whole = paced.chain(last.filter_map(std::future::ready));
    whole.inspect(move |_| under_way.stays()).boxed()
}

/// Counts a streamed answer for as long as it lives.
struct UnderWay(Arc<Shared>);

impl UnderWay {
    fn begin(shared: Arc<Shared>) -> Self {
        shared.streams.send_modify(|count| *count += 1);
        UnderWay(shared)
    }
    /// Being asked anything keeps it where it is: in the stream.
    fn stays(&self) {}
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.streams.send_modify(|count| *count -= 1);
    }
}

async fn wait(pace: Duration) {
    if !pace.is_zero() {
        tokio::time::sleep(pace).await;
    }
}
