//! Tools that ask somebody: the question is asked before the call is made, and the call is made with its answer.
//!
//! Most ask people; one asks whoever gave the task ([`crate::protocol`]).
//!
//! Nothing of a call is in the journal while somebody thinks: it takes no slot of its team, a stop or a crash leaves the
//! question where it is, and the turn that is entered again waits on.

use std::future::Future;

use anyhow::{Context, Result};
use base::{Clock, Moment, Stop};
use channels::{ConversationId, Emphasis, SenderId};
use futures::FutureExt;
use futures::future::BoxFuture;
use org::questions;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use store::questions::{Answer, Kind, Question, Wanted};
use store::{Bell, Conn, Db};

use crate::call::Call;
use crate::schema;
use crate::spec::{Admission, Ops, Spec};
use crate::tool::{AnyTool, ToolError, answer, arguments};

/// How often the rows are looked at while another process is to answer: it rings no bell here.
const LOOK_EVERY_MS: Moment = 1_000;

/// What a person is asked.
#[derive(Clone, Debug)]
pub struct Inquiry {
    /// What sort of answer is wanted.
    pub kind: Kind,
    /// What is asked, in Markdown.
    pub text: String,
    /// What can be chosen, and how it looks.
    pub options: Vec<(String, Emphasis)>,
    /// Where it is asked: whoever answers first answers for all.
    pub places: Vec<ConversationId>,
    /// Who may answer besides admins.
    pub asker: Option<SenderId>,
    /// Of a question for a secret: where it goes.
    pub wanted: Option<Wanted>,
    /// Whether the tool asks at most one question in a turn.
    pub once: bool,
}

/// What a person answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The answer.
    pub answer: Answer,
    /// The labels of the options that were chosen, as they were asked.
    pub labels: Vec<String>,
}

impl Reply {
    /// Nobody answered, or nobody was asked.
    pub fn nobody() -> Reply {
        Reply { answer: Answer::Nobody, labels: Vec::new() }
    }

    /// The reply to a question that came to this answer.
    pub(crate) fn to(question: &Question, answer: Answer) -> Reply {
        let chosen = match &answer {
            Answer::Chosen { options, .. } => options.as_slice(),
            _ => &[],
        };
        let labels = chosen.iter().filter_map(|option| question.options.get(*option)).cloned().collect();
        Reply { answer, labels }
    }
}

/// A tool that asks a person before it does anything. One is one file, built with the handles it needs, at most three.
pub trait AskingTool: Send + Sync + 'static {
    /// The record. Such a tool is not destructive: it has asked.
    const SPEC: Spec;
    /// What the model gives. Must deny unknown fields; doc comments become the descriptions that the model reads.
    type Args: DeserializeOwned + JsonSchema + Send + Sync;
    /// What the model gets: a `String` as it is, everything else as JSON.
    type Output: Serialize + JsonSchema;

    /// What is asked. It may be called several times before there is an answer; only the first question is asked.
    fn inquiry(&self, call: &Call, args: &Self::Args) -> impl Future<Output = Result<Inquiry, ToolError>> + Send;

    /// What else is done in the transaction that writes the question down. Nothing, where people are asked: their
    /// messages are in it already.
    fn asked(
        &self,
        _conn: &mut Conn,
        _call: &Call,
        _args: &Self::Args,
        _question: &Question,
    ) -> impl Future<Output = Result<()>> + Send {
        async { Ok(()) }
    }

    /// Does what the reply says.
    fn answered(
        &self,
        call: &Call,
        args: Self::Args,
        reply: Reply,
    ) -> impl Future<Output = Result<Self::Output, ToolError>> + Send;
}

/// An asking tool whose types are forgotten.
pub trait AnyAsking: Send + Sync {
    /// What is asked.
    fn inquiry<'a>(&'a self, call: &'a Call, input: &'a Value) -> BoxFuture<'a, Result<Inquiry, ToolError>>;
    /// What else is done in the transaction that writes the question down.
    fn asked<'a>(
        &'a self,
        conn: &'a mut Conn,
        call: &'a Call,
        input: &'a Value,
        question: &'a Question,
    ) -> BoxFuture<'a, Result<()>>;
    /// Does what the reply says. The result is what the model gets.
    fn answered<'a>(&'a self, call: &'a Call, input: Value, reply: Reply) -> BoxFuture<'a, Result<String, ToolError>>;
}

/// A tool that asks, as one of the catalogue.
pub struct Asking<T>(pub T);

impl<T: AskingTool> AnyTool for Asking<T> {
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
        arguments::<T::Args>(input.clone())?;
        Ok(if T::SPEC.ops == Ops::Daily { Admission::Daily } else { Admission::Org })
    }

    /// Without an answer: nobody was asked, and so nobody agreed.
    fn run<'a>(&'a self, call: &'a Call, input: Value) -> BoxFuture<'a, Result<String, ToolError>> {
        self.answered(call, input, Reply::nobody())
    }

    fn asks(&self) -> Option<&dyn AnyAsking> {
        Some(self)
    }
}

impl<T: AskingTool> AnyAsking for Asking<T> {
    fn inquiry<'a>(&'a self, call: &'a Call, input: &'a Value) -> BoxFuture<'a, Result<Inquiry, ToolError>> {
        async move {
            let args = arguments::<T::Args>(input.clone()).map_err(ToolError::Refused)?;
            AskingTool::inquiry(&self.0, call, &args).await
        }
        .boxed()
    }

    fn asked<'a>(
        &'a self,
        conn: &'a mut Conn,
        call: &'a Call,
        input: &'a Value,
        question: &'a Question,
    ) -> BoxFuture<'a, Result<()>> {
        async move {
            let args = arguments::<T::Args>(input.clone()).map_err(anyhow::Error::msg)?;
            AskingTool::asked(&self.0, conn, call, &args, question).await
        }
        .boxed()
    }

    fn answered<'a>(&'a self, call: &'a Call, input: Value, reply: Reply) -> BoxFuture<'a, Result<String, ToolError>> {
        async move {
            let args = arguments::<T::Args>(input).map_err(ToolError::Refused)?;
            answer(&AskingTool::answered(&self.0, call, args, reply).await?)
        }
        .boxed()
    }
}

/// Waits until the question is answered or too old. `None`: the turn was stopped before; then the question is given
/// up unless the whole hive stops, whose next start waits on.
pub(crate) async fn wait(db: &Db, clock: Clock, stop: &Stop, question: &Question) -> Result<Option<Answer>> {
    let mut bell = db.changes(Bell::Questions);
    loop {
        bell.mark_unchanged();
        let now = async |conn: &mut store::Conn| store::questions::get(conn, question.id).await;
        let found = db.read(now).await?.context("a question does not go while its turn runs")?;
        if found.answer.is_some() {
            return Ok(found.answer);
        }
        let now = clock.now();
        if found.expires_at <= now {
            let late =
                async |conn: &mut store::Conn| questions::give_up(conn, &found, questions::NOT_IN_TIME, now).await;
            db.tx("give a question up", late).await?;
            continue;
        }
        let look_at = if found.kind == Kind::Secret { now + LOOK_EVERY_MS } else { found.expires_at };
        tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(None),
            _ = bell.changed() => {}
            () = clock.sleep_until(Some(look_at.min(found.expires_at))) => {}
        }
    }
}
