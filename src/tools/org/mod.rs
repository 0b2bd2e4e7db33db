//! The tree of teams: making and closing them, giving them work, telling them things, looking at them.
//!
//! Whose child a team is is asked of its row, in the transaction of the call. A caller reaches its own children and its
//! own parent, and nobody else: no grandchild, no sibling, not itself.

mod charter;
mod delegate_task;
mod enqueue_parent_task;
mod escalate;
mod fit;
mod get_status;
mod grant;
mod list_completed_tasks;
mod list_teams;
mod moment;
mod send_message;
mod shutdown_team;
mod spawn_team;
#[cfg(test)]
mod tests;
mod update_team;

use anyhow::Result;
use base::TeamName;
use org::teams::TreeError;
use store::Conn;
use store::teams::{self, State, Team};

use crate::call::Call;
use crate::tool::ToolError;

pub use charter::Charter;
pub use delegate_task::{DelegateTask, DelegateTaskArgs, Delegated};
pub use enqueue_parent_task::{EnqueueParentTask, EnqueueParentTaskArgs, HandedOver};
pub use escalate::{Escalate, EscalateArgs, Escalated};
pub use get_status::{GetStatus, GetStatusArgs, StatusShown, Statuses};
pub use grant::{child_grant, heritage};
pub use list_completed_tasks::{CompletedShown, ListCompletedTasks, ListCompletedTasksArgs};
pub use list_teams::{ListTeams, ListTeamsArgs, TeamShown};
pub use send_message::{MessageSent, SendMessage, SendMessageArgs};
pub use shutdown_team::{ShutDown, ShutdownTeam, ShutdownTeamArgs};
pub use spawn_team::{SpawnTeam, SpawnTeamArgs, TeamSpawned};
pub use update_team::{TeamUpdated, UpdateTeam, UpdateTeamArgs};

/// The longest task or message of one call, in characters: what is longer belongs into a file.
pub(crate) const TEXT_CHARS_MAX: usize = 50_000;

/// A team's name as a model writes it.
fn named(text: &str) -> Result<TeamName, ToolError> {
    text.trim().parse::<TeamName>().map_err(|bad| ToolError::Refused(bad.to_string()))
}

/// A child of the calling team, in the transaction of the call; or why it is none.
async fn child_of(conn: &mut Conn, call: &Call, name: &TeamName) -> Result<Result<Team, String>> {
    Ok(match teams::get(conn, name).await? {
        Some(team) if team.parent.as_ref() == Some(&call.team) => Ok(team),
        // Whether there is such a team elsewhere is none of the caller's business.
        _ => Err(format!("`{name}` is no child of `{}`: `list_teams` shows the children", call.team)),
    })
}

/// The same for a child that can be given work.
async fn worker_of(conn: &mut Conn, call: &Call, name: &TeamName) -> Result<Result<Team, String>> {
    Ok(match child_of(conn, call, name).await? {
        Ok(team) if matches!(team.state, State::Spawning | State::Closing) => {
            Err(format!("`{name}` is {}, and takes no work", team.state.as_str()))
        }
        found => found,
    })
}

/// A text for a team: not empty, and bounded.
fn text<'a>(what: &str, given: &'a str) -> Result<&'a str, ToolError> {
    let text = given.trim();
    let chars = text.chars().count();
    if text.is_empty() {
        return Err(ToolError::refused(format!("the {what} is empty")));
    }
    if chars > TEXT_CHARS_MAX {
        let why = format!("the {what} has {chars} characters, and may have {TEXT_CHARS_MAX}: put it into a file");
        return Err(ToolError::Refused(why));
    }
    Ok(text)
}

impl From<TreeError> for ToolError {
    fn from(error: TreeError) -> Self {
        match error {
            TreeError::Refused(why) => ToolError::Refused(why),
            TreeError::Broken(error) => ToolError::Broken(error),
        }
    }
}
