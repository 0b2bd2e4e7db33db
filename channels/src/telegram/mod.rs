//! Telegram, through teloxide's Bot API.
//!
//! | file | what |
//! |---|---|
//! | `mod` | the adapter: settings, and the three directions of the port |
//! | `call` | one request and its answer |
//! | `poll` | the loop that takes updates in |
//! | `update`, `inbound`, `marks`, `attachment`, `names` | an update → [`crate::Inbound`] (pure) |
//! | `outbound` | [`Outbound`] → a request (pure) |
//! | `errors` | Telegram's refusals → [`SendError`] (pure) |
//! | `place` | chats and topics ↔ conversation ids (pure) |
//! | `menu`, `fetch` | the commands menu; files that people send |
//!
//! What teloxide's own runtime would do is deliberately absent: its dispatcher acknowledges before a handler has
//! ended, its polling sleeps through faults, and its `Throttle` holds every chat when one is limited.

mod attachment;
mod call;
mod errors;
mod fetch;
mod inbound;
mod marks;
mod menu;
mod names;
mod outbound;
mod place;
mod poll;
mod update;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use secrecy::SecretString;
use serde::Deserialize;
use serde::de::IgnoredAny;
use teloxide::payloads::{SendChatAction, SetMessageReaction};
use teloxide::types::{ChatAction, MessageId, ReactionType};
use tokio_util::sync::CancellationToken;

use crate::pace::{Limit, Pace, Rate, Turn};
use crate::{
    Attachment, ConversationId, Deliver, File, FileSource, Hearing, Intake, Kind, Menu, Outbound, Receive,
    ReceiveError, Reply, SendError, Sent,
};
use call::{Api, CallError, Refusal};
use outbound::{Act, Form, Request, Upload};
use place::Target;

/// Thirty messages a second to everybody together (Bot FAQ, "Broadcasting to Users"). This and the next two leave a
/// little room: Telegram counts when requests arrive, and one may be slower on its way than the one before it.
const OVERALL: Limit = Limit { most: 30, within: Duration::from_millis(1_015) };
/// One message a second to one person.
const PRIVATE: Rate = Rate { burst: 1, every: Duration::from_millis(1_020) };
/// Twenty messages a minute to one group, four of them at once.
const GROUP: Rate = Rate::within(20, Duration::from_millis(60_300), 4);
/// What stands on a message that was taken in while a turn runs: one of the reactions that every bot may give.
const SEEN: &str = "👀";
/// How often a draft is shown anew in a group, where drafts and messages share twenty a minute.
const GROUP_DRAFT_INTERVAL: Duration = Duration::from_secs(4);
/// The shortest patience of a poll: Telegram counts in seconds, and none would be asking without end.
const POLL_TIMEOUT_MIN: Duration = Duration::from_secs(1);
/// How often one delivery may be tried in a simpler form.
const FORMS_MAX: usize = 4;

/// What the adapter has to know.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The bot's token, as @BotFather gave it.
    pub token: SecretString,
    /// The Bot API to speak to, for example `http://127.0.0.1:8081`; Telegram's own if `None`. A slash at its end
    /// changes nothing.
    pub api_url: Option<String>,
    /// Where the bot answers in groups.
    pub hearing: Hearing,
    /// The commands to show.
    pub menu: Menu,
    /// How long Telegram holds a poll open when nothing happens, in whole seconds, from 1 to 50.
    pub poll_timeout: Duration,
}

impl Settings {
    /// The longest that Telegram holds a poll open.
    pub const POLL_TIMEOUT: Duration = Duration::from_secs(50);

    /// For a token, with nothing else changed: Telegram's own servers, no menu, answers when addressed.
    pub fn new(token: SecretString) -> Settings {
        Settings {
            token,
            api_url: None,
            hearing: Hearing::default(),
            menu: Menu::default(),
            poll_timeout: Settings::POLL_TIMEOUT,
        }
    }
}

