//! A profile: one account at one provider, as configured.

use std::fmt;
use std::str::FromStr;

use base::Secret;
use reqwest::Url;

use crate::price::Prices;
use crate::request::ModelRef;

/// One account at one provider.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The name that model references use. No colon in it.
    pub name: String,
    /// The protocol.
    pub wire: Wire,
    /// Where the provider is: see [`endpoint`] for the forms that work.
    pub api_url: String,
    /// The key or token. `None` for a server that wants none.
    pub key: Option<Secret>,
    /// What the key is.
    pub auth: Auth,
    /// The model where a reference names none.
    pub model: String,
    /// How many tokens a request and its answer may have together.
    pub context_window_tokens: u64,
    /// The longest answer that the model can give, in tokens.
    pub output_tokens_max: u32,
    /// What [`Profile::model`] costs. `None`: the built-in list of prices is asked, see [`crate::price`].
    pub prices: Option<Prices>,
    /// The models that are asked when this one cannot answer, in order. Their own fallbacks are not followed.
    pub fallback: Vec<ModelRef>,
}

impl Profile {
    /// The reference of this profile's own model.
    pub fn reference(&self) -> ModelRef {
        ModelRef::new(&self.name, &self.model)
    }
}

/// The protocol that a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wire {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Chat Completions, which many other servers speak as well.
    OpenAi,
}

impl Wire {
    /// The provider's own address.
    pub fn official_url(self) -> &'static str {
        match self {
            Wire::Anthropic => "https://api.anthropic.com",
            Wire::OpenAi => "https://api.openai.com",
        }
    }
}

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Wire::Anthropic => "anthropic",
            Wire::OpenAi => "openai",
        })
    }
}

/// A word that names no protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a provider that we speak: use `anthropic` or `openai`")]
pub struct BadWire(pub String);

impl FromStr for Wire {
    type Err = BadWire;
    fn from_str(text: &str) -> Result<Self, BadWire> {
        match text {
            "anthropic" => Ok(Wire::Anthropic),
            "openai" => Ok(Wire::OpenAi),
            _ => Err(BadWire(text.to_owned())),
        }
    }
}

/// How a key is shown to the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Auth {
    /// As the provider's API key: `x-api-key` with Anthropic, `authorization: Bearer` with OpenAI.
    ApiKey,
    /// As an OAuth token: `authorization: Bearer` with both.
    OAuthBearer,
}

/// What is asked at a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// An answer.
    Answer,
    /// The list of models: proves address and key and costs nothing.
    Models,
    /// Vectors of texts. Anthropic has none.
    Embeddings,
}

/// An address that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the api_url of profile `{profile}` is not usable: {why}")]
pub struct BadUrl {
    /// Whose it is.
    pub profile: String,
    /// What is wrong with it. Never the address itself, which may hold a password.
    pub why: String,
}

/// The full address of an endpoint, from an `api_url` as people write it. All of these work, each with or without
/// a slash at its end, and keep their query:
///
/// | written | asked |
/// |---|---|
/// | `https://host` | `https://host/v1/messages` |
/// | `https://host/v1` | `https://host/v1/messages` |
/// | `https://host/api` | `https://host/api/v1/messages` |
/// | `https://host/v1beta/openai` | `https://host/v1beta/openai/chat/completions` |
/// | `https://host/v1/chat/completions` | as it is |
pub fn endpoint(profile: &Profile, endpoint: Endpoint) -> Result<Url, BadUrl> {
    let bad = |why: String| BadUrl { profile: profile.name.clone(), why };
    let mut url = Url::parse(profile.api_url.trim()).map_err(|error| bad(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(bad("it must start with https:// or http:// and name a host".to_owned()));
    }
    let answer = match profile.wire {
        Wire::Anthropic => "/messages",
        Wire::OpenAi => "/chat/completions",
    };
    let path = url.path().trim_end_matches('/');
    let root = path.strip_suffix(answer).unwrap_or(path);
    let version = if root.split('/').any(is_version) || root.len() < path.len() { "" } else { "/v1" };
    let asked = match endpoint {
        Endpoint::Answer => answer,
        Endpoint::Models => "/models",
        Endpoint::Embeddings => "/embeddings",
    };
    let path = format!("{root}{version}{asked}");
    url.set_path(&path);
    url.set_fragment(None);
    Ok(url)
}

/// `v1`, `v4`, `v1beta`.
fn is_version(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn profile(wire: Wire, api_url: &str) -> Profile {
        Profile {
            name: "test".into(),
            wire,
            api_url: api_url.into(),
            key: Some(Secret::new("key-for-tests-only")),
            auth: Auth::ApiKey,
            model: "model-1".into(),
            context_window_tokens: 200_000,
            output_tokens_max: 4_096,
            prices: None,
            fallback: Vec::new(),
        }
    }

    #[test]
    fn an_api_url_works_in_every_form_in_which_people_write_it() {
        use Wire::{Anthropic, OpenAi};
        for (wire, written, asked) in [
            (Anthropic, "https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
            (Anthropic, "https://h/v1", "https://h/v1/messages"),
            (Anthropic, "https://h/v1/messages", "https://h/v1/messages"),
            (Anthropic, "https://h/anthropic", "https://h/anthropic/v1/messages"),
            (OpenAi, "http://127.0.0.1:11434", "http://127.0.0.1:11434/v1/chat/completions"),
            (OpenAi, "https://h/api/paas/v4", "https://h/api/paas/v4/chat/completions"),
            (OpenAi, "https://h/v1beta/openai", "https://h/v1beta/openai/chat/completions"),
            (OpenAi, "https://h/openai/v1?api-version=x", "https://h/openai/v1/chat/completions?api-version=x"),
            (OpenAi, "https://h/chat/completions", "https://h/chat/completions"),
        ] {
            for slash in ["", "/"] {
                let written = match written.split_once('?') {
                    Some((path, query)) => format!("{path}{slash}?{query}"),
                    None => format!("{written}{slash}"),
                };
                let url = endpoint(&profile(wire, &written), Endpoint::Answer).expect("a usable address");
                assert_eq!(url.as_str(), asked, "{written}");
                let models = endpoint(&profile(wire, &written), Endpoint::Models).expect("a usable address");
                assert!(models.path().ends_with("/models"), "{models}");
                let embeddings = endpoint(&profile(wire, &written), Endpoint::Embeddings).expect("a usable address");
                assert_eq!(embeddings.path(), models.path().replace("/models", "/embeddings"));
            }
        }
        for bad in ["", "api.anthropic.com", "ftp://h", "localhost:11434", "https://"] {
            assert!(endpoint(&profile(Anthropic, bad), Endpoint::Answer).is_err(), "{bad}");
        }
    }
}
