//! The memory channel as a peer. It is platform and adapter in one, so the people are played here.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use channels::memory::{Carried, Delivery, Memory, Outcome};
use channels::pace::{Limit, Pace, Rate};
use channels::{
    Action, Addressed, Arguments, Attachment, Channel, Content, ConversationId, Cursor, FileSource, Inbound, Kind,
    Place, Scope, SendError, Sender, SenderId, Text,
};

use super::peer::{Fault, Peer, Said, Shown};
use super::promises;

/// A memory channel that plays Discord.
pub struct MemoryPeer {
    memory: Arc<Memory>,
    /// The number of what people did so far.
    acts: AtomicU64,
}

const KIND: Kind = Kind::Discord;

impl MemoryPeer {
    fn next(&self) -> u64 {
        self.acts.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn inject(&self, place: &ConversationId, who: &SenderId, id: &str, addressed: Addressed, content: Content) {
        let thread = Some(place) == self.thread().as_ref();
        let event = Inbound {
            conversation: place.clone(),
            place: match () {
                () if *place == self.direct() => Place::Direct,
                () if thread => Place::Thread { parent: self.room(), title: "Plans".to_owned() },
                () => Place::Group { title: "hive".to_owned() },
            },
            event_id: id.to_owned(),
            sender: Sender { id: who.clone(), name: if *who == self.alice() { "Alice" } else { "Bob" }.to_owned() },
            sent_at_ms: 0,
            addressed,
            content,
        };
        let cursor = Cursor { stream: format!("{KIND}/{}", place.local()), value: self.next().to_string() };
        self.memory.inject(event, Some(cursor));
    }

    /// Whether a text speaks to the bot, as a platform's adapter would find.
    fn addressed(&self, place: &ConversationId, said: &Said) -> Option<Addressed> {
        if *place == self.direct() {
            return Some(Addressed::Direct);
        }
        if said.mentions_bot {
            return Some(Addressed::Mention);
        }
        let answered = said.reply_to.as_ref()?;
        self.memory.shown(place).iter().any(|shown| shown.message_id == *answered).then_some(Addressed::Reply)
    }
}

impl Peer for MemoryPeer {
    async fn start() -> Self {
        let often = Limit { most: 100, within: Duration::from_millis(100) };
        let pace = Pace::new(often, |_| Rate { burst: 100, every: Duration::from_millis(1) });
        MemoryPeer { memory: Arc::new(Memory::new(KIND).with_pace(pace)), acts: AtomicU64::new(0) }
    }

    fn kind(&self) -> Kind {
        KIND
    }

    fn adapter(&self) -> Arc<dyn Channel> {
        self.memory.clone()
    }

    fn alice(&self) -> SenderId {
        SenderId::new(KIND, 11)
    }

    fn bob(&self) -> SenderId {
        SenderId::new(KIND, 12)
    }

    fn direct(&self) -> ConversationId {
        ConversationId::new(KIND, 21)
    }

    fn room(&self) -> ConversationId {
        ConversationId::new(KIND, 22)
    }

    fn other_room(&self) -> ConversationId {
        ConversationId::new(KIND, 23)
    }

    fn thread(&self) -> Option<ConversationId> {
        Some(ConversationId::new(KIND, 24))
    }

    async fn say(&self, place: &ConversationId, who: &SenderId, said: Said) -> String {
        let id = self.next().to_string();
        let Some(addressed) = self.addressed(place, &said) else { return id };
        let attachments = said.file.into_iter().map(|(name, bytes)| {
            let (reference, size_bytes) = (format!("file of {id}"), bytes.len() as u64);
            self.memory.attach(&reference, bytes);
            Attachment { reference, name, media_type: "text/plain".to_owned(), size_bytes }
        });
        let attachments = attachments.collect();
        let text = Text { text: said.text, attachments, reply_to: said.reply_to, ..Text::default() };
        self.inject(place, who, &id, addressed, Content::Text(text));
        id
    }

    async fn edit(&self, place: &ConversationId, message_id: &str, text: &str) {
        let id = format!("edit:{message_id}:{}", self.next());
        let content = Content::Edit { message_id: message_id.to_owned(), text: text.to_owned() };
        self.inject(place, &self.alice(), &id, Addressed::Direct, content);
    }

    async fn command(&self, place: &ConversationId, who: &SenderId, words: &str) {
        let content = Content::Command {
            name: "echo".to_owned(),
            arguments: Arguments::Named(vec![("words".to_owned(), words.to_owned())]),
            reply_to: None,
            reply_to_sender: None,
            handle: None,
        };
        self.inject(place, who, &format!("command:{}", self.next()), Addressed::Explicit, content);
    }

    async fn click(&self, place: &ConversationId, message_id: &str, label: &str, who: &SenderId) {
        let shown = self.memory.shown(place).into_iter().find(|shown| shown.message_id == message_id);
        let buttons = shown.expect("a message that is there").buttons.into_iter().flatten();
        let data = buttons.filter(|button| button.label == label).map(|button| button.data).next().expect("a button");
        let content = Content::Click { data, message_id: message_id.to_owned(), handle: None };
        self.inject(place, who, &format!("click:{}", self.next()), Addressed::Explicit, content);
    }

    async fn shown(&self, place: &ConversationId) -> Vec<Shown> {
        let tried = self.memory.outbox();
        let seen = self.memory.shown(place).into_iter().map(|shown| {
            let made = |delivery: &&Delivery| {
                let send = matches!(delivery.out.action, Action::Send(_));
                send && matches!(&delivery.outcome, Outcome::Done(sent) if sent.message_id == shown.message_id)
            };
            let out = tried.iter().find(made).map(|delivery| &delivery.out);
            let bytes = |piece: &channels::Piece, number: usize| match &piece.files[number].source {
                FileSource::Text(text) => text.clone().into_bytes(),
                FileSource::Path(path) => std::fs::read(path).expect("a file that is there"),
            };
            let files = out.iter().flat_map(|out| match &out.action {
                Action::Send(piece) => shown.files.iter().cloned().zip((0..).map(|n| bytes(piece, n))).collect(),
                _ => Vec::new(),
            });
            Shown {
                message_id: shown.message_id.clone(),
                text: shown.text.clone(),
                reply_to: shown.reply_to.clone(),
                buttons: shown.buttons.iter().flatten().map(|button| button.label.clone()).collect(),
                files: files.collect(),
                edits: shown.edits,
                pings: 0,
                key: out.map(|out| out.key.clone()),
            }
        });
        seen.collect()
    }

    async fn fail(&self, fault: Fault) {
        match fault {
            Fault::RateLimit(retry_after) => {
                self.memory.fail_next(SendError::RateLimited { retry_after, scope: Scope::Conversation });
            }
            Fault::ServerError => self.memory.fail_next(SendError::Transient("a fault".to_owned())),
            Fault::CutAfterPosting => self.memory.lose_next_answer_in(&self.direct(), Carried::Out),
            Fault::Disconnect => unreachable!("it has no connection"),
        }
    }

    fn has_connection(&self) -> bool {
        false
    }

    async fn delete_thread(&self) {
        self.memory.remove(&ConversationId::new(KIND, 24));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_keeps_every_promise() {
    promises::all::<MemoryPeer>().await;
}
