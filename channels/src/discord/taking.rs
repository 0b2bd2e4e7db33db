//! From a lane, or from a channel's history, into the host: read, filtered, and taken in with its position.

use super::Discord;
use super::history;
use super::inbound;
use super::lanes::Said;
use super::returning::{self, Walk};
use super::words::Us;
use crate::{Closed, Intake, Kind, Report};

/// Reads what was said in a channel and takes in what is for us, with the newest message as the position.
pub(super) async fn take_said(
    discord: &Discord,
    intake: &dyn Intake,
    us: &Us,
    channel: u64,
    said: Vec<Said>,
) -> Result<(), Closed> {
    let room = discord.room_or_guess(channel).await;
    let (mut events, mut newest) = (Vec::with_capacity(said.len()), 0);
    {
        let title = |id| discord.places().title(id).map(str::to_owned);
        let reading = discord.reading(us, &room, &title);
        for said in &said {
            events.extend(match said {
                Said::Message(message) => {
                    newest = newest.max(message.id.get());
                    inbound::message(message, &reading)
                }
                Said::Edit(update) => inbound::edit(update, &reading),
            });
        }
    }
    if events.is_empty() {
        // Not for us: the position stays, and with it the commit is spared.
        return Ok(());
    }
    intake.take(events, (newest > 0).then(|| returning::cursor(channel, newest))).await
}

/// What reading a channel back came to.
pub(super) struct ReadBack {
    /// The newest message that was seen.
    pub through: u64,
    /// Messages given to the host.
    pub taken: usize,
    /// Messages for us that were too old or too many.
    pub skipped: usize,
}

/// Reads back one channel and takes in what is for us.
pub(super) async fn read_back(discord: &Discord, intake: &dyn Intake, us: &Us, walk: Walk) -> Result<ReadBack, Closed> {
    let Walk { channel, after } = walk;
    let nothing = ReadBack { through: after, taken: 0, skipped: 0 };
    let room = match discord.room_patiently(channel).await {
        Ok(room) => room,
        Err(fault) => {
            tracing::info!(channel, ?fault, "discord: a channel is gone and is not read back");
            return Ok(nothing);
        }
    };
    let title = |id| discord.places().title(id).map(str::to_owned);
    let reading = discord.reading(us, &room, &title);
    if !reading.listens(channel) {
        return Ok(nothing);
    }
    let walked = match history::walk(discord, channel, after, discord.catch_up(), &reading).await {
        Ok(walked) => walked,
        Err(fault) => {
            tracing::warn!(channel, ?fault, "discord: what was said while away cannot be read");
            return Ok(nothing);
        }
    };
    for what in walked.unreadable {
        intake.report(Kind::Discord, Report::Unreadable { what });
    }
    let (taken, skipped) = (walked.events.len(), walked.skipped);
    if walked.through > after {
        intake.take(walked.events, Some(returning::cursor(channel, walked.through))).await?;
    }
    Ok(ReadBack { through: walked.through, taken, skipped })
}
