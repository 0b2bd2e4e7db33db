//! The terminal: one conversation, `console:local`, over standard input and output or over a Unix socket.
//!
//! Everybody who reaches a terminal of the hive is the person who runs it: there is one sender, and several sessions
//! may show the same conversation at once.

mod attach;
mod line;
mod pen;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures::FutureExt as _;
use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;

use crate::{
    Action, Addressed, Attachment, Content, ConversationId, Deliver, Gone, Inbound, Intake, Kind, Outbound, Place,
    Receive, ReceiveError, Reply, Report, SendError, Sender, SenderId, Sent,
};
pub use attach::{AtEnd, attach, typed};
use line::Lines;
use pen::{Look, Pen, Shows};

/// How long a session may take to accept what is shown to it, before it is given up.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// How many messages are kept for the next session while there is none; older ones are dropped.
const UNSEEN_MAX: usize = 100;

/// A pause after a connection could not be accepted, so that a lack of file handles does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

type Reader = Box<dyn AsyncRead + Send + Unpin>;
type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// A terminal, as a channel.
pub struct Console {
    sender: Sender,
    conversation: ConversationId,
    source: Mutex<Option<Source>>,
    /// Whether more sessions may come: then what nobody sees now is kept.
    is_served: bool,
    screen: Mutex<Screen>,
    /// When this console was made, in microseconds since 1970: makes ids differ from those of earlier runs.
    started_us: u128,
    ids: AtomicU64,
    at_end: Option<CancellationToken>,
}

/// Where lines come from.
enum Source {
    One(Reader, Arc<Session>),
    Many(UnixListener),
}

/// What is shown.
#[derive(Default)]
struct Screen {
    sessions: Vec<Arc<Session>>,
    /// What was shown while there was no session.
    unseen: Vec<Shows>,
    /// The most recent message, if it has buttons: what a number means.
    choices: Option<Choices>,
    latest: Option<String>,
}

/// The open buttons, in the order of their numbers.
#[derive(Clone)]
struct Choices {
    message_id: String,
    data: Vec<String>,
}

/// Somebody who looks.
struct Session {
    id: u64,
    pen: tokio::sync::Mutex<Pen<Writer>>,
}

impl Console {
    /// A terminal over any pair of streams, for the person `name`. With `ansi`, output is lightly coloured.
    ///
    /// # Panics
    /// Where `name` is empty or has white space: it is part of an address.
    pub fn new(
        name: &str,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        ansi: bool,
    ) -> Self {
        let mut console = Console::bare(name);
        let session = console.session(Box::new(output), if ansi { Look::Ansi } else { Look::Plain });
        console.screen().sessions.push(Arc::clone(&session));
        console.source = Mutex::new(Some(Source::One(Box::new(input), session)));
        console
    }

    /// A terminal over standard input and output, coloured if that is a terminal.
    pub fn stdio(name: &str) -> Self {
        let ansi = std::io::IsTerminal::is_terminal(&std::io::stdout());
        Console::new(name, typed(), tokio::io::stdout(), ansi)
    }

    /// A terminal for as many sessions as connect to `listener`. Each of them sees the conversation.
    ///
    /// Whoever may connect may do what the person at the terminal may: the socket's file mode is the lock.
    pub fn serve(name: &str, listener: UnixListener) -> Self {
        let mut console = Console::bare(name);
        console.is_served = true;
        console.source = Mutex::new(Some(Source::Many(listener)));
        console
    }

    /// Cancels `token` when the input ends (Ctrl-D), so that the host may stop. Not for [`Console::serve`], whose
    /// input has no end.
    pub fn at_end(mut self, token: CancellationToken) -> Self {
        self.at_end = Some(token);
        self
    }

    fn bare(name: &str) -> Self {
        let id = format!("console:{name}").parse::<SenderId>().expect("a name without white space");
        Console {
            sender: Sender { id, name: name.to_owned() },
            conversation: ConversationId::new(Kind::Console, "local"),
            source: Mutex::new(None),
            is_served: false,
            screen: Mutex::default(),
            started_us: since_1970().as_micros(),
            ids: AtomicU64::new(1),
            at_end: None,
        }
    }

