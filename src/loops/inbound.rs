//! The way in: platform event → inbox row → answered by code, or in a topic's mailbox with a task that looks there.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use base::{Clock, InboxId, Moment, Stop, Tasks};
use channels::{Closed, Content, ConversationId, Cursor, Inbound, Intake, Kind, Place, Report};
use futures::future::BoxFuture;
use org::topics::{Judgement, Rules};
use org::trust::{Decision, Policy, Verdict};
use store::tasks::{Origin, StopAsked};
use store::{Bell, Conn, Db, cursors, inbox, strangers, tasks, topics, trust};

use super::busy::Busy;
use crate::classifier::Classifier;
use crate::commands::Commands;
use crate::config::DuringTurn;
use crate::welcome;

/// The door of the hive: takes events in, once, and acknowledges nothing before it is durable.
pub struct Door {
    /// The rows.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// Who may speak.
    pub policy: Arc<Policy>,
    /// Cancelled when nothing is taken in any more.
    pub closed: Stop,
}

impl Intake for Door {
    fn take<'a>(&'a self, events: Vec<Inbound>, cursor: Option<Cursor>) -> BoxFuture<'a, Result<(), Closed>> {
        Box::pin(async move {
            if self.closed.is_cancelled() {
                return Err(Closed);
            }
            let now = self.clock.now();
            let taken = self.db.tx("take in", async |conn| {
                for event in &events {
                    take_one(conn, &self.policy, event, now).await?;
                }
                if let Some(cursor) = &cursor {
                    cursors::set(conn, cursor, now).await?;
                }
                Ok(())
            });
            taken.await.map_err(|error| {
                tracing::error!("events could not be taken in, the platform keeps them: {error:#}");
                Closed
            })
        })
    }

    fn cursors(&self, kind: Kind) -> BoxFuture<'_, Result<Vec<Cursor>, Closed>> {
        Box::pin(async move {
            self.db.read(async |conn| cursors::of_kind(conn, kind).await).await.map_err(|error| {
                tracing::error!("the cursors of {kind} could not be read: {error:#}");
                Closed
            })
        })
    }

    fn report(&self, kind: Kind, report: Report) {
        match report {
            Report::Connected { name } => tracing::info!("{kind}: connected as {name}"),
            Report::Disconnected { why } => tracing::warn!("{kind}: the connection is lost and made again: {why}"),
            Report::CaughtUp { taken, skipped } => {
                tracing::info!("{kind}: caught up with {taken} messages sent while away, skipped {skipped}");
            }
            Report::SecondPoller => {
                tracing::error!("{kind}: another process polls with the same token; stop it, or messages go astray");
            }
            Report::Unreadable { what } => tracing::warn!("{kind}: an event could not be read: {what}"),
        }
    }
}

/// Decides about an event and makes its row.
async fn take_one(conn: &mut Conn, policy: &Policy, event: &Inbound, now: Moment) -> Result<()> {
    let rows = trust::of_sender(conn, &event.sender.id).await?;
    let decision = org::trust::of_event(policy, &rows, event, now);
    let state = state_of(decision.verdict, event);
    if let Content::Edit { message_id, text } = &event.content {
        amend(conn, event, message_id, text).await?;
    }
    let Some(id) = inbox::insert(conn, event, state, now).await? else { return Ok(()) };
    org::trust::log_decision(conn, event, decision, now).await?;
    match decision.verdict {
        Verdict::Trusted { .. } if event.place == Place::Direct => {
            trust::set_direct(conn, &event.sender.id, &event.conversation, now).await?;
        }
        Verdict::Unknown if state == inbox::State::Held => meet(conn, policy, event, decision, now).await?,
        _ => {}
    }
    tracing::debug!(inbox.id = id.0, "taken in as {state:?}: {}", decision.reason);
    Ok(())
}

fn state_of(verdict: Verdict, event: &Inbound) -> inbox::State {
    match (verdict, &event.content) {
        (Verdict::Denied, _) => inbox::State::Denied,
        // An edit has changed the waiting row, or comes too late: it is no message of its own.
        (_, Content::Edit { .. }) => inbox::State::Answered,
        (Verdict::Trusted { .. }, _) => inbox::State::Received,
        // The way in for the first admin, answered by code alone.
        (Verdict::Unknown, _) if crate::commands::is_pairing(&event.content) => inbox::State::Received,
        // A stranger at somebody else's button: refused without a word; the decision is in the log.
        (Verdict::Unknown, Content::Click { .. }) => inbox::State::Denied,
        (Verdict::Unknown, _) => inbox::State::Held,
    }
}

async fn amend(conn: &mut Conn, event: &Inbound, message_id: &str, text: &str) -> Result<()> {
    let author = inbox::author_of(conn, &event.conversation, message_id).await?;
    if author.as_ref() == Some(&event.sender.id) {
        inbox::amend(conn, &event.conversation, message_id, text).await?;
    }
    Ok(())
}

/// Tells a stranger once, and shows them to the admins once.
async fn meet(conn: &mut Conn, policy: &Policy, event: &Inbound, decision: Decision, now: Moment) -> Result<()> {
    let held = inbox::held_count(conn, &event.sender.id).await?;
    if held > welcome::HELD_MAX {
        inbox::bury_oldest(conn, &event.sender.id, welcome::HELD_MAX).await?;
    }
    let Some(id) = strangers::meet(conn, &event.sender, &event.conversation, now).await? else { return Ok(()) };
    tracing::info!("an unknown sender, {}, wrote in {} ({})", event.sender.id, event.conversation, decision.reason);
    welcome::tell(conn, policy, event, id, now).await
}