/// The Telegram adapter.
pub struct Telegram {
    api: Api,
    hearing: Hearing,
    menu: Menu,
    poll_timeout: Duration,
    pace: Pace,
    names: names::Names,
}

impl fmt::Debug for Telegram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telegram").field("hearing", &self.hearing).finish_non_exhaustive()
    }
}

/// The part of a sent message that we use. Nothing else can make an answer unreadable that way.
#[derive(Deserialize)]
struct Posted {
    message_id: i32,
}

/// What a request is answered with: one message, several where several files went out, or something that says no
/// more than that it was done.
#[derive(Deserialize)]
#[serde(untagged)]
enum Posts {
    One(Posted),
    Several(Vec<Posted>),
    Changed(IgnoredAny),
}

impl Telegram {
    /// Makes the adapter. Sends nothing; refuses a token or a URL that cannot be one.
    pub fn new(settings: Settings) -> Result<Telegram, ReceiveError> {
        Ok(Telegram {
            api: Api::new(&settings.token, settings.api_url.as_deref())?,
            hearing: settings.hearing,
            menu: settings.menu,
            poll_timeout: settings.poll_timeout.clamp(POLL_TIMEOUT_MIN, Settings::POLL_TIMEOUT),
            pace: Pace::new(OVERALL, rate_of),
            names: names::Names::default(),
        })
    }

    /// Sends a request, and in the simpler forms that its refusals ask for.
    async fn attempt(&self, out: &Outbound, mut request: Request) -> Result<Sent, SendError> {
        let chat = request.target.whole_chat();
        for _ in 0..FORMS_MAX {
            let refusal = match self.send(&request).await {
                Ok(message_id) => return Ok(sent(message_id)),
                Err(CallError::Refused(refusal)) => refusal,
                Err(error) => return Err(errors::send_error(error)),
            };
            if let Some(MessageId(message_id)) = outbound::already_so(request.act, &refusal) {
                return Ok(sent(message_id));
            }
            let Some(simpler) = outbound::instead(&request, &refusal) else {
                let error = errors::send_error(CallError::Refused(refusal));
                if let SendError::RateLimited { retry_after, .. } = error {
                    self.pace.freeze(Some(&chat), retry_after);
                }
                return Err(error);
            };
            tracing::debug!(key = out.key, reason = refusal.description, "Telegram wants it simpler");
            request = simpler;
        }
        Err(SendError::Refused("Telegram accepts it in no form".to_owned()))
    }

    /// Sends one request. The id of the message that it speaks of or that it has made.
    async fn send(&self, request: &Request) -> Result<i32, CallError> {
        let posted = match request.form() {
            Form::Send(payload) => self.api.call(&payload).await?,
            Form::Edit(payload) => Posts::Changed(self.api.call(&payload).await?),
            Form::EditCaption(payload) => Posts::Changed(self.api.call(&payload).await?),
            Form::Delete(payload) => Posts::Changed(self.api.call(&payload).await?),
            Form::Upload(upload) => {
                let method = upload.method;
                self.api.call_form(method, form(upload).await?).await?
            }
        };
        match (request.act, posted) {
            (Act::Edit(id) | Act::EditCaption(id) | Act::Delete(id), _) => Ok(id.0),
            (Act::Send, Posts::One(Posted { message_id })) => Ok(message_id),
            (Act::Send, Posts::Several(posts)) if !posts.is_empty() => Ok(posts[posts.len() - 1].message_id),
            (Act::Send, _) => Err(CallError::Unknown("the answer names no message".to_owned())),
        }
    }
}

impl Receive for Telegram {
    fn kind(&self) -> Kind {
        Kind::Telegram
    }

