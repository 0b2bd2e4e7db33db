//! `get_status`: what the caller's children are doing.

use std::borrow::Cow;
use std::time::Duration;

use anyhow::{Context, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::tasks::{self, Kind, Open};
use store::teams::{self, Team};
use store::{Conn, Db};

use super::delegate_task::Urgency;
use super::fit::fitting;
use super::{child_of, named};
use crate::call::Call;
use crate::gate::{Gates, Load};
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Most waiting tasks that are shown of a team; `queue_depth` counts them all.
const PENDING_MAX: u32 = 20;
/// How much is shown of each team: so many of its waiting tasks, and so many characters of each. Less where the list would
/// be too long.
const LEVELS: [(usize, usize); 6] = [(PENDING_MAX as usize, 200), (10, 200), (5, 200), (5, 100), (3, 60), (1, 60)];

/// Shows what teams do.
pub struct GetStatus {
    /// The database.
    pub db: Db,
    /// Admission to the teams.
    pub gates: Gates,
}

/// Whose.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetStatusArgs {
    /// One of your children; left out: all of them.
    pub team: Option<String>,
}

/// What they do.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Statuses {
    /// The team that was asked about.
    One(StatusShown),
    /// All children.
    All(Vec<StatusShown>),
}

/// What a team does.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StatusShown {
    /// The team.
    pub team: String,
    /// `spawning`, `bootstrapping`, `ready`, `failed` (it could not set itself up) or `closing`.
    pub status: &'static str,
    /// Tool calls of its sessions, and questions to it, that run now.
    pub active_daily_ops: u32,
    /// Whether there are as many as there may be.
    pub saturation: bool,
    /// Whether a structural change waits for the team to be idle.
    pub org_op_pending: bool,
    /// How many tasks wait.
    pub queue_depth: i64,
    /// The task that runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_task: Option<TaskShown>,
    /// The tasks that wait, in the order in which they will run: the first 20, or fewer where many teams are shown.
    pub pending_tasks: Vec<TaskShown>,
}

/// A task.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TaskShown {
    /// Its id.
    pub task_id: i64,
    /// What it is, in a few words.
    pub task: String,
    /// `delegate`, `bootstrap`, `trigger`, `handoff` or `result`.
    pub kind: &'static str,
    /// `critical`, `high`, `normal` or `low`.
    pub priority: Urgency,
}

impl Tool for GetStatus {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("get_status"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/get_status.md")),
        domain: Domain::Org,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Read,
        ops: Ops::Daily,
        effect: Effect::ReadOnly,
        destructive: false,
        timeout: Duration::from_secs(15),
        max_result_bytes: 32 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = GetStatusArgs;
    type Output = Statuses;

    async fn run(&self, call: &Call, args: GetStatusArgs) -> Result<Statuses, ToolError> {
        let one = args.team.as_deref().map(named).transpose()?;
        let look = async |conn: &mut Conn| {
            let teams = match &one {
                Some(name) => match child_of(conn, call, name).await? {
                    Ok(team) => vec![team],
                    Err(why) => return Ok(Err(why)),
                },
                None => teams::children(conn, &call.team).await?,
            };
            let mut seen = Vec::with_capacity(teams.len());
            for team in teams {
                seen.push(self.look(conn, team).await?);
            }
            Ok(Ok(seen))
        };
        let seen = self.db.read(look).await?.map_err(ToolError::Refused)?;
        let all = fitting(Self::SPEC.max_result_bytes, &LEVELS, |level| {
            seen.iter().map(|seen| seen.shown(level)).collect::<Vec<_>>()
        })?;
        Ok(match one {
            Some(_) => Statuses::One(all.into_iter().next().context("a child that was there has no status")?),
            None => Statuses::All(all),
        })
    }
}

/// What there is to say of a team.
struct Seen {
    team: Team,
    load: Load,
    queue_depth: i64,
    /// The task that runs, and more of those that wait than are shown.
    open: Vec<Open>,
}

impl GetStatus {
    async fn look(&self, conn: &mut Conn, team: Team) -> Result<Seen> {
        let open = tasks::open_of_team(conn, &team.name, PENDING_MAX + 1).await?;
        let running = open.iter().filter(|task| task.running).count();
        // Where all of them were read, they need not be counted.
        let queue_depth = match open.len() > PENDING_MAX as usize {
            true => tasks::queued_of(conn, &team.name).await?,
            false => i64::try_from(open.len() - running)?,
        };
        Ok(Seen { load: self.gates.of(&team.name).load(), team, queue_depth, open })
    }
}

impl Seen {
    fn shown(&self, (pending, chars): (usize, usize)) -> StatusShown {
        let task = |task: &Open| shown(task, chars);
        StatusShown {
            team: self.team.name.to_string(),
            status: self.team.state.as_str(),
            active_daily_ops: self.load.active_daily_ops,
            saturation: self.load.saturation,
            org_op_pending: self.load.org_op_pending,
            queue_depth: self.queue_depth,
            current_task: self.open.iter().find(|task| task.running).map(task),
            pending_tasks: self.open.iter().filter(|task| !task.running).take(pending).map(task).collect(),
        }
    }
}

fn shown(task: &Open, chars: usize) -> TaskShown {
    // What a team is told at its beginning is between it and the hive.
    let text = match task.kind {
        Kind::Bootstrap => "(initializing)".to_owned(),
        _ => base::text::headline(&task.body, chars),
    };
    TaskShown { task_id: task.id.0, task: text, kind: task.kind.as_str(), priority: task.priority.into() }
}
