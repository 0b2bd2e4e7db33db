//! The REST API: which request is meant, what may go wrong with it, and its answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::body::Body;
use axum::extract::{ConnectInfo, FromRequest, Multipart, Path, State};
use axum::http::{HeaderMap, HeaderValue, Request as HttpRequest, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde_json::{Value, json};

use super::faults::{Fault, On};
use super::limits::{Standing, TooMany};
use super::wire::Line;
use super::world::Request;
use super::{Shared, acts};

/// The largest request that is read: Discord takes 10 MB of files of a bot without boosts.
const BODY_MAX: usize = 32 * 1024 * 1024;

/// A request, read.
pub(super) struct Asked {
    pub body: Value,
    pub files: Vec<(String, String, Bytes)>,
    pub query: String,
}

/// What is wrong, in Discord's form.
#[derive(Debug)]
pub(super) struct Wrong {
    pub status: u16,
    pub code: i64,
    pub message: &'static str,
}

/// What a request is about.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Wanted {
    Gateway { bot: bool },
    Me,
    OpenDirect,
    Application,
    Commands,
    PutCommands,
    Channel(u64),
    Typing(u64),
    History(u64),
    React(u64, u64, String),
    Message(u64, u64),
    Send(u64),
    Edit(u64, u64),
    Delete(u64, u64),
    Callback(u64, String),
    Original(String),
    GetOriginal(String),
    DeleteOriginal(String),
    Followup(String),
}

impl Wanted {
    fn read(method: &str, path: &str) -> Option<Self> {
        let path = path.strip_prefix("/api")?.trim_matches('/');
        let parts: Vec<&str> = path.split('/').collect();
        let parts = match parts.split_first() {
            Some((version, rest)) if version.strip_prefix('v').is_some_and(|v| v.parse::<u8>().is_ok()) => rest,
            _ => &parts,
        };
        let id = |text: &str| text.parse::<u64>().ok();
        Some(match (method, parts) {
            ("GET", ["gateway"]) => Wanted::Gateway { bot: false },
            ("GET", ["gateway", "bot"]) => Wanted::Gateway { bot: true },
            ("GET", ["users", "@me"]) => Wanted::Me,
            ("POST", ["users", "@me", "channels"]) => Wanted::OpenDirect,
            ("GET", ["applications", "@me"] | ["oauth2", "applications", "@me"]) => Wanted::Application,
            ("GET", ["applications", _, "commands"]) => Wanted::Commands,
            ("PUT", ["applications", _, "commands"]) => Wanted::PutCommands,
            ("GET", ["channels", channel]) => Wanted::Channel(id(channel)?),
            ("POST", ["channels", channel, "typing"]) => Wanted::Typing(id(channel)?),
            ("GET", ["channels", channel, "messages"]) => Wanted::History(id(channel)?),
            ("PUT", ["channels", channel, "messages", message, "reactions", emoji, "@me"]) => {
                Wanted::React(id(channel)?, id(message)?, (*emoji).to_owned())
            }
            ("POST", ["channels", channel, "messages"]) => Wanted::Send(id(channel)?),
            ("GET", ["channels", channel, "messages", message]) => Wanted::Message(id(channel)?, id(message)?),
            ("PATCH", ["channels", channel, "messages", message]) => Wanted::Edit(id(channel)?, id(message)?),
            ("DELETE", ["channels", channel, "messages", message]) => Wanted::Delete(id(channel)?, id(message)?),
            ("POST", ["interactions", interaction, token, "callback"]) => {
                Wanted::Callback(id(interaction)?, (*token).to_owned())
            }
            ("PATCH", ["webhooks", _, token, "messages", "@original"]) => Wanted::Original((*token).to_owned()),
            ("GET", ["webhooks", _, token, "messages", "@original"]) => Wanted::GetOriginal((*token).to_owned()),
            ("DELETE", ["webhooks", _, token, "messages", "@original"]) => Wanted::DeleteOriginal((*token).to_owned()),
            ("POST", ["webhooks", _, token]) => Wanted::Followup((*token).to_owned()),
            _ => return None,
        })
    }

    /// By which faults it can be struck.
    fn on(&self) -> On {
        match self {
            Wanted::Gateway { .. } => On::Gateway,
            Wanted::Me => On::Me,
            Wanted::PutCommands => On::Commands,
            Wanted::Channel(_) => On::Channel,
            Wanted::Typing(_) => On::Typing,
            Wanted::History(_) => On::History,
            Wanted::Send(_) => On::Send,
            Wanted::Edit(..) => On::Edit,
            Wanted::Delete(..) => On::Delete,
            Wanted::Callback(..) => On::Callback,
            Wanted::Original(_) => On::Original,
            _ => On::Any,
        }
    }

