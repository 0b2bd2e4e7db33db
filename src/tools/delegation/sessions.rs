//! The one arrow that is turned round: tools that have another session run, and wait for what it says.

use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

use base::TeamName;
use futures::future::BoxFuture;

use super::slot::Slot;
use crate::call::Call;

/// Whose session is run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whom {
    /// A child team's orchestrator.
    Team(TeamName),
    /// A subagent of the caller's own team, with a context of its own.
    Subagent(String),
    /// A leaf of the caller's own team that only looks.
    Scout,
}

impl Whom {
    /// What sort of session it is, as events say it.
    pub fn kind(&self) -> &'static str {
        match self {
            Whom::Team(_) => "team",
            Whom::Subagent(_) => "subagent",
            Whom::Scout => "scout",
        }
    }
}

impl fmt::Display for Whom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Whom::Team(team) => team.as_str(),
            Whom::Subagent(name) => name,
            Whom::Scout => "scout",
        })
    }
}

/// What another session is asked.
#[derive(Clone, Debug)]
pub struct Question {
    /// Who is asked.
    pub whom: Whom,
    /// All that it is told: it knows nothing of the caller's talk.
    pub text: String,
    /// The slot of the asked team that this takes for its whole length; the calls of that session ride on it.
    pub slot: Option<Arc<Slot>>,
    /// How many sessions there are above the new one: 1 for one that people's turn asks.
    pub depth: u32,
    /// Which one of its call's questions it is, from 0.
    pub at: usize,
}

impl Question {
    /// Which of the things that a turn asks it is, as the events of that turn name it: which call, which one of it.
    pub fn delegation(&self, call: &Call) -> serde_json::Value {
        serde_json::json!({ "step": call.step, "call_id": &*call.call_id, "at": self.at })
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Unanswered {
    /// For whoever asked: the model failed, the steps were used up, nothing was said.
    Failed(String),
    /// A fault of ours: the turn that asked ends.
    Broken(anyhow::Error),
}

/// Runs sessions in the middle of a call. The implementation is the layer above; dropping the future ends the session
/// and leaves no row changed in the asked team's queue.
pub trait Sessions: Send + Sync {
    /// Runs a session with an empty history to its end and gives what it said, without secrets of its team.
    fn ask<'a>(&'a self, call: &'a Call, question: Question) -> BoxFuture<'a, Result<String, Unanswered>>;
}

/// How tools reach the sessions, which are made after the tools.
#[derive(Clone, Default)]
pub struct Line(Arc<OnceLock<Weak<dyn Sessions>>>);

impl Line {
    /// A line that leads nowhere yet.
    pub fn new() -> Line {
        Line::default()
    }

    /// Leads to these sessions from now on. The first ones stand.
    pub fn lead_to(&self, sessions: &Arc<dyn Sessions>) {
        self.0.get_or_init(|| Arc::downgrade(sessions));
    }

    /// The sessions; `None` while there are none: a program that only prints its tools.
    pub fn sessions(&self) -> Option<Arc<dyn Sessions>> {
        self.0.get()?.upgrade()
    }
}
