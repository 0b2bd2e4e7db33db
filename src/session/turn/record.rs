//! What the model answered, in the journal and the ledger.

use anyhow::Result;
use llm::{Block, Input, ModelRef, StopReason, Usage};
use store::tasks::End;
use store::{inbox, journal, runs, usage};
use tools::Asked;

use super::{Answer, Turn, joined};
use crate::session::apology;
use crate::session::budget::Spender;
use crate::session::finish::Ending;
use crate::session::history::{History, text_of};

/// What a model says that has nothing to say: nobody is sent anything. The rules of the main agent name it.
const SILENCE: &str = "[silence]";

/// What the rows say of a turn whose last answer was longer than the model may write.
pub(in crate::session) const CUT_SHORT: &str = "cut off by the model's limit";

impl Turn<'_> {
    /// Writes an answer down. `true` where it was the last: then the end of the turn is in the same transaction.
    pub(super) async fn record(&mut self, mut answer: Answer, history: &History) -> Result<bool> {
        self.put_secrets_aside(&mut answer).await?;
        let wants_tools = answer.response.tool_uses().next().is_some();
        // A message that came meanwhile is answered in this turn, at the next step.
        let more = !wants_tools && self.waits().await?;
        if wants_tools || more {
            self.journal(&answer, None).await?;
            return Ok(false);
        }
        let said = history.said_so_far(self.run)?;
        let text = joined(&said, text_of(&answer.response.content).trim());
        let may_be_silent = self.said.is_empty() && self.topic.is_some();
        if may_be_silent && (text.trim().is_empty() || text.trim() == SILENCE) {
            self.draft.end().await;
            let silent = Ending { reply: None, ..self.ending(End::Done, "nothing to say".to_owned(), String::new()) };
            self.journal(&answer, Some(silent)).await?;
            return Ok(true);
        }
        let (end, note, text) = match answer.response.stop {
            _ if text.trim().is_empty() => (End::Failed, "the model said nothing", apology::NOTHING_SAID.to_owned()),
            StopReason::OutputLimit => (End::Done, CUT_SHORT, format!("{text}{}", apology::CUT_OFF)),
            _ => (End::Done, "", text),
        };
        self.draft.end().await;
        let ending = self.ending(end, note.to_owned(), text);
        self.journal(&answer, Some(ending)).await?;
        Ok(true)
    }

    async fn journal(&mut self, answer: &Answer, ending: Option<Ending>) -> Result<()> {
        self.steps += 1;
        if let Some(ending) = ending {
            return self.finish(ending, Some(answer)).await;
        }
        let now = self.session.clock.now();
        let (content, entries) = (self.journaled(answer)?, self.ledger_entries(answer));
        self.session
            .db
            .tx("journal an answer", async |conn| {
                journal::append(conn, self.run, self.topic, self.steps, journal::Role::Assistant, &content, now)
                    .await?;
                for entry in &entries {
                    usage::add(conn, entry, now).await?;
                }
                runs::step(conn, self.run).await
            })
            .await
    }

    /// Puts the secrets among the arguments of calls aside: the calls are read from the journal, where none stands.
    async fn put_secrets_aside(&self, answer: &mut Answer) -> Result<()> {
        for block in &mut answer.response.content {
            let Block::ToolUse(call) = block else { continue };
            let mut asked = Asked::from(&*call);
            self.session.tools.put_aside(&self.agent.team, self.run, self.steps + 1, &mut asked).await?;
            call.input = asked.input.map_or_else(Input::Broken, Input::Json);
        }
        Ok(())
    }

    /// An answer as the journal keeps it: a secret that the model says is not stored, nor sent to it again.
    pub(super) fn journaled(&self, answer: &Answer) -> Result<String> {
        Ok(self.session.office.scrub.clean(&serde_json::to_string(&answer.response.content)?))
    }

    pub(super) fn ledger_entries(&self, answer: &Answer) -> Vec<usage::Entry> {
        self.session.office.ledger.entries(&self.spender(), "turn", &answer.failed, Some(&answer.response))
    }

    fn spender(&self) -> Spender<'_> {
        Spender {
            team: &self.agent.team,
            run: Some(self.run),
            topic: self.origin.topic,
            sender: self.origin.sender.as_ref().map(ToString::to_string),
        }
    }

    pub(super) async fn note_usage(&self, failed: &[(ModelRef, Usage)]) -> Result<()> {
        let entries = self.session.office.ledger.entries(&self.spender(), "turn", failed, None);
        if entries.is_empty() {
            return Ok(());
        }
        let now = self.session.clock.now();
        self.session
            .db
            .tx("note what failed calls cost", async |conn| {
                for entry in &entries {
                    usage::add(conn, entry, now).await?;
                }
                Ok(())
            })
            .await
    }

    /// Whether people have said something that this turn will take in.
    async fn waits(&self) -> Result<bool> {
        let Some(topic) = self.topic.filter(|_| self.listens()) else { return Ok(false) };
        self.session.db.read(async |conn| inbox::waits(conn, topic).await).await
    }
}
