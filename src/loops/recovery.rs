//! What a start finds in the rows: turns that a crash or a stop left in the middle go on.

use anyhow::Result;
use base::{Clock, Moment, TaskId};
use channels::render::RenderLimits;
use store::outbox::{self, New};
use store::tasks::{self, End};
use store::{Conn, Db, calls, runs};

use crate::session::{GIVEN_UP, answers_people, give_up_work, reply_rows};

/// A turn that was begun so often without an end is given up: it may be what ends the process.
const ATTEMPTS_MAX: i64 = 5;
/// Most tasks that are put back in one transaction.
const TOGETHER: usize = 2_000;

/// Puts every running task back into its lane: nobody works on it. How many.
pub async fn run(db: &Db, clock: Clock, render: RenderLimits) -> Result<usize> {
    let now = clock.now();
    let cut_off = db.tx("end turns within turns", async |conn| runs::end_orphans(conn, now).await).await?;
    if cut_off > 0 {
        tracing::info!("questions to teams that the last stop has cut off: {cut_off}");
    }
    let abandoned = db.read(async |conn| tasks::abandoned(conn, None).await).await?;
    take_over(db, &abandoned, render, now).await?;
    if !abandoned.is_empty() {
        tracing::info!("turns that were under way when the hive stopped, and go on: {}", abandoned.len());
    }
    Ok(abandoned.len())
}

/// Puts tasks back whose worker is gone, or gives them up, in words that people see.
pub async fn take_over(db: &Db, abandoned: &[(TaskId, i64)], render: RenderLimits, now: Moment) -> Result<()> {
    let (again, over): (Vec<_>, Vec<_>) = abandoned.iter().partition(|(_, attempts)| *attempts < ATTEMPTS_MAX);
    let again: Vec<TaskId> = again.into_iter().map(|(id, _)| id).collect();
    for some in again.chunks(TOGETHER) {
        db.tx("take over tasks", async |conn| tasks::put_back(conn, some, now).await).await?;
    }
    for (id, _) in over {
        db.tx("give up a task", async |conn| give_up(conn, id, render, now).await).await?;
    }
    Ok(())
}

async fn give_up(conn: &mut Conn, id: TaskId, render: RenderLimits, now: Moment) -> Result<()> {
    let note = "begun several times without an end";
    let task = tasks::get(conn, id).await?;
    if let Some(task) = task.filter(|task| !answers_people(task)) {
        if let Some(run) = runs::of_task(conn, id).await? {
            calls::interrupt(conn, run.id, now).await?;
            runs::finish(conn, run, End::Failed, note, now).await?;
        }
        return give_up_work(conn, &task, note, render, now).await;
    }
    if let Some(run) = runs::of_task(conn, id).await? {
        calls::interrupt(conn, run.id, now).await?;
        let origin = runs::origin(conn, run.id).await?;
        if runs::finish(conn, run, End::Failed, note, now).await?
            && let Some(conversation) = &origin.conversation
        {
            if let Some(draft) = outbox::draft_of(conn, run.id).await? {
                outbox::end_draft(conn, &draft, now).await?;
            }
            let action = channels::Action::Delete { message_id: String::new() };
            let template = New { topic: origin.topic, run: Some(run.id), ..New::message(conversation, action) };
            for row in reply_rows(conversation, GIVEN_UP, render, &template) {
                outbox::push(conn, &row, now).await?;
            }
        }
    }
    tasks::finish(conn, id, End::Failed, note, now).await?;
    Ok(())
}
