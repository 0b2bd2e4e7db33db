//! How much may be asked of other sessions, in one place.

use std::time::Duration;

/// Bounds of what one turn may ask of other sessions. The same for a team, a subagent and a scout.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many sessions may be below people's turn: a session that deep asks nobody. At most
    /// [`Limits::DEPTH_CEILING`] counts.
    pub depth_max: u32,
    /// How often one turn may ask the same team, subagent or scout, whatever comes of it: an answer that does not come
    /// is not got by asking for ever.
    pub pair_calls_max: usize,
    /// How many are asked by one call. What is more is split over several calls.
    pub fan_out_max: usize,
    /// How many questions of one turn somebody may have at once: of more in one call so many go through. It can act
    /// where it is less than [`Limits::pair_calls_max`].
    pub per_child_max: usize,
    /// How long an answer to a question may take where the caller says nothing else, with the wait for a slot.
    pub query_timeout: Duration,
    /// The same of work.
    pub work_timeout: Duration,
    /// How long a slot of the asked team is waited for. Short: who asks others besides should not wait for a busy one.
    pub slot_patience: Duration,
}

impl Limits {
    /// Deeper than this no configuration leads: each level is a whole conversation with a model.
    pub const DEPTH_CEILING: u32 = 8;
    /// The longest that a caller may wait for one answer.
    pub const TIMEOUT_MAX: Duration = Duration::from_secs(600);
    /// The time of a call that asks: its answers are in by then, whatever they were given.
    pub const CALL_TIMEOUT: Duration = Duration::from_secs(630);

    /// Whether a session at this depth may ask another one.
    pub fn may_ask(&self, depth: u32) -> bool {
        depth < self.depth_max.min(Limits::DEPTH_CEILING)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            depth_max: 4,
            pair_calls_max: 4,
            fan_out_max: 5,
            per_child_max: 3,
            query_timeout: Duration::from_secs(150),
            work_timeout: Limits::TIMEOUT_MAX,
            slot_patience: Duration::from_secs(5),
        }
    }
}
