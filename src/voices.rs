//! The platforms that this hive speaks on, by kind.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::OutboxId;
use channels::{Channel, Kind};

/// The platforms, by kind. A kind that is not there is not configured: what is to go out there waits.
#[derive(Clone)]
pub struct Voices {
    instance: Arc<str>,
    channels: Arc<BTreeMap<Kind, Arc<dyn Channel>>>,
}

impl Voices {
    /// Of these platforms. `instance` tells this database from any other ([`store::settings::instance`]).
    pub fn new(instance: &str, channels: impl IntoIterator<Item = Arc<dyn Channel>>) -> Self {
        let channels = channels.into_iter().map(|channel| (channel.kind(), channel)).collect();
        Voices { instance: instance.into(), channels: Arc::new(channels) }
    }

    /// The platform of a kind.
    pub fn of(&self, kind: Kind) -> Option<&Arc<dyn Channel>> {
        self.channels.get(&kind)
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Arc<dyn Channel>> {
        self.channels.values()
    }

    /// The idempotency key of an outbox row: the same at every attempt, and never that of another database's row.
    /// 11 hexadecimal digits of milliseconds, a dash, and up to 13 digits: within Discord's 25 characters.
    pub fn key(&self, id: OutboxId) -> String {
        format!("{}-{id}", self.instance)
    }
}
