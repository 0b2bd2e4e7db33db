//! Discord as a peer: the real adapter against the loopback server.

use std::sync::Arc;

use channels::discord::{Discord, Settings};
use channels::{Channel, ConversationId, Kind, Menu, MenuCommand, MenuOption, OptionKind, SenderId};
use fakes::discord::{Discord as Server, Fault as Wrong, Given, On, Says};

use super::peer::{Fault, Peer, Said, Shown};
use super::promises;

/// Two guild channels, a thread, and a direct conversation.
pub struct DiscordPeer {
    server: Server,
    alice: u64,
    bob: u64,
    direct: u64,
    room: u64,
    other_room: u64,
    thread: u64,
}

fn id(text: &str) -> u64 {
    text.parse().expect("a snowflake")
}

fn channel(place: &ConversationId) -> u64 {
    id(place.local())
}

fn conversation(channel: u64) -> ConversationId {
    ConversationId::new(Kind::Discord, channel)
}

impl Peer for DiscordPeer {
    async fn start() -> Self {
        let server = Server::start().await;
        let (alice, bob) = (server.user("Alice"), server.user("Bob"));
        let direct = server.dm(alice);
        let (room, other_room) = (server.channel("hive"), server.channel("garden"));
        let thread = server.thread(room, "Plans");
        DiscordPeer { server, alice, bob, direct, room, other_room, thread }
    }

    fn kind(&self) -> Kind {
        Kind::Discord
    }

    fn adapter(&self) -> Arc<dyn Channel> {
        let words = MenuOption { name: "words".into(), about: "what".into(), kind: OptionKind::Text, required: false };
        let about = "says it again".to_owned();
        let echo = MenuCommand { name: "echo".into(), about, subcommands: vec![], options: vec![words] };
        let menu = Menu { commands: vec![echo] };
        let url = Some(self.server.url());
        let settings = Settings { api_url: url, menu, ..Settings::new(self.server.token().into()) };
        Arc::new(Discord::new(settings).expect("the token and the URL are the server's"))
    }

    fn alice(&self) -> SenderId {
        SenderId::new(Kind::Discord, self.alice)
    }

    fn bob(&self) -> SenderId {
        SenderId::new(Kind::Discord, self.bob)
    }

    fn direct(&self) -> ConversationId {
        conversation(self.direct)
    }

    fn room(&self) -> ConversationId {
        conversation(self.room)
    }

    fn other_room(&self) -> ConversationId {
        conversation(self.other_room)
    }

    fn thread(&self) -> Option<ConversationId> {
        Some(conversation(self.thread))
    }

    async fn say(&self, place: &ConversationId, who: &SenderId, said: Said) -> String {
        let text = if said.mentions_bot { format!("{} {}", self.server.mention(), said.text) } else { said.text };
        let files = said.file.into_iter().map(|(name, bytes)| (name, "text/plain".to_owned(), bytes)).collect();
        let says = Says { text, reply_to: said.reply_to.as_deref().map(id), files, ..Says::default() };
        self.server.says(channel(place), id(who.user()), says).to_string()
    }

    async fn edit(&self, _place: &ConversationId, message_id: &str, text: &str) {
        self.server.edit(id(message_id), text);
    }

    async fn command(&self, place: &ConversationId, who: &SenderId, words: &str) {
        let given = [("words", Given::Text(words.to_owned()))];
        self.server.slash(channel(place), id(who.user()), "echo", &given);
    }

    async fn click(&self, _place: &ConversationId, message_id: &str, label: &str, who: &SenderId) {
        self.server.click(id(message_id), label, id(who.user()));
    }

    async fn shown(&self, place: &ConversationId) -> Vec<Shown> {
        let here = self.server.answers(channel(place)).into_iter();
        let seen = here.map(|shown| Shown {
            message_id: shown.id.to_string(),
            text: shown.text,
            reply_to: shown.reply_to.map(|id| id.to_string()),
            buttons: shown.buttons.into_iter().map(|button| button.label).collect(),
            files: shown.files.into_iter().map(|file| (file.name, file.bytes)).collect(),
            edits: shown.edits,
            pings: shown.pings.len(),
            key: shown.nonce,
        });
        seen.collect()
    }

    async fn fail(&self, fault: Fault) {
        let wrong = |wrong| self.server.fail(On::Send, wrong, 1);
        match fault {
            Fault::RateLimit(retry_after) => wrong(Wrong::TooMany { retry_after, global: false }),
            Fault::ServerError => wrong(Wrong::Status { status: 502, code: 0 }),
            Fault::CutAfterPosting => wrong(Wrong::CutAfter),
            Fault::Disconnect => self.server.disconnect(),
        }
    }

    async fn delete_thread(&self) {
        self.server.delete_channel(self.thread);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn discord_keeps_every_promise() {
    promises::all::<DiscordPeer>().await;
}
