//! The gateway websocket: HELLO, IDENTIFY, heartbeats, RESUME, INVALID_SESSION, dispatches, close codes.

use std::sync::Arc;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{ConnectInfo, State};
use axum::response::Response;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::Shared;
use super::json;
use super::sessions::Outgoing;
use super::wire::Line;

/// Discord's usual interval between heartbeats.
const HEARTBEAT_MS: u64 = 41_250;
/// Authentication failed; not authenticated; unknown opcode.
const BAD_TOKEN: u16 = 4004;
const NOT_IDENTIFIED: u16 = 4003;
const UNKNOWN_OPCODE: u16 = 4001;

pub(super) async fn upgrade(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(line): ConnectInfo<Line>,
    upgrade: WebSocketUpgrade,
) -> Response {
    upgrade.on_upgrade(move |socket| serve(shared, line, socket))
}

async fn serve(shared: Arc<Shared>, line: Line, mut socket: WebSocket) {
    let (into, mut outgoing) = mpsc::unbounded_channel();
    let interval = shared.world().sessions.heartbeat_ms.unwrap_or(HEARTBEAT_MS);
    let hello = json!({ "op": 10, "s": null, "t": null, "d": { "heartbeat_interval": interval } });
    if socket.send(Message::text(hello.to_string())).await.is_err() {
        return;
    }
    let mut session = None;
    loop {
        tokio::select! {
            biased;
            next = outgoing.recv() => {
                let done = match next.expect("we hold a sender") {
                    Outgoing::Text(text) => socket.send(Message::text(&*text)).await.is_err(),
                    Outgoing::Close(code) => {
                        close(&mut socket, code).await;
                        true
                    }
                    Outgoing::Cut => {
                        line.cut();
                        true
                    }
                };
                if done {
                    break;
                }
            }
            came = socket.recv() => {
                let Some(Ok(message)) = came else { break };
                let Message::Text(text) = message else { continue };
                let Ok(payload) = serde_json::from_str::<Value>(&text) else { break };
                if let Err(code) = obey(&shared, &payload, &into, &mut session) {
                    close(&mut socket, code).await;
                    break;
                }
            }
        }
    }
    if let Some(session) = session {
        shared.world().sessions.detach(&session, &into);
    }
    shared.changed();
}

async fn close(socket: &mut WebSocket, code: u16) {
    let frame = CloseFrame { code, reason: "said the test".into() };
    // A client that has gone needs no goodbye.
    let _gone = socket.send(Message::Close(Some(frame))).await;
}

/// Does what a client asks; `Err` is the code to close with.
fn obey(
    shared: &Shared,
    payload: &Value,
    into: &mpsc::UnboundedSender<Outgoing>,
    session: &mut Option<String>,
) -> Result<(), u16> {
    let mut world = shared.world();
    let said = |value: Value| {
        // The receiver is in the loop that called us.
        let _here = into.send(Outgoing::Text(value.to_string().into()));
    };
    let (data, token) = (&payload["d"], world.token.clone());
    let token_fits = || data["token"].as_str().is_some_and(|given| given.trim_start_matches("Bot ") == token);
    match payload["op"].as_u64() {
        Some(1) => {
            world.sessions.heartbeats += 1;
            if !world.sessions.mute {
                said(json!({ "op": 11, "s": null, "t": null, "d": null }));
            }
        }
        Some(2) => {
            if !token_fits() {
                return Err(BAD_TOKEN);
            }
            if let Some(code) = world.sessions.refuse {
                return Err(code);
            }
            let id = world.sessions.begin(into.clone());
            let ready = json!({
                "v": 10, "user": json::user(&world, world.me), "session_id": id,
                "resume_gateway_url": format!("{}/gateway", world.origin.replacen("http", "ws", 1)),
                "guilds": [{ "id": world.guild.to_string(), "unavailable": true }],
                "application": { "id": world.application.to_string(), "flags": 0 }, "shard": [0, 1],
            });
            world.sessions.dispatch_to(&id, "READY", &ready);
            let guild = json::guild(&world);
            world.sessions.dispatch_to(&id, "GUILD_CREATE", &guild);
            *session = Some(id);
        }
        Some(6) => {
            if !token_fits() {
                return Err(BAD_TOKEN);
            }
            let (id, seen) = (data["session_id"].as_str().unwrap_or_default(), data["seq"].as_u64().unwrap_or(0));
            if world.sessions.resume(id, seen, into.clone()) {
                *session = Some(id.to_owned());
            } else {
                said(json!({ "op": 9, "s": null, "t": null, "d": false }));
            }
        }
        // Presence and member requests are of no use here.
        Some(3 | 4 | 8) if session.is_some() => {}
        Some(3 | 4 | 8) => return Err(NOT_IDENTIFIED),
        _ => return Err(UNKNOWN_OPCODE),
    }
    drop(world);
    shared.changed();
    Ok(())
}
