//! `memory_search`: what is remembered about something.

use std::borrow::Cow;
use std::time::Duration;

use base::Clock;
use org::memory::{self, Hit, Library};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{Conn, Db};

use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// How many results are given where nobody said how many.
const RESULTS: u32 = 5;

/// Searches entries.
pub struct MemorySearch {
    /// The database.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// The model that makes vectors, and the vectors in memory.
    pub library: Library,
}

/// What is asked.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemorySearchArgs {
    /// What is asked, in any words.
    #[schemars(length(min = 1))]
    pub query: String,
    /// How many results to give at most. Left out: 5.
    #[schemars(range(min = 1, max = 1_000))]
    pub max_results: Option<u32>,
}

/// Something that was found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MemoryFound {
    /// What it is called.
    pub key: String,
    /// The part of it that answers best.
    pub snippet: String,
    /// How well it answers, from 0 to 1.
    pub score: f32,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Whether it is what its key means now; else it is superseded.
    pub is_active: bool,
    /// `hybrid`: by words and meaning. `keyword`: by words alone.
    pub source: &'static str,
}

impl From<Hit> for MemoryFound {
    fn from(hit: Hit) -> Self {
        let (kind, source) = (hit.kind.as_str(), hit.source.as_str());
        MemoryFound { key: hit.key, snippet: hit.snippet, score: hit.score, kind, is_active: hit.is_active, source }
    }
}

impl Tool for MemorySearch {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("memory_search"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/memory_search.md")),
        domain: Domain::Memory,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Read,
        ops: Ops::Daily,
        effect: Effect::ReadOnly,
        destructive: false,
        timeout: Duration::from_secs(30),
        max_result_bytes: 32 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = MemorySearchArgs;
    type Output = Vec<MemoryFound>;

    async fn run(&self, call: &Call, args: MemorySearchArgs) -> Result<Vec<MemoryFound>, ToolError> {
        let max = match args.max_results.unwrap_or(RESULTS) {
            0 => return Err(ToolError::refused("`max_results` counts from 1")),
            max => usize::try_from(max).unwrap_or(usize::MAX),
        };
        if args.query.is_empty() {
            return Err(ToolError::refused("`query` is empty: `memory_list` shows everything"));
        }
        let question = memory::question(&self.library, &args.query).await;
        let now = self.clock.now();
        let search = async |conn: &mut Conn| memory::search(conn, &self.library, &call.team, &question, max, now).await;
        let hits = self.db.read(search).await?;
        Ok(hits.into_iter().map(MemoryFound::from).collect())
    }
}
