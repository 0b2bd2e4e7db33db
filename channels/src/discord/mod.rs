//! Discord, through serenity.
//!
//! | file | what |
//! |---|---|
//! | `entrance`, `gateway` | the gateway's address; serenity's connection, its events in order |
//! | `receive`, `taking` | events → lanes → the host, in the order of each channel |
//! | `lanes`, `returning`, `history` | one channel after the other; what was missed, read back |
//! | `inbound`, `words`, `places` | event → [`crate::Inbound`] (pure) |
//! | `interactions`, `handle`, `menu` | slash commands and clicks |
//! | `deliver`, `outbound` | [`Outbound`] → request (pure), paced |
//! | `rest`, `errors` | one request, its answer typed by what to do next |
//! | `fetch` | attachments |
//!
//! Invariants: no token and no text of a message is logged here; a position never moves past a message of its
//! channel that was not taken in or read; every message goes out with no mention allowed.
//!
//! serenity itself logs what it cannot parse with its content, at `warn` under `serenity::gateway`: a host that
//! keeps bodies out of its log switches `serenity` off there. What is worth knowing comes as a [`Report`].
//!
//! Known limits: Discord shows a bot no list of its direct conversations, so what a person wrote while the bot was
//! away is found only where they wrote before; edits and interactions of that time are not found at all.

mod deliver;
mod entrance;
mod errors;
mod fetch;
mod gateway;
mod handle;
mod history;
mod inbound;
mod interactions;
mod lanes;
mod menu;
mod outbound;
mod places;
mod receive;
mod rest;
mod returning;
mod snowflake;
mod taking;
mod words;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use serenity::http::{LightMethod, Route};
use serenity::model::id::{ChannelId, MessageId};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use self::errors::Fault;
use self::inbound::Reading;
use self::interactions::Deferrals;
use self::places::{Places, Room};
use self::rest::{Call, Rest};
use self::words::Us;
#[cfg(doc)]
use crate::Report;
use crate::pace::{Limit, Pace, Rate, Turn};
use crate::{
    Attachment, ConversationId, Deliver, Hearing, Intake, Kind, Menu, Outbound, Receive, ReceiveError, Reply,
    SendError, Sent,
};

/// Discord takes 50 requests a second of a bot
/// (<https://discord.com/developers/docs/topics/rate-limits#global-rate-limit>). What is more than a second is for what
/// the network takes from the distance of two requests.
const OVERALL: Limit = Limit { most: 50, within: Duration::from_millis(1_015) };

/// Discord takes 5 messages in 5 seconds of a channel, as its answers' `X-RateLimit-*` headers say; with a margin for
/// the network again. Two at once is an answer and its buttons, or the two pieces of a longer one.
const CONVERSATION: Rate = Rate::within(5, Duration::from_millis(5_250), 2);

/// No rate of its own: the whole bot's is enough.
const FREE: Rate = Rate { burst: 50, every: Duration::from_millis(20) };

/// The lane of requests that are counted for the whole bot but in no conversation.
const ASIDE: &str = "aside";

/// How often a draft is edited: slower than [`CONVERSATION`] is refilled, so that drafts alone never exhaust it.
const DRAFT_INTERVAL: Duration = Duration::from_millis(1_800);

/// Discord checks a nonce "for uniqueness in the past few minutes"
/// (<https://discord.com/developers/docs/resources/message#create-message>, `enforce_nonce`): fewer than a few.
const KEY_WINDOW: Duration = Duration::from_secs(120);

/// What stands on a message that was taken in while a turn runs: eyes, as a path has them.
const SEEN: &str = "%F0%9F%91%80";

/// How often a room that is not known is asked for before a live message goes on without it.
const ROOM_ATTEMPTS: usize = 3;
/// Between attempts to ask for a room: at first, and at most.
const ROOM_PATIENCE: (Duration, Duration) = (Duration::from_millis(300), Duration::from_secs(30));

/// How much of what was missed is read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatchUp {
    /// At most this many messages of each channel; the newest count.
    pub per_channel_max: usize,
    /// Nothing older than this.
    pub age_max: Duration,
}

impl Default for CatchUp {
    fn default() -> Self {
        CatchUp { per_channel_max: 100, age_max: Duration::from_secs(24 * 60 * 60) }
    }
}

/// What the adapter is given.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The bot's token, with or without `Bot ` before it.
    pub token: SecretString,
    /// The server to talk to instead of Discord, `http://127.0.0.1:3000`. serenity's own limiter is then off.
    pub api_url: Option<String>,
    /// Where the bot answers in guilds.
    pub hearing: Hearing,
    /// The slash commands.
    pub menu: Menu,
    /// How much of what was missed is read back.
    pub catch_up: CatchUp,
    /// An HTTP client with its own limits and certificates, for a network that needs one; `None` for the usual one.
    pub http: Option<reqwest::Client>,
}

