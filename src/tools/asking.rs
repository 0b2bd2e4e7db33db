//! Waiting for a person's answer in the middle of a turn.

use anyhow::{Context, Result};
use base::{Clock, Stop};
use org::questions;
use store::questions::{Answer, Question};
use store::{Bell, Db};

/// Waits until the question is answered or too old. `None`: the turn was stopped before; then the question is given
/// up unless the whole hive stops, whose next start waits on.
pub(crate) async fn wait(db: &Db, clock: Clock, stop: &Stop, question: &Question) -> Result<Option<Answer>> {
    let mut bell = db.changes(Bell::Questions);
    loop {
        bell.mark_unchanged();
        let now = async |conn: &mut store::Conn| store::questions::get(conn, question.id).await;
        let now = db.read(now).await?.context("a question does not go while its turn runs")?;
        if now.answer.is_some() {
            return Ok(now.answer);
        }
        if now.expires_at <= clock.now() {
            let at = clock.now();
            let late =
                async |conn: &mut store::Conn| questions::give_up(conn, &now, "Nobody answered in time.", at).await;
            db.tx("give a question up", late).await?;
            continue;
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(None),
            _ = bell.changed() => {}
            () = clock.sleep_until(Some(now.expires_at)) => {}
        }
    }
}
