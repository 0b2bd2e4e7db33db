//! The far side of an adapter, as people there see it. Each platform's test double is one of these.

use std::sync::Arc;
use std::time::Duration;

use channels::{Channel, ConversationId, Kind, SenderId};

/// One platform with one bot, two people, and three places where both people and the bot are.
///
/// The bot answers in the room and in the thread only when it is addressed. Every method acts at once and returns
/// when the platform has accepted it.
pub trait Peer: Send + Sync + Sized + 'static {
    /// A platform of its own, with nothing said yet.
    fn start() -> impl Future<Output = Self> + Send;

    /// Which platform this is.
    fn kind(&self) -> Kind;

    /// A new adapter to this platform, as a process that has just been started makes one.
    fn adapter(&self) -> Arc<dyn Channel>;

    /// The first person.
    fn alice(&self) -> SenderId;

    /// The second person.
    fn bob(&self) -> SenderId;

    /// Where alice and the bot are alone.
    fn direct(&self) -> ConversationId;

    /// Where alice, bob and the bot are.
    fn room(&self) -> ConversationId;

    /// Another room with the same people.
    fn other_room(&self) -> ConversationId;

    /// A thread or topic of the room, or `None` where the platform has no such thing.
    fn thread(&self) -> Option<ConversationId>;

    /// Somebody says something. The platform's id of the message.
    fn say(&self, place: &ConversationId, who: &SenderId, said: Said) -> impl Future<Output = String> + Send;

    /// Somebody changes what they said.
    fn edit(&self, place: &ConversationId, message_id: &str, text: &str) -> impl Future<Output = ()> + Send;

    /// Somebody uses the bot's command `name` of the menu that [`Peer::adapter`] registers: `echo`, with one
    /// text option `words`.
    fn command(&self, place: &ConversationId, who: &SenderId, words: &str) -> impl Future<Output = ()> + Send;

    /// Somebody presses the button that says `label` under one of the bot's messages.
    fn click(
        &self,
        place: &ConversationId,
        message_id: &str,
        label: &str,
        who: &SenderId,
    ) -> impl Future<Output = ()> + Send;

    /// The bot's messages in a place as people see them now, oldest first.
    fn shown(&self, place: &ConversationId) -> impl Future<Output = Vec<Shown>> + Send;

    /// What the platform does wrong next.
    fn fail(&self, fault: Fault) -> impl Future<Output = ()> + Send;

    /// Whether there is a connection that could be lost: [`Fault::Disconnect`].
    fn has_connection(&self) -> bool {
        true
    }

    /// Takes the thread away, with all that is in it.
    fn delete_thread(&self) -> impl Future<Output = ()> + Send;
}

/// What somebody says.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// The text.
    pub text: String,
    /// Whether the text starts with a mention of the bot, made as the platform's own client makes one.
    pub mentions_bot: bool,
    /// The message that is answered.
    pub reply_to: Option<String>,
    /// A file that hangs on it: its name and its bytes.
    pub file: Option<(String, Vec<u8>)>,
}

impl Said {
    /// Nothing but a text.
    pub fn text(text: &str) -> Said {
        Said { text: text.to_owned(), ..Said::default() }
    }
}

/// A message of the bot as people see it now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// The platform's id.
    pub message_id: String,
    /// The text without markup, as it stands on the screen.
    pub text: String,
    /// The message it is shown as an answer to.
    pub reply_to: Option<String>,
    /// What its buttons say, row after row.
    pub buttons: Vec<String>,
    /// Names and bytes of the files that hang on it.
    pub files: Vec<(String, Vec<u8>)>,
    /// How many times it was changed.
    pub edits: usize,
    /// How many people were notified by a mention in it.
    pub pings: usize,
    /// The idempotency key that came with it, where the platform has such a thing.
    pub key: Option<String>,
}

/// What a platform does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The next message to any place is refused with "too many requests, wait so long".
    RateLimit(Duration),
    /// The connection that brings events in breaks now; the next one succeeds.
    Disconnect,
    /// The answer to the next message is a fault of the server, and nothing is posted.
    ServerError,
    /// The next message is posted, and the connection is cut before the answer.
    CutAfterPosting,
}