    fn session(&self, writer: Writer, look: Look) -> Arc<Session> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        Arc::new(Session { id, pen: tokio::sync::Mutex::new(Pen::new(writer, look)) })
    }

    fn screen(&self) -> MutexGuard<'_, Screen> {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Unique over all runs.
    fn next_id(&self) -> String {
        format!("{}-{}", self.started_us, self.ids.fetch_add(1, Ordering::Relaxed))
    }

    // The way in.

    /// Reads one session's lines until its input ends.
    async fn listen(&self, reader: Reader, session: Arc<Session>, intake: &dyn Intake) -> Result<(), ReceiveError> {
        let mut lines = Lines::new(BufReader::new(reader));
        loop {
            match lines.next().await {
                Ok(Some(text)) => {
                    let Some(content) = self.content(text) else { continue };
                    self.show(Shows::Said(text.to_owned()), Some(session.id)).await;
                    let event = self.event(content);
                    intake.take(vec![event], None).await.map_err(|_| ReceiveError::Closed)?;
                }
                Ok(None) => return Ok(()),
                Err(error) => {
                    tracing::debug!(%error, "a terminal session broke off");
                    return Ok(());
                }
            }
        }
    }

    fn content(&self, text: &str) -> Option<Content> {
        let choices = self.screen().choices.clone();
        line::read(text, |number| {
            let choices = choices.as_ref()?;
            let data = choices.data.get(number.checked_sub(1)?)?;
            Some((data.clone(), choices.message_id.clone()))
        })
    }

    fn event(&self, content: Content) -> Inbound {
        let id = self.next_id();
        let (event_id, addressed) = match &content {
            Content::Text(_) | Content::Edit { .. } => (id, Addressed::Direct),
            Content::Command { .. } => (format!("command:{id}"), Addressed::Explicit),
            Content::Click { .. } => (format!("click:{id}"), Addressed::Explicit),
        };
        Inbound {
            conversation: self.conversation.clone(),
            place: Place::Direct,
            event_id,
            sender: self.sender.clone(),
            sent_at_ms: now_ms(),
            addressed,
            content,
        }
    }

    /// Shows a new session what was said while there was none, then listens to it.
    async fn attend(&self, stream: UnixStream, intake: &dyn Intake) -> Result<(), ReceiveError> {
        let (reader, writer) = stream.into_split();
        let session = self.session(Box::new(writer), Look::Plain);
        let unseen = {
            let mut screen = self.screen();
            screen.sessions.push(Arc::clone(&session));
            std::mem::take(&mut screen.unseen)
        };
        for shows in &unseen {
            self.show_in(&session, shows).await;
        }
        let ended = self.listen(Box::new(reader), Arc::clone(&session), intake).await;
        self.leave(&session);
        ended
    }

    async fn attend_all(&self, listener: &UnixListener, intake: &dyn Intake) -> Result<(), ReceiveError> {
        let mut sessions = FuturesUnordered::new();
        loop {
            tokio::select! {
                biased;
                Some(ended) = sessions.next() => ended?,
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => sessions.push(self.attend(stream, intake)),
                    Err(error) => {
                        tracing::warn!(%error, "a terminal session could not be accepted");
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                },
            }
        }
    }

    // The way out.

    /// Shows it in every session but `except`. Whether anybody saw it.
    async fn show(&self, shows: Shows, except: Option<u64>) -> bool {
        let sessions = self.screen().sessions.clone();
        let showing =
            sessions.iter().filter(|session| Some(session.id) != except).map(|session| self.show_in(session, &shows));
        futures::future::join_all(showing).await.contains(&true)
    }

    /// Gives a session up that takes nothing any more: one that hangs must not hold the others.
    async fn show_in(&self, session: &Arc<Session>, shows: &Shows) -> bool {
        let shown = async { session.pen.lock().await.show(shows).await };
        match tokio::time::timeout(WRITE_TIMEOUT, shown).await {
            Ok(Ok(())) => true,
            Ok(Err(_)) | Err(_) => {
                self.leave(session);
                false
            }
        }
    }

    fn leave(&self, session: &Arc<Session>) {
        self.screen().sessions.retain(|other| other.id != session.id);
    }

    /// What is to be shown for an action, and the id of its message.
    fn shows(&self, action: &Action) -> (Shows, String) {
        let mut screen = self.screen();
        match action {
            Action::Send(piece) => {
                let message_id = self.next_id();
                screen.latest = Some(message_id.clone());
                screen.choose(&message_id, piece);
                (Shows::Message { message_id: message_id.clone(), piece: piece.clone() }, message_id)
            }
            Action::Edit { message_id, piece } => {
                if screen.latest.as_ref() == Some(message_id) {
                    screen.choose(message_id, piece);
                }
                (Shows::Message { message_id: message_id.clone(), piece: piece.clone() }, message_id.clone())
            }
            Action::Delete { message_id } => {
                screen.choices.take_if(|choices| choices.message_id == *message_id);
                (Shows::Withdrawn { message_id: message_id.clone() }, message_id.clone())
            }
        }
    }
}

