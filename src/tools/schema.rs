//! The JSON Schema of a Rust type, as a model should read it: no references, nothing that only a program needs.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// The schema of `T`. Doc comments of fields are its descriptions; that of the type itself is left out, because the
/// tool's own text says it.
pub fn of<T: JsonSchema + ?Sized>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Value::Object(root) = &mut schema {
        root.remove("title");
        root.remove("description");
    }
    tidy(&mut schema);
    schema
}

/// Takes out what says nothing to a model: `uint32` and its like are formats of Rust's, not of JSON Schema's, and a
/// field that may be left out need not also take `null`.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("format").is_some_and(is_rusts) {
                fields.remove("format");
            }
            if fields.get("default").is_some_and(Value::is_null) {
                fields.remove("default");
            }
            without_null(fields);
            fields.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

fn is_rusts(format: &Value) -> bool {
    let word = format.as_str().unwrap_or("");
    word.starts_with("uint") || word.starts_with("int") || word == "float" || word == "double"
}

/// `["string", "null"]` becomes `"string"`, and one of two options that is `null` leaves the other.
fn without_null(fields: &mut Map<String, Value>) {
    if let Some(Value::Array(words)) = fields.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|word| word != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            fields.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(options)) = fields.get_mut("anyOf") {
        options.retain(|option| option["type"] != "null");
        if let [Value::Object(only)] = options.as_slice() {
            let only = only.clone();
            fields.remove("anyOf");
            // What is said of the field goes before what is said of its type.
            for (key, value) in only {
                fields.entry(key).or_insert(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    /// Left out.
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Args {
        /// Where.
        path: String,
        /// How many.
        limit: Option<u32>,
        /// How.
        #[serde(default)]
        way: Way,
        /// How else.
        other: Option<Way>,
    }

    /// A way.

    #[derive(Default, Deserialize, JsonSchema, serde::Serialize)]
    #[serde(rename_all = "lowercase")]
    enum Way {
        #[default]
        Fast,
        Slow,
    }

    #[test]
    fn a_schema_says_what_a_model_needs_and_no_more() {
        assert_eq!(
            of::<Args>(),
            serde_json::json!({
                "type": "object",
                "additionalProperties": false,
                "required": ["path"],
                "properties": {
                    "path": {"type": "string", "description": "Where."},
                    "limit": {"type": "integer", "minimum": 0, "description": "How many."},
                    "way": {"type": "string", "enum": ["fast", "slow"], "default": "fast", "description": "How."},
                    "other": {"type": "string", "enum": ["fast", "slow"], "description": "How else."},
                },
            })
        );
    }
}
