//! What a tool is told about the call: facts, never the means to reach anything.

use std::sync::Arc;

use base::{RunId, Stop, TeamName};
use store::tasks::Origin;

use crate::delegation::Slot;
use crate::permission::Grant;

/// Who calls, for whom, in which turn.
#[derive(Clone, Debug)]
pub struct Call {
    /// The team whose session this is: its workspace, its slots.
    pub team: TeamName,
    /// What that session may use, and who caused the turn.
    pub grant: Arc<Grant>,
    /// The conversation, topic and sender that caused the turn.
    pub origin: Origin,
    /// The turn.
    pub run: RunId,
    /// The step of it in which the model asked, from 1.
    pub step: i64,
    /// The model's id of this very call, unique in its step; empty for what is said of a whole step.
    pub call_id: Arc<str>,
    /// Cancelled when the turn is to stop. A tool's own copy is also cancelled when its time is up.
    pub stop: Stop,
    /// Cancelled before `stop` where the turn is entered again later, because the hive stops: what may be run again is
    /// then left as a crash would leave it, and run in that turn.
    pub leaving: Stop,
    /// How many sessions there are above this one: 0 in people's turn and in that of a task.
    pub depth: u32,
    /// The slot of its team that this session rides on, where another session waits for it.
    pub slot: Option<Arc<Slot>>,
}
