//! Coming back after an absence: which channels have to be read back, and what that came to. Pure.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::{Cursor, Report};

/// The stream of a channel is this and its id.
const CHANNEL_STREAM: &str = "discord/";
/// The stream whose position is the first moment at which this bot ever listened: nothing older is fetched.
pub(super) const SINCE_STREAM: &str = "discord/since";
/// Messages of different channels are taken in beside each other: one that is this much older than the newest
/// known one may still be missing. In ids (milliseconds shifted by 22 bits).
const OVERLAP: u64 = 60_000 << 22;
/// How many channels are read back beside each other. Their requests stay far under Discord's 50 a second.
const WALKS_MAX: usize = 4;

/// The cursor of a channel after the message `id`.
pub(super) fn cursor(channel: u64, id: u64) -> Cursor {
    Cursor { stream: format!("{CHANNEL_STREAM}{channel}"), value: id.to_string() }
}

/// Whether the bot ever listened before, by what is stored.
pub(super) fn listened_before(cursors: &[Cursor]) -> bool {
    cursors.iter().any(|cursor| cursor.stream == SINCE_STREAM || position(cursor).is_some())
}

/// The channel and the message of a cursor; `None` where it is no channel's.
fn position(cursor: &Cursor) -> Option<(u64, u64)> {
    let channel = cursor.stream.strip_prefix(CHANNEL_STREAM)?.parse().ok()?;
    // No channel has the id 0, which serenity's types do not allow either.
    (channel > 0).then_some((channel, cursor.value.parse().ok()?))
}

/// A channel to be read back from after a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Walk {
    pub channel: u64,
    pub after: u64,
}

/// One return: from READY until everything that was missed has been read.
#[derive(Debug, Default)]
pub(super) struct Returning {
    known: BTreeMap<u64, u64>,
    /// After what a channel is read that has no position of its own; `None` where the bot never listened before.
    elsewhere_after: Option<u64>,
    waiting: VecDeque<Walk>,
    under_way: usize,
    guilds: BTreeSet<u64>,
    unreported: bool,
    taken: usize,
    skipped: usize,
}

impl Returning {
    /// Begins anew with the stored positions and the guilds whose channels will be named. Gives the channels that
    /// must be held back at once.
    pub(super) fn begin(&mut self, cursors: &[Cursor], guilds: impl IntoIterator<Item = u64>) -> Vec<u64> {
        self.known = cursors.iter().filter_map(position).collect();
        let since = cursors.iter().find(|cursor| cursor.stream == SINCE_STREAM).and_then(|c| c.value.parse().ok());
        let newest = self.known.values().max().map(|newest| newest.saturating_sub(OVERLAP));
        self.elsewhere_after = newest.max(since);
        self.guilds = guilds.into_iter().collect();
        // Walks that wait from a return before this one are among these again, but for channels without position.
        let mut walks: Vec<Walk> = self.known.iter().map(|(&channel, &after)| Walk { channel, after }).collect();
        // Who spoke last is most likely to wait for an answer.
        walks.sort_by_key(|walk| std::cmp::Reverse(walk.after));
        let held = walks.iter().map(|walk| walk.channel).collect();
        self.unreported |= !walks.is_empty();
        self.waiting.extend(walks);
        held
    }

    /// A guild has named its channels (or will not).
    pub(super) fn guild_seen(&mut self, guild: u64) -> bool {
        self.guilds.remove(&guild)
    }

    /// Guilds that have not named their channels until now are not waited for any more.
    pub(super) fn give_up_guilds(&mut self) {
        self.guilds.clear();
    }

    /// Whether guilds have yet to name their channels.
    pub(super) fn awaits_guilds(&self) -> bool {
        !self.guilds.is_empty()
    }

    /// The newest message of a channel is `last`: says what that changes.
    pub(super) fn channel_seen(&mut self, channel: u64, last: Option<u64>) -> Seen {
        match (self.known.get(&channel), last, self.elsewhere_after) {
            (Some(&after), last, _) if last.is_none_or(|last| last <= after) => {
                let before = self.waiting.len();
                self.waiting.retain(|walk| walk.channel != channel);
                Seen::Complete { walks: before - self.waiting.len(), after }
            }
            (None, Some(last), Some(after)) if last > after => {
                // Named twice, it is read once.
                self.known.insert(channel, after);
                self.waiting.push_back(Walk { channel, after });
                self.unreported = true;
                Seen::Missed
            }
            _ => Seen::Nothing,
        }
    }

    /// The next channel to read, if another may be begun.
    pub(super) fn next(&mut self) -> Option<Walk> {
        if self.under_way >= WALKS_MAX {
            return None;
        }
        let walk = self.waiting.pop_front()?;
        self.under_way += 1;
        Some(walk)
    }

