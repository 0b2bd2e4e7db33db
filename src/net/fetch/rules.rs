//! What an owner may change about fetching.

use std::time::Duration;

use crate::guard::GuardRules;

/// What is asked, how long is waited and how much is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchRules {
    /// Which addresses may be asked.
    pub guard: GuardRules,
    /// How many redirects are followed.
    pub redirects_max: usize,
    /// How long one host may take to be found and connected to.
    pub connect: Duration,
    /// How long a body may be silent.
    pub idle: Duration,
    /// How long the whole may take, redirects and body together.
    pub total: Duration,
    /// How much of a text is taken, in bytes after unpacking. What is longer is cut.
    pub text_bytes_max: usize,
    /// How long a file may be, in bytes after unpacking. What is longer is refused: half a file is none.
    pub file_bytes_max: usize,
    /// How long the body of a request may be, in bytes.
    pub request_bytes_max: usize,
}

impl Default for FetchRules {
    /// 30 s and 1 MiB are enough for pages and answers of services, and little enough for a turn to wait for; a file
    /// may be as long as a workspace takes one (8 MiB); browsers follow 20 redirects, of which honest sites need a few.
    fn default() -> Self {
        FetchRules {
            guard: GuardRules::default(),
            redirects_max: 10,
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(15),
            total: Duration::from_secs(30),
            text_bytes_max: 1 << 20,
            file_bytes_max: 8 << 20,
            request_bytes_max: 1 << 20,
        }
    }
}
