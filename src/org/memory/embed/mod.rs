//! Vectors of texts: the port, the embedded model, and a provider's.

mod pieces;
mod provider;
mod refresh;

use anyhow::Result;
use futures::future::BoxFuture;

pub use pieces::Pieces;
pub use provider::Provider;
pub use refresh::refresh;

/// What makes vectors of texts.
pub trait Embedder: Send + Sync {
    /// The model's name and version: vectors of two names are never compared.
    fn name(&self) -> &str;

    /// A vector for each text, in their order, all of one length. All zeros for a text that the model cannot say
    /// anything about.
    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>>>;
}

/// What of a chunk is given to a model.
pub(crate) fn text_of(title: &str, content: &str) -> String {
    format!("{title}\n{content}")
}

/// Vectors for these texts, checked: as many as there are texts, all of one length, of numbers.
pub(crate) async fn checked(embedder: &dyn Embedder, texts: &[String]) -> Result<Vec<Vec<f32>>> {
    let (vectors, name) = (embedder.embed(texts).await?, embedder.name());
    anyhow::ensure!(vectors.len() == texts.len(), "{name} gave {} vectors for {} texts", vectors.len(), texts.len());
    let length = vectors.first().map_or(0, Vec::len);
    for vector in &vectors {
        anyhow::ensure!(!vector.is_empty() && vector.len() == length, "{name} gave vectors of different lengths");
        anyhow::ensure!(vector.iter().all(|number| number.is_finite()), "{name} gave a vector with no number in it");
    }
    Ok(vectors)
}

/// Makes a vector's length 1, unless it is all zeros.
pub(crate) fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|number| *number /= length);
    }
}
