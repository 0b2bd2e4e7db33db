//! The loopback Discord: REST API and gateway on one port of the loopback interface.
//!
//! A test speaks through [`Discord`] for the people (say, click, edit) and for the platform (cut, limit, forget); a
//! bot sees the same JSON, events, codes and limits as from Discord. Many can run in one process; nothing is global.
//! A client may be killed at any time and come back.

mod acts;
mod faults;
mod gateway;
mod json;
mod limits;
mod people;
mod rest;
mod sessions;
mod show;
mod wire;
mod world;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::Router;
use axum::routing::{any, get};
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

pub use faults::{Fault, On};
pub use people::{Given, InteractionState, Says};
pub use show::{Shown, ShownButton, ShownFile};
pub use world::Request;

use sessions::Outgoing;
use wire::{Line, Port, Switch};
use world::World;

/// A running loopback Discord. Clones are the same one; it ends when the last is dropped.
#[derive(Clone)]
pub struct Discord {
    shared: Arc<Shared>,
    switch: Arc<Switch>,
    _ends_with_us: Arc<DropGuard>,
}

struct Shared {
    world: Mutex<World>,
    changes: watch::Sender<()>,
}

impl Shared {
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().expect("no test panicked within the world")
    }

    fn changed(&self) {
        self.changes.send_replace(());
    }
}

impl Discord {
    /// Starts on a free port, with one guild that has no channels, and nobody but the bot.
    ///
    /// # Panics
    /// Where the loopback interface has no free port.
    pub async fn start() -> Self {
        let switch = Switch::new();
        let port = Port::open(switch.clone()).await.expect("a free port on 127.0.0.1");
        let origin = format!("http://{}", port.address());
        let shared = Arc::new(Shared { world: Mutex::new(World::new(origin)), changes: watch::Sender::new(()) });
        let routes = Router::new()
            .route("/gateway", any(gateway::upgrade))
            .route("/gateway/", any(gateway::upgrade))
            .route("/attachments/{channel}/{file}/{name}", get(rest::attachment))
            .fallback(rest::serve)
            .with_state(shared.clone());
        let end = CancellationToken::new();
        let ended = end.clone();
        tokio::spawn(async move {
            let serve = axum::serve(port, routes.into_make_service_with_connect_info::<Line>());
            tokio::select! {
                () = ended.cancelled() => {}
                served = serve => served.expect("serving never fails"),
            }
        });
        Discord { shared, switch, _ends_with_us: Arc::new(end.drop_guard()) }
    }

