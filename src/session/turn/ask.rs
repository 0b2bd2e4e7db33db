//! The model is asked once: what the team remembers, the request, the budget, a topic that has become too long.

use anyhow::Result;
use channels::Content;
use llm::{ModelError, ModelRef, Progress, Request, Response, Usage};
use org::memory;
use store::inbox::Row;
use store::tasks::End;
use store::{Conn, todos};

use super::{Answer, Step, Turn, joined};
use crate::session::budget::Ledger;
use crate::session::finish::Ending;
use crate::session::history::{History, Talk};
use crate::session::prompt::{self, Now};
use crate::session::{apology, compact};

/// How much of a request may be what the team remembers, in tokens.
const MEMORY_TOKENS: u64 = 1_500;

impl Turn<'_> {
    /// Looks up what the team remembers that matters to what people said, once for what they said.
    pub(super) async fn remember(&mut self) -> Result<()> {
        if self.remembered.as_ref().is_some_and(|(said, _)| *said == self.said.len()) {
            return Ok(());
        }
        let (library, team, now) = (&self.session.office.library, &self.agent.team, self.session.clock.now());
        let any = async |conn: &mut Conn| store::memory::list(conn, team, None, 1).await;
        let mut memory = String::new();
        if !self.session.db.read(any).await?.is_empty() {
            let words = |row: &Row| match &row.event.content {
                Content::Text(said) => Some(said.text.clone()),
                _ => None,
            };
            let said: Vec<String> = self.said.iter().filter_map(words).chain([self.about.clone()]).collect();
            let question = memory::question(library, &said.join("\n")).await;
            let read = async |conn: &mut Conn| memory::inject(conn, library, team, &question, MEMORY_TOKENS, now).await;
            memory = self.session.db.read(read).await?;
        }
        self.remembered = Some((self.said.len(), memory));
        Ok(())
    }

    /// Asks the model once; shortens the topic first where it does not fit.
    pub(super) async fn ask(&self, history: &mut History) -> Result<Step> {
        let mut request = self.request(history).await?;
        if compact::is_due(&self.agent.mind, &request) {
            if self.shorten(history).await? {
                *history = self.history().await?;
                request = self.request(history).await?;
            }
            if compact::is_due(&self.agent.mind, &request) {
                compact::squeeze(&mut request.messages);
            }
        }
        let model = self.agent.mind.model.reference();
        let now = self.session.clock.now();
        let ledger = &self.session.office.ledger;
        if let Some(over) = ledger
            .refuses(
                &self.session.db,
                (self.origin.topic, Some((&self.agent.team, self.agent.budgets))),
                model,
                &request,
                now,
            )
            .await?
        {
            let text = joined(&history.said_so_far(self.run)?, over.sentence());
            return Ok(Step::Ends(self.ending(End::Failed, format!("over the budget: {over:?}"), text)));
        }
        let said = history.said_so_far(self.run)?;
        let (mut answer, mut failed) = self.respond(&request, &said).await;
        if matches!(&answer, Err(error) if error.class == llm::Class::ContextTooLong) {
            let shorter = self.shorten(history).await?;
            if shorter {
                *history = self.history().await?;
                request = self.request(history).await?;
            }
            if shorter || compact::squeeze(&mut request.messages) {
                let again = self.respond(&request, &said).await;
                answer = again.0;
                failed.extend(again.1);
            }
        }
        match answer {
            Ok(response) => Ok(Step::Answers(Answer { response, failed })),
            Err(error) => {
                tracing::warn!(run = self.run.0, "the model did not answer in turn {}: {error}", self.run);
                self.note_usage(&failed).await?;
                let text = joined(&said, &apology::of_model(&error));
                let passes = error.class.passes().then(|| error.class.retry_after());
                Ok(Step::Ends(Ending { passes, ..self.ending(End::Failed, error.to_string(), text) }))
            }
        }
    }

    async fn respond(&self, request: &Request, said: &str) -> (Result<Response, ModelError>, Vec<(ModelRef, Usage)>) {
        let before = if said.is_empty() { String::new() } else { format!("{said}\n\n") };
        self.draft.set(before.clone());
        let mut failed = Vec::new();
        let _room = match self.task {
            Some(_) => None,
            None => Some(self.session.within.acquire().await.expect("it is never closed")),
        };
        let answer = self
            .agent
            .mind
            .model
            .respond(request, &mut |progress: Progress<'_>| match progress {
                Progress::Text(more) => self.draft.grow(more),
                Progress::StartOver => self.draft.set(before.clone()),
                failure => Ledger::hear(failure, &mut failed),
            })
            .await;
        (answer, failed)
    }

    async fn request(&self, history: &History) -> Result<Request> {
        let taken_up = async |conn: &mut Conn| todos::active_skills(conn, self.run).await;
        let taken_up = self.session.db.read(taken_up).await?;
        let skills = self.session.agents.skills(&self.agent.team, &taken_up)?;
        let memory = self.remembered.as_ref().map_or("", |(_, memory)| memory);
        let event = self.said.last().map(|row| &row.event);
        let now = Now { memory, event, topic: history.topic.as_ref(), summary: history.summary.as_deref() };
        Ok(Request {
            system: prompt::put_together(&self.agent.fixed, &self.agent.own, &skills, &now),
            tools: self.agent.tools.clone(),
            messages: history.messages()?,
            output_tokens_max: self.agent.mind.output_tokens_max,
        })
    }

    /// Puts older turns into fewer words. `false` where there is nothing to shorten: a turn that goes on with no topic
    /// is shown whole.
    async fn shorten(&self, history: &History) -> Result<bool> {
        let Talk::Topic(topic) = self.talk else { return Ok(false) };
        compact::shorten(self.session, &self.agent, topic, self.run, history).await
    }
}
