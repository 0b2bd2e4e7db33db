//! What a start finds in the rows: turns that a crash or a stop left in the middle go on.

use anyhow::Result;
use base::{Clock, Moment, TaskId};
use channels::render::RenderLimits;
use store::outbox::{self, New};
use store::runs::{self, Run};
use store::tasks::{self, End, Kind, Task};
use store::{Conn, Db};

use crate::session::{GIVEN_UP, answers_people, give_up_work, interrupt, look_again, pass_over, reply_rows};

/// A turn that was begun so often without an end is given up: it may be what ends the process.
const ATTEMPTS_MAX: i64 = 5;
/// Most tasks that are put back in one transaction.
const TOGETHER: usize = 2_000;
/// What the rows say of a turn that is given up.
const NOTE: &str = "begun several times without an end";

/// Puts every running task back into its lane: nobody works on it. How many.
pub async fn run(db: &Db, clock: Clock, render: RenderLimits) -> Result<usize> {
    let now = clock.now();
    let end = async |conn: &mut Conn| {
        org::questions::give_up_within(conn, now).await?;
        runs::end_orphans(conn, now).await
    };
    let cut_off = db.tx("end turns within turns", end).await?;
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
    let Some(task) = tasks::get(conn, id).await? else { return Ok(()) };
    // Without one it ended each time before its turn was entered.
    let run = runs::of_task(conn, id).await?;
    if let Some(run) = run {
        interrupt(conn, run.id, now).await?;
        runs::finish(conn, run, End::Failed, NOTE, now).await?;
    }
    if !answers_people(&task) {
        return give_up_work(conn, &task, NOTE, render, now).await;
    }
    if !tasks::finish(conn, id, End::Failed, NOTE, now).await? {
        return Ok(());
    }
    apologize(conn, &task, run, render, now).await?;
    if let Some(topic) = task.origin.topic
        && run.is_none()
        && task.kind == Kind::Message
    {
        // What it would have taken in was answered by that: taken in by another turn, it would end that one as well.
        pass_over(conn, topic).await?;
    }
    // What else was said meanwhile has its own turn.
    look_again(conn, &task, End::Failed, now).await
}

/// Tells people that there will be no answer.
async fn apologize(conn: &mut Conn, task: &Task, run: Option<Run>, render: RenderLimits, now: Moment) -> Result<()> {
    let Some(conversation) = &task.origin.conversation else { return Ok(()) };
    let run = run.map(|run| run.id);
    if let Some(run) = run
        && let Some(draft) = outbox::draft_of(conn, run).await?
    {
        outbox::end_draft(conn, &draft, now).await?;
    }
    let action = channels::Action::Delete { message_id: String::new() };
    let template = New { topic: task.origin.topic, run, ..New::message(conversation, action) };
    for row in reply_rows(conversation, GIVEN_UP, render, &template) {
        outbox::push(conn, &row, now).await?;
    }
    Ok(())
}
