//! The bounds of every wait and every size towards a provider.

use std::time::Duration;

/// How long and how often a provider is waited for. Every field bounds something; none can be switched off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Until a connection stands, TLS included.
    pub connect: Duration,
    /// From the request to the first byte of the answer. Long prompts are read before the first word comes.
    pub headers: Duration,
    /// Between two pieces of the answer. Providers send a ping or a comment at least every 15 s.
    pub idle: Duration,
    /// For one attempt as a whole.
    pub total: Duration,
    /// The longest answer, in bytes on the wire.
    pub answer_size_max_bytes: usize,
    /// How often one model is asked for one answer, the first attempt included.
    pub attempts_max: u32,
    /// No attempt with one model begins later than this after the first one began: a person waits.
    pub retry_window: Duration,
    /// The wait after the first failure; doubled with each further one, then jittered down to half.
    pub backoff_first: Duration,
    /// The longest wait between two attempts, where the provider does not ask for a longer one.
    pub backoff_max: Duration,
}

impl Limits {
    /// What the product runs with. The numbers follow what the providers' own client libraries do (10 minutes in
    /// all, first wait half a second, at most 8 s), with bounds of our own on silence and on the time in which
    /// another attempt may begin.
    pub const STANDARD: Limits = Limits {
        connect: Duration::from_secs(10),
        headers: Duration::from_secs(120),
        idle: Duration::from_secs(60),
        total: Duration::from_secs(600),
        answer_size_max_bytes: 16 << 20,
        attempts_max: 4,
        retry_window: Duration::from_secs(120),
        backoff_first: Duration::from_millis(500),
        backoff_max: Duration::from_secs(8),
    };
}
