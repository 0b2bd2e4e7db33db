//! The JSON Schema of a Rust type, as a model should read it: no references, nothing that only a program needs.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

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

/// `uint32` and its like are formats of Rust's, not of JSON Schema's, and an option that is left out needs no `null`.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            let rusts = |format: &Value| {
                let word = format.as_str().unwrap_or("");
                word.starts_with("uint") || word.starts_with("int") || word == "float" || word == "double"
            };
            if fields.get("type").is_some_and(|kind| !kind.is_object()) && fields.get("format").is_some_and(rusts) {
                fields.remove("format");
            }
            if fields.get("default").is_some_and(Value::is_null) {
                fields.remove("default");
            }
            fields.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
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
        #[serde(default)]
        limit: Option<u32>,
        /// How.
        #[serde(default)]
        way: Way,
    }

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
                    "limit": {"type": ["integer", "null"], "minimum": 0, "description": "How many."},
                    "way": {"type": "string", "enum": ["fast", "slow"], "default": "fast", "description": "How."},
                },
            })
        );
    }
}
