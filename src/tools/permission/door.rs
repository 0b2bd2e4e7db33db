//! The permission formula for outsiders: one JSON object in, one verdict out.

use std::borrow::Cow;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Map, Value, json};

use super::{AgentKind, Grant, McpFacts, Named, PluginFacts, Toolbox, active, judge};
use crate::catalogue::{ActiveSet, Catalogue};
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::{toolboxes, wire};

/// What the formula says of a tool, an agent and whoever caused the turn: deterministic, and offline. Total: what cannot
/// be understood in full is an `error`, never a decision.
///
/// In: `tool` (a name, or a record of which every field but `name` may be left out), and optionally `id` (comes back as
/// it is), `agent`, `allowed_tools`, `toolboxes`, `direct`, `parent`, `plugin`, `mcp` and `sender`: see `docs/doors.md`.
/// Out: `id`, `decision` (`allow`, `refuse`, `error`), `rule` ([`super::Reason::rule`]; `unknown_tool` of a name that
/// no tool has; of an error `input`) and `detail`.
pub fn verdict(catalogue: &Catalogue, input: &Value) -> Value {
    let (decision, rule, detail) = match answer(catalogue, input) {
        Err(detail) => ("error", "input", detail),
        Ok(None) => ("refuse", "unknown_tool", "no tool has this name".to_owned()),
        Ok(Some(verdict)) => {
            let word = if verdict.allowed { "allow" } else { "refuse" };
            (word, verdict.reason.rule(), verdict.reason.to_string())
        }
    };
    json!({"id": input.get("id").unwrap_or(&Value::Null), "decision": decision, "rule": rule, "detail": detail})
}

/// `None`: there is no such tool.
fn answer(catalogue: &Catalogue, input: &Value) -> Result<Option<super::Verdict>, String> {
    let Value::Object(fields) = input else { return Err("the input is not an object".to_owned()) };
    let mut fields = fields.clone();
    fields.remove("id");
    // The fields of a grant stand beside those that a parent's grant does not have.
    let given = part(&mut fields, &["agent", "allowed_tools", "toolboxes", "direct", "parent"])?;
    let case: Case = read("", Value::Object(fields))?;
    let Some((spec, aliases)) = tool(catalogue, case.tool, case.mcp.unwrap_or_default())? else { return Ok(None) };
    let aliases: Vec<&str> = aliases.iter().map(String::as_str).collect();
    let tool = Named { spec: &spec, aliases: &aliases };
    let mut grant = grant(tool, given, "")?;
    grant.plugins = [(spec.name.to_string(), case.plugin.unwrap_or_default().facts())].into();
    (grant.trusted, grant.admin) = standing(case.sender.unwrap_or(Value::Null))?;
    Ok(Some(judge(tool, &grant)))
}

/// Everything but the grant.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    tool: Value,
    #[serde(default)]
    plugin: Option<Plugin>,
    #[serde(default)]
    mcp: Option<Mcp>,
    #[serde(default)]
    sender: Option<Value>,
}

/// As [`PluginFacts`]; what is not said is not so.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Plugin {
    declared: bool,
    active: bool,
    verified: bool,
    hash_equal: bool,
}

impl Plugin {
    fn facts(self) -> PluginFacts {
        let Plugin { declared, active, verified, hash_equal } = self;
        PluginFacts { declared, active, verified, unchanged: hash_equal }
    }
}

/// As [`McpFacts`]; what is not said is not so.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Mcp {
    declares_read_only: bool,
    server_trusted: bool,
}

/// What one agent may use.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    #[serde(default)]
    agent: Option<String>,
    #[serde(default)]
    allowed_tools: Option<Vec<String>>,
    #[serde(default)]
    toolboxes: Option<Vec<Value>>,
    #[serde(default)]
    direct: Option<Vec<String>>,
    /// What its parent may use: names, or the parent's own grant.
    #[serde(default)]
    parent: Option<Value>,
}

/// A record as `hive tools --json` prints it. What does not matter to the decision is not looked at.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    name: String,
    #[serde(default)]
    aliases: Option<Vec<String>>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    source: Option<String>,
    #[serde(default)]
    availability: Option<String>,
    #[serde(default)]
    partition: Option<String>,
    #[serde(default)]
    effect: Option<String>,
    #[serde(default)]
    provenance: Option<String>,
    #[serde(default)]
    default_disabled: Option<bool>,
    #[serde(default, rename = "wire_name")]
    _wire_name: IgnoredAny,
    #[serde(default, rename = "about")]
    _about: IgnoredAny,
    #[serde(default, rename = "domain")]
    _domain: IgnoredAny,
    #[serde(default, rename = "ops")]
    _ops: IgnoredAny,
    #[serde(default, rename = "destructive")]
    _destructive: IgnoredAny,
    #[serde(default, rename = "timeout_s")]
    _timeout_s: IgnoredAny,
    #[serde(default, rename = "max_result_bytes")]
    _max_result_bytes: IgnoredAny,
    #[serde(default, rename = "input")]
    _input: IgnoredAny,
    #[serde(default, rename = "output")]
    _output: IgnoredAny,
    #[serde(default, rename = "active")]
    _active: IgnoredAny,
    #[serde(default, rename = "rule")]
    _rule: IgnoredAny,
    #[serde(default, rename = "detail")]
    _detail: IgnoredAny,
}