    fn receive(&self, intake: Arc<dyn Intake>, stop: CancellationToken) -> BoxFuture<'_, Result<(), ReceiveError>> {
        Box::pin(poll::run(self, intake, stop))
    }

    fn fetch<'a>(
        &'a self,
        attachment: &'a Attachment,
        to: &'a Path,
        size_max_bytes: u64,
    ) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(fetch::fetch(&self.api, attachment, to, size_max_bytes))
    }

    fn check(&self) -> BoxFuture<'_, Result<String, ReceiveError>> {
        Box::pin(async { poll::who(&self.api).await.map(|me| me.username).map_err(errors::check_error) })
    }
}

impl Reply for Telegram {
    fn typing<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Ok(target) = Target::of(conversation) else { return };
            let mut payload = SendChatAction::new(target.chat, ChatAction::Typing);
            payload.message_thread_id = target.thread;
            if let Err(error) = self.api.call::<_, IgnoredAny>(&payload).await {
                tracing::debug!(%error, "typing was not shown");
            }
        })
    }

    fn seen<'a>(&'a self, conversation: &'a ConversationId, message_id: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let (Ok(target), Ok(id)) = (Target::of(conversation), message_id.parse()) else { return };
            let mut payload = SetMessageReaction::new(target.chat, MessageId(id));
            payload.reaction = Some(vec![ReactionType::Emoji { emoji: SEEN.to_owned() }]);
            if let Err(error) = self.api.call::<_, IgnoredAny>(&payload).await {
                tracing::debug!(%error, "a message was not marked as seen");
            }
        })
    }

    fn draft_interval(&self, conversation: &ConversationId) -> Duration {
        if is_group(conversation) { GROUP_DRAFT_INTERVAL } else { PRIVATE.every }
    }

    fn draft_fits(&self, conversation: &ConversationId) -> bool {
        Target::of(conversation).is_ok_and(|target| self.pace.idle(&target.whole_chat()))
    }
}

impl Deliver for Telegram {
    fn ready<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Turn> {
        Box::pin(async move {
            // Topics of one chat share the chat's rate. What is no chat of ours is refused when it is delivered.
            match Target::of(conversation) {
                Ok(target) => self.pace.ready(&target.whole_chat()).await,
                Err(_) => Turn::default(),
            }
        })
    }

    fn deliver<'a>(&'a self, out: &'a Outbound) -> BoxFuture<'a, Result<Sent, SendError>> {
        Box::pin(async move { self.attempt(out, outbound::request(out)?).await })
    }

    fn find<'a>(&'a self, _out: &'a Outbound, _since_ms: i64) -> BoxFuture<'a, Result<Option<Sent>, SendError>> {
        // The Bot API gives a bot no way to read a chat.
        Box::pin(async { Ok(None) })
    }

    fn key_window(&self) -> Duration {
        Duration::ZERO
    }

    fn reads_back(&self) -> bool {
        false
    }
}

fn sent(message_id: i32) -> Sent {
    Sent { message_id: message_id.to_string() }
}

/// Telegram's groups have negative ids.
fn is_group(conversation: &ConversationId) -> bool {
    conversation.local().starts_with('-')
}

fn rate_of(conversation: &ConversationId) -> Rate {
    if is_group(conversation) { GROUP } else { PRIVATE }
}

/// The form of an upload, with its files read.
async fn form(upload: Upload) -> Result<reqwest::multipart::Form, CallError> {
    let mut form = reqwest::multipart::Form::new();
    for (field, value) in upload.fields {
        form = form.text(field, value);
    }
    for (field, File { name, source }) in upload.files {
        let bytes = match source {
            FileSource::Text(text) => text.into_bytes(),
            FileSource::Path(path) => tokio::fs::read(path).await.map_err(|error| unreadable(&name, &error))?,
        };
        form = form.part(field, reqwest::multipart::Part::bytes(bytes).file_name(name));
    }
    Ok(form)
}

/// A file of ours that is not there or not ours to read will not be there the next time.
fn unreadable(name: &str, error: &std::io::Error) -> CallError {
    let description = format!("the file {name} cannot be read: {}", error.kind());
    CallError::Refused(Refusal { code: 400, description, retry_after: None, moved_to: None })
}