/// Answers and places what was taken in.
pub struct Placing {
    /// The rows.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// The chat commands.
    pub commands: Commands,
    /// Judges which topic a message belongs to.
    pub classifier: Classifier,
    /// How topics are kept.
    pub rules: Rules,
    /// What becomes of a message that arrives while its topic's turn runs.
    pub during_turn: DuringTurn,
}

/// Waits between attempts to write a judgement down: doubled from the first to the last.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// A scan without a bell, for rows that another process made.
const RESCAN: Duration = Duration::from_secs(30);

/// Runs until `stop`.
pub async fn run(placing: Arc<Placing>, tasks: Tasks) {
    let stop = tasks.stop_token();
    let mut bell = placing.db.changes(Bell::Inbox);
    let busy = Busy::default();
    while !stop.is_cancelled() {
        bell.mark_unchanged();
        if let Err(error) = scan(&placing, &tasks, &busy).await {
            tracing::error!("messages could not be placed: {error:#}");
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            _ = bell.changed() => {}
            () = placing.clock.sleep(RESCAN) => {}
        }
    }
}

async fn scan(placing: &Arc<Placing>, tasks: &Tasks, busy: &Busy) -> Result<()> {
    for conversation in placing.db.read(async |conn| inbox::waiting_conversations(conn).await).await? {
        if let Some(entered) = busy.enter(&conversation, &placing.db, Bell::Inbox) {
            let (placing, stop) = (placing.clone(), tasks.stop_token());
            tasks.spawn("place messages", async move {
                let _entered = entered;
                if let Err(error) = drain(&placing, &conversation, &stop).await {
                    tracing::error!("messages of {conversation} could not be placed: {error:#}");
                    placing.clock.sleep(Duration::from_secs(1)).await;
                }
            });
        }
    }
    Ok(())
}

/// Works off what a conversation has, in the order in which it came.
async fn drain(placing: &Placing, conversation: &ConversationId, stop: &Stop) -> Result<()> {
    loop {
        let next = placing.db.read(async |conn| inbox::next_received(conn, conversation).await).await?;
        let Some(row) = next else { return Ok(()) };
        handle(placing, row.id, &row.event, stop).await?;
    }
}

async fn handle(placing: &Placing, id: InboxId, event: &Inbound, stop: &Stop) -> Result<()> {
    if placing.commands.answer(id, event).await? {
        return Ok(());
    }
    let now = placing.clock.now();
    let (rules, during_turn) = (placing.rules, placing.during_turn);
    let placed = placing
        .db
        .tx("place a message", async |conn| match org::topics::place(conn, event, rules, now).await? {
            Some(topic) => enqueue(conn, id, event, topic, during_turn, now).await.map(|()| true),
            None => Ok(false),
        })
        .await?;
    if placed {
        return Ok(());
    }
    let judgement = placing.classifier.judge(event).await;
    // A judgement costs money: where the disk refuses it, it is kept, and only the disk is asked again.
    let mut wait = RETRY.0;
    loop {
        match settle(placing, id, event, judgement.as_ref()).await {
            Err(error) if !stop.is_cancelled() => {
                tracing::error!("a message of {} could not be placed: {error:#}", event.conversation);
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return Err(error),
                    () = placing.clock.sleep(wait) => wait = (wait * 2).min(RETRY.1),
                }
            }
            settled => return settled,
        }
    }
}

/// Makes a judgement true, and has its topics' sessions look into their mailboxes.
async fn settle(placing: &Placing, id: InboxId, event: &Inbound, judgement: Option<&Judgement>) -> Result<()> {
    let (now, rules, during_turn) = (placing.clock.now(), placing.rules, placing.during_turn);
    placing
        .db
        .tx("place a message", async |conn| {
            let joined = org::topics::settle(conn, event, judgement, rules, now).await?;
            for (number, topic) in joined.into_iter().enumerate() {
                // A message of several topics has a row in each of their mailboxes.
                let id = if number == 0 { Some(id) } else { inbox::copy_for(conn, id, topic).await? };
                if let Some(id) = id {
                    enqueue(conn, id, event, topic, during_turn, now).await?;
                }
            }
            Ok(())
        })
        .await
}

/// Puts a message into its topic's mailbox, with a task that looks there.
async fn enqueue(
    conn: &mut Conn,
    id: InboxId,
    event: &Inbound,
    topic: base::TopicId,
    during_turn: DuringTurn,
    now: Moment,
) -> Result<()> {
    if !inbox::place(conn, id, topic).await? {
        return Ok(());
    }
    if let (Content::Text(said), Some(found)) = (&event.content, topics::get(conn, topic).await?) {
        org::topics::name_from_words(conn, &found, &said.text).await?;
    }
    let origin = Origin {
        conversation: Some(event.conversation.clone()),
        topic: Some(topic),
        sender: Some(event.sender.id.clone()),
    };
    tasks::enqueue_message(conn, &origin, topic, now).await?;
    if during_turn == DuringTurn::Interrupt {
        tasks::ask_to_stop(conn, topic, StopAsked::Message).await?;
    }
    Ok(())
}
