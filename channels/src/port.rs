//! The port: three directions towards a platform, and the host's side of it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::{Attachment, ConversationId, Inbound, Kind, Outbound, Piece, Turn};

/// A platform in all three directions.
pub trait Channel: Receive + Reply + Deliver {}
impl<T: Receive + Reply + Deliver> Channel for T {}

/// The way in.
pub trait Receive: Send + Sync + 'static {
    /// Which platform this is.
    fn kind(&self) -> Kind;

    /// Takes events in until `stop`, reconnecting by itself. Every event goes to `intake`, and is acknowledged to
    /// the platform only after that returned `Ok`. Ends with an error only where waiting will not help.
    fn receive(&self, intake: Arc<dyn Intake>, stop: CancellationToken) -> BoxFuture<'_, Result<(), ReceiveError>>;

    /// Writes an attachment's bytes to `to`, at most `size_max_bytes` of them. Call it only for trusted senders.
    fn fetch<'a>(
        &'a self,
        attachment: &'a Attachment,
        to: &'a Path,
        size_max_bytes: u64,
    ) -> BoxFuture<'a, Result<(), SendError>>;

    /// Asks the platform who we are: proves token and reachability without taking anything in. The bot's name.
    fn check(&self) -> BoxFuture<'_, Result<String, ReceiveError>>;
}

/// Signs of life while a turn runs. Everything here may be lost and is never durable.
pub trait Reply: Send + Sync + 'static {
    /// Shows that somebody is at work, for the few seconds a platform shows it. Errors are logged, not returned.
    fn typing<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, ()>;

    /// Marks somebody's message as taken in while a turn runs: nothing else tells them that it was heard. Errors are
    /// logged, not returned.
    fn seen<'a>(&'a self, conversation: &'a ConversationId, message_id: &'a str) -> BoxFuture<'a, ()> {
        let _ = (conversation, message_id);
        Box::pin(async {})
    }

    /// How often a text that is still being written may be shown anew in this conversation, at most.
    fn draft_interval(&self, conversation: &ConversationId) -> Duration;

    /// Whether a draft could be shown right now without making a real message wait for the platform's rate.
    fn draft_fits(&self, conversation: &ConversationId) -> bool;
}

/// The way out. Drafts and final texts both go this way; each call is one request, paced to the platform's rates.
pub trait Deliver: Send + Sync + 'static {
    /// Waits until the platform's rate has room for one request in this conversation. Whoever is stopped here has
    /// tried nothing, which is why this is not part of [`Deliver::deliver`]. What it returns is to be dropped right
    /// before the request is made.
    fn ready<'a>(&'a self, conversation: &'a ConversationId) -> BoxFuture<'a, Turn> {
        let _ = conversation;
        Box::pin(async { Turn::default() })
    }

    /// Sends, edits or deletes.
    fn deliver<'a>(&'a self, out: &'a Outbound) -> BoxFuture<'a, Result<Sent, SendError>>;

    /// Looks whether `out` (an [`crate::Action::Send`]) is already there, sent at or after `since_ms`. `None`
    /// where it is not, or where the platform gives a bot no way to read back.
    fn find<'a>(&'a self, out: &'a Outbound, since_ms: i64) -> BoxFuture<'a, Result<Option<Sent>, SendError>>;

    /// For how long after a first attempt the platform itself refuses a second message with the same key.
    /// Zero where it has no such thing.
    fn key_window(&self) -> Duration;

    /// Whether [`Deliver::find`] can see what was sent.
    fn reads_back(&self) -> bool;
}

/// What a delivery came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The platform's id of the message.
    pub message_id: String,
}

/// Why a request did not go through, typed by what to do next.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SendError {
    /// Too many requests. Wait, then send again; `scope` says what has to wait.
    #[error("rate limited for {retry_after:?} ({scope:?})")]
    RateLimited {
        /// How long, as the platform says.
        retry_after: Duration,
        /// What has to wait.
        scope: Scope,
    },
    /// It was certainly not carried out and may work later: no connection, the platform answered with a fault.
    #[error("not sent, worth trying again: {0}")]
    Transient(String),
    /// It may have been carried out: the answer never came.
    #[error("sent or not, nobody knows: {0}")]
    Ambiguous(String),
    /// What it speaks of is not there any more.
    #[error("gone: {0:?}")]
    Gone(Gone),
    /// The bot may not do that here: missing permission, blocked by the user, thrown out.
    #[error("not allowed here: {0}")]
    Forbidden(String),
    /// The chat lives under another id now: send there.
    #[error("moved to {0}")]
    Moved(ConversationId),
    /// The platform does not accept this content, and never will.
    #[error("the platform refuses it: {0}")]
    Refused(String),
    /// The token is wrong.
    #[error("the token is not accepted")]
    Unauthorized,
}

