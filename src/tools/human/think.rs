//! `think`: a place for a thought between two steps. It does nothing.

use std::borrow::Cow;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::too_long;
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// The longest thought, in characters.
const THOUGHT_CHARS: usize = 8_000;

/// Takes a thought.
pub struct Think;

/// The thought.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThinkArgs {
    /// The thought, up to 8000 characters.
    pub thought: String,
}

impl Tool for Think {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("think"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/think.md")),
        domain: Domain::Human,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Read,
        ops: Ops::Daily,
        effect: Effect::ReadOnly,
        destructive: false,
        timeout: Duration::from_secs(5),
        max_result_bytes: 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = ThinkArgs;
    type Output = String;

    async fn run(&self, _: &Call, args: ThinkArgs) -> Result<String, ToolError> {
        if let Some(why) = too_long("thought", &args.thought, THOUGHT_CHARS) {
            return Err(ToolError::Refused(why));
        }
        Ok("Go on.".to_owned())
    }
}