/// Reads a value; a fault is told with its place.
fn read<T: DeserializeOwned>(place: &str, value: Value) -> Result<T, String> {
    let at = if place.is_empty() { String::new() } else { format!("{place}: ") };
    serde_json::from_value(value).map_err(|error| format!("{at}{error}"))
}

fn part(fields: &mut Map<String, Value>, keys: &[&str]) -> Result<Given, String> {
    read("", Value::Object(keys.iter().filter_map(|key| fields.remove_entry(*key)).collect()))
}

/// The record and its other names. A name that no tool of the program has is a plugin's or another server's, if it looks
/// so; `None` where it is neither.
fn tool(catalogue: &Catalogue, given: Value, mcp: Mcp) -> Result<Option<(Spec, Vec<String>)>, String> {
    let (record, by_name) = match given {
        Value::String(name) => (read("tool", json!({ "name": name }))?, true),
        given @ Value::Object(_) => (read("tool", given)?, false),
        _ => return Err("tool: expected a name or a record".to_owned()),
    };
    let Record { name, .. } = &record;
    wire::name(name).map_err(|error| format!("tool: {error}"))?;
    let known = catalogue.by_name(name).map(|entry| entry.spec().clone());
    let from = || match name {
        name if name.starts_with("mcp__") => Some(Source::Mcp),
        name if name.contains('.') => Some(Source::Plugin),
        _ => None,
    };
    let spec = match (known, from()) {
        (Some(spec), _) => spec,
        (None, None) if by_name => return Ok(None),
        (None, source) => unclassified(name, source.unwrap_or(Source::Native)),
    };
    completed(spec, record, McpFacts { declares_read_only: mcp.declares_read_only, server_trusted: mcp.server_trusted })
        .map(Some)
}

/// A tool that nobody has said anything of: everything is as bad as it can be.
fn unclassified(name: &str, source: Source) -> Spec {
    Spec {
        name: Cow::Owned(name.to_owned()),
        aliases: &[],
        about: Cow::Borrowed(""),
        domain: Domain::Plugin,
        source,
        availability: Availability::Both,
        partition: Partition::Write,
        ops: Ops::Org,
        effect: Effect::Once,
        destructive: true,
        timeout: Duration::from_secs(1),
        max_result_bytes: 1,
        default_disabled: false,
        provenance: Provenance::Anyone,
    }
}

/// The record with what is said of it.
fn completed(mut spec: Spec, record: Record, mcp: McpFacts) -> Result<(Spec, Vec<String>), String> {
    let internal = || Source::Internal { id: Cow::Owned(record.id.clone().unwrap_or_default()) };
    let sources = [Source::Native, Source::Custom, Source::Plugin, Source::Mcp, internal()];
    let availabilities = [Availability::Main, Availability::Sub, Availability::Both];
    let partitions = [Partition::Control, Partition::Write, Partition::Delegate, Partition::Read];
    let effects = [Effect::ReadOnly, Effect::Idempotent, Effect::Once];
    let provenances = [Provenance::Anyone, Provenance::Admin];
    spec.source = word("source", record.source, sources, Source::as_str)?.unwrap_or(spec.source);
    if spec.source == Source::Mcp {
        (spec.partition, spec.effect) = mcp.class();
    }
    let partition = word("partition", record.partition, partitions, |it| it.as_str())?;
    let effect = word("effect", record.effect, effects, |it| it.as_str())?;
    // What another server says of its tool counts where the server is believed.
    if spec.source != Source::Mcp || spec.effect == Effect::ReadOnly {
        spec.partition = partition.unwrap_or(spec.partition);
        spec.effect = effect.unwrap_or(spec.effect);
    }
    spec.availability =
        word("availability", record.availability, availabilities, |it| it.as_str())?.unwrap_or(spec.availability);
    spec.provenance = word("provenance", record.provenance, provenances, |it| it.as_str())?.unwrap_or(spec.provenance);
    spec.default_disabled = record.default_disabled.unwrap_or(spec.default_disabled);
    let own_aliases = || spec.aliases.iter().map(|alias| (*alias).to_owned()).collect();
    let aliases = record.aliases.unwrap_or_else(own_aliases);
    Ok((spec, aliases))
}

