//! What a team remembers: saved under keys, superseded and never changed, found by words and meaning, and put into
//! prompts within a budget.
//!
//! | file | one thing |
//! |---|---|
//! | `kind` | the six types and their other words |
//! | `save` | save, supersede, delete, list |
//! | `chunk`, `script` | long texts in pieces; words of scripts without spaces |
//! | `embed/` | the port for vectors, the embedded model, a provider's, and the change of models |
//! | `search` | words and vectors in one score, age, superseded entries |
//! | `stop`, `lexical`, `shelf` | a question's words, BM25 over the index, the vectors in memory |
//! | `diverse`, `snippet` | each thing once, and the part of it that answers |
//! | `inject` | the part of a prompt |
//! | `eval` | how good the search is, on a collection with judged questions |
//!
//! Invariants: a key has at most one active entry. A chain of entries is a line back in time within one key of one
//! team. What is deleted is in no index. No text of a user is ever a query expression.

mod chunk;
mod diverse;
mod embed;
mod inject;
mod kind;
mod lexical;
mod save;
mod script;
mod search;
mod shelf;
mod snippet;
mod stop;

pub mod eval;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, timeout};

pub use embed::{Embedder, Pieces, Provider, refresh};
pub use inject::inject;
pub use kind::{BadKind, Kind};
pub use save::{Draft, NotSaved, delete, draft, list, save};
pub use search::{Hit, Question, RESULTS_MAX, Source, question, search};

use shelf::Shelves;

/// How much memory the vectors of the teams that searched last may take, in bytes: 100,000 chunks of the embedded
/// model are 15 MB.
const SHELF_BYTES_MAX: usize = 64 << 20;

/// How long a search or a save waits for vectors: a person waits too, and words alone find most of it.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long a model that failed is not asked again for a search or a save.
const REST: Duration = Duration::from_secs(30);

/// What searching needs beside the rows: a model, and the vectors that are in memory. Clones are the same one.
#[derive(Clone)]
pub struct Library {
    pub(crate) embedder: Arc<dyn Embedder>,
    pub(crate) shelves: Arc<Shelves>,
    /// Since when the model fails.
    failing: Arc<Mutex<Option<Instant>>>,
}

impl Library {
    /// With this model.
    pub fn new(embedder: Arc<dyn Embedder>) -> Self {
        Library { embedder, shelves: Arc::new(Shelves::new(SHELF_BYTES_MAX)), failing: Arc::default() }
    }

    /// With the embedded model, which needs no network.
    pub fn embedded() -> Self {
        Library::new(Arc::new(Pieces::new()))
    }

    /// The model.
    pub fn embedder(&self) -> &dyn Embedder {
        &*self.embedder
    }

    /// Gives back the memory of what nobody searched since this was called last: the next search reads it again.
    pub fn release_unused(&self) {
        self.shelves.release_unused();
    }

    /// Vectors for these texts; `None` where the model does not give them soon. That is told once, when it begins.
    pub(crate) async fn vectors(&self, texts: &[String]) -> Option<Vec<Vec<f32>>> {
        let failed_at = *self.failing();
        if failed_at.is_some_and(|at| at.elapsed() < REST) {
            return None;
        }
        let late = |_| anyhow::anyhow!("no vectors within {PATIENCE:?}");
        let made = timeout(PATIENCE, embed::checked(&*self.embedder, texts)).await;
        let failed = match made.map_err(late).flatten() {
            Ok(vectors) => {
                self.works();
                return Some(vectors);
            }
            Err(error) => format!("{error:#}"),
        };
        let model = self.embedder.name();
        match self.failing().replace(Instant::now()) {
            None => {
                tracing::warn!(model, error = failed, "memories are searched and kept by their words alone for now")
            }
            Some(_) => tracing::debug!(model, error = failed, "still no vectors of memories"),
        }
        None
    }

    /// Notes that the model gave vectors.
    pub(crate) fn works(&self) {
        if self.failing().take().is_some() {
            tracing::info!(model = self.embedder.name(), "memories have vectors again");
        }
    }

    fn failing(&self) -> MutexGuard<'_, Option<Instant>> {
        self.failing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library").field("model", &self.embedder.name()).finish_non_exhaustive()
    }
}
