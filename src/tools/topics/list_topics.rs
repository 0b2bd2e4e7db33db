//! `list_topics`: what is being talked about in this conversation.

use std::borrow::Cow;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Db;
use store::topics::Topic;

use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Lists topics.
pub struct ListTopics {
    /// The database.
    pub db: Db,
}

/// Nothing to say.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListTopicsArgs {}

/// What there is.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListTopicsOutput {
    /// The topics that are not closed, last talked in first.
    pub topics: Vec<TopicShown>,
}

/// A topic.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TopicShown {
    /// What people type in `/topic switch`.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// `active` or `idle`.
    pub state: &'static str,
    /// Whether this turn belongs to it.
    pub current: bool,
    /// What was said in it, in a few words.
    pub summary: String,
    /// When somebody last said something in it.
    pub last_activity: String,
}

impl Tool for ListTopics {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("list_topics"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/list_topics.md")),
        domain: Domain::Topics,
        source: Source::Native,
        availability: Availability::Main,
        partition: Partition::Read,
        ops: Ops::Daily,
        effect: Effect::ReadOnly,
        destructive: false,
        timeout: Duration::from_secs(10),
        max_result_bytes: 16 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = ListTopicsArgs;
    type Output = ListTopicsOutput;

    async fn run(&self, call: &Call, _: ListTopicsArgs) -> Result<ListTopicsOutput, ToolError> {
        let Some(conversation) = &call.origin.conversation else {
            return Err(ToolError::refused("no conversation caused this turn, so there are no topics to list"));
        };
        let topics = self.db.read(async |conn| store::topics::open_ones(conn, conversation).await).await?;
        let current = call.origin.topic;
        let shown = |topic: Topic| TopicShown {
            id: topic.id.0,
            name: topic.name,
            state: topic.state.as_str(),
            current: Some(topic.id) == current,
            summary: topic.summary,
            last_activity: base::clock::show(topic.last_activity_at),
        };
        Ok(ListTopicsOutput { topics: topics.into_iter().map(shown).collect() })
    }
}
