//! Gateway sessions: what was dispatched in each, so that it can be replayed after a resume.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

/// How many sessions are kept, and how many events of each: of older ones a resume fails.
const SESSIONS_MAX: usize = 4;
const REPLAY_MAX: usize = 5_000;

/// What goes to a client.
#[derive(Clone, Debug)]
pub(super) enum Outgoing {
    Text(Arc<str>),
    Close(u16),
    Cut,
}

#[derive(Debug)]
struct Session {
    id: String,
    sequence: u64,
    sent: VecDeque<(u64, Arc<str>)>,
    client: Option<UnboundedSender<Outgoing>>,
}

/// All sessions and the gateway's switches.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    sessions: VecDeque<Session>,
    made: u64,
    /// IDENTIFY is answered with this close code.
    pub refuse: Option<u16>,
    /// Heartbeats are not acknowledged.
    pub mute: bool,
    /// How often clients shall send a heartbeat, in milliseconds.
    pub heartbeat_ms: Option<u64>,
    /// IDENTIFYs that were accepted.
    pub identified: usize,
    /// RESUMEs that were accepted.
    pub resumed: usize,
    /// Heartbeats that came.
    pub heartbeats: usize,
}

impl Sessions {
    pub(super) fn begin(&mut self, client: UnboundedSender<Outgoing>) -> String {
        self.made += 1;
        self.identified += 1;
        let id = format!("session-{}", self.made);
        if self.sessions.len() >= SESSIONS_MAX {
            self.sessions.pop_front();
        }
        self.sessions.push_back(Session { id: id.clone(), sequence: 0, sent: VecDeque::new(), client: Some(client) });
        id
    }

    /// Replays what came after `seen`; `false` where that is not possible.
    pub(super) fn resume(&mut self, id: &str, seen: u64, client: UnboundedSender<Outgoing>) -> bool {
        let Some(session) = self.sessions.iter_mut().find(|session| session.id == id) else { return false };
        if session.sent.front().is_some_and(|(first, _)| *first > seen + 1) || seen > session.sequence {
            return false;
        }
        for (sequence, text) in &session.sent {
            if *sequence > seen {
                // A client that has gone again resumes once more.
                let _gone = client.send(Outgoing::Text(text.clone()));
            }
        }
        session.client = Some(client);
        session.dispatch("RESUMED", "{}");
        self.resumed += 1;
        true
    }

    /// This client listens to the session no more; it can be resumed, and may have been already.
    pub(super) fn detach(&mut self, id: &str, client: &UnboundedSender<Outgoing>) {
        if let Some(session) = self.sessions.iter_mut().find(|session| session.id == id) {
            session.client.take_if(|current| current.same_channel(client));
        }
    }

    /// An event to one session.
    pub(super) fn dispatch_to(&mut self, id: &str, kind: &str, data: &Value) {
        if let Some(session) = self.sessions.iter_mut().find(|session| session.id == id) {
            session.dispatch(kind, &data.to_string());
        }
    }

    /// An event to all sessions, also to those whose client is away for the moment.
    pub(super) fn dispatch(&mut self, kind: &str, data: &Value) {
        if self.sessions.is_empty() {
            return;
        }
        let data = data.to_string();
        self.sessions.iter_mut().for_each(|session| session.dispatch(kind, &data));
    }

    /// Something that is no event to every client.
    pub(super) fn send(&mut self, outgoing: &Outgoing) {
        for session in &mut self.sessions {
            if session.client.as_ref().is_some_and(|client| client.send(outgoing.clone()).is_err()) {
                session.client = None;
            }
        }
    }

    /// No session can be resumed.
    pub(super) fn forget(&mut self) {
        self.sessions.clear();
    }

    /// Clients that are connected now.
    pub(super) fn connected(&self) -> usize {
        self.sessions.iter().filter(|session| session.client.is_some()).count()
    }
}

impl Session {
    fn dispatch(&mut self, kind: &str, data: &str) {
        self.sequence += 1;
        let text: Arc<str> = format!(r#"{{"op":0,"t":"{kind}","s":{},"d":{data}}}"#, self.sequence).into();
        if self.sent.len() >= REPLAY_MAX {
            self.sent.pop_front();
        }
        self.sent.push_back((self.sequence, text.clone()));
        if self.client.as_ref().is_some_and(|client| client.send(Outgoing::Text(text)).is_err()) {
            self.client = None;
        }
    }
}