impl Screen {
    fn choose(&mut self, message_id: &str, piece: &crate::Piece) {
        let data: Vec<String> = piece.buttons.iter().flatten().map(|button| button.data.clone()).collect();
        self.choices = (!data.is_empty()).then(|| Choices { message_id: message_id.to_owned(), data });
    }

    fn keep(&mut self, shows: Shows) {
        // A draft is replaced by the next one, not kept beside it.
        if let Shows::Message { message_id, .. } = &shows {
            self.unseen.retain(|kept| !matches!(kept, Shows::Message { message_id: id, .. } if id == message_id));
        }
        self.unseen.push(shows);
        let surplus = self.unseen.len().saturating_sub(UNSEEN_MAX);
        self.unseen.drain(..surplus);
    }
}

impl Receive for Console {
    fn kind(&self) -> Kind {
        Kind::Console
    }

    /// Reads lines until the input ends or `stop`. It can be called once: a second call finds no input and ends.
    fn receive(&self, intake: Arc<dyn Intake>, stop: CancellationToken) -> BoxFuture<'_, Result<(), ReceiveError>> {
        async move {
            let source = self.source.lock().unwrap_or_else(PoisonError::into_inner).take();
            intake.report(Kind::Console, Report::Connected { name: "terminal".to_owned() });
            let reading = async {
                match source {
                    Some(Source::One(reader, session)) => self.listen(reader, session, &*intake).await,
                    Some(Source::Many(listener)) => self.attend_all(&listener, &*intake).await,
                    None => Ok(()),
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => Ok(()),
                ended = reading => {
                    if let Some(token) = &self.at_end {
                        token.cancel();
                    }
                    ended
                }
            }
        }
        .boxed()
    }

    fn fetch<'a>(&'a self, _: &'a Attachment, _: &'a Path, _: u64) -> BoxFuture<'a, Result<(), SendError>> {
        async { Err(SendError::Refused("a terminal has no attachments".to_owned())) }.boxed()
    }

    fn check(&self) -> BoxFuture<'_, Result<String, ReceiveError>> {
        async { Ok("terminal".to_owned()) }.boxed()
    }
}

impl Reply for Console {
    /// Shows nothing: the draft itself shows that somebody is at work.
    fn typing<'a>(&'a self, _: &'a ConversationId) -> BoxFuture<'a, ()> {
        async {}.boxed()
    }

    /// A tenth of a second: text seems to flow.
    fn draft_interval(&self, _: &ConversationId) -> Duration {
        Duration::from_millis(100)
    }

    fn draft_fits(&self, _: &ConversationId) -> bool {
        true
    }
}

impl Deliver for Console {
    /// A terminal whose output is closed is [`Gone::Conversation`]. Where sessions may still come, what nobody sees
    /// is kept for the next one.
    fn deliver<'a>(&'a self, out: &'a Outbound) -> BoxFuture<'a, Result<Sent, SendError>> {
        async move {
            if out.conversation != self.conversation {
                return Err(SendError::Gone(Gone::Conversation));
            }
            let (shows, message_id) = self.shows(&out.action);
            if self.show(shows.clone(), None).await {
                return Ok(Sent { message_id });
            }
            if !self.is_served {
                return Err(SendError::Gone(Gone::Conversation));
            }
            self.screen().keep(shows);
            Ok(Sent { message_id })
        }
        .boxed()
    }

    fn find<'a>(&'a self, _: &'a Outbound, _: i64) -> BoxFuture<'a, Result<Option<Sent>, SendError>> {
        async { Ok(None) }.boxed()
    }

    fn key_window(&self) -> Duration {
        Duration::ZERO
    }

    fn reads_back(&self) -> bool {
        false
    }
}

impl std::fmt::Debug for Console {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Console").field("sender", &self.sender.id).finish_non_exhaustive()
    }
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn now_ms() -> i64 {
    i64::try_from(since_1970().as_millis()).unwrap_or(i64::MAX)
}