    /// Reads a channel again, from after a message.
    pub(super) fn again(&mut self, walk: Walk) {
        self.waiting.push_back(walk);
    }

    /// A channel has been read.
    pub(super) fn walked(&mut self, taken: usize, skipped: usize) {
        self.under_way -= 1;
        self.taken += taken;
        self.skipped += skipped;
    }

    /// The line about this return, once everything has been read.
    pub(super) fn report(&mut self) -> Option<Report> {
        let over = self.waiting.is_empty() && self.under_way == 0 && self.guilds.is_empty();
        if !over || !std::mem::take(&mut self.unreported) {
            return None;
        }
        Some(Report::CaughtUp { taken: std::mem::take(&mut self.taken), skipped: std::mem::take(&mut self.skipped) })
    }
}

/// What the newest message of a channel says about it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// Nothing was missed there: this many walks that waited are not needed.
    Complete { walks: usize, after: u64 },
    /// Something was said there; it has been added to what is to be read, and must be held back.
    Missed,
    /// Nothing changes.
    Nothing,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn since(id: u64) -> Cursor {
        Cursor { stream: SINCE_STREAM.into(), value: id.to_string() }
    }

    fn walks(returning: &mut Returning) -> Vec<(u64, u64)> {
        std::iter::from_fn(|| returning.next()).map(|walk| (walk.channel, walk.after)).collect()
    }

    #[test]
    fn every_stored_channel_is_read_latest_first_a_few_at_a_time_and_reported_once() {
        let mut returning = Returning::default();
        let cursors: Vec<Cursor> = (1..=6)
            .map(|n| cursor(n, n * 10))
            .chain([Cursor { stream: "discord/menu".into(), value: "x".into() }])
            .collect();
        assert_eq!(returning.begin(&cursors, []), [6, 5, 4, 3, 2, 1]);
        assert_eq!(walks(&mut returning), [(6, 60), (5, 50), (4, 40), (3, 30)]);
        for _ in 0..4 {
            returning.walked(2, 1);
            assert_eq!(returning.report(), None, "more to come");
        }
        assert_eq!(walks(&mut returning), [(2, 20), (1, 10)]);
        returning.walked(0, 0);
        assert_eq!(returning.report(), None);
        returning.walked(0, 0);
        assert_eq!(returning.report(), Some(Report::CaughtUp { taken: 8, skipped: 4 }));
        assert_eq!(returning.report(), None);
    }

    #[test]
    fn a_channel_in_which_nothing_was_said_is_not_read() {
        let mut returning = Returning::default();
        returning.begin(&[cursor(1, 10), cursor(2, 20), cursor(3, 30)], [7]);
        assert_eq!(returning.channel_seen(1, Some(10)), Seen::Complete { walks: 1, after: 10 });
        assert_eq!(returning.channel_seen(2, None), Seen::Complete { walks: 1, after: 20 });
        assert_eq!(returning.channel_seen(3, Some(31)), Seen::Nothing, "is read anyway");
        assert_eq!(walks(&mut returning), [(3, 30)]);
        returning.walked(1, 0);
        assert_eq!(returning.report(), None, "a guild has not named its channels");
        assert!(returning.guild_seen(7));
        assert_eq!(returning.report(), Some(Report::CaughtUp { taken: 1, skipped: 0 }));
    }

    #[test]
    fn a_channel_that_was_never_read_is_read_from_where_the_bot_last_listened() {
        let newest = 5 * OVERLAP;
        let mut returning = Returning::default();
        returning.begin(&[cursor(1, newest), since(OVERLAP)], []);
        let after = newest - OVERLAP;
        assert_eq!(returning.channel_seen(2, Some(after)), Seen::Nothing);
        assert_eq!(returning.channel_seen(3, Some(after + 1)), Seen::Missed);
        assert_eq!(returning.channel_seen(3, Some(after + 1)), Seen::Nothing, "once");
        assert_eq!(walks(&mut returning), [(1, newest), (3, after)]);
    }

    #[test]
    fn where_the_bot_never_listened_nothing_was_missed() {
        let mut returning = Returning::default();
        returning.begin(&[], [7]);
        assert!(!listened_before(&[]));
        assert_eq!(returning.channel_seen(1, Some(u64::MAX)), Seen::Nothing);
        returning.give_up_guilds();
        assert_eq!(returning.report(), None);
        returning.begin(&[since(100)], []);
        assert!(listened_before(&[since(100)]) && listened_before(&[cursor(1, 5)]));
        assert_eq!(returning.channel_seen(1, Some(101)), Seen::Missed);
    }
}