    fn channel(&self) -> Option<u64> {
        match self {
            Wanted::Channel(id) | Wanted::Typing(id) | Wanted::History(id) | Wanted::Send(id) => Some(*id),
            Wanted::Edit(id, _) | Wanted::Delete(id, _) | Wanted::Message(id, _) => Some(*id),
            Wanted::React(id, ..) => Some(*id),
            _ => None,
        }
    }

    /// The bucket it counts in; `None` for what Discord does not count: interactions and their webhooks are not
    /// bound to the global limit.
    fn bucket(&self) -> Option<(&'static str, u64)> {
        let name = match self {
            Wanted::Send(_) => "send",
            Wanted::Edit(..) => "edit",
            Wanted::Delete(..) => "delete",
            Wanted::History(_) => "history",
            Wanted::Typing(_) => "typing",
            _ => return None,
        };
        Some((name, self.channel()?))
    }

    fn needs_token(&self) -> bool {
        let by_its_own_token = matches!(
            self,
            Wanted::Callback(..)
                | Wanted::Original(_)
                | Wanted::GetOriginal(_)
                | Wanted::DeleteOriginal(_)
                | Wanted::Followup(_)
        );
        !by_its_own_token && *self != Wanted::Gateway { bot: false }
    }
}

/// Every request but the gateway's and the attachments'.
pub(super) async fn serve(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(line): ConnectInfo<Line>,
    request: HttpRequest<Body>,
) -> Response {
    let at = Instant::now();
    let (method, path) = (request.method().to_string(), request.uri().path().to_owned());
    let query = request.uri().query().unwrap_or_default().to_owned();
    let authorization = request.headers().get("authorization").and_then(|value| value.to_str().ok()).map(str::to_owned);
    let Ok(asked) = read(request, query).await else {
        return Wrong { status: 400, code: 50109, message: "The request body contains invalid JSON." }.into_response();
    };
    let wanted = Wanted::read(&method, &path);
    let mut logged = Request {
        method,
        path: if asked.query.is_empty() { path } else { format!("{path}?{}", asked.query) },
        body: asked.body.clone(),
        files: asked.files.len(),
        status: 0,
        at,
    };
    if let Some(short) = logged.path.strip_prefix("/api/v10") {
        logged.path = short.to_owned();
    }
    let (response, after) = answer(&shared, wanted, authorization.as_deref(), asked);
    if let Some(response) = &response {
        logged.status = response.status().as_u16();
    }
    shared.world().remember(logged);
    shared.changed();
    match after {
        After::Answer => {}
        After::Wait(delay) => tokio::time::sleep(delay).await,
        After::Cut => line.cut(),
    }
    match response {
        Some(response) => response,
        // The connection has been cut: this is read by nobody.
        None => StatusCode::BAD_GATEWAY.into_response(),
    }
}

/// What happens to the connection once the request is dealt with.
enum After {
    Answer,
    Wait(Duration),
    Cut,
}

fn answer(
    shared: &Shared,
    wanted: Option<Wanted>,
    authorization: Option<&str>,
    asked: Asked,
) -> (Option<Response>, After) {
    let mut world = shared.world();
    let Some(wanted) = wanted else {
        return (Some(Wrong { status: 404, code: 0, message: "404: Not Found" }.into_response()), After::Answer);
    };
    if wanted.needs_token() && authorization.and_then(|given| given.strip_prefix("Bot ")) != Some(world.token.as_str())
    {
        return (Some(Wrong { status: 401, code: 0, message: "401: Unauthorized" }.into_response()), After::Answer);
    }
    let fault = world.faults.strike(wanted.on(), wanted.channel());
    match fault {
        Some(Fault::TooMany { retry_after, global }) => {
            return (Some(too_many(TooMany { retry_after, global })), After::Answer);
        }
        Some(Fault::Status { status, code }) => {
            let wrong = Wrong { status, code, message: "said the test" };
            return (Some(wrong.into_response()), After::Answer);
        }
        Some(Fault::CutBefore) => return (None, After::Cut),
        Some(Fault::CutAfter | Fault::Delay(_)) | None => {}
    }
    let mut standing = None;
    if let (Some((name, place)), Some(limits)) = (wanted.bucket(), &mut world.limits) {
        match limits.count(name, place, Instant::now()) {
            Ok(counted) => standing = Some((name, counted)),
            Err(many) => {
                world.limited += 1;
                return (Some(too_many(many)), After::Answer);
            }
        }
    }
    let done = acts::act(&mut world, wanted, asked);
    let mut response = match done {
        Ok(Value::Null) => StatusCode::NO_CONTENT.into_response(),
        Ok(body) => Json(body).into_response(),
        Err(wrong) => wrong.into_response(),
    };
    if let Some((name, standing)) = standing {
        add_standing(response.headers_mut(), name, standing);
    }
    match fault {
        Some(Fault::CutAfter) => (None, After::Cut),
        Some(Fault::Delay(delay)) => (Some(response), After::Wait(delay)),
        _ => (Some(response), After::Answer),
    }
}

