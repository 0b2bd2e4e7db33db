//! The HTTP side: paths, bodies and answers, and connections that are cut instead of answered.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::connect_info::{ConnectInfo, Connected};
use axum::extract::{DefaultBodyLimit, FromRequest, Multipart, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::serve::{IncomingStream, Listener};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

use super::methods::{self, Refusal};
use super::{Fault, Request, Shared};

/// The largest body that is read: above the 50 MB that Telegram takes for a file.
const BODY_MAX_BYTES: usize = 64 << 20;

/// Starts to serve on a free port, until the server is stopped.
pub(super) async fn start(shared: Arc<Shared>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
    let address = listener.local_addr().expect("a bound listener has an address");
    let stop = shared.stop.clone();
    let router = Router::new().fallback(answer).layer(DefaultBodyLimit::max(BODY_MAX_BYTES)).with_state(shared);
    let service = router.into_make_service_with_connect_info::<Cut>();
    tokio::spawn(async move {
        tokio::select! {
            _ = stop.cancelled() => {}
            _ = axum::serve(Door(listener), service).into_future() => {}
        }
    });
    address
}

/// A request's parameters and files.
pub(super) struct Call {
    pub params: Map<String, Value>,
    pub files: Vec<Upload>,
}

/// A file of a multipart form.
pub(super) struct Upload {
    pub field: String,
    pub name: String,
    pub bytes: Vec<u8>,
}

/// What the server does with a request in the end.
pub(super) enum Answer {
    Ok(Value),
    Refused(Refusal),
    Cut,
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(cut): ConnectInfo<Cut>,
    request: axum::extract::Request,
) -> Response {
    let path = percent_decoded(request.uri());
    let expected = format!("{}:{}", super::BOT, super::SECRET);
    let segments: Vec<&str> = path.trim_start_matches('/').splitn(3, '/').collect();
    let (token, rest, file) = match segments.as_slice() {
        ["file", bot, ..] => (*bot, path.splitn(4, '/').nth(3).unwrap_or_default(), true),
        [bot, method] => (*bot, *method, false),
        _ => return refused(&Refusal::new(404, "Not Found")),
    };
    let token = token.strip_prefix("bot").unwrap_or_default();
    if token != expected || shared.world().revoked {
        let well_formed = token.split_once(':').is_some_and(|(id, key)| id.parse::<u64>().is_ok() && key.len() > 20);
        let refusal = if well_formed { Refusal::new(401, "Unauthorized") } else { Refusal::new(404, "Not Found") };
        return refused(&refusal);
    }
    if file {
        return download(&shared, rest);
    }
    let method = rest.to_owned();
    let call = match read(request).await {
        Ok(call) => call,
        Err(why) => return refused(&Refusal::new(400, &format!("Bad Request: {why}"))),
    };
    log(&shared, &method, &call);
    let response = carry_out(&shared, &cut, &method.to_lowercase(), call).await;
    shared.rings();
    response
}

async fn carry_out(shared: &Shared, cut: &Cut, method: &str, call: Call) -> Response {
    let chat = methods::integer(&call.params, "chat_id");
    let fault = shared.world().faults.due(method, chat);
    match fault {
        Some(Fault::CutBefore) => return cut.now(),
        Some(Fault::TooManyRequests(seconds)) => return refused(&Refusal::too_many(seconds)),
        Some(Fault::Refusal(code, description)) => return refused(&Refusal::new(code, description)),
        Some(Fault::Status(status)) => {
            let status = StatusCode::from_u16(status).expect("a test names a status that exists");
            let page = format!("<html><head><title>{status}</title></head><body>nginx</body></html>");
            return (status, [(header::CONTENT_TYPE, "text/html")], page).into_response();
        }
        Some(Fault::CutAfter | Fault::Delay(_)) | None => {}
    }
    let answer = methods::carry_out(shared, method, call).await;
    match fault {
        Some(Fault::CutAfter) => return cut.now(),
        Some(Fault::Delay(time)) => tokio::time::sleep(time).await,
        _ => {}
    }
    match answer {
        Answer::Ok(result) => {
            ([(header::CONTENT_TYPE, "application/json")], json!({"ok": true, "result": result}).to_string())
                .into_response()
        }
        Answer::Refused(refusal) => refused(&refusal),
        Answer::Cut => cut.now(),
    }
}

fn refused(refusal: &Refusal) -> Response {
    let status = StatusCode::from_u16(refusal.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut body = json!({"ok": false, "error_code": refusal.code, "description": refusal.description});
    if let Some((key, value)) = refusal.parameter {
        body["parameters"] = json!({key: value});
    }
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

fn download(shared: &Shared, path: &str) -> Response {
    let world = shared.world();
    match world.files.values().find(|file| file.path == path) {
        Some(file) => Body::from(file.bytes.as_ref().clone()).into_response(),
        None => refused(&Refusal::new(404, "Not Found")),
    }
}

fn log(shared: &Shared, method: &str, call: &Call) {
    if let Some(requests) = &mut shared.world().requests {
        let files = call.files.iter().map(|file| (file.field.clone(), file.name.clone(), file.bytes.len())).collect();
        requests.push(Request { method: method.to_owned(), params: call.params.clone(), files, at: Instant::now() });
    }
}

async fn read(request: axum::extract::Request) -> Result<Call, String> {
    if is_multipart(request.headers()) {
        let form = Multipart::from_request(request, &()).await.map_err(|error| error.to_string())?;
        return read_form(form).await;
    }
    let body = axum::body::to_bytes(request.into_body(), BODY_MAX_BYTES).await.map_err(|error| error.to_string())?;
    if body.is_empty() {
        return Ok(Call { params: Map::new(), files: Vec::new() });
    }
    let params = serde_json::from_slice(&body).map_err(|_| "can't parse request parameters".to_owned())?;
    Ok(Call { params, files: Vec::new() })
}

async fn read_form(mut form: Multipart) -> Result<Call, String> {
    let mut call = Call { params: Map::new(), files: Vec::new() };
    while let Some(field) = form.next_field().await.map_err(|error| error.to_string())? {
        let key = field.name().unwrap_or_default().to_owned();
        let file = field.file_name().map(str::to_owned);
        let bytes = field.bytes().await.map_err(|error| error.to_string())?;
        if let Some(name) = file {
            call.files.push(Upload { field: key, name, bytes: bytes.to_vec() });
            continue;
        }
        let text = String::from_utf8(bytes.to_vec()).map_err(|_| "strings must be encoded in UTF-8".to_owned())?;
        let value = match serde_json::from_str::<Value>(&text) {
            Ok(value) if !value.is_string() && key != "caption" => value,
            _ => Value::String(text),
        };
        call.params.insert(key, value);
    }
    Ok(call)
}

fn is_multipart(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("multipart/"))
}

fn percent_decoded(uri: &Uri) -> String {
    let mut bytes = Vec::new();
    let mut rest = uri.path().as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match (first, hex) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Accepts connections that can be cut from inside a request.
struct Door(TcpListener);

impl Listener for Door {
    type Io = Line;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Line, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.0).await;
        // Small answers must not wait for the client's delayed acknowledgement. Without it they are slow, not wrong.
        stream.set_nodelay(true).unwrap_or_default();
        (Line { stream, cut: Cut::default() }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// Says that a connection is to be closed before anything more is written to it.
#[derive(Clone, Default)]
struct Cut(Arc<AtomicBool>);

impl Cut {
    /// Cuts the connection; the response that is returned never reaches the client.
    fn now(&self) -> Response {
        self.0.store(true, Ordering::SeqCst);
        StatusCode::NO_CONTENT.into_response()
    }
}

impl Connected<IncomingStream<'_, Door>> for Cut {
    fn connect_info(stream: IncomingStream<'_, Door>) -> Cut {
        stream.io().cut.clone()
    }
}

/// A connection. Once it is cut, each write fails, which makes the server drop it.
struct Line {
    stream: TcpStream,
    cut: Cut,
}

impl AsyncRead for Line {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Line {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.cut.0.load(Ordering::SeqCst) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
