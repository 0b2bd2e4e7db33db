//! What can be said of a call before anything is done: is it one, and may it be made. Pure.

use serde_json::Value;

use super::Asked;
use crate::catalogue::{Catalogue, Entry};
use crate::delegation::RUN_SUBAGENT;
use crate::permission::{self, Grant};
use crate::spec::Admission;

/// How many names of tools an error tells.
const NAMES_TOLD_MAX: usize = 30;

/// A call of a tool that exists, with arguments that it takes.
pub(super) struct Ready<'a> {
    pub entry: &'a Entry,
    /// The provider's id of the call.
    pub call_id: &'a str,
    pub input: &'a Value,
    pub admission: Admission,
}

/// Step 1. Bad JSON is an error, never "no arguments".
pub(super) fn parse<'a>(catalogue: &'a Catalogue, grant: &Grant, asked: &'a Asked) -> Result<Ready<'a>, String> {
    let Some(entry) = catalogue.by_wire(&asked.wire_name) else {
        let name = base::text::cut(&crate::workspace::printable(&asked.wire_name), crate::wire::LENGTH_MAX);
        let active = catalogue.definitions(&catalogue.active(grant));
        let names: Vec<String> = active.into_iter().take(NAMES_TOLD_MAX).map(|tool| tool.name).collect();
        let names = if names.is_empty() { "none at all".to_owned() } else { names.join(", ") };
        return Err(format!("there is no tool `{name}`; there are: {names}"));
    };
    let input = asked.input.as_ref().map_err(|_| {
        "the arguments are not JSON, perhaps because they were cut off: nothing was done; ask again with a JSON object"
            .to_owned()
    })?;
    let admission = entry.tool.check(input)?;
    Ok(Ready { entry, call_id: &asked.call_id, input, admission })
}

/// Step 2, as enforced for every call: what a model was shown may have been another turn's. A call of a subagent is judged
/// by the subagent that it names.
pub(super) fn permit(catalogue: &Catalogue, ready: &Ready<'_>, grant: &Grant) -> Result<(), String> {
    let spec = ready.entry.spec();
    let subagent = (spec.name == RUN_SUBAGENT).then(|| ready.input["name"].as_str()).flatten().map(str::trim);
    let (name, verdict) = match subagent.filter(|name| catalogue.by_name(name).is_none()) {
        Some(name) => (name, permission::decide_subagent(spec, name, grant)),
        None => (&*spec.name, permission::decide(spec, grant)),
    };
    let name = base::text::headline(name, 60);
    if verdict.allowed { Ok(()) } else { Err(format!("`{name}` may not be used here: {}", verdict.reason)) }
}