impl Settings {
    /// Discord itself, answers only where the bot is addressed, no slash commands.
    pub fn new(token: SecretString) -> Self {
        let (hearing, menu, catch_up) = (Hearing::default(), Menu::default(), CatchUp::default());
        Settings { token, api_url: None, hearing, menu, catch_up, http: None }
    }
}

/// One bot on Discord.
pub struct Discord {
    rest: Rest,
    pace: Arc<Pace>,
    aside: ConversationId,
    places: Mutex<Places>,
    deferrals: Deferrals,
    me: OnceCell<Me>,
    settings: Settings,
}

/// Who the bot is, as the REST API says.
struct Me {
    id: String,
    name: String,
}

impl Discord {
    /// An adapter that talks to nobody yet.
    ///
    /// # Errors
    /// [`ReceiveError::Unauthorized`] for a token that cannot be one (empty, or with characters that no header may
    /// carry), [`ReceiveError::Forbidden`] for an `api_url` that is no HTTP address.
    pub fn new(settings: Settings) -> Result<Self, ReceiveError> {
        let token = settings.token.expose_secret().trim();
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') {
            return Err(ReceiveError::Unauthorized(Kind::Discord, errors::TOKEN));
        }
        if let Some(url) = &settings.api_url {
            let http = url::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
            if !http {
                return Err(ReceiveError::Forbidden("DISCORD_API_URL is no http:// or https:// address".to_owned()));
            }
        }
        let pace = Arc::new(Pace::new(OVERALL, rate_of));
        let frozen = pace.clone();
        let on_limit = move |path: &str, wait: Duration, everything: bool| {
            let conversation = limited_conversation(path);
            if everything || conversation.is_some() {
                frozen.freeze(conversation.filter(|_| !everything).as_ref(), wait);
            }
        };
        let rest = Rest::new(&settings.token, settings.api_url.clone(), settings.http.clone(), on_limit)?;
        let aside = ConversationId::new(Kind::Discord, ASIDE);
        let (places, deferrals, me) = (Mutex::default(), Deferrals::default(), OnceCell::new());
        Ok(Discord { rest, pace, aside, places, deferrals, me, settings })
    }

    fn token(&self) -> &str {
        self.settings.token.expose_secret()
    }

    fn menu(&self) -> &Menu {
        &self.settings.menu
    }

    fn catch_up(&self) -> CatchUp {
        self.settings.catch_up
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().expect("never panics while held")
    }

    fn reading<'a>(
        &'a self,
        us: &'a Us,
        room: &'a Room,
        titles: &'a (dyn Fn(u64) -> Option<String> + Sync),
    ) -> Reading<'a> {
        Reading { us, hearing: &self.settings.hearing, room, titles }
    }

    /// Performs a request that belongs to no conversation's rate, but to the bot's.
    async fn aside(&self, call: Call<'_>) -> Result<Value, Fault> {
        drop(self.pace.ready(&self.aside).await);
        let done = self.rest.call(call).await;
        if let Err(Fault::Limited { retry_after, everything }) = &done {
            self.pace.freeze((!everything).then_some(&self.aside), *retry_after);
        }
        done
    }

    /// Who the bot is; asked once.
    async fn me(&self) -> Result<&Me, Fault> {
        self.me.get_or_try_init(|| self.ask_me()).await
    }

    async fn ask_me(&self) -> Result<Me, Fault> {
        let me = self.aside(Call::new(LightMethod::Get, Route::UserMe)).await?;
        let text = |name: &str| me[name].as_str().unwrap_or_default().to_owned();
        Ok(Me { id: text("id"), name: text("username") })
    }

    /// What a channel is, from memory or by asking.
    async fn room(&self, channel: u64) -> Result<Room, Fault> {
        if let Some(room) = self.places().get(channel) {
            return Ok(room);
        }
        let route = Route::Channel { channel_id: ChannelId::new(channel) };
        let answer = self.aside(Call::new(LightMethod::Get, route)).await?;
        let room = Room::of_json(&answer).ok_or_else(|| Fault::Malformed("a channel without a type".to_owned()))?;
        self.places().put(channel, room.clone());
        Ok(room)
    }

    /// The same, however long Discord takes to answer; `Err` only where waiting does not help.
    async fn room_patiently(&self, channel: u64) -> Result<Room, Fault> {
        self.room_within(channel, usize::MAX).await
    }

    /// The same for a message that is here already: where Discord does not say, it is taken for a room without name.
    async fn room_or_guess(&self, channel: u64) -> Room {
        match self.room_within(channel, ROOM_ATTEMPTS).await {
            Ok(room) => room,
            Err(fault) => {
                tracing::warn!(channel, ?fault, "discord: a channel is not known and is taken for a flat one");
                Room::Channel { title: Box::default() }
            }
        }
    }

    async fn room_within(&self, channel: u64, attempts: usize) -> Result<Room, Fault> {
        let (mut patience, most) = ROOM_PATIENCE;
        let mut attempt = 1;
        loop {
            let fault = match self.room(channel).await {
                Ok(room) => return Ok(room),
                Err(fault) => fault,
            };
            match fault.passing() {
                Some(wait) if attempt < attempts => tokio::time::sleep(wait.max(patience)).await,
                _ => return Err(fault),
            }
            patience = (patience * 2).min(most);
            attempt += 1;
        }
    }
}

