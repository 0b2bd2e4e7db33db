//! `list_tools`: what tools there are, also those that this agent may not use.

use std::borrow::Cow;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Directory;
use super::directory::flags;
use crate::call::Call;
use crate::permission::decide;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Where the tools come from that are listed.
const SOURCES: [Source; 4] = [Source::Native, Source::Custom, Source::Plugin, Source::Mcp];

/// Lists tools.
pub struct ListTools {
    /// What tools there are.
    pub directory: Directory,
}

/// Which ones.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListToolsArgs {
    /// Only those in whose name or description all these words are.
    pub query: Option<String>,
    /// Only those of this domain, for example `files`.
    pub domain: Option<String>,
    /// Only those from there: `native`, `custom`, `plugin` or `mcp`.
    pub source: Option<String>,
}

/// What there is.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListToolsOutput {
    /// How many there are in all.
    pub total: usize,
    /// Those that were asked for.
    pub tools: Vec<ToolShown>,
}

/// A tool.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ToolShown {
    /// Its name.
    pub name: String,
    /// The first sentence of its description.
    pub about: String,
    /// What it is about.
    pub domain: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// `read-only`, `destructive`, `default-disabled`.
    pub flags: Vec<&'static str>,
    /// Whether you may use it in this turn, and the rule that says so.
    pub usable: String,
}

impl Tool for ListTools {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("list_tools"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/list_tools.md")),
        domain: Domain::Admin,
        source: Source::Native,
        availability: Availability::Main,
        partition: Partition::Read,
        ops: Ops::Daily,
        effect: Effect::ReadOnly,
        destructive: false,
        timeout: Duration::from_secs(10),
        max_result_bytes: 32 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = ListToolsArgs;
    type Output = ListToolsOutput;

    async fn run(&self, call: &Call, args: ListToolsArgs) -> Result<ListToolsOutput, ToolError> {
        one_of("domain", args.domain.as_deref(), &Domain::ALL.map(Domain::as_str))?;
        one_of("source", args.source.as_deref(), &SOURCES.map(|source| source.as_str()))?;
        let words: Vec<String> =
            args.query.as_deref().unwrap_or_default().split_whitespace().map(str::to_lowercase).collect();
        let wanted = |spec: &&Spec| {
            let text = format!("{} {}", spec.names().collect::<Vec<_>>().join(" "), spec.about).to_lowercase();
            !matches!(spec.source, Source::Internal { .. })
                && args.domain.as_deref().is_none_or(|domain| spec.domain.as_str() == domain)
                && args.source.as_deref().is_none_or(|source| spec.source.as_str() == source)
                && words.iter().all(|word| text.contains(word.as_str()))
        };
        let records = self.directory.records();
        let tools = records.iter().filter(wanted).map(|spec| shown(spec, call)).collect();
        Ok(ListToolsOutput { total: records.len(), tools })
    }
}

/// Refuses a word that no tool's record can hold: an empty list would look as if there were no such tools.
fn one_of(what: &str, given: Option<&str>, known: &[&str]) -> Result<(), ToolError> {
    match given {
        Some(word) if !known.contains(&word) => {
            Err(ToolError::refused(format!("there is no {what} of that name; there are: {}", known.join(", "))))
        }
        _ => Ok(()),
    }
}

fn shown(spec: &Spec, call: &Call) -> ToolShown {
    let verdict = decide(spec, &call.grant);
    let word = if verdict.allowed { "yes" } else { "no" };
    ToolShown {
        name: spec.name.to_string(),
        about: base::text::headline(spec.about.trim().split_inclusive(". ").next().unwrap_or_default(), 160),
        domain: spec.domain.as_str(),
        source: spec.source.as_str(),
        flags: flags(spec),
        usable: format!("{word}: {}", verdict.reason),
    }
}