/// What a rate limit covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One conversation: all others go on.
    Conversation,
    /// Everything this bot sends.
    Everything,
}

/// What is not there any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// The chat, channel, thread or forum topic.
    Conversation,
    /// The message that was to be edited.
    Message,
    /// The interaction that was to be answered.
    Interaction,
}

/// Why receiving ended for good.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceiveError {
    /// The token is wrong.
    #[error("{0} does not accept the token: check {1}")]
    Unauthorized(Kind, &'static str),
    /// A setting on the platform forbids what we ask for, for example a privileged intent.
    #[error("{0}")]
    Forbidden(String),
    /// The platform cannot be reached (from [`Receive::check`] only: receiving waits and tries again).
    #[error("not reachable: {0}")]
    Unreachable(String),
    /// The host took no more.
    #[error("the host has closed")]
    Closed,
}

/// The host's side: what takes events in.
pub trait Intake: Send + Sync + 'static {
    /// Makes the events and the cursor durable in one step. `Ok` means that both would survive a power cut.
    /// Known events are passed over: giving one twice is allowed and expected.
    fn take<'a>(&'a self, events: Vec<Inbound>, cursor: Option<Cursor>) -> BoxFuture<'a, Result<(), Closed>>;

    /// Every cursor that was stored for this kind.
    fn cursors(&self, kind: Kind) -> BoxFuture<'_, Result<Vec<Cursor>, Closed>>;

    /// Something an operator wants to know.
    fn report(&self, kind: Kind, report: Report);
}

/// The host takes nothing in any more: stop, acknowledge nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the host takes nothing in any more")]
pub struct Closed;

/// Where a stream of events was read to. What the names mean is the adapter's own business.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The stream: starts with the kind, for example `telegram/updates`, `discord/123`.
    pub stream: String,
    /// The position in it.
    pub value: String,
}

/// Something an operator wants to know of a channel. One log line each; none of it is for a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// Events come in now.
    Connected {
        /// The bot's name there.
        name: String,
    },
    /// The connection was lost; it is being made again.
    Disconnected {
        /// Why, in the platform's words.
        why: String,
    },
    /// What was said while the bot was away has been fetched.
    CaughtUp {
        /// Messages given to the host.
        taken: usize,
        /// Messages left out because there were too many or they were too old.
        skipped: usize,
    },
    /// Another process polls with the same token.
    SecondPoller,
    /// An event could not be read. `what` names its type and what was wrong, never its content.
    Unreadable {
        /// Type and fault.
        what: String,
    },
}

/// When the bot answers in a room with several people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Answering {
    /// Every message.
    Always,
    /// When it is mentioned or one of its messages is answered.
    #[default]
    WhenAddressed,
    /// Never.
    Never,
}

/// Where the bot answers in rooms: a default and exceptions. A thread follows its parent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hearing {
    /// For rooms that are not listed.
    pub default: Answering,
    /// Exceptions by conversation.
    pub rooms: std::collections::BTreeMap<ConversationId, Answering>,
}

impl Hearing {
    /// The rule for a room, or for a thread of the room `parent`.
    pub fn rule(&self, conversation: &ConversationId, parent: Option<&ConversationId>) -> Answering {
        let named = self.rooms.get(conversation).or_else(|| parent.and_then(|parent| self.rooms.get(parent)));
        named.copied().unwrap_or(self.default)
    }
}

/// The commands to show in the platform's own menu.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Menu {
    /// In the order in which they are shown.
    pub commands: Vec<MenuCommand>,
}

/// One command of the menu.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MenuCommand {
    /// The name without slash: lower-case letters, at most 32.
    pub name: String,
    /// One line about it, at most 100 characters.
    pub about: String,
    /// Sub-commands; a command with some has no options of its own.
    pub subcommands: Vec<MenuCommand>,
    /// Options in their order as words of a line; required ones first.
    pub options: Vec<MenuOption>,
}

/// One option of a command.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MenuOption {
    /// The name: lower-case letters, at most 32.
    pub name: String,
    /// One line about it, at most 100 characters.
    pub about: String,
    /// What it takes.
    pub kind: OptionKind,
    /// Whether it must be there.
    pub required: bool,
}

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OptionKind {
    /// Any text.
    Text,
    /// A person: arrives as an address, `discord:42`.
    User,
    /// A room or thread: arrives as an address.
    Conversation,
}

/// A text as a draft or a message in a place, for hosts that only have the Markdown: see [`crate::render`].
impl From<Piece> for crate::Action {
    fn from(piece: Piece) -> Self {
        crate::Action::Send(piece)
    }
}