impl IntoResponse for Wrong {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (status, Json(json!({ "message": self.message, "code": self.code }))).into_response()
    }
}

fn too_many(TooMany { retry_after, global }: TooMany) -> Response {
    let seconds = retry_after.as_secs_f64();
    let body = json!({ "message": "You are being rate limited.", "retry_after": seconds, "global": global });
    let mut response = (StatusCode::TOO_MANY_REQUESTS, Json(body)).into_response();
    let headers = response.headers_mut();
    set(headers, "retry-after", (seconds.ceil() as u64).to_string());
    set(headers, "x-ratelimit-scope", if global { "global" } else { "user" }.to_owned());
    if global {
        set(headers, "x-ratelimit-global", "true".to_owned());
    } else {
        set(headers, "x-ratelimit-limit", "5".to_owned());
        set(headers, "x-ratelimit-remaining", "0".to_owned());
        set(headers, "x-ratelimit-reset-after", format!("{seconds:.3}"));
    }
    response
}

fn add_standing(headers: &mut HeaderMap, name: &str, standing: Standing) {
    let reset_after = standing.reset_after.as_secs_f64();
    set(headers, "x-ratelimit-limit", standing.limit.to_string());
    set(headers, "x-ratelimit-remaining", standing.remaining.to_string());
    set(headers, "x-ratelimit-reset-after", format!("{reset_after:.3}"));
    set(headers, "x-ratelimit-reset", format!("{:.3}", super::world::now_ms() as f64 / 1000.0 + reset_after));
    set(headers, "x-ratelimit-bucket", name.to_owned());
}

fn set(headers: &mut HeaderMap, name: &'static str, value: String) {
    headers.insert(name, HeaderValue::try_from(value).expect("digits and letters are a header"));
}

async fn read(request: HttpRequest<Body>, query: String) -> Result<Asked, ()> {
    let form = request.headers().get("content-type").is_some_and(|kind| kind.as_bytes().starts_with(b"multipart/"));
    if form {
        let mut parts = Multipart::from_request(request, &()).await.map_err(drop)?;
        let mut asked = Asked { body: Value::Null, files: Vec::new(), query };
        while let Some(part) = parts.next_field().await.map_err(drop)? {
            if part.name() == Some("payload_json") {
                asked.body = serde_json::from_slice(&part.bytes().await.map_err(drop)?).map_err(drop)?;
            } else {
                let name = part.file_name().unwrap_or_default().to_owned();
                let media_type = part.content_type().unwrap_or("application/octet-stream").to_owned();
                asked.files.push((name, media_type, part.bytes().await.map_err(drop)?));
            }
        }
        return Ok(asked);
    }
    let bytes = axum::body::to_bytes(request.into_body(), BODY_MAX).await.map_err(drop)?;
    let body = if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).map_err(drop)? };
    Ok(Asked { body, files: Vec::new(), query })
}

/// A file, to whoever knows its address.
pub(super) async fn attachment(
    State(shared): State<Arc<Shared>>,
    Path((channel, file, _name)): Path<(u64, u64, String)>,
) -> Response {
    let world = shared.world();
    let messages = world.channels.get(&channel).into_iter().flat_map(|channel| &channel.messages);
    let mut files = messages.filter_map(|id| world.messages.get(id)).flat_map(|message| &message.files);
    match files.find(|stored| stored.id == file) {
        Some(stored) => ([("content-type", stored.media_type.clone())], stored.bytes.clone()).into_response(),
        None => (StatusCode::NOT_FOUND, "This content is no longer available.").into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_by_method_and_path_with_any_version() {
        assert_eq!(Wanted::read("POST", "/api/v10/channels/5/messages"), Some(Wanted::Send(5)));
        assert_eq!(Wanted::read("GET", "/api/channels/5/messages"), Some(Wanted::History(5)));
        assert_eq!(Wanted::read("PATCH", "/api/v9/channels/5/messages/6"), Some(Wanted::Edit(5, 6)));
        assert_eq!(Wanted::read("GET", "/api/v10/gateway/bot"), Some(Wanted::Gateway { bot: true }));
        assert_eq!(
            Wanted::read("POST", "/api/v10/interactions/1/tok/callback"),
            Some(Wanted::Callback(1, "tok".into()))
        );
        assert_eq!(Wanted::read("GET", "/api/v10/channels/x"), None);
        assert_eq!(Wanted::read("GET", "/other"), None);
    }
}
