//! Why a model did not answer, typed by what to do next.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::response::Usage;

/// A question that was not answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{class}: {text}")]
pub struct ModelError {
    /// What to do next.
    pub class: Class,
    /// What happened, in one line for the log: without keys, addresses and what people wrote.
    pub text: String,
    /// What the provider had counted before it failed. Spent all the same, as far as anybody knows.
    pub usage: Usage,
}

impl ModelError {
    /// An error that used no tokens.
    pub fn new(class: Class, text: impl Into<String>) -> Self {
        ModelError { class, text: text.into(), usage: Usage::default() }
    }
}

/// What to do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The key is missing, wrong, or may not use this model: a person has to see to it.
    Auth,
    /// The account has no money or allowance left: a person has to see to it.
    Quota,
    /// Too many requests: wait.
    RateLimited {
        /// How long, where the provider says.
        retry_after: Option<Duration>,
    },
    /// The provider has too much to do: wait.
    Overloaded {
        /// How long, where the provider says.
        retry_after: Option<Duration>,
    },
    /// The conversation does not fit into the model: shorten it.
    ContextTooLong,
    /// The provider does not answer this content: ask for something else.
    Refused,
    /// A fault that may pass: no connection, an internal error, an answer that could not be read.
    Transient,
    /// No byte came for the longest time that [`crate::Limits`] allows, before or within the answer.
    Silent,
    /// The answer broke off before its end.
    Cut,
    /// Asking again will not help: an unknown model, a wrong address, a request that the provider does not take,
    /// an answer larger than we take.
    Malformed,
}

impl Class {
    /// Whether the same request to the same model may work a little later.
    pub fn passes(self) -> bool {
        match self {
            Class::RateLimited { .. } | Class::Overloaded { .. } | Class::Transient | Class::Silent | Class::Cut => {
                true
            }
            Class::Auth | Class::Quota | Class::ContextTooLong | Class::Refused | Class::Malformed => false,
        }
    }

    /// How long the provider asks to wait, where it says.
    pub fn retry_after(self) -> Option<Duration> {
        match self {
            Class::RateLimited { retry_after } | Class::Overloaded { retry_after } => retry_after,
            _ => None,
        }
    }

    /// One word or two, the same for every error of the class: for logs, metrics and the journal.
    pub fn name(self) -> &'static str {
        match self {
            Class::Auth => "auth",
            Class::Quota => "quota",
            Class::RateLimited { .. } => "rate_limited",
            Class::Overloaded { .. } => "overloaded",
            Class::ContextTooLong => "context_too_long",
            Class::Refused => "refused",
            Class::Transient => "transient",
            Class::Silent => "silent",
            Class::Cut => "cut",
            Class::Malformed => "malformed",
        }
    }

    /// What a person in a chat is told: what is the matter and what they can do, nothing internal.
    pub fn sentence_for_people(self) -> &'static str {
        match self {
            Class::Auth => "I can't reach my language model: its key is not accepted. An admin has to look at it.",
            Class::Quota => "My language model's account is used up. An admin has to look at it.",
            Class::RateLimited { .. } => {
                "My language model takes no more questions for the moment. Please try again in a minute."
            }
            Class::Overloaded { .. } => "My language model is overloaded right now. Please try again in a few minutes.",
            Class::ContextTooLong => {
                "This conversation has become too long for my language model. A new topic will help."
            }
            Class::Refused => "My language model declined to answer that.",
            Class::Transient => "My language model had a problem. Please try again.",
            Class::Silent => "My language model did not answer in time. Please try again.",
            Class::Cut => "My language model's answer broke off. Please try again.",
            Class::Malformed => "My language model did not accept the question. An admin has to look at it.",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Class::Auth => "the key is not accepted",
            Class::Quota => "the account is used up",
            Class::RateLimited { .. } => "rate limited",
            Class::Overloaded { .. } => "overloaded",
            Class::ContextTooLong => "the context is too long",
            Class::Refused => "refused",
            Class::Transient => "failed, may pass",
            Class::Silent => "silent for too long",
            Class::Cut => "the answer broke off",
            Class::Malformed => "the request or its answer was not accepted",
        })
    }
}
