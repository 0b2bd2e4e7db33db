//! Other sessions in the middle of a turn: asked, waited for, bounded.
//!
//! | file | one thing |
//! |---|---|
//! | `query_team`, `query_teams` | a child team, or several side by side, answers a question |
//! | `delegate_to`, `delegate_parallel` | a child team, or several, does work at once |
//! | `run_subagent`, `scout` | a subagent of the own team works; a leaf only looks |
//! | `item` | one thing that one session is asked, and what came of it |
//! | `relay` | the engine of them all: rules, slots, times, events, stops |
//! | `caps`, `limits` | how much a turn may ask: pure |
//! | `so_far` | what a turn has asked already, from its journal |
//! | `slot` | a slot of the asked team, and the calls that ride on it |
//! | `sessions` | the way to the sessions, which the layer above runs |
//! | `reach` | what one agent is shown of these tools: its children and subagents |
//!
//! Invariants: nobody but a direct child, a subagent or a leaf of the own team is asked. Who is asked knows the text
//! and nothing of the caller's talk. A question has one answer or one reason why there is none. Whatever becomes of a
//! question, no row of the asked team's queue changes by it.

mod caps;
mod delegate_parallel;
mod delegate_to;
mod item;
mod limits;
mod query_team;
mod query_teams;
mod reach;
mod relay;
mod run_subagent;
mod scout;
mod sessions;
mod slot;
mod so_far;
#[cfg(test)]
mod tests;

pub use delegate_parallel::{Branch, DelegateParallel, DelegateParallelArgs, Delegated};
pub use delegate_to::{DelegateTo, DelegateToArgs, Mode};
pub use limits::Limits;
pub use query_team::{QueryTeam, QueryTeamArgs};
pub use query_teams::{Answered, QueryTeams, QueryTeamsArgs, Target};
pub(crate) use reach::asks_another;
pub use reach::{Persona, RUN_SUBAGENT, Reach, Subagents, with_assignees};
pub(crate) use relay::LAST_WORDS;
pub use relay::Relay;
pub use run_subagent::{RunSubagent, RunSubagentArgs};
pub use scout::{Hints, Scout, ScoutArgs};
pub use sessions::{Line, Question, Sessions, Unanswered, Whom};
pub use slot::{Ride, Slot};
