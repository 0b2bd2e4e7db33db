//! How a turn ends: stopped, put back, or with its last word in the transaction that ends it.

use std::time::Duration;

use anyhow::{Context, Result};
use base::{Moment, RunId};
use channels::Place;
use store::runs::{self, Run};
use store::tasks::{self, End, Kind};
use store::{Conn, calls, journal, questions, usage};

use super::{Answer, Ended, Halt, Turn, Why, joined};
use crate::session::finish::{self, Delivery, Ending};
use crate::session::history::History;
use crate::session::{apology, deliver, told};
use deliver::Delivered;

/// How often the turn of a team's task is put back by a fault that may pass, before a person is told.
const FAILURES_MAX: i64 = 3;
/// How long it waits the first time; each time four times as long.
const BACKOFF: Duration = Duration::from_secs(15);
/// How long a turn that is asked to end waits for the worker to say so.
const TOLD_WITHIN: Duration = Duration::from_secs(60);

/// Settles what a turn has under way that will not go on: nobody needs the answers that it waits for, and nobody knows
/// what came of the calls that had begun.
///
/// # Errors
/// Only the database's.
pub async fn interrupt(conn: &mut Conn, run: RunId, now: Moment) -> Result<()> {
    org::questions::give_up_of(conn, run, now).await?;
    calls::interrupt(conn, run, now).await.map(drop)
}

impl Turn<'_> {
    /// Ends the turn, or puts its task back where the fault may pass and nobody sits and waits.
    pub(super) async fn end(&mut self, ending: Ending, halt: &Halt) -> Result<Ended> {
        if let (Some(asked), Some(task)) = (ending.passes, self.task.filter(|_| self.topic.is_none()))
            && task.failures < FAILURES_MAX
        {
            let wait = BACKOFF.saturating_mul(4_u32.saturating_pow(u32::try_from(task.failures).unwrap_or(u32::MAX)));
            let (wait, now) = (asked.unwrap_or_default().max(wait), self.session.clock.now());
            let put_back = async |conn: &mut Conn| tasks::retry(conn, task.id, wait, now).await;
            return match self.session.db.tx("put a task back", put_back).await? {
                Some(due_at) => Ok(Ended::Later(due_at)),
                None => self.end_as_asked(halt).await,
            };
        }
        self.finish(ending, None).await.map(|()| Ended::Finished)
    }

    /// Ends a turn that was asked to while its model failed: the row says so already, the worker will in a moment.
    async fn end_as_asked(&mut self, halt: &Halt) -> Result<Ended> {
        tokio::select! {
            biased;
            () = halt.token.cancelled() => {}
            () = self.session.clock.sleep(TOLD_WITHIN) => {}
        }
        let history = self.history().await?;
        match self.halted(halt, &history).await? {
            Some(ending) => self.finish(ending, None).await.map(|()| Ended::Finished),
            None => Ok(Ended::Left),
        }
    }

    /// Ends a turn in the middle of another one, and gives its ending back.
    pub(in crate::session) async fn close(mut self, ending: Result<Option<Ending>>) -> Result<Ending> {
        match ending {
            Ok(Some(ending)) => self.finish(ending, None).await?,
            Ok(None) => {}
            Err(error) => {
                let ending = self.ending(End::Failed, format!("{error:#}"), String::new());
                self.finish(ending, None).await?;
                return Err(error);
            }
        }
        self.ended.context("a turn that was asked has an ending")
    }

    /// The ending of a turn that was told to end; `None` where the hive stops and the turn is entered again.
    pub(super) async fn halted(&self, halt: &Halt, history: &History) -> Result<Option<Ending>> {
        let why = halt.why();
        if why == Why::Shutdown && self.task.is_some() {
            return Ok(None);
        }
        let now = self.session.clock.now();
        self.session
            .db
            .tx("interrupt tools", async |conn| {
                for question in questions::waited_for_by(conn, self.run).await? {
                    org::questions::give_up(conn, &question, "The turn was stopped.", now).await?;
                }
                calls::interrupt(conn, self.run, now).await
            })
            .await?;
        let said = self.said(history)?;
        let mut ending = self.ending(End::Cancelled, format!("stopped: {why:?}"), joined(&said, apology::STOPPED));
        if matches!(why, Why::Message | Why::Replaced | Why::Closing) {
            ending.reply = None;
        }
        Ok(Some(ending))
    }

    /// What the model has said in this turn, the answer that it is still writing included: people have seen it grow.
    pub(super) fn said(&self, history: &History) -> Result<String> {
        let growing = self.draft.text();
        if growing.trim().is_empty() { history.said_so_far(self.run) } else { Ok(growing) }
    }

    pub(super) fn ending(&self, end: End, note: String, reply: String) -> Ending {
        let reply = self.session.office.scrub.clean(&reply);
        let note = self.session.office.scrub.clean(&note);
        Ending { end, note, reply: Some(reply), reply_to: self.reply_to(), passes: None }
    }

    /// In places with several people the reply shows what it answers.
    fn reply_to(&self) -> Option<String> {
        let event = &self.said.last()?.event;
        matches!(event.place, Place::Group { .. }).then(|| event.event_id.clone())
    }

    /// Writes the end of the turn, with the answer that ended it.
    pub(super) async fn finish(&mut self, ending: Ending, answer: Option<&Answer>) -> Result<()> {
        let spoken = match answer {
            Some(answer) => Some((self.journaled(answer)?, self.ledger_entries(answer))),
            None => None,
        };
        let now = self.session.clock.now();
        let run = Run { id: self.run, steps: self.steps };
        let delivery = self.delivery();
        let ending = match self.task {
            Some(task) if task.kind != Kind::Message => {
                self.session.db.read(async |conn| told::as_told(conn, task, ending).await).await?
            }
            _ => ending,
        };
        self.session
            .db
            .tx("finish task", async |conn| {
                if let Some((content, entries)) = &spoken {
                    let role = journal::Role::Assistant;
                    journal::append(conn, self.run, self.topic, self.steps, role, content, now).await?;
                    for entry in entries {
                        usage::add(conn, entry, now).await?;
                    }
                }
                match self.task {
                    Some(task) if self.topic.is_some() => finish::write(conn, task, run, &ending, &delivery, now).await,
                    Some(task) => {
                        let delivered = Delivered { task, run, ending: &ending, render: delivery.render };
                        deliver::write(conn, &delivered, now).await
                    }
                    None => runs::finish(conn, run, ending.end, &ending.note, now).await.map(|_| ()),
                }
            })
            .await?;
        self.ended = Some(ending);
        Ok(())
    }

    fn delivery(&self) -> Delivery {
        let limits = &self.session.limits;
        let channel = self.origin.conversation.as_ref().and_then(|place| self.session.voices.of(place.kind()));
        Delivery {
            anew: base::clock::millis(self.session.clock.now() - self.begun) > limits.new_message_after,
            resolvable: channel.is_some_and(|channel| channel.reads_back() || !channel.key_window().is_zero()),
            render: limits.render,
        }
    }
}
