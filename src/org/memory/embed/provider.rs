//! A provider's model, far away.

use anyhow::Result;
use futures::future::BoxFuture;
use llm::Embeddings;

use super::Embedder;

/// A provider's model for vectors. Its name is the reference of the model: another profile is another model.
pub struct Provider {
    embeddings: Embeddings,
    name: String,
}

impl Provider {
    /// This one.
    pub fn new(embeddings: Embeddings) -> Self {
        Provider { name: embeddings.reference().to_string(), embeddings }
    }
}

impl Embedder for Provider {
    fn name(&self) -> &str {
        &self.name
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>>> {
        Box::pin(async move { Ok(self.embeddings.embed(texts).await?) })
    }
}
