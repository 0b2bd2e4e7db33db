//! What the hive logs while a trial runs.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

/// The log of one trial. Clones are the same log.
#[derive(Clone, Default)]
pub struct Logs(Arc<Mutex<Vec<Entry>>>);

/// One event of it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// How grave.
    pub level: Level,
    /// The message.
    pub message: String,
    /// The fields beside it.
    pub fields: String,
}

impl Logs {
    /// Listens on this thread until the guard goes.
    pub fn listen(&self) -> tracing::subscriber::DefaultGuard {
        tracing::subscriber::set_default(tracing_subscriber::registry().with(self.clone()))
    }

    /// Everything so far.
    pub fn entries(&self) -> Vec<Entry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl<S: Subscriber> Layer<S> for Logs {
    fn enabled(&self, metadata: &tracing::Metadata<'_>, _: Context<'_, S>) -> bool {
        *metadata.level() <= Level::INFO
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut entry = Entry { level: *event.metadata().level(), message: String::new(), fields: String::new() };
        event.record(&mut entry);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    }
}

impl Visit for Entry {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let done = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
        done.expect("writing to a string does not fail");
    }
}
