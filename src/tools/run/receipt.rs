//! The result of a call, written in the transaction that has the effect: a call of such a tool that has only started has
//! had none, and is simply made again in a turn that is entered again.

use anyhow::Result;
use base::{Moment, Scrub};
use serde::Serialize;
use store::Conn;
use store::calls::{self, Made};

use crate::call::Call;
use crate::tool;

/// Writes what the call comes to, as the model is to get it. It must be short: nothing is left out of it.
///
/// # Errors
/// Only the database's.
pub(crate) async fn write(
    conn: &mut Conn,
    call: &Call,
    scrub: &Scrub,
    output: &impl Serialize,
    now: Moment,
) -> Result<()> {
    let content = scrub.clean(&tool::answer(output)?);
    let sender = call.origin.sender.as_ref();
    let made = Made { team: &call.team, sender, run: call.run, step: call.step, call_id: &call.call_id };
    // A call that has its result already was told that nobody knows: it took too long, or was stopped.
    calls::settle(conn, made, &content, now).await.map(drop)
}

#[cfg(test)]
mod tests;
