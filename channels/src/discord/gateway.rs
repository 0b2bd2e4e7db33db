//! serenity's gateway connection: identify, heartbeats, resume and reconnects are its business, in order is ours.
//!
//! serenity gives every event to a task of its own, and on several workers such tasks overtake each other. So its
//! shard runs on a runtime with one thread, whose queue is first in, first out, and every task does nothing but
//! put its event into one channel, without waiting: what comes out is in Discord's order. Where the channel is full,
//! the whole thread waits: serenity then reads no more, and Discord holds back what is to come.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use serenity::async_trait;
use serenity::client::{Context, EventHandler, RawEventHandler};
use serenity::gateway::{ConnectionStage, GatewayError, ShardManager, ShardManagerOptions, ShardStageUpdateEvent};
use serenity::http::HttpBuilder;
use serenity::model::event::Event;
use serenity::model::gateway::GatewayIntents;
use serenity::model::id::ShardId;
use serenity::prelude::{Mutex, RwLock, TypeMap};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Guild and thread names, messages in guilds and direct ones, and what they say. Nothing else is asked for:
/// member lists and presences would fill the memory of a small machine.
const INTENTS: GatewayIntents = GatewayIntents::GUILDS
    .union(GatewayIntents::GUILD_MESSAGES)
    .union(GatewayIntents::DIRECT_MESSAGES)
    .union(GatewayIntents::MESSAGE_CONTENT);

/// The only shard: a bot needs a second one at 2,500 guilds.
const SHARD: ShardId = ShardId(0);

/// Events between serenity and us.
const QUEUE_MAX: usize = 1_024;

/// How often it is looked whether the connection still stands: serenity tells of a loss only when it is over.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long serenity may take to say goodbye to Discord.
const GOODBYE_LIMIT: Duration = Duration::from_secs(1);

/// What comes from the gateway.
pub(super) enum Happening {
    /// An event, also one that serenity could not parse ([`Event::Unknown`]).
    Event(Box<Event>),
    /// The connection changed its state.
    Stage(ConnectionStage),
    /// Discord does not let us in, and will not.
    Refused(GatewayError),
}

/// An open gateway. Dropped, it closes.
pub(super) struct Gateway {
    happenings: mpsc::Receiver<Happening>,
    stop: CancellationToken,
}

impl Gateway {
    /// Starts to connect to `url` (`wss://…`, without query). Connecting is repeated until it works.
    pub(super) fn open(url: String, token: &str, client: reqwest::Client) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (into, happenings) = mpsc::channel(QUEUE_MAX);
        let stop = CancellationToken::new();
        let (stopped, token) = (stop.clone(), token.to_owned());
        std::thread::Builder::new().name("discord-gateway".to_owned()).spawn(move || {
            runtime.block_on(run(url, &token, client, into, stopped));
            runtime.shutdown_background();
        })?;
        Ok(Gateway { happenings, stop })
    }

    /// The next happening; `None` where serenity ended.
    pub(super) async fn next(&mut self) -> Option<Happening> {
        self.happenings.recv().await
    }

    /// Says goodbye to Discord.
    pub(super) async fn close(mut self) {
        self.stop.cancel();
        // The channel closes when the thread's runtime is gone; what still comes is not acknowledged.
        while self.happenings.recv().await.is_some() {}
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn run(
    url: String,
    token: &str,
    client: reqwest::Client,
    into: mpsc::Sender<Happening>,
    stop: CancellationToken,
) {
    let ear = Arc::new(Ear { into: into.clone() });
    // Built by hand and not through `serenity::Client`, because that asks for the gateway's address itself and
    // goes to Discord's own where the answer fails, with whatever token it has.
    let (manager, mut ended) = ShardManager::new(ShardManagerOptions {
        data: Arc::new(RwLock::new(TypeMap::new())),
        event_handlers: vec![ear.clone()],
        raw_event_handlers: vec![ear],
        shard_index: 0,
        shard_init: 1,
        shard_total: 1,
        ws_url: Arc::new(Mutex::new(url)),
        // Identifies with this token; no request is made through it.
        http: Arc::new(HttpBuilder::new(token).client(client).ratelimiter_disabled(true).build()),
        intents: INTENTS,
        presence: None,
    });
    if let Err(fault) = manager.initialize() {
        tracing::error!(%fault, "discord: the shard could not be started");
        return;
    }
    let mut look = tokio::time::interval(LOOK_EVERY);
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => {
                if tokio::time::timeout(GOODBYE_LIMIT, manager.shutdown_all()).await.is_err() {
                    tracing::debug!("discord: the gateway did not close in time and was dropped");
                }
                return;
            }
            end = ended.next() => {
                if let Some(Err(fault)) = end {
                    // Nobody listens any more where the receiver has gone.
                    let _gone = into.send(Happening::Refused(fault)).await;
                }
                return;
            }
            _ = look.tick() => {
                let runners = manager.runners.lock().await;
                let stage = runners.get(&SHARD).map_or(ConnectionStage::Disconnected, |runner| runner.stage);
                drop(runners);
                if stage != ConnectionStage::Connected {
                    // Full or gone, the next look is soon.
                    let _later = into.try_send(Happening::Stage(stage));
                }
            }
        }
    }
}

struct Ear {
    into: mpsc::Sender<Happening>,
}

impl Ear {
    /// Synchronous on purpose: an `await` would let another task, with a later event, go first.
    fn hear(&self, happening: Happening) {
        if let Err(mpsc::error::TrySendError::Full(happening)) = self.into.try_send(happening) {
            tracing::warn!("discord: events come faster than they are taken in; the gateway waits");
            // Unconstrained, because this task does not come back to tokio for a new budget. Nobody listens any more
            // where the receiver has gone.
            let _gone = futures::executor::block_on(tokio::task::unconstrained(self.into.send(happening)));
        }
    }
}

#[async_trait]
impl RawEventHandler for Ear {
    async fn raw_event(&self, _: Context, event: Event) {
        self.hear(Happening::Event(Box::new(event)));
    }
}

#[async_trait]
impl EventHandler for Ear {
    async fn shard_stage_update(&self, _: Context, update: ShardStageUpdateEvent) {
        self.hear(Happening::Stage(update.new));
    }
}
