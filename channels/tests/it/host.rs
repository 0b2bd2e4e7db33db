//! A host for adapters under test: keeps what it was given, and says when something was.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use channels::{Channel, Closed, Cursor, Inbound, Intake, Kind, ReceiveError, Report};
use futures::future::BoxFuture;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long a test waits for anything. Loopback answers in milliseconds; this is for a machine under load.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The host's memory. It outlives the adapters that write to it, as a database outlives a process.
#[derive(Default)]
struct Memory {
    /// Every event in the order of its first arrival, once.
    events: Vec<Inbound>,
    /// Every event as it came, repetitions included.
    deliveries: Vec<Inbound>,
    cursors: BTreeMap<String, String>,
    reports: Vec<Report>,
    /// How many of the next takes with events are refused.
    refusals: usize,
    /// How many takes were refused.
    refused: usize,
}

/// Takes events in as the hive would: once each, with the cursor.
pub struct Host {
    memory: Mutex<Memory>,
    changed: watch::Sender<u64>,
}

impl Host {
    /// An empty host.
    pub fn new() -> Arc<Host> {
        Arc::new(Host { memory: Mutex::default(), changed: watch::channel(0).0 })
    }

    /// Every event once, in the order in which they came.
    pub fn events(&self) -> Vec<Inbound> {
        self.memory().events.clone()
    }

    /// Every event as often as it came.
    pub fn deliveries(&self) -> Vec<Inbound> {
        self.memory().deliveries.clone()
    }

    /// Everything that was reported.
    pub fn reports(&self) -> Vec<Report> {
        self.memory().reports.clone()
    }

    /// The stored position of a stream.
    pub fn cursor(&self, stream: &str) -> Option<String> {
        self.memory().cursors.get(stream).cloned()
    }

    /// Refuses the next `takes` takes that carry events: nothing of them is kept.
    pub fn refuse(&self, takes: usize) {
        self.memory().refusals = takes;
    }

    /// How many takes were refused so far.
    pub fn refused(&self) -> usize {
        self.memory().refused
    }

    /// Waits until `look` finds something in this host. Panics with `what` and all that came if it never does.
    pub async fn wait<T>(&self, what: &str, look: impl Fn(&Host) -> Option<T>) -> T {
        let mut changed = self.changed.subscribe();
        let found = tokio::time::timeout(PATIENCE, async {
            loop {
                if let Some(found) = look(self) {
                    return found;
                }
                changed.changed().await.expect("the sender is in the host, which is borrowed here");
            }
        });
        found.await.unwrap_or_else(|_| panic!("no {what}; came: {:#?}; reports: {:#?}", self.events(), self.reports()))
    }

    /// Waits for the first event that `is` one.
    pub async fn event(&self, what: &str, is: impl Fn(&Inbound) -> bool) -> Inbound {
        self.wait(what, |host| host.events().into_iter().find(|event| is(event))).await
    }

    /// Waits for a report that `is` one.
    pub async fn report_of(&self, what: &str, is: impl Fn(&Report) -> bool) -> Report {
        self.wait(what, |host| host.reports().into_iter().find(|report| is(report))).await
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().expect("nothing panics while it holds this")
    }

    fn rings(&self) {
        self.changed.send_modify(|count| *count += 1);
    }
}

impl Intake for Host {
    fn take<'a>(&'a self, events: Vec<Inbound>, cursor: Option<Cursor>) -> BoxFuture<'a, Result<(), Closed>> {
        Box::pin(async move {
            let outcome = {
                let mut memory = self.memory();
                if memory.refusals > 0 && !events.is_empty() {
                    memory.refusals -= 1;
                    memory.refused += 1;
                    Err(Closed)
                } else {
                    for event in events {
                        memory.deliveries.push(event.clone());
                        let known =
                            |old: &Inbound| old.conversation == event.conversation && old.event_id == event.event_id;
                        if !memory.events.iter().any(known) {
                            memory.events.push(event);
                        }
                    }
                    if let Some(cursor) = cursor {
                        memory.cursors.insert(cursor.stream, cursor.value);
                    }
                    Ok(())
                }
            };
            self.rings();
            outcome
        })
    }

    fn cursors(&self, kind: Kind) -> BoxFuture<'_, Result<Vec<Cursor>, Closed>> {
        Box::pin(async move {
            let memory = self.memory();
            let of_kind = |stream: &&String| stream.starts_with(&format!("{kind}/"));
            let cursors = memory.cursors.keys().filter(of_kind);
            Ok(cursors.map(|stream| Cursor { stream: stream.clone(), value: memory.cursors[stream].clone() }).collect())
        })
    }

    fn report(&self, _kind: Kind, report: Report) {
        self.memory().reports.push(report);
        self.rings();
    }
}

/// An adapter that receives for a host until it is stopped.
pub struct Running {
    stop: CancellationToken,
    ended: JoinHandle<Result<(), ReceiveError>>,
}

impl Running {
    /// Starts to receive, and waits until the platform is connected.
    pub async fn start(channel: Arc<dyn Channel>, host: &Arc<Host>) -> Running {
        let connected = |host: &Host| host.reports().iter().filter(|r| matches!(r, Report::Connected { .. })).count();
        let before = connected(host);
        let running = Running::start_unconnected(channel, host);
        host.wait("connection", |host| (connected(host) > before).then_some(())).await;
        running
    }

    /// Starts to receive and waits for nothing.
    pub fn start_unconnected(channel: Arc<dyn Channel>, host: &Arc<Host>) -> Running {
        let stop = CancellationToken::new();
        let intake: Arc<dyn Intake> = host.clone();
        let token = stop.clone();
        let ended = tokio::spawn(async move { channel.receive(intake, token).await });
        Running { stop, ended }
    }

    /// Asks it to stop and waits for its end.
    pub async fn stop(self) -> Result<(), ReceiveError> {
        self.stop.cancel();
        self.end().await
    }

    /// Waits until it ends by itself.
    pub async fn end(self) -> Result<(), ReceiveError> {
        tokio::time::timeout(PATIENCE, self.ended).await.expect("receive did not end").expect("receive panicked")
    }

    /// Drops it where it stands, as a killed process would be.
    pub async fn kill(self) {
        self.ended.abort();
        let outcome = self.ended.await;
        assert!(outcome.is_err() || outcome.is_ok_and(|ended| ended.is_ok()), "it had failed before it was killed");
    }
}
