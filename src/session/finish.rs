//! The reply and the end of the turn, in one transaction.

use std::time::Duration;

use anyhow::Result;
use base::{Moment, TopicId};
use channels::render::{self, RenderLimits};
use channels::{Action, ConversationId, Piece};
use store::outbox::{self, Loss, New};
use store::runs::{self, Run};
use store::tasks::{End, Origin, Task};
use store::{Conn, inbox, notes, tasks, topics};

use super::turn::answers_people;

/// How a turn ends.
pub(super) struct Ending {
    /// Done, failed or cancelled.
    pub end: End,
    /// What the log says.
    pub note: String,
    /// What people get; `None` is silence: a newer turn answers instead.
    pub reply: Option<String>,
    /// The message that the reply answers, in places with several people.
    pub reply_to: Option<String>,
    /// The fault may pass, and how long the provider asks to wait.
    pub passes: Option<Option<Duration>>,
}

/// What is known about the place that the reply goes to.
pub(super) struct Delivery {
    /// The turn took so long that only a new message is noticed.
    pub anew: bool,
    /// The platform can tell whether a draft that nobody heard of is there.
    pub resolvable: bool,
    /// How the reply is cut.
    pub render: RenderLimits,
}

/// Ends the turn: the reply is in the outbox, run and task are over.
pub(super) async fn write(
    conn: &mut Conn,
    task: &Task,
    run: Run,
    ending: &Ending,
    delivery: &Delivery,
    now: Moment,
) -> Result<()> {
    if !runs::finish(conn, run, ending.end, &ending.note, now).await? {
        return Ok(());
    }
    tasks::finish(conn, task.id, ending.end, &ending.note, now).await?;
    look_again(conn, task, ending.end, now).await?;
    let Some(conversation) = &task.origin.conversation else { return Ok(()) };
    let draft = outbox::draft_of(conn, run.id).await?;
    let template = New {
        topic: task.origin.topic,
        run: Some(run.id),
        reply_to: ending.reply_to.clone(),
        ..New::message(conversation, Action::Delete { message_id: String::new() })
    };
    let mut rows = match &ending.reply {
        Some(text) => reply_rows(conversation, text, delivery.render, &template),
        None => Vec::new(),
    };
    let mut delete = None;
    if let Some(draft) = draft {
        let visible = draft.message_id.is_some() || (draft.tried && delivery.resolvable);
        if visible || !draft.tried {
            outbox::end_draft(conn, &draft, now).await?;
        } else {
            let note = "a draft of this turn may stand there unfinished";
            outbox::give_up(conn, draft.id, Loss::Ambiguous, note, now).await?;
        }
        match rows.first_mut() {
            Some(first) if visible && !delivery.anew => edit_instead(first, draft.id),
            _ if visible => delete = Some(New { target: Some(draft.id), reply_to: None, ..template }),
            _ => {}
        }
    }
    for row in rows.iter().chain(&delete) {
        outbox::push(conn, row, now).await?;
    }
    if let (Some(topic), Some(text)) = (task.origin.topic, &ending.reply) {
        remember(conn, topic, text, now).await?;
    }
    Ok(())
}

/// Has the topic's session look into its mailbox again, where something waits there: more than the turn took in, or what
/// came while it did not listen; or a note, where the turn ended before it looked. The task that was queued for that may
/// be gone, where this one was put back meanwhile.
///
/// # Errors
/// Only the database's.
pub async fn look_again(conn: &mut Conn, task: &Task, end: End, now: Moment) -> Result<()> {
    let Some(topic) = task.origin.topic.filter(|_| answers_people(task)) else { return Ok(()) };
    match inbox::mailbox(conn, topic, 1).await?.pop() {
        Some(first) => {
            let origin = Origin { sender: Some(first.event.sender.id), ..task.origin.clone() };
            tasks::enqueue_message(conn, &origin, topic, now).await
        }
        // A turn that came to its own end has read what was to wake it.
        None if end != End::Done && notes::wait_in(conn, topic).await? => {
            tasks::enqueue_message(conn, &task.origin, topic, now).await
        }
        None => Ok(()),
    }
}

/// The rows of a text: one platform request each.
pub fn reply_rows(conversation: &ConversationId, markdown: &str, limits: RenderLimits, template: &New) -> Vec<New> {
    let pieces = render::pieces(conversation.kind(), markdown, limits);
    let row = |(number, piece): (usize, Piece)| New {
        conversation: conversation.clone(),
        action: Action::Send(piece),
        // Only the first piece answers; the others follow it.
        reply_to: template.reply_to.clone().filter(|_| number == 0),
        handle: template.handle.clone().filter(|_| number == 0),
        ..template.clone()
    };
    pieces.into_iter().enumerate().map(row).collect()
}

fn edit_instead(row: &mut New, draft: base::OutboxId) {
    if let Action::Send(piece) = std::mem::replace(&mut row.action, Action::Delete { message_id: String::new() }) {
        row.action = Action::Edit { message_id: String::new(), piece };
        row.target = Some(draft);
    }
}

/// The topic's summary for lists and for the classifier: the beginning of the last answer.
async fn remember(conn: &mut Conn, topic: TopicId, reply: &str, now: Moment) -> Result<()> {
    topics::answered(conn, topic, &base::text::headline(reply, 160), now).await
}