fn rate_of(conversation: &ConversationId) -> Rate {
    if conversation.local() == ASIDE { FREE } else { CONVERSATION }
}

/// The conversation of a path of the API, `…/channels/5/messages`.
fn limited_conversation(path: &str) -> Option<ConversationId> {
    let (_, after) = path.split_once("/channels/")?;
    let id: u64 = after.split('/').next()?.parse().ok()?;
    Some(ConversationId::new(Kind::Discord, id))
}

impl Receive for Discord {
    fn kind(&self) -> Kind {
        Kind::Discord
    }

    fn receive(&self, intake: Arc<dyn Intake>, stop: CancellationToken) -> BoxFuture<'_, Result<(), ReceiveError>> {
        async move { receive::run(self, &*intake, &stop).await }.boxed()
    }

    fn fetch<'a>(
        &'a self,
        attachment: &'a Attachment,
        to: &'a Path,
        size_max_bytes: u64,
    ) -> BoxFuture<'a, Result<(), SendError>> {
        fetch::fetch(self, attachment, to, size_max_bytes).boxed()
    }

    fn check(&self) -> BoxFuture<'_, Result<String, ReceiveError>> {
        async move { self.ask_me().await.map(|me| me.name).map_err(Fault::into_receive_error) }.boxed()
    }
}

impl Reply for Discord {
    fn typing<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, ()> {
        async move {
            let Ok(channel_id) = deliver::channel_of(conversation) else { return };
            // A sign of life is not worth a message's place.
            if !self.pace.idle(conversation) {
                return;
            }
            let call = Call::new(LightMethod::Post, Route::ChannelTyping { channel_id });
            if let Err(fault) = self.aside(call).await {
                tracing::debug!(%conversation, ?fault, "discord: typing was not shown");
            }
        }
        .boxed()
    }

    fn seen<'a>(&'a self, conversation: &'a ConversationId, message_id: &'a str) -> BoxFuture<'a, ()> {
        async move {
            let (Ok(channel_id), Ok(message)) = (deliver::channel_of(conversation), message_id.parse::<u64>()) else {
                return;
            };
            if message == 0 || !self.pace.idle(conversation) {
                return;
            }
            let message_id = MessageId::new(message);
            let route = Route::ChannelMessageReactionMe { channel_id, message_id, reaction: SEEN };
            if let Err(fault) = self.aside(Call::new(LightMethod::Put, route)).await {
                tracing::debug!(%conversation, ?fault, "discord: a message was not marked as seen");
            }
        }
        .boxed()
    }

    fn draft_interval(&self, _: &ConversationId) -> Duration {
        DRAFT_INTERVAL
    }

    fn draft_fits(&self, conversation: &ConversationId) -> bool {
        self.pace.idle(conversation)
    }
}

impl Deliver for Discord {
    fn ready<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Turn> {
        self.pace.ready(conversation).boxed()
    }

    fn deliver<'a>(&'a self, out: &'a Outbound) -> BoxFuture<'a, Result<Sent, SendError>> {
        deliver::deliver(self, out).boxed()
    }

    fn find<'a>(&'a self, out: &'a Outbound, since_ms: i64) -> BoxFuture<'a, Result<Option<Sent>, SendError>> {
        deliver::find(self, out, since_ms).boxed()
    }

    fn key_window(&self) -> Duration {
        KEY_WINDOW
    }

    fn reads_back(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(token: &str, api_url: Option<&str>) -> Settings {
        Settings { api_url: api_url.map(str::to_owned), ..Settings::new(token.into()) }
    }

    #[test]
    fn what_cannot_be_a_token_or_an_address_is_said_at_once_and_no_token_is_shown() {
        for token in ["", "  ", "line\nbreak", "tökén"] {
            let fault = Discord::new(settings(token, None)).err();
            assert_eq!(fault, Some(ReceiveError::Unauthorized(Kind::Discord, "DISCORD_TOKEN")), "{token:?}");
        }
        for url in ["127.0.0.1:1", "ftp://x", "", "http://"] {
            assert!(matches!(Discord::new(settings("t", Some(url))), Err(ReceiveError::Forbidden(_))), "{url:?}");
        }
        assert!(!format!("{:?}", settings("hush-hush", None)).contains("hush"));
    }

    #[test]
    fn a_limited_path_names_its_conversation() {
        let conversation = |path| limited_conversation(path).map(|conversation| conversation.to_string());
        assert_eq!(conversation("https://discord.com/api/v10/channels/5/messages"), Some("discord:5".to_owned()));
        assert_eq!(conversation("https://discord.com/api/v10/channels/5"), Some("discord:5".to_owned()));
        assert_eq!(conversation("https://discord.com/api/v10/gateway/bot"), None);
    }
}
