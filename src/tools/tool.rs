//! A tool: a record and one asynchronous function from typed arguments to a typed result.

use std::future::Future;

use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::asking::AnyAsking;
use crate::call::Call;
use crate::schema;
use crate::spec::{Admission, Ops, Spec};

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// For the model: what was wrong with the call, and what to do instead.
    #[error("{0}")]
    Refused(String),
    /// A fault of ours. It ends the turn; the model and the chat see none of it.
    #[error("the tool failed")]
    Broken(#[source] anyhow::Error),
}

impl ToolError {
    /// For the model.
    pub fn refused(text: impl Into<String>) -> Self {
        ToolError::Refused(text.into())
    }
}

impl From<anyhow::Error> for ToolError {
    fn from(error: anyhow::Error) -> Self {
        ToolError::Broken(error)
    }
}

/// A tool of this program. One is one file, built with the handles it needs, at most three.
///
/// The future may be dropped at any await: when the turn stops, and when the time is up.
pub trait Tool: Send + Sync + 'static {
    /// The record.
    const SPEC: Spec;
    /// The arguments whose values are secrets: an object of texts, or a text. They are put aside before anything is written
    /// down of a call.
    const SECRETS: &'static [&'static str] = &[];
    /// What the model gives. Must deny unknown fields; doc comments become the descriptions that the model reads.
    type Args: DeserializeOwned + JsonSchema + Send;
    /// What the model gets: a `String` as it is, everything else as JSON.
    type Output: Serialize + JsonSchema;

    /// How this call is admitted. Asked only where the record says [`Ops::ByArguments`]; alone, unless a tool knows.
    fn admission(&self, _args: &Self::Args) -> Admission {
        Admission::Org
    }

    /// Does it.
    fn run(&self, call: &Call, args: Self::Args) -> impl Future<Output = Result<Self::Output, ToolError>> + Send;
}

/// A tool whose types are forgotten. What comes from elsewhere (a plugin, a server) implements this one.
pub trait AnyTool: Send + Sync {
    /// The record.
    fn spec(&self) -> &Spec;
    /// The JSON Schema of the arguments: an object.
    fn input_schema(&self) -> Value;
    /// The JSON Schema of the result.
    fn output_schema(&self) -> Value;
    /// Whether these are arguments of this tool, and how such a call is admitted.
    ///
    /// # Errors
    /// Says to the model what is wrong with them.
    fn check(&self, input: &Value) -> Result<Admission, String>;
    /// The arguments whose values are secrets.
    fn secrets(&self) -> &'static [&'static str] {
        &[]
    }
    /// Does it. The result is what the model gets.
    fn run<'a>(&'a self, call: &'a Call, input: Value) -> BoxFuture<'a, Result<String, ToolError>>;
    /// How it asks a person before it does anything; most tools do not.
    fn asks(&self) -> Option<&dyn AnyAsking> {
        None
    }
}

impl<T: Tool> AnyTool for T {
    fn spec(&self) -> &Spec {
        const { &T::SPEC }
    }

    fn input_schema(&self) -> Value {
        schema::of::<T::Args>()
    }

    fn output_schema(&self) -> Value {
        schema::of::<T::Output>()
    }

    fn check(&self, input: &Value) -> Result<Admission, String> {
        let args = arguments::<T::Args>(input.clone())?;
        Ok(match T::SPEC.ops {
            Ops::Daily | Ops::Target => Admission::Daily,
            Ops::Org => Admission::Org,
            Ops::ByArguments => self.admission(&args),
        })
    }

    fn secrets(&self) -> &'static [&'static str] {
        T::SECRETS
    }

    fn run<'a>(&'a self, call: &'a Call, input: Value) -> BoxFuture<'a, Result<String, ToolError>> {
        async move {
            let args = arguments::<T::Args>(input).map_err(ToolError::Refused)?;
            answer(&Tool::run(self, call, args).await?)
        }
        .boxed()
    }
}

/// The arguments, or what is wrong with them.
pub(crate) fn arguments<A: DeserializeOwned>(input: Value) -> Result<A, String> {
    if !input.is_object() {
        return Err("bad arguments: expected a JSON object".to_owned());
    }
    serde_json::from_value(input).map_err(|error| format!("bad arguments: {error}"))
}

/// A string goes to the model as it is, without quotes and escapes.
pub(crate) fn answer(output: &impl Serialize) -> Result<String, ToolError> {
    let broken = |error| ToolError::Broken(anyhow::Error::new(error).context("write the result"));
    let json = serde_json::to_string(output).map_err(broken)?;
    if json.starts_with('"') { serde_json::from_str(&json).map_err(broken) } else { Ok(json) }
}
