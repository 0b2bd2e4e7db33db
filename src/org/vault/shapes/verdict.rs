//! The detector for outsiders: one JSON object in, one verdict out.

use base::{Scrub, Secret};
use serde_json::{Map, Value, json};

use super::find;

/// Names of the field with the text: the first is ours.
const TEXT: [&str; 6] = ["text", "content", "value", "input", "source_code", "secret"];

/// A file that holds keys whatever stands in it.
const KEY_FILES: [&str; 4] = [".p12", ".pfx", ".jks", ".keystore"];

/// Says whether a text holds a secret.
///
/// In: `text`; `id`, which comes back; `path`, the name of the file that it is from; `known`, a list of secrets that are
/// looked for in every form that [`Scrub`] knows. Out: `id`; `decision`, which is `allow`, `refuse` or, where the input
/// cannot be understood, `error`; `rule`, the kind of the first secret, and `detail`, all of them with their lines. No
/// secret stands in what comes out.
pub fn verdict(input: &Value) -> Value {
    let id = input.get("id").cloned().unwrap_or(Value::Null);
    let (decision, rule, detail) = match Case::read(input) {
        Ok(case) => case.decide(),
        Err(error) => ("error", None, error),
    };
    json!({ "id": id, "decision": decision, "rule": rule, "detail": detail })
}

struct Case<'a> {
    text: &'a str,
    path: &'a str,
    known: Vec<&'a str>,
}

impl<'a> Case<'a> {
    fn read(input: &'a Value) -> Result<Self, String> {
        let fields = input.as_object().ok_or("expected a JSON object")?;
        let text = TEXT.iter().find_map(|name| fields.get(*name).map(|value| (*name, value)));
        let text = match text {
            Some((name, value)) => value.as_str().ok_or(format!("{name}: expected a text"))?,
            None if fields.contains_key("path") => "",
            None => return Err("text: is missing".to_owned()),
        };
        Ok(Case { text, path: optional_text(fields, "path")?, known: texts(fields, "known")? })
    }

    fn decide(&self) -> (&'static str, Option<&'static str>, String) {
        let path = self.path.to_ascii_lowercase();
        if KEY_FILES.iter().any(|ending| path.ends_with(ending)) {
            return ("refuse", Some("pkcs12-file"), "a file of this kind holds keys".to_owned());
        }
        let scrub = Scrub::new();
        self.known.iter().for_each(|known| scrub.learn(&Secret::new(*known)));
        if scrub.finds_in(self.text) {
            return ("refuse", Some("known-secret"), "a known secret stands in the text".to_owned());
        }
        let findings = find(self.text);
        let Some(first) = findings.first() else {
            return ("allow", None, "no secret found".to_owned());
        };
        let told: Vec<String> =
            findings.iter().map(|finding| format!("{} in line {}", finding.rule, finding.line)).collect();
        ("refuse", Some(first.rule), told.join(", "))
    }
}

fn optional_text<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<&'a str, String> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(""),
        Some(value) => value.as_str().ok_or(format!("{name}: expected a text")),
    }
}

fn texts<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<Vec<&'a str>, String> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => {
            let text =
                |(number, item): (usize, &'a Value)| item.as_str().ok_or(format!("{name}[{number}]: expected a text"));
            items.iter().enumerate().map(text).collect()
        }
        Some(_) => Err(format!("{name}: expected a list of texts")),
    }
}
