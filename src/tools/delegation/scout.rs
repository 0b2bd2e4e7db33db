//! `scout`: a cheap leaf of the own team looks around, and hands back a digest.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Deserialize;

use super::item::Item;
use super::limits::Limits;
use super::relay::Relay;
use super::sessions::Whom;
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// The longest title, in characters.
const TITLE_CHARS: usize = 60;

/// Sends somebody to look.
pub struct Scout {
    /// The way to it.
    pub relay: Relay,
}

/// What it is to find out.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScoutArgs {
    /// What it is to find out, with everything that it has to know: it knows nothing of this conversation.
    pub task_description: String,
    /// A few words for it, up to 60 characters.
    pub title: Option<String>,
    /// Where it may begin.
    pub hints: Option<Hints>,
}

/// Where a scout may begin.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hints {
    /// Files and folders.
    #[serde(default)]
    pub paths: Vec<String>,
    /// What to search for.
    #[serde(default)]
    pub queries: Vec<String>,
}

impl ScoutArgs {
    pub(super) fn items(&self, limits: &Limits) -> Result<Vec<Item>, ToolError> {
        let title = self.title.as_deref().unwrap_or_default().trim();
        if title.chars().count() > TITLE_CHARS {
            return Err(ToolError::Refused(format!("a title has at most {TITLE_CHARS} characters")));
        }
        let item = Item::to(Whom::Scout, &self.task_description, None, limits.work_timeout)?;
        let mut text = if title.is_empty() { String::new() } else { format!("# {title}\n\n") };
        text.push_str(&item.text);
        if let Some(Hints { paths, queries }) = &self.hints {
            for (what, hints) in [("Look in", paths), ("Search for", queries)] {
                if !hints.is_empty() {
                    text.push_str(&format!("\n\n{what}:"));
                    hints.iter().for_each(|hint| text.push_str(&format!("\n- {hint}")));
                }
            }
        }
        Ok(vec![Item { text, ..item }])
    }
}

impl Tool for Scout {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("scout"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/scout.md")),
        domain: Domain::Delegation,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Delegate,
        ops: Ops::Target,
        effect: Effect::ReadOnly,
        destructive: false,
        timeout: Limits::CALL_TIMEOUT,
        max_result_bytes: 32 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = ScoutArgs;
    type Output = String;

    async fn run(&self, call: &Call, args: ScoutArgs) -> Result<String, ToolError> {
        self.relay.ask_one(call, args.items(&self.relay.limits)?).await
    }
}
