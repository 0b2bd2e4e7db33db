//! One lane per channel: what is said in a channel is taken in one after the other, channels beside each other.

use std::collections::{HashMap, VecDeque};

use serenity::model::channel::Message;
use serenity::model::event::MessageUpdateEvent;

/// How much is taken in at once.
const BATCH_MAX: usize = 64;
/// How much is kept of a channel that is being caught up; the rest is fetched again instead.
const HELD_MAX: usize = 500;

/// Something that was said.
#[derive(Debug)]
pub(super) enum Said {
    Message(Box<Message>),
    Edit(Box<MessageUpdateEvent>),
}

/// What waits to be taken in. Only channels in which something happens right now have a lane.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    lanes: HashMap<u64, Lane>,
}

#[derive(Debug, Default)]
struct Lane {
    queue: VecDeque<Said>,
    busy: bool,
    /// How many catch-ups hold it: nothing newer may be taken in before they have ended.
    holds: usize,
    /// Something was dropped while it was held.
    overflowed: bool,
}

impl Lanes {
    pub(super) fn push(&mut self, channel: u64, said: Said) {
        let lane = self.lanes.entry(channel).or_default();
        if lane.holds > 0 && lane.queue.len() >= HELD_MAX {
            lane.overflowed = true;
        } else {
            lane.queue.push_back(said);
        }
    }

    /// Nothing leaves the lane until it is released as often as it was held.
    pub(super) fn hold(&mut self, channel: u64) {
        self.lanes.entry(channel).or_default().holds += 1;
    }

    /// Lets go of a lane whose history was read up to the message `through`. `true` where messages were dropped
    /// meanwhile, so that it must be read again; it is then still held.
    pub(super) fn release(&mut self, channel: u64, through: u64) -> bool {
        let Some(lane) = self.lanes.get_mut(&channel) else { return false };
        lane.queue.retain(|said| !matches!(said, Said::Message(message) if message.id.get() <= through));
        if std::mem::take(&mut lane.overflowed) {
            // What is queued comes after what was dropped: reading again brings both.
            lane.queue.retain(|said| matches!(said, Said::Edit(_)));
            return true;
        }
        lane.holds = lane.holds.saturating_sub(1);
        false
    }

    /// What to take in next of a channel; its lane is then busy until [`Lanes::done`].
    pub(super) fn next(&mut self, channel: u64) -> Option<Vec<Said>> {
        let lane = self.lanes.get_mut(&channel)?;
        if lane.busy || lane.holds > 0 {
            return None;
        }
        if lane.queue.is_empty() {
            self.lanes.remove(&channel);
            return None;
        }
        lane.busy = true;
        let count = lane.queue.len().min(BATCH_MAX);
        Some(lane.queue.drain(..count).collect())
    }

    /// What [`Lanes::next`] gave has been taken in.
    pub(super) fn done(&mut self, channel: u64) {
        if let Some(lane) = self.lanes.get_mut(&channel) {
            lane.busy = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(id: u64) -> Said {
        let message = json!({
            "id": id.to_string(), "channel_id": "1", "content": "", "timestamp": "2024-01-01T00:00:00Z",
            "edited_timestamp": null, "tts": false, "mention_everyone": false, "mentions": [], "mention_roles": [],
            "attachments": [], "embeds": [], "pinned": false, "type": 0,
            "author": { "id": "2", "username": "ann", "discriminator": "0", "avatar": null },
        });
        Said::Message(serde_json::from_value(message).expect("a message"))
    }

    fn ids(batch: Option<Vec<Said>>) -> Option<Vec<u64>> {
        let id = |said: &Said| match said {
            Said::Message(message) => message.id.get(),
            Said::Edit(_) => 0,
        };
        batch.map(|batch| batch.iter().map(id).collect())
    }

    #[test]
    fn one_batch_at_a_time_in_order_and_a_quiet_lane_is_forgotten() {
        let mut lanes = Lanes::default();
        lanes.push(1, said(1));
        assert_eq!(ids(lanes.next(1)), Some(vec![1]));
        lanes.push(1, said(2));
        lanes.push(1, said(3));
        assert_eq!(ids(lanes.next(1)), None, "busy");
        lanes.push(9, said(4));
        assert_eq!(ids(lanes.next(9)), Some(vec![4]), "another channel does not wait");
        lanes.done(1);
        assert_eq!(ids(lanes.next(1)), Some(vec![2, 3]));
        lanes.done(1);
        lanes.done(9);
        assert_eq!((ids(lanes.next(1)), ids(lanes.next(9))), (None, None));
        assert!(lanes.lanes.is_empty());
    }

    #[test]
    fn a_held_lane_keeps_what_comes_and_forgets_what_was_fetched_meanwhile() {
        let mut lanes = Lanes::default();
        lanes.hold(1);
        lanes.hold(1);
        for id in [5, 6, 7] {
            lanes.push(1, said(id));
        }
        assert!(!lanes.release(1, 6));
        assert_eq!(ids(lanes.next(1)), None, "still held once");
        assert!(!lanes.release(1, 0));
        assert_eq!(ids(lanes.next(1)), Some(vec![7]));
    }

    #[test]
    fn a_held_lane_that_runs_over_is_read_again() {
        let mut lanes = Lanes::default();
        lanes.hold(1);
        for id in 1..=HELD_MAX as u64 + 10 {
            lanes.push(1, said(id));
        }
        assert!(lanes.release(1, 3), "something was dropped");
        assert_eq!(ids(lanes.next(1)), None, "held until it was read again");
        assert!(!lanes.release(1, 510));
        assert_eq!(ids(lanes.next(1)), None, "all of it was fetched");
        assert!(lanes.lanes.is_empty());
    }
}