/// The one of `all` that a word means.
fn word<T, const N: usize>(
    field: &str,
    given: Option<String>,
    all: [T; N],
    as_str: impl Fn(&T) -> &'static str,
) -> Result<Option<T>, String> {
    let Some(given) = given else { return Ok(None) };
    let names = all.iter().map(|one| format!("`{}`", as_str(one))).collect::<Vec<_>>().join(", ");
    let found = all.into_iter().find(|one| as_str(one) == given);
    let unknown = || format!("{field}: found `{}`, expected one of {names}", base::text::cut(&given, 60));
    found.map(Some).ok_or_else(unknown)
}

/// The grant, with what its parents leave of this tool.
fn grant(tool: Named<'_>, given: Given, place: &str) -> Result<Grant, String> {
    let unsaid = if given.parent.is_some() { AgentKind::Sub } else { AgentKind::Main };
    let agent = word(&format!("{place}agent"), given.agent, AgentKind::ALL, |it| it.as_str())?.unwrap_or(unsaid);
    let boxes = |boxes: Vec<Value>| {
        let boxes = boxes.into_iter().enumerate();
        boxes.map(|(at, given)| toolbox(given, &format!("{place}toolboxes[{at}]"))).collect::<Result<Vec<_>, _>>()
    };
    Ok(Grant {
        agent,
        allowed_tools: given.allowed_tools.unwrap_or_default(),
        toolboxes: given.toolboxes.map(boxes).transpose()?,
        direct: given.direct.unwrap_or_default(),
        parent: given.parent.map(|given| parent(tool, given, &format!("{place}parent"))).transpose()?,
        // Whether a plugin tool is as it must be is asked of the agent that calls it alone.
        plugins: [(tool.spec.name.to_string(), PluginFacts::all())].into(),
        ..Grant::main(false)
    })
}

fn parent(tool: Named<'_>, given: Value, place: &str) -> Result<ActiveSet, String> {
    if given.is_array() {
        let names: Vec<String> = read(place, given)?;
        let has = names.iter().any(|name| tool.names().any(|own| own == name));
        return Ok(has.then_some(&*tool.spec.name).into_iter().collect());
    }
    if !given.is_object() {
        return Err(format!("{place}: expected a grant or a list of names"));
    }
    let grant = grant(tool, read(place, given)?, &format!("{place}."))?;
    if grant.agent == AgentKind::Scout {
        return Err(format!("{place}.agent: a scout is nobody's parent"));
    }
    Ok(active(tool, &grant).allowed.then_some(&*tool.spec.name).into_iter().collect())
}

/// A built-in toolbox by its name, or one that is written out.
fn toolbox(given: Value, place: &str) -> Result<Toolbox, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Written {
        name: String,
        tools: Vec<String>,
    }
    match given {
        Value::String(name) => {
            let all = toolboxes::built_in().map_err(|error| format!("{error:#}"))?;
            let names = all.iter().map(|toolbox| toolbox.name.as_str()).collect::<Vec<_>>().join(", ");
            let found = all.into_iter().find(|toolbox| toolbox.name == name);
            let unknown = || {
                let name = base::text::cut(&name, 60);
                format!("{place}: there is no built-in toolbox `{name}`; there are: {names}")
            };
            found.map(|found| Toolbox { name: found.name, tools: found.tools }).ok_or_else(unknown)
        }
        patterns @ Value::Array(_) => Ok(Toolbox { name: place.to_owned(), tools: read(place, patterns)? }),
        given => read(place, given).map(|Written { name, tools }| Toolbox { name, tools }),
    }
}

/// Whether the sender is trusted, and an admin. One that nothing is said of is trusted: the question is about the agent.
fn standing(given: Value) -> Result<(bool, bool), String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sender {
        #[serde(default)]
        trust: Option<String>,
        #[serde(default)]
        admin: bool,
    }
    let (trust, admin) = match given {
        Value::Null => (Some("trusted".to_owned()), false),
        Value::String(word) if word == "admin" => (Some("trusted".to_owned()), true),
        Value::String(word) => (Some(word), false),
        given => read("sender", given).map(|Sender { trust, admin }| (trust, admin))?,
    };
    match trust.as_deref() {
        Some("trusted") => Ok((true, admin)),
        // An admin is a trusted sender, unless a row denies them.
        None => Ok((admin, admin)),
        Some("denied" | "unknown") => Ok((false, false)),
        Some(other) => Err(format!(
            "sender: found `{}`, expected one of `admin`, `trusted`, `denied`, `unknown`",
            base::text::cut(other, 60)
        )),
    }
}

#[cfg(test)]
mod tests;
