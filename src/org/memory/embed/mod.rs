//! Vectors of texts: the port, and the embedded model.

mod pieces;
mod refresh;

use anyhow::Result;
use futures::future::BoxFuture;

pub use pieces::Pieces;
pub use refresh::refresh;

/// What makes vectors of texts.
pub trait Embedder: Send + Sync {
    /// The model's name and version: vectors of two names are never compared.
    fn name(&self) -> &str;

    /// How many numbers a vector has.
    fn dimension(&self) -> usize;

    /// A vector for each text, in their order. All zeros for a text that the model cannot say anything about.
    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>>>;
}

/// What of a chunk is given to a model.
pub(crate) fn text_of(title: &str, content: &str) -> String {
    format!("{title}\n{content}")
}

/// Vectors for these texts, checked: as many as there are texts, each of the dimension that the model says, of
/// numbers.
pub(crate) async fn checked(embedder: &dyn Embedder, texts: &[String]) -> Result<Vec<Vec<f32>>> {
    let vectors = embedder.embed(texts).await?;
    anyhow::ensure!(
        vectors.len() == texts.len(),
        "{} gave {} vectors for {} texts",
        embedder.name(),
        vectors.len(),
        texts.len()
    );
    for vector in &vectors {
        let (got, wanted) = (vector.len(), embedder.dimension());
        anyhow::ensure!(got == wanted, "{} gave a vector of {got} numbers, not {wanted}", embedder.name());
        anyhow::ensure!(
            vector.iter().all(|number| number.is_finite()),
            "{} gave a vector with no number in it",
            embedder.name()
        );
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
