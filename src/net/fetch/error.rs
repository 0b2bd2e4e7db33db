//! Why a fetch has no answer, in words for people and models.

use std::error::Error;
use std::time::Duration;

use crate::guard::Refusal;

/// Why a fetch has no answer. An answer with an error's status is an answer.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The guard refused the URL, or one that a redirect led to.
    #[error("refused: {0}")]
    Refused(Refusal),
    /// The request cannot be made as it was asked for.
    #[error("{0}")]
    BadRequest(String),
    /// Too many redirects.
    #[error("there are more than {0} redirects")]
    Redirects(usize),
    /// It took too long.
    #[error("{what} within {} s", .limit.as_secs_f32())]
    TimedOut {
        /// What did not happen.
        what: &'static str,
        /// How long was waited.
        limit: Duration,
    },
    /// A file is longer than allowed.
    #[error("the file is longer than {0} bytes")]
    TooLong(usize),
    /// The other side could not be reached, or did not speak HTTP as it should.
    #[error("{0}")]
    Failed(String),
}

impl FetchError {
    pub(super) fn failed(what: &str, error: &dyn Error) -> FetchError {
        FetchError::Failed(format!("{what}: {}", chain(error)))
    }

    /// An error of the client, without the URL, which may hold a secret.
    pub(super) fn of_client(what: &str, error: reqwest::Error) -> FetchError {
        FetchError::failed(what, &error.without_url())
    }
}

/// An error and its causes, each once.
fn chain(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !words.contains(&next) {
            words = format!("{words}: {next}");
        }
        cause = error.source();
    }
    words
}
