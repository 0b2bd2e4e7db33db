//! A server, an adapter and a host.

use std::sync::Arc;

use channels::telegram::{Settings, Telegram};
use channels::{
    Action, Content, ConversationId, Deliver, Hearing, Inbound, Kind, Menu, MenuCommand, Outbound, Piece, SendError,
    Sent,
};
use fakes::telegram::Telegram as Server;

use crate::host::{Host, Running};

/// A bot that runs against a server of its own.
pub struct Bot {
    pub server: Server,
    pub host: Arc<Host>,
    pub telegram: Arc<Telegram>,
}

impl Bot {
    /// A bot that does not receive yet.
    pub async fn new() -> Bot {
        let server = Server::start().await;
        let telegram = Arc::new(adapter(&server, Hearing::default()));
        Bot { server, host: Host::new(), telegram }
    }

    /// A new adapter with other rules, as after a restart of the process.
    pub fn restarted(&mut self, hearing: Hearing) {
        self.telegram = Arc::new(adapter(&self.server, hearing));
    }

    /// Starts to receive.
    pub async fn receives(&self) -> Running {
        Running::start(self.telegram.clone(), &self.host).await
    }

    /// Waits for a message by its text.
    pub async fn hears(&self, text: &str) -> Inbound {
        self.host.event(&format!("message that says {text:?}"), |event| text_of(event) == Some(text)).await
    }

    /// Posts a text that has no markup, as soon as the chat is ready for it.
    pub async fn posts(&self, chat: i64, text: &str) -> Result<Sent, SendError> {
        self.telegram.ready(&conversation(chat)).await;
        self.telegram.deliver(&send(chat, Piece { text: text.into(), plain: text.into(), ..Piece::default() })).await
    }
}

/// An adapter to a server.
pub fn adapter(server: &Server, hearing: Hearing) -> Telegram {
    let settings = Settings {
        api_url: Some(server.url()),
        hearing,
        menu: menu("what there is"),
        ..Settings::new(server.token().into())
    };
    Telegram::new(settings).expect("the token and the URL are the server's")
}

/// A menu with one command.
pub fn menu(about: &str) -> Menu {
    let help = MenuCommand { name: "help".into(), about: about.into(), subcommands: vec![], options: vec![] };
    Menu { commands: vec![help] }
}

/// A chat as a conversation.
pub fn conversation(chat: i64) -> ConversationId {
    ConversationId::new(Kind::Telegram, chat)
}

/// A topic as a conversation.
pub fn topic(chat: i64, topic: i64) -> ConversationId {
    ConversationId::new(Kind::Telegram, format!("{chat}/{topic}"))
}

/// A piece to post.
pub fn send(chat: i64, piece: Piece) -> Outbound {
    acting(conversation(chat), Action::Send(piece))
}

/// Anything to do somewhere.
pub fn acting(conversation: ConversationId, action: Action) -> Outbound {
    Outbound { conversation, key: "key".to_owned(), action, reply_to: None, handle: None }
}

/// A piece in HTML, and without.
pub fn html(text: &str, plain: &str) -> Piece {
    Piece { text: text.to_owned(), plain: plain.to_owned(), ..Piece::default() }
}

/// The text of a message.
pub fn text_of(event: &Inbound) -> Option<&str> {
    match &event.content {
        Content::Text(text) => Some(&text.text),
        _ => None,
    }
}
