//! The loopback model server: speaks Anthropic's Messages and OpenAI's Chat Completions and embeddings at the same
//! address.

mod anthropic;
mod embeddings;
mod openai;
mod reply;
mod serve;
mod strict;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub use reply::{Fault, Part, Refusal, Reply, Usage};

/// The server. It stops when it is dropped.
///
/// An answer comes from the queue, else from the first rule that has one, else it is an echo. Without a pace it is
/// given at once. Requests that a real provider would refuse are refused.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    _stop: tokio_util::sync::DropGuard,
}

/// A request as the server sees it.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The protocol.
    pub wire: Wire,
    /// The model that was asked for.
    pub model: String,
    /// The last words of the user; empty where there are none.
    pub text: String,
    /// What tools answered in the last message, in order.
    pub results: Vec<String>,
    /// The names of the tools that may be called.
    pub tools: Vec<String>,
    /// Everything.
    pub body: Value,
}

/// The protocol of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Chat Completions.
    OpenAi,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The path with its query.
    pub path: String,
    /// The headers, keys included: they are a test's.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub body: Bytes,
}

impl Recorded {
    /// The body as JSON.
    ///
    /// # Panics
    /// Where it is none: the server has read it before.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("only JSON bodies are recorded")
    }
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Fewer requests came than were waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFew {
    /// How many came.
    pub came: u64,
}

type Rule = Box<dyn Fn(&Asked) -> Option<Reply> + Send + Sync>;

struct Shared {
    state: Mutex<State>,
    /// How many requests came.
    count: watch::Sender<u64>,
    /// How many streamed answers are under way.
    streams: watch::Sender<u64>,
    /// Whether answers are held back.
    held: watch::Sender<bool>,
    stop: CancellationToken,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("count", &*self.count.borrow()).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct State {
    queue: VecDeque<Reply>,
    rules: Vec<Rule>,
    records: Vec<Recorded>,
    recording_off: bool,
    key: Option<String>,
    models: Option<Vec<String>>,
}

impl ModelServer {
    /// A server on a free port of this machine.
    pub async fn start() -> Self {
        Self::start_at(SocketAddr::from(([127, 0, 0, 1], 0))).await
    }

    /// A server at this address, for one that was there before and comes back.
    ///
    /// # Panics
    /// Where the address is taken.
    pub async fn start_at(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).await.expect("the address is free");
        let address = listener.local_addr().expect("a bound listener has an address");
        let stop = CancellationToken::new();
        let (count, streams, held) = (watch::Sender::new(0), watch::Sender::new(0), watch::Sender::new(false));
        let shared = Arc::new(Shared { state: Mutex::default(), count, streams, held, stop: stop.clone() });
        serve::spawn(listener, shared.clone());
        ModelServer { address, shared, _stop: stop.drop_guard() }
    }

    /// Where it is: `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Adds an answer to the queue.
    pub fn queue(&self, reply: Reply) {
        self.shared.lock().queue.push_back(reply);
    }

    /// How many answers of the queue nobody has asked for yet.
    pub fn queued(&self) -> usize {
        self.shared.lock().queue.len()
    }

    /// Answers with `reply` whenever the user's last words contain `part`, whatever its case.
    pub fn rule(&self, part: &str, reply: Reply) {
        let part = part.to_lowercase();
        self.rule_by(move |asked| asked.text.to_lowercase().contains(&part).then(|| reply.clone()));
    }

    /// Answers with what `rule` gives, where it gives something. Rules are tried in the order in which they came.
    pub fn rule_by(&self, rule: impl Fn(&Asked) -> Option<Reply> + Send + Sync + 'static) {
        self.shared.lock().rules.push(Box::new(rule));
    }

    /// Accepts this key alone. Before, every key is accepted, and none.
    pub fn accept_only(&self, key: &str) {
        self.shared.lock().key = Some(key.to_owned());
    }

    /// Has these models alone. Before, it has every model.
    pub fn only_models(&self, models: &[&str]) {
        self.shared.lock().models = Some(models.iter().map(|model| (*model).to_owned()).collect());
    }

    /// Holds all answers back: requests come in, are recorded and wait.
    pub fn hold(&self) {
        self.shared.held.send_replace(true);
    }

    /// Lets held answers go.
    pub fn release(&self) {
        self.shared.held.send_replace(false);
    }

    /// Switches the recording of requests off or on again. They are still counted.
    pub fn record(&self, on: bool) {
        self.shared.lock().recording_off = !on;
    }

    /// The recorded requests, in the order in which they came.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.lock().records.clone()
    }

    /// How many requests came, recorded or not.
    pub fn count(&self) -> u64 {
        *self.shared.count.borrow()
    }

    /// Waits until exactly `count` streamed answers are under way, and no longer than `deadline`. An answer ends for
    /// the server when it is sent, or when whoever asked has gone. `false` where the deadline came first.
    pub async fn wait_streams(&self, count: u64, deadline: Duration) -> bool {
        let mut streams = self.shared.streams.subscribe();
        let reached = streams.wait_for(|under_way| *under_way == count);
        tokio::time::timeout(deadline, reached).await.is_ok()
    }

    /// Waits until at least `count` requests have come, and no longer than `deadline`.
    pub async fn wait_requests(&self, count: u64, deadline: Duration) -> Result<Vec<Recorded>, TooFew> {
        let mut counted = self.shared.count.subscribe();
        let enough = counted.wait_for(|came| *came >= count);
        match tokio::time::timeout(deadline, enough).await {
            Ok(_) => Ok(self.requests()),
            Err(_) => Err(TooFew { came: self.count() }),
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
