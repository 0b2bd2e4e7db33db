//! `list_completed_tasks`: what came of a team's work.

use std::borrow::Cow;
use std::time::Duration;

use base::{Clock, TeamName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::tasks::{self, Completed};
use store::{Conn, Db};

use super::fit::fitting;
use super::{child_of, moment, named};
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// How far back it looks where nothing is said: seven days, in milliseconds.
const SINCE_MS: i64 = 7 * 86_400_000;
/// How many tasks where nothing is said, and at most.
const LIMIT: u32 = 50;
const LIMIT_MAX: u32 = 200;
/// How much of a result is shown, in characters: less where the list would be too long.
const SNIPPET_CHARS: [usize; 6] = [200, 150, 100, 60, 30, 0];

/// Lists tasks that are over.
pub struct ListCompletedTasks {
    /// The database.
    pub db: Db,
    /// The time.
    pub clock: Clock,
}

/// Which.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListCompletedTasksArgs {
    /// Your own team, as without it, or one of your children.
    pub team: Option<String>,
    /// Only those that ended since then: `2026-11-21T14:00:00Z`, or a span before now such as `12h`. Default `7d`.
    pub since: Option<String>,
    /// How many, the newest first: up to 200. Default 50.
    pub limit: Option<u32>,
}

/// A task that is over.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CompletedShown {
    /// Its id.
    pub task_id: i64,
    /// How long it took, in milliseconds; null where it never began.
    pub duration_ms: Option<i64>,
    /// `done`, `failed` or `cancelled`.
    pub status: String,
    /// The first 200 characters of what it came to, fewer in a long list.
    pub result_snippet: String,
    /// When it was given.
    pub created_at: String,
}

impl Tool for ListCompletedTasks {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("list_completed_tasks"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/list_completed_tasks.md")),
        domain: Domain::Org,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Read,
        ops: Ops::Daily,
        effect: Effect::ReadOnly,
        destructive: false,
        timeout: Duration::from_secs(15),
        max_result_bytes: 64 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = ListCompletedTasksArgs;
    type Output = Vec<CompletedShown>;

    async fn run(&self, call: &Call, args: ListCompletedTasksArgs) -> Result<Vec<CompletedShown>, ToolError> {
        let team: TeamName = args.team.as_deref().map(named).transpose()?.unwrap_or_else(|| call.team.clone());
        let now = self.clock.now();
        let since = match args.since.as_deref() {
            None => now - SINCE_MS,
            Some(text) => moment::read(text, now).ok_or_else(|| {
                let shown = base::text::headline(text, 60);
                ToolError::refused(format!(
                    "`{shown}` is no moment: write `2026-11-21T14:00:00Z` or a span such as `12h`"
                ))
            })?,
        };
        let limit = args.limit.unwrap_or(LIMIT);
        if !(1..=LIMIT_MAX).contains(&limit) {
            return Err(ToolError::refused(format!("limit is from 1 to {LIMIT_MAX}")));
        }
        let look = async |conn: &mut Conn| {
            if team != call.team
                && let Err(why) = child_of(conn, call, &team).await?
            {
                return Ok(Err(why));
            }
            Ok(Ok(tasks::completed(conn, &team, since, limit).await?))
        };
        let tasks = self.db.read(look).await?.map_err(ToolError::Refused)?;
        fitting(Self::SPEC.max_result_bytes, &SNIPPET_CHARS, |chars| {
            tasks.iter().map(|task| shown(task, chars)).collect()
        })
    }
}

fn shown(task: &Completed, snippet_chars: usize) -> CompletedShown {
    CompletedShown {
        task_id: task.id.0,
        duration_ms: task.duration_ms,
        status: task.state.clone(),
        result_snippet: base::text::cut(task.result.trim(), snippet_chars),
        created_at: moment::show(task.created_at),
    }
}
