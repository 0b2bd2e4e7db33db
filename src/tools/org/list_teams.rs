//! `list_teams`: whom work can be given to.

use std::borrow::Cow;
use std::time::Duration;

use org::teams::listing::{self, Listed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{Conn, Db};

use super::fit::fitting;
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// How much of a description is shown, in characters: all of it, less where the list would be too long.
const DESCRIPTION_CHARS: [usize; 5] = [usize::MAX, 300, 150, 80, 40];

/// Lists teams.
pub struct ListTeams {
    /// The database.
    pub db: Db,
}

/// Which.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListTeamsArgs {
    /// Also everything below your children. Work can be given to the children alone.
    pub recursive: Option<bool>,
}

/// A team.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TeamShown {
    /// Its name.
    pub name: String,
    /// Whose child it is, where that is not you.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// What it is for; the beginning of it in a long list.
    pub description: String,
    /// The same in keywords: hints for routing.
    pub keywords: Vec<String>,
    /// `spawning`, `bootstrapping`, `ready`, `failed` (it could not set itself up) or `closing`.
    pub status: &'static str,
    /// How many tasks wait for it.
    pub queue_depth: i64,
}

impl Tool for ListTeams {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("list_teams"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/list_teams.md")),
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
    type Args = ListTeamsArgs;
    type Output = Vec<TeamShown>;

    async fn run(&self, call: &Call, args: ListTeamsArgs) -> Result<Vec<TeamShown>, ToolError> {
        let recursive = args.recursive.unwrap_or(false);
        let teams = self.db.read(async |conn: &mut Conn| listing::below(conn, &call.team, recursive).await).await?;
        fitting(Self::SPEC.max_result_bytes, &DESCRIPTION_CHARS, |chars| {
            teams.iter().map(|listed| shown(listed, call, chars)).collect()
        })
    }
}

fn shown(Listed { team, keywords, queue_depth }: &Listed, call: &Call, description_chars: usize) -> TeamShown {
    TeamShown {
        name: team.name.to_string(),
        parent: team.parent.as_ref().filter(|parent| **parent != call.team).map(ToString::to_string),
        description: base::text::cut(&team.description, description_chars),
        keywords: keywords.clone(),
        status: team.state.as_str(),
        queue_depth: *queue_depth,
    }
}
