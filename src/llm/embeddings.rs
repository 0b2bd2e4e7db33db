//! Vectors of texts from a provider: OpenAI's `/embeddings`, which many other servers speak as well.
//!
//! One request for some texts, no retries: whoever needs vectors can do without them for a while.

use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use reqwest::Url;
use reqwest::header::HeaderMap;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::error::{Class, ModelError};
use crate::http::Http;
use crate::profile::{Endpoint, Profile, Wire, endpoint};
use crate::refusal;
use crate::remote::headers;
use crate::request::ModelRef;

/// Most texts of one request. Providers take more; a request with fewer is sooner done and sooner tried again.
const TEXTS_MAX: usize = 64;

/// A model that makes vectors.
pub struct Embeddings {
    reference: ModelRef,
    url: Url,
    headers: HeaderMap,
    http: Arc<Http>,
}

/// What a provider answers.
#[derive(Deserialize)]
struct Answer {
    data: Vec<Row>,
}

/// The vector of a text.
#[derive(Deserialize)]
struct Row {
    /// Which text of the request, from 0. Some servers leave it out and keep the order.
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl Embeddings {
    /// The profile's model `model`. Fails where the profile cannot be used for it, with the reason.
    pub(crate) fn new(profile: &Profile, model: &str, http: Arc<Http>) -> Result<Self, String> {
        if profile.wire != Wire::OpenAi {
            return Err(format!("its provider is `{}`, whose protocol has no embeddings", profile.wire));
        }
        let url = endpoint(profile, Endpoint::Embeddings).map_err(|error| error.to_string())?;
        let (reference, headers) = (ModelRef::new(&profile.name, model), headers(profile)?);
        Ok(Embeddings { reference, url, headers, http })
    }

    /// The model.
    pub fn reference(&self) -> &ModelRef {
        &self.reference
    }

    /// A vector for each text, in their order, all of one length. No text may be empty.
    ///
    /// # Errors
    /// What the provider refuses, does not answer within [`crate::Limits`], or answers with something else than that.
    pub async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ModelError> {
        let mut vectors: Vec<Vec<f32>> = Vec::with_capacity(texts.len());
        for some in texts.chunks(TEXTS_MAX) {
            let limit = self.http.limits().total;
            let late = || Err(ModelError::new(Class::Cut, format!("the vectors were not there within {limit:?}")));
            let asked = timeout(limit, self.once(some)).await.unwrap_or_else(|_| late());
            vectors.extend(asked.map_err(|error| self.http.clean(error))?);
        }
        let length = vectors.first().map_or(0, Vec::len);
        match vectors.iter().all(|vector| vector.len() == length) {
            true => Ok(vectors),
            false => Err(wrong("vectors of different lengths")),
        }
    }

    async fn once(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ModelError> {
        let body = json!({ "model": self.reference.model, "input": texts });
        let body = serde_json::to_vec(&body).expect("texts are JSON");
        let accepted = self.http.post(&self.url, &self.headers, body).await?;
        read(&whole(accepted.bytes).await?, texts.len())
    }
}

async fn whole(mut bytes: BoxStream<'static, Result<Bytes, ModelError>>) -> Result<Vec<u8>, ModelError> {
    let mut body = Vec::new();
    while let Some(piece) = bytes.next().await {
        body.extend_from_slice(&piece?);
    }
    Ok(body)
}

/// The vectors of an answer, in the order of the texts.
fn read(body: &[u8], texts: usize) -> Result<Vec<Vec<f32>>, ModelError> {
    let body: Value = serde_json::from_slice(body).map_err(|_| wrong("no JSON"))?;
    if body["error"].is_object() {
        return Err(refusal::within_stream(&body["error"]));
    }
    let answer =
        Answer::deserialize(body).map_err(|_| wrong("no `data` with an `embedding` of numbers for each text"))?;
    if answer.data.len() != texts {
        return Err(wrong(&format!("{} vectors for {texts} texts", answer.data.len())));
    }
    let mut vectors = vec![Vec::new(); texts];
    for (at, row) in answer.data.into_iter().enumerate() {
        let place = vectors.get_mut(row.index.unwrap_or(at)).ok_or_else(|| wrong("a vector for no text"))?;
        if row.embedding.is_empty() || !row.embedding.iter().all(|number| number.is_finite()) {
            return Err(wrong("a vector without numbers"));
        }
        if !place.is_empty() {
            return Err(wrong("two vectors for one text"));
        }
        *place = row.embedding;
    }
    Ok(vectors)
}

fn wrong(what: &str) -> ModelError {
    ModelError::new(Class::Malformed, format!("the answer to a request for vectors has {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_in_the_order_of_the_texts() {
        for body in [
            r#"{"object":"list","data":[{"index":1,"embedding":[0.5,-1]},{"index":0,"embedding":[1e-3,2]}],"usage":{}}"#,
            r#"{"data":[{"embedding":[0.001,2]},{"embedding":[0.5,-1]}]}"#,
        ] {
            assert_eq!(read(body.as_bytes(), 2), Ok(vec![vec![0.001, 2.0], vec![0.5, -1.0]]));
        }
    }

    #[test]
    fn what_is_no_answer_is_an_error_that_says_why() {
        for (body, class, why) in [
            ("<html>", Class::Malformed, "no JSON"),
            ("{}", Class::Malformed, "no `data`"),
            (r#"{"data":[{"embedding":"AACAPw=="}]}"#, Class::Malformed, "no `data`"),
            (r#"{"data":[]}"#, Class::Malformed, "0 vectors for 1 texts"),
            (r#"{"data":[{"index":0,"embedding":[]}]}"#, Class::Malformed, "without numbers"),
            (r#"{"data":[{"index":0,"embedding":[1e99]}]}"#, Class::Malformed, "without numbers"),
            (r#"{"data":[{"index":7,"embedding":[1]}]}"#, Class::Malformed, "for no text"),
            (r#"{"error":{"code":429,"message":"slow"}}"#, Class::RateLimited { retry_after: None }, "slow"),
        ] {
            let error = read(body.as_bytes(), 1).expect_err(body);
            assert_eq!(error.class, class, "{body}");
            assert!(error.text.contains(why), "{body}: {error}");
        }
        let twice = r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#;
        assert!(read(twice.as_bytes(), 2).expect_err("twice").text.contains("two vectors"));
    }
}
