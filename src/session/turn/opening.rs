//! How a turn begins: with what waits in a topic's mailbox, with a task's text, or where a crash or a stop cut it off.

use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result};
use base::{RunId, TopicId};
use llm::Block;
use store::notes::Reader;
use store::runs::Run;
use store::tasks::{Kind, Origin, Task};
use store::{Conn, inbox, journal, runs};
use tools::Call;
use tools::delegation::Question;

use super::Turn;
use crate::session::Sessions;
use crate::session::agent::Agent;
use crate::session::draft::Draft;
use crate::session::enter::{self, Given, Mail};
use crate::session::history::Talk;

/// How a turn begins.
pub(in crate::session) enum Opening {
    /// It had begun.
    Again(Run),
    /// With this.
    Anew(Mail),
}

impl Opening {
    /// What a task's turn begins with; `None` where there is nothing to do.
    pub(super) async fn of(session: &Sessions, task: &Task) -> Result<Option<Opening>> {
        let (reader, topic) = (reader(task), of_people(task));
        let (known, rows, notes) = session
            .db
            .read(async |conn| {
                let known = runs::of_task(conn, task.id).await?;
                if known.is_some() {
                    return Ok((known, Vec::new(), Vec::new()));
                }
                let rows = match topic {
                    Some(topic) => enter::waiting(conn, topic).await?,
                    None => Vec::new(),
                };
                Ok((known, rows, enter::unread(conn, &reader).await?))
            })
            .await?;
        if let Some(run) = known {
            return Ok(Some(Opening::Again(run)));
        }
        let given = (task.kind != Kind::Message).then(|| Given::of(task));
        let mail = Mail::open(session, given, rows, notes).await?;
        Ok((!mail.is_empty()).then_some(Opening::Anew(mail)))
    }
}

/// Whether the end of a task is a reply to people, and not a result for another team.
pub fn answers_people(task: &Task) -> bool {
    of_people(task).is_some()
}

/// The topic whose people a task's turn answers: the root team's work for a topic is part of that topic's talk.
pub(super) fn of_people(task: &Task) -> Option<TopicId> {
    task.origin.topic.filter(|_| task.team.is_main())
}

/// Whose notes a task's turn reads.
fn reader(task: &Task) -> Reader {
    Reader { team: task.team.clone(), topic: of_people(task) }
}

impl<'a> Turn<'a> {
    /// Enters the turn of a task. `None` where there is nothing to do any more.
    pub(super) async fn enter(
        session: &'a Arc<Sessions>,
        agent: Arc<Agent>,
        task: &'a Task,
        opening: Opening,
    ) -> Result<Option<Turn<'a>>> {
        let topic = of_people(task);
        let (run, said, looked) = match opening {
            Opening::Again(run) => (run, session.db.read(async |conn| inbox::of_run(conn, run.id).await).await?, false),
            Opening::Anew(mail) => {
                let now = session.clock.now();
                let write = async |conn: &mut Conn| {
                    if !mail.waits(conn).await? {
                        return Ok(None);
                    }
                    let run = runs::enter(conn, task, topic, now).await?;
                    agent.follow(conn, run.id, now).await?;
                    Ok(Some((run, mail.take(conn, run.id, topic, run.steps + 1, now).await?)))
                };
                let Some((run, said)) = session.db.tx("enter a turn", write).await? else { return Ok(None) };
                (run, said, !mail.is_full())
            }
        };
        let talk = match topic {
            Some(topic) => Talk::Topic(topic),
            None => Talk::Runs(match task.continues {
                Some(earlier) => session.db.read(async |conn| runs::chain(conn, earlier).await).await?,
                None => Vec::new(),
            }),
        };
        let shown = if topic.is_some() { task.origin.clone() } else { Origin::default() };
        Ok(Some(Turn {
            session,
            agent,
            task: Some(task),
            origin: task.origin.clone(),
            run: run.id,
            topic,
            talk,
            depth: 0,
            slot: None,
            steps: run.steps,
            begun: session.clock.now(),
            draft: Draft::begin(session, &shown, run.id, None),
            said,
            about: task.body.clone(),
            looked,
            remembered: None,
            ended: None,
        }))
    }

    /// A turn in the middle of another one: it knows the question and nothing else. `entered` is told its run as soon as
    /// there is one, so that it can be ended where this is dropped before its end.
    pub(in crate::session) async fn within(
        session: &'a Arc<Sessions>,
        agent: Arc<Agent>,
        call: &Call,
        question: &Question,
        entered: &OnceLock<RunId>,
    ) -> Result<Turn<'a>> {
        let now = session.clock.now();
        let text = session.office.scrub.clean(&question.text);
        let content = serde_json::to_string(&[Block::Text(text.clone())])?;
        let delegation = question.delegation(call);
        let enter = async |conn: &mut Conn| {
            let sender = call.origin.sender.as_ref();
            let run = runs::enter_within(conn, call.run, &delegation, &agent.team, sender, now).await?;
            entered.get_or_init(|| run.id);
            agent.follow(conn, run.id, now).await?;
            journal::append(conn, run.id, None, run.steps + 1, journal::Role::User, &content, now).await?;
            Ok(run)
        };
        let run = session.db.tx("enter a turn within another", enter).await?;
        Ok(Turn {
            session,
            agent,
            task: None,
            origin: call.origin.clone(),
            run: run.id,
            topic: None,
            talk: Talk::Runs(Vec::new()),
            depth: question.depth,
            slot: question.slot.clone(),
            steps: run.steps,
            begun: now,
            draft: Draft::begin(session, &Origin::default(), run.id, None),
            said: Vec::new(),
            about: text,
            looked: true,
            remembered: None,
            ended: None,
        })
    }

    /// Takes in what people and other teams said meanwhile, where the configuration wants it in this turn. Whether there
    /// was anything.
    pub(super) async fn take_more(&mut self) -> Result<bool> {
        let mut any = false;
        while let Some(more) = self.take_some().await? {
            any = true;
            if !more {
                break;
            }
        }
        Ok(any)
    }

    /// Takes in what one look finds, and says whether there may be more; `None` where there is nothing.
    async fn take_some(&mut self) -> Result<Option<bool>> {
        let Some(task) = self.task else { return Ok(None) };
        let topic = self.topic.filter(|_| self.listens() || self.said.is_empty());
        let reader = reader(task);
        let (rows, notes) = self
            .session
            .db
            .read(async |conn| {
                let rows = match topic {
                    Some(topic) => enter::waiting(conn, topic).await?,
                    None => Vec::new(),
                };
                Ok((rows, enter::unread(conn, &reader).await?))
            })
            .await?;
        let mail = Mail::open(self.session, None, rows, notes).await?;
        if mail.is_empty() {
            return Ok(None);
        }
        let now = self.session.clock.now();
        let write = async |conn: &mut Conn| {
            if !mail.waits(conn).await? {
                return Ok(None);
            }
            mail.take(conn, self.run, self.topic, self.steps + 1, now).await.map(Some)
        };
        let taken = self.session.db.tx("take messages into a turn", write).await;
        let Some(said) = taken.context("take what was said meanwhile into the turn")? else { return Ok(None) };
        if !self.said.is_empty() {
            self.draft.seen(self.session, &said);
        }
        self.said.extend(said);
        Ok(Some(mail.is_full()))
    }
}
