//! What has to be done from time to time: leases, topics that age, questions nobody waits for, rows that may go, changes by
//! other processes.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use base::{Clock, Moment, Tasks, clock};
use channels::render::RenderLimits;
use store::retention::{self, Before};
use store::{Conn, Db, tasks, topics};
use tools::Workspaces;

use super::worker::{LEASE, Running};
use crate::config::Settings;

/// How often leases are renewed and other processes are listened for.
pub const EVERY: Duration = Duration::from_secs(30);
/// How often topics age and old rows go.
const HOUSEKEEPING: Duration = Duration::from_secs(300);
/// Most rows of a sort that go in one transaction.
const BATCH: u32 = 500;
/// Most transactions of one round: what is left goes with the next.
const BATCHES_MAX: u32 = 200;
/// Unread messages of senders nobody decided about are kept this long.
const HELD: Duration = Duration::from_secs(30 * 86_400);

/// Keeps the rows in order.
pub struct Upkeep {
    /// The rows.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// The turns that run.
    pub running: Running,
    /// When topics go idle and close, and how long rows are kept.
    pub settings: Settings,
    /// How words for people are cut.
    pub render: RenderLimits,
    /// The teams' folders, where long results of tools lie.
    pub workspaces: Workspaces,
    /// How often another process's writes are looked for, and the rest is looked at.
    pub listen_every: Duration,
}

/// Runs until `tasks` is told to stop.
pub async fn run(upkeep: Arc<Upkeep>, tasks: Tasks) {
    let stop = tasks.stop_token();
    let begun = upkeep.clock.now();
    let (mut next_lease, mut next_housekeeping) = (begun + clock::ms(EVERY), begun + 5_000);
    let mut seen = None;
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = upkeep.clock.sleep(upkeep.listen_every) => {}
        }
        let now = upkeep.clock.now();
        let mut done = listen(&upkeep, &mut seen).await;
        if is_time(&mut next_lease, EVERY, now) {
            done = done.and(leases(&upkeep, now).await);
        }
        if is_time(&mut next_housekeeping, HOUSEKEEPING, now) {
            done = done.and(housekeeping(&upkeep, now, &stop).await);
        }
        if let Err(error) = done {
            tracing::error!("upkeep failed and is tried again: {error:#}");
        }
    }
}

/// Whether something is to be done that is done every so often, and when the next time is. A clock that was set back must
/// not keep it waiting.
fn is_time(next: &mut Moment, every: Duration, now: Moment) -> bool {
    let every = clock::ms(every);
    let due = now >= *next || *next > now + every;
    if due {
        *next = now + every;
    }
    due
}

/// Rings the bell where another process has written. The first look rings too: what was written before it, and after
/// the loops looked at their rows for the first time, would show nowhere else.
async fn listen(upkeep: &Upkeep, seen: &mut Option<i64>) -> Result<()> {
    let version = upkeep.db.foreign_writes().await?;
    if seen.replace(version) != Some(version) {
        upkeep.db.ring_all();
    }
    Ok(())
}

async fn leases(upkeep: &Upkeep, now: Moment) -> Result<()> {
    let mine = upkeep.running.ids();
    if !mine.is_empty() {
        let until = now + clock::ms(LEASE);
        upkeep.db.note("renew leases", async |conn| tasks::renew(conn, &mine, until).await).await?;
    }
    let mut abandoned = upkeep.db.read(async |conn| tasks::abandoned(conn, Some(now)).await).await?;
    // A clock that jumps ends leases, not the turns that hold them.
    abandoned.retain(|(id, _)| !mine.contains(id));
    super::recovery::take_over(&upkeep.db, &abandoned, upkeep.render, now).await
}

async fn housekeeping(upkeep: &Upkeep, now: Moment, stop: &base::Stop) -> Result<()> {
    let before = |span: Duration| now - clock::ms(span);
    let (idle, closed) = (before(upkeep.settings.topics.idle_after), before(upkeep.settings.topics.closed_after));
    upkeep.db.note("age topics", async |conn| topics::age(conn, idle, closed).await).await?;
    // Buttons that mean nothing any more go: those of questions that outlived their turns, and are too old by now.
    let give_up = async |conn: &mut Conn| org::questions::give_up_left_over(conn, BATCH, now).await;
    upkeep.db.tx("give up questions", give_up).await?;
    let rules = Before {
        talk: before(upkeep.settings.retention.messages),
        journal: before(upkeep.settings.retention.journal),
        decisions: before(upkeep.settings.retention.trust_audit),
        changes: before(upkeep.settings.retention.trust_audit.saturating_mul(10)),
        usage: before(upkeep.settings.retention.usage),
        held: before(HELD),
    };
    // Files: gone with the turns that wrote them. Reading a few folders blocks for no time that counts.
    upkeep.workspaces.sweep_results(rules.journal)?;
    for _ in 0..BATCHES_MAX {
        let gone = upkeep.db.note("delete old rows", async |conn| retention::prune(conn, &rules, BATCH).await).await?;
        if gone == 0 || stop.is_cancelled() {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_back_keeps_no_upkeep_waiting() {
        let every = Duration::from_secs(30);
        for (next, now, due) in [
            (30_000, 29_999, false),
            (30_000, 30_000, true),
            (30_000, 90_000, true),
            (7_230_000, 7_200_000, false),
            (7_230_000, 0, true),
        ] {
            let mut then = next;
            assert_eq!(is_time(&mut then, every, now), due, "{next} at {now}");
            assert_eq!(then, if due { now + 30_000 } else { next }, "{next} at {now}");
        }
    }
}
