//! Asks which topic a message belongs to: a model where there is one, the words themselves where there is none.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use base::{Clock, TeamName};
use channels::Inbound;
use llm::{Message, Model, Progress, Request, System};
use org::topics::{Candidate, Judgement};
use store::{Db, topics, usage};

use crate::session::{Ledger, Spender};

const INSTRUCTION: &str = include_str!("../prompts/internal/topic.md");
/// A classifier that takes longer is no help: the latest topic gets the message.
const PATIENCE: Duration = Duration::from_secs(15);
const ANSWER_TOKENS: u32 = 200;

/// The classifier of topics.
pub struct Classifier {
    /// The rows.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// The model that is asked; `None`: the words decide.
    pub model: Option<Arc<dyn Model>>,
    /// Prices.
    pub ledger: Ledger,
    /// Whether a message may belong to several topics.
    pub several: bool,
}

impl Classifier {
    /// Which topic a message belongs to; `None` where that is unsure, or asking failed.
    pub async fn judge(&self, event: &Inbound) -> Option<Judgement> {
        match self.ask(event).await {
            Ok(judgement) => judgement,
            Err(error) => {
                tracing::warn!("a message of {} goes to its latest topic: {error:#}", event.conversation);
                None
            }
        }
    }

    async fn ask(&self, event: &Inbound) -> Result<Option<Judgement>> {
        let candidates = self
            .db
            .read(async |conn| {
                let open = topics::open_ones(conn, &event.conversation).await?;
                org::topics::candidates(conn, open).await
            })
            .await?;
        match &self.model {
            Some(model) => self.ask_model(model.as_ref(), &candidates, event).await,
            None => Ok(org::topics::from_words(&candidates, event)),
        }
    }

    async fn ask_model(
        &self,
        model: &dyn Model,
        candidates: &[Candidate],
        event: &Inbound,
    ) -> Result<Option<Judgement>> {
        let request = Request {
            system: vec![System { text: INSTRUCTION.trim().to_owned(), cached: true }],
            tools: [].into(),
            messages: vec![Message::user(org::topics::question(candidates, event, self.several))],
            output_tokens_max: ANSWER_TOKENS,
        };
        let now = self.clock.now();
        if self.ledger.refuses(&self.db, (None, None), model.reference(), &request, now).await?.is_some() {
            return Ok(None);
        }
        let mut failed = Vec::new();
        let hear = &mut |progress: Progress<'_>| Ledger::hear(progress, &mut failed);
        let answer = tokio::select! {
            biased;
            answer = model.respond(&request, hear) => answer.context("ask the classifier"),
            () = self.clock.sleep(PATIENCE) => Err(anyhow::anyhow!("the classifier did not answer within {PATIENCE:?}")),
        };
        let sender = Some(event.sender.id.to_string());
        let of = Spender { team: &TeamName::main(), run: None, topic: None, sender };
        let entries = self.ledger.entries(&of, "classify", &failed, answer.as_ref().ok());
        let add = async |conn: &mut store::Conn| {
            for entry in &entries {
                usage::add(conn, entry, now).await?;
            }
            Ok(())
        };
        self.db.note("note a judgement's cost", add).await?;
        Ok(org::topics::parse(&answer?.text(), candidates, self.several))
    }
}
