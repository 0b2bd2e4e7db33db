//! A loopback Discord, an adapter to it, and a host.

use std::sync::Arc;
use std::time::Duration;

use channels::discord::{CatchUp, Discord, Settings};
use channels::{
    Action, Button, Content, ConversationId, Emphasis, Inbound, Kind, Menu, MenuCommand, MenuOption, OptionKind,
    Outbound, Piece, Report, Text,
};
use fakes::discord::Discord as Server;

use crate::host::{Host, Running};

/// Everything that one test needs.
pub struct Bot {
    pub server: Server,
    pub adapter: Arc<Discord>,
    pub host: Arc<Host>,
    pub running: Option<Running>,
    settings: Settings,
}

impl Bot {
    /// A server and an adapter that does not receive.
    pub async fn quiet() -> Self {
        Bot::with(|_| {}).await
    }

    /// The same with settings of one's own.
    pub async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let server = Server::start().await;
        let mut settings =
            Settings { api_url: Some(server.url()), menu: menu(), ..Settings::new(server.token().into()) };
        change(&mut settings);
        let adapter = Arc::new(Discord::new(settings.clone()).expect("good settings"));
        Bot { server, adapter, host: Host::new(), running: None, settings }
    }

    /// A server and an adapter that receives.
    pub async fn listening() -> Self {
        Bot::quiet().await.listen().await
    }

    /// Begins to receive.
    pub async fn listen(mut self) -> Self {
        self.running = Some(Running::start(self.adapter.clone(), &self.host).await);
        self
    }

    /// The process dies, and nothing of it is left but what the host holds.
    pub async fn die(&mut self) {
        self.running.take().expect("it receives").kill().await;
        self.adapter = Arc::new(Discord::new(self.settings.clone()).expect("good settings"));
        let gone = || (self.server.connected() == 0).then_some(());
        self.server.until(gone, crate::host::PATIENCE).await.expect("the gateway's connection ends with the process");
    }

    /// It comes back.
    pub async fn come_back(&mut self) {
        self.running = Some(Running::start(self.adapter.clone(), &self.host).await);
    }

    /// The texts that came in, in their order.
    pub fn texts(&self) -> Vec<String> {
        self.host.events().iter().filter_map(|event| Some(text_of(event)?.text.clone())).collect()
    }

    /// The event of a message of this text.
    pub async fn heard(&self, text: &str) -> Inbound {
        self.host.event(&format!("message {text:?}"), |event| text_of(event).is_some_and(|t| t.text == text)).await
    }

    /// What the return was reported as.
    pub async fn caught_up(&self) -> (usize, usize) {
        let reports = |host: &Host| {
            host.reports().into_iter().rev().find_map(|report| match report {
                Report::CaughtUp { taken, skipped } => Some((taken, skipped)),
                _ => None,
            })
        };
        self.host.wait("report of the return", reports).await
    }
}

pub fn text_of(event: &Inbound) -> Option<&Text> {
    match &event.content {
        Content::Text(text) => Some(text),
        _ => None,
    }
}

pub fn conversation(channel: u64) -> ConversationId {
    ConversationId::new(Kind::Discord, channel)
}

pub fn piece(text: &str) -> Piece {
    Piece { text: text.to_owned(), plain: text.to_owned(), ..Piece::default() }
}

pub fn button(label: &str, data: &str) -> Vec<Vec<Button>> {
    vec![vec![Button { label: label.to_owned(), data: data.to_owned(), emphasis: Emphasis::Plain }]]
}

pub fn out(channel: u64, key: &str, action: Action) -> Outbound {
    Outbound { conversation: conversation(channel), key: key.to_owned(), action, reply_to: None, handle: None }
}

pub fn send(channel: u64, key: &str, text: &str) -> Outbound {
    out(channel, key, Action::Send(piece(text)))
}

/// `/help`, and `/trust add who [room]`.
pub fn menu() -> Menu {
    let option = |name: &str, kind, required| MenuOption { name: name.into(), about: "which".into(), kind, required };
    let plain =
        |name: &str| MenuCommand { name: name.into(), about: "about".into(), subcommands: vec![], options: vec![] };
    let add = MenuCommand {
        options: vec![option("who", OptionKind::User, true), option("room", OptionKind::Conversation, false)],
        ..plain("add")
    };
    Menu { commands: vec![plain("help"), MenuCommand { subcommands: vec![add], ..plain("trust") }] }
}

pub fn limits(per_channel_max: usize, age: Duration) -> CatchUp {
    CatchUp { per_channel_max, age_max: age }
}
