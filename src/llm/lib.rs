//! Models: the port through which the hive asks them, two providers' protocols, and three models without a
//! provider (offline, scripted, and chains of others).
//!
//! | file | one thing |
//! |---|---|
//! | `request`, `response`, `error`, `model` | our own words: [`Request`], [`Response`], [`ModelError`], [`Model`] |
//! | `sendable` | a history made to fit all providers' rules |
//! | `anthropic/`, `openai/` | pure translation: request to bytes, events to an answer |
//! | `sse`, `stream`, `http`, `refusal`, `retry_after`, `limits` | bytes, waits, refusals |
//! | `remote` | one profile's model behind HTTP |
//! | `embeddings` | vectors of texts |
//! | `chain` | retries and fallbacks over any models |
//! | `profile`, `models` | what the configuration knows |
//! | `price`, `tokens` | money and estimates, as integers |
//! | `offline` | the built-in model that needs no key |
//! | `script` | a model for tests: says what it is told to, remembers what it was asked |
//!
//! Invariants: equal requests become equal bytes. Bad arguments of a tool call are kept, never read as none. No text
//! of an error holds a key. Every wait has a bound in [`Limits`]. The only owner of `reqwest` besides `net`.

mod anthropic;
mod chain;
mod embeddings;
mod error;
mod http;
#[cfg(test)]
mod laws;
mod limits;
mod model;
mod models;
pub mod offline;
mod openai;
#[cfg(test)]
mod prefix;
pub mod price;
mod profile;
#[cfg(test)]
mod public_json;
mod refusal;
mod remote;
mod request;
mod response;
mod retry_after;
mod schema;
pub mod script;
mod sendable;
#[cfg(test)]
mod sockets;
mod sse;
mod stream;
pub mod tokens;
mod wire;

pub use chain::Chain;
pub use embeddings::Embeddings;
pub use error::{Class, ModelError};
pub use limits::Limits;
pub use model::{Attempt, Model, Next, Progress, Sink};
pub use models::{BadProfile, Models, UnknownProfile};
pub use price::{MicroUsd, Prices};
pub use profile::{Auth, BadUrl, BadWire, Endpoint, Profile, Wire, endpoint};
pub use request::{BadModelRef, Block, Input, Message, ModelRef, Request, Role, System, ToolDef, ToolUse};
pub use response::{Response, StopReason, Usage};
pub use schema::Schema;
pub use sendable::{EARLIER, NO_OUTPUT, OUTCOME_UNKNOWN, sendable};