    /// What `DISCORD_API_URL` has to be: `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        self.world().origin.clone()
    }

    /// What `DISCORD_TOKEN` has to be.
    pub fn token(&self) -> String {
        self.world().token.clone()
    }

    /// The bot's user id.
    pub fn bot_id(&self) -> u64 {
        self.world().me
    }

    /// The role that the guild made for the bot itself.
    pub fn bot_role(&self) -> u64 {
        self.world().role
    }

    /// A channel as people see it, oldest first.
    pub fn messages(&self, channel: u64) -> Vec<Shown> {
        let world = self.world();
        let ids = world.channels.get(&channel).map(|channel| channel.messages.as_slice()).unwrap_or_default();
        ids.iter().filter_map(|id| world.messages.get(id)).map(|message| Shown::of(message, &world)).collect()
    }

    /// What the bot wrote in a channel.
    pub fn answers(&self, channel: u64) -> Vec<Shown> {
        let bot = self.bot_id();
        self.messages(channel).into_iter().filter(|message| message.author == bot).collect()
    }

    /// Waits until a channel looks as wanted, and gives it.
    ///
    /// # Panics
    /// Where it does not within `deadline`; with what is there.
    pub async fn wait_for(&self, channel: u64, wanted: impl Fn(&[Shown]) -> bool, deadline: Duration) -> Vec<Shown> {
        let look = || Some(self.messages(channel)).filter(|messages| wanted(messages));
        match self.until(look, deadline).await {
            Some(messages) => messages,
            None => panic!("not within {deadline:?}; channel {channel} shows {:#?}", self.messages(channel)),
        }
    }

    /// Waits until `look` finds something; `None` where it does not within `deadline`.
    pub async fn until<T>(&self, look: impl Fn() -> Option<T>, deadline: Duration) -> Option<T> {
        let mut changes = self.shared.changes.subscribe();
        let found = async {
            loop {
                changes.mark_unchanged();
                if let Some(found) = look() {
                    return found;
                }
                changes.changed().await.expect("we hold the sender");
            }
        };
        tokio::time::timeout(deadline, found).await.ok()
    }

    /// Every message that the bot posts or changes from now on, as it happens: cheaper than looking at channels.
    pub fn watch(&self) -> mpsc::UnboundedReceiver<Shown> {
        let (into, from) = mpsc::unbounded_channel();
        self.world().watchers.push(into);
        from
    }

    /// The requests so far, oldest first (the last 50,000).
    pub fn requests(&self) -> Vec<Request> {
        self.world().requests.iter().flatten().cloned().collect()
    }

    /// Remembers no requests from now on: for benchmarks.
    pub fn forget_requests(&self) {
        self.world().requests = None;
    }

    /// The slash commands as they were registered last.
    pub fn commands(&self) -> Value {
        self.world().commands.clone()
    }

    /// The bot's reactions: message and emoji, as the path had it.
    pub fn reactions(&self) -> Vec<(u64, String)> {
        self.world().reactions.clone()
    }

    /// Channels in which the bot showed that it types, as often as it did.
    pub fn typing(&self) -> Vec<u64> {
        self.world().typing.clone()
    }

    /// The next `times` requests of a sort go wrong.
    pub fn fail(&self, on: On, fault: Fault, times: usize) {
        self.world().faults.plan(on, None, fault, times);
    }

    /// The same in one channel only.
    pub fn fail_in(&self, channel: u64, on: On, fault: Fault, times: usize) {
        self.world().faults.plan(on, Some(channel), fault, times);
    }

    /// Keeps Discord's documented limits from now on (or not): 5 in 5 s of each bucket, 50 in 1 s overall.
    pub fn limit(&self, limited: bool) {
        self.world().limits = limited.then(Default::default);
    }

    /// How many requests were over the limits.
    pub fn over_limit(&self) -> usize {
        self.world().limited
    }

    /// For how long a nonce is known. Five minutes, unless set.
    pub fn set_nonce_window(&self, window: Duration) {
        self.world().nonce_window = window;
    }

    /// Within what time an interaction must be acknowledged. Three seconds, unless set.
    pub fn set_interaction_window(&self, window: Duration) {
        self.world().interaction_window = window;
    }

    /// No interaction so far can be answered any more.
    pub fn expire_interactions(&self) {
        self.world().interactions.values_mut().for_each(|interaction| interaction.expired = true);
    }

    /// Ends every gateway connection without a word. Sessions can be resumed.
    pub fn disconnect(&self) {
        self.world().sessions.send(&Outgoing::Cut);
    }

    /// Ends every gateway connection with a close code.
    pub fn close(&self, code: u16) {
        self.world().sessions.send(&Outgoing::Close(code));
    }

    /// Asks every client to reconnect (opcode 7).
    pub fn ask_to_reconnect(&self) {
        self.gateway_says(&serde_json::json!({ "op": 7, "s": null, "t": null, "d": null }));
    }

    /// Tells every client that its session is invalid (opcode 9).
    pub fn invalidate(&self, resumable: bool) {
        if !resumable {
            self.gateway_says(&serde_json::json!({ "op": 9, "s": null, "t": null, "d": false }));
            self.forget_sessions();
        } else {
            self.gateway_says(&serde_json::json!({ "op": 9, "s": null, "t": null, "d": true }));
        }
    }

    /// No session so far can be resumed.
    pub fn forget_sessions(&self) {
        self.world().sessions.forget();
    }

    fn gateway_says(&self, payload: &Value) {
        self.world().sessions.send(&Outgoing::Text(payload.to_string().into()));
    }

    /// IDENTIFY is answered with this close code from now on: 4004 for a wrong token, 4014 for disallowed intents.
    pub fn refuse_identify(&self, code: Option<u16>) {
        self.world().sessions.refuse = code;
    }

    /// Heartbeats are not acknowledged from now on (or again).
    pub fn mute_heartbeats(&self, mute: bool) {
        self.world().sessions.mute = mute;
    }

    /// How often clients that connect from now on shall send a heartbeat.
    pub fn set_heartbeat(&self, interval: Duration) {
        self.world().sessions.heartbeat_ms = u64::try_from(interval.as_millis()).ok();
    }

    /// Clients that are connected to the gateway now.
    pub fn connected(&self) -> usize {
        self.world().sessions.connected()
    }

    /// Sessions that were begun, and resumes that were accepted, so far.
    pub fn sessions(&self) -> (usize, usize) {
        let world = self.world();
        (world.sessions.identified, world.sessions.resumed)
    }

    /// Heartbeats that came so far.
    pub fn heartbeats(&self) -> usize {
        self.world().sessions.heartbeats
    }

    /// Nobody answers on the port any more; every connection is cut.
    pub fn offline(&self) {
        self.switch.off();
    }

    /// The port answers again.
    pub fn online(&self) {
        self.switch.on();
    }

    /// Sends any event to every client, as it is: for what a client cannot parse.
    pub fn emit(&self, kind: &str, data: &Value) {
        self.world().sessions.dispatch(kind, data);
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.shared.world()
    }
}
