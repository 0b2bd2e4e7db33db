//! The tools for people: every record, as Markdown and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::catalogue::{Catalogue, Entry};
use crate::permission::{Grant, shown};
use crate::spec::{Domain, Source, Spec};

/// Every record with all its fields, in the catalogue's order.
pub fn json(catalogue: &Catalogue) -> Value {
    catalogue.entries().map(record).collect()
}

/// As [`json`], and of each tool whether a session with this grant is shown it (`active`) and which rule says so (`rule`,
/// `detail`).
pub fn json_of(catalogue: &Catalogue, grant: &Grant) -> Value {
    let judged = |entry: &Entry| {
        let (mut record, verdict) = (record(entry), shown(entry.spec(), grant));
        record["active"] = verdict.allowed.into();
        record["rule"] = verdict.reason.rule().into();
        record["detail"] = verdict.reason.to_string().into();
        record
    };
    catalogue.entries().map(judged).collect()
}

fn record(entry: &Entry) -> Value {
    let spec = entry.spec();
    let id = match &spec.source {
        Source::Internal { id } => Some(id),
        _ => None,
    };
    json!({
        "name": spec.name,
        "id": id,
        "aliases": spec.aliases,
        "wire_name": entry.wire_name,
        "about": spec.about.trim(),
        "domain": spec.domain.as_str(),
        "source": spec.source.as_str(),
        "availability": spec.availability.as_str(),
        "partition": spec.partition.as_str(),
        "ops": spec.ops.as_str(),
        "effect": spec.effect.as_str(),
        "destructive": spec.destructive,
        "timeout_s": spec.timeout.as_secs_f64(),
        "max_result_bytes": spec.max_result_bytes,
        "default_disabled": spec.default_disabled,
        "provenance": spec.provenance.as_str(),
        "input": entry.schema.value(),
        "output": entry.tool.output_schema(),
    })
}

/// The reference that `docs/tools.md` is.
pub fn markdown(catalogue: &Catalogue) -> String {
    let mut text = String::from(HEAD);
    for domain in Domain::ALL {
        let entries: Vec<&Entry> = catalogue.entries().filter(|entry| entry.spec().domain == domain).collect();
        if entries.is_empty() {
            continue;
        }
        push(&mut text, format_args!("\n## {}\n", domain.as_str()));
        for entry in entries {
            tool(&mut text, entry);
        }
    }
    text
}

const HEAD: &str = "# Tools

Made from the records of the program by `hive tools --markdown`.

A tool runs beside others of the same turn if its partition is `read` or `delegate`; `write` and `control` run
alone, in order. A daily op takes one slot of its team, an org op takes the whole team. A call that a crash cut off
is made again only if it is read-only or idempotent. A result that is longer than its limit goes to a file of the
workspace, and the model gets its two ends.
";

fn tool(text: &mut String, entry: &Entry) {
    let spec = entry.spec();
    push(text, format_args!("\n### `{}`\n\n{}\n\n", spec.name, spec.about.trim()));
    if !spec.aliases.is_empty() {
        let aliases: Vec<String> = spec.aliases.iter().map(|alias| format!("`{alias}`")).collect();
        push(text, format_args!("Also understood as {}.\n\n", aliases.join(", ")));
    }
    push(text, format_args!("{}\n", facts(entry)));
    let input = entry.schema.value();
    let Some(fields) = input["properties"].as_object().filter(|fields| !fields.is_empty()) else {
        text.push_str("\nIt takes no arguments.\n");
        return;
    };
    text.push_str("\n| argument | type | | meaning |\n|---|---|---|---|\n");
    let required = input["required"].as_array().cloned().unwrap_or_default();
    for (name, schema) in fields {
        let needed = if required.iter().any(|field| field == name) { "required" } else { "" };
        let meaning = schema["description"].as_str().unwrap_or("").replace('\n', " ");
        push(text, format_args!("| `{name}` | {} | {needed} | {meaning} |\n", kind(schema)));
    }
}

fn facts(entry: &Entry) -> String {
    let Spec { availability, partition, ops, effect, timeout, max_result_bytes, .. } = entry.spec();
    let spec = entry.spec();
    let mut facts = vec![
        spec.source.as_str().to_owned(),
        format!("for {} agents", if availability.as_str() == "both" { "all" } else { availability.as_str() }),
        format!("partition {}", partition.as_str()),
        format!("ops {}", ops.as_str()),
        effect.as_str().to_owned(),
        format!("at most {}", base::clock::show_span(*timeout)),
        format!("result up to {max_result_bytes} bytes"),
    ];
    if entry.wire_name != spec.name {
        facts.push(format!("on the wire `{}`", entry.wire_name));
    }
    if spec.destructive {
        facts.push("asks a person first".to_owned());
    }
    if spec.default_disabled {
        facts.push("granted by its own name only".to_owned());
    }
    if spec.provenance == crate::spec::Provenance::Admin {
        facts.push("only in a turn that an admin caused".to_owned());
    }
    format!("{}.", facts.join(" · "))
}

/// A schema's type in a few words.
fn kind(schema: &Value) -> String {
    let words: Vec<String> = match schema.get("enum").or_else(|| schema.get("oneOf")).or_else(|| schema.get("anyOf")) {
        Some(Value::Array(options)) => options.iter().flat_map(option).collect(),
        _ => types(schema),
    };
    words.join(" or ")
}

fn option(schema: &Value) -> Vec<String> {
    match schema {
        Value::String(word) => vec![format!("`{word}`")],
        Value::Null => vec![],
        Value::Object(fields) => match fields.get("const").and_then(Value::as_str) {
            Some(word) => vec![format!("`{word}`")],
            None => vec![kind(schema)].into_iter().filter(|word| !word.is_empty()).collect(),
        },
        other => vec![other.to_string()],
    }
}

fn types(schema: &Value) -> Vec<String> {
    let words = match &schema["type"] {
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
        Value::String(word) => vec![word.as_str()],
        _ => vec![],
    };
    words.into_iter().filter(|word| *word != "null").map(str::to_owned).collect()
}

fn push(text: &mut String, line: std::fmt::Arguments<'_>) {
    text.write_fmt(line).expect("a string takes everything");
}
