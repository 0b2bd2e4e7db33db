//! Telegram as a peer: the real adapter against the loopback server.

use std::sync::Arc;

use channels::telegram::{Settings, Telegram};
use channels::{Channel, ConversationId, Kind, Menu, MenuCommand, MenuOption, OptionKind, SenderId};
use fakes::telegram::{Failure, Fault as Wrong, Say, Telegram as Server};

use super::peer::{Fault, Peer, Said, Shown};
use super::promises;

/// A forum, a second group, and a private chat.
pub struct TelegramPeer {
    server: Server,
    alice: i64,
    bob: i64,
    room: i64,
    other_room: i64,
    topic: i64,
}

impl TelegramPeer {
    /// The chat and the topic of a conversation.
    fn place(&self, place: &ConversationId) -> (i64, Option<i64>) {
        let (chat, topic) = place.local().split_once('/').map_or((place.local(), None), |(c, t)| (c, Some(t)));
        (chat.parse().expect("a chat id"), topic.map(|topic| topic.parse().expect("a topic id")))
    }

    fn user(&self, who: &SenderId) -> i64 {
        who.user().parse().expect("a user id")
    }
}

impl Peer for TelegramPeer {
    async fn start() -> Self {
        let server = Server::start().await;
        // The adapter decides what speaks to it, and not the server.
        server.privacy(false);
        let (alice, bob) = (server.user("Alice"), server.user("Bob"));
        server.private(alice);
        let (room, other_room) = (server.forum("Hive"), server.group("Garden"));
        let topic = server.topic(room, "Plans", alice);
        TelegramPeer { server, alice, bob, room, other_room, topic }
    }

    fn kind(&self) -> Kind {
        Kind::Telegram
    }

    fn adapter(&self) -> Arc<dyn Channel> {
        let words = MenuOption { name: "words".into(), about: "what".into(), kind: OptionKind::Text, required: false };
        let echo = MenuCommand {
            name: "echo".into(),
            about: "says it again".into(),
            subcommands: vec![],
            options: vec![words],
        };
        let menu = Menu { commands: vec![echo] };
        let url = Some(self.server.url());
        let settings = Settings { api_url: url, menu, ..Settings::new(self.server.token().into()) };
        Arc::new(Telegram::new(settings).expect("the token and the URL are the server's"))
    }

    fn alice(&self) -> SenderId {
        SenderId::new(Kind::Telegram, self.alice)
    }

    fn bob(&self) -> SenderId {
        SenderId::new(Kind::Telegram, self.bob)
    }

    fn direct(&self) -> ConversationId {
        ConversationId::new(Kind::Telegram, self.alice)
    }

    fn room(&self) -> ConversationId {
        ConversationId::new(Kind::Telegram, self.room)
    }

    fn other_room(&self) -> ConversationId {
        ConversationId::new(Kind::Telegram, self.other_room)
    }

    fn thread(&self) -> Option<ConversationId> {
        Some(ConversationId::new(Kind::Telegram, format!("{}/{}", self.room, self.topic)))
    }

    async fn say(&self, place: &ConversationId, who: &SenderId, said: Said) -> String {
        let (chat, topic) = self.place(place);
        let text = if said.mentions_bot { format!("@{} {}", self.server.bot_name(), said.text) } else { said.text };
        let mut say = Say::text(text);
        if let Some(topic) = topic {
            say = say.in_topic(topic);
        }
        if let Some(message) = said.reply_to {
            say = say.reply_to(message.parse().expect("a message id"));
        }
        if let Some((name, bytes)) = said.file {
            say = say.document(&name, "text/plain", bytes);
        }
        self.server.say(chat, self.user(who), say).to_string()
    }

    async fn edit(&self, place: &ConversationId, message_id: &str, text: &str) {
        self.server.edit(self.place(place).0, message_id.parse().expect("a message id"), text);
    }

    async fn command(&self, place: &ConversationId, who: &SenderId, words: &str) {
        self.say(place, who, Said::text(&format!("/echo@{} {words}", self.server.bot_name()))).await;
    }

    async fn click(&self, place: &ConversationId, message_id: &str, label: &str, who: &SenderId) {
        let message = message_id.parse().expect("a message id");
        self.server.click(self.place(place).0, message, label, self.user(who));
    }

    async fn shown(&self, place: &ConversationId) -> Vec<Shown> {
        let (chat, topic) = self.place(place);
        let here = self.server.messages(chat).into_iter().filter(|shown| shown.thread == topic);
        let seen = here.map(|shown| Shown {
            message_id: shown.message_id.to_string(),
            pings: shown.entities.iter().filter(|entity| entity["type"] == "text_mention").count(),
            text: shown.text,
            reply_to: shown.reply_to.map(|id| id.to_string()),
            buttons: shown.buttons.iter().flatten().map(|(label, _)| label.clone()).collect(),
            files: shown.document.into_iter().collect(),
            edits: shown.edits,
            key: None,
        });
        seen.collect()
    }

    async fn fail(&self, fault: Fault) {
        let wrong = |wrong| self.server.fail(Failure::new(wrong).of("sendMessage"));
        match fault {
            Fault::RateLimit(wait) => wrong(Wrong::TooManyRequests(wait.as_secs())),
            Fault::ServerError => wrong(Wrong::Status(502)),
            Fault::CutAfterPosting => wrong(Wrong::CutAfter),
            Fault::Disconnect => self.server.cut_poll(),
        }
    }

    async fn delete_thread(&self) {
        self.server.delete_topic(self.room, self.topic);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn telegram_keeps_every_promise() {
    promises::all::<TelegramPeer>().await;
}
