//! A tool's schema as it goes out: written once, because it goes out with every request.

use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::tokens;

/// The JSON Schema of a tool's input, as text. Clones share it.
#[derive(Clone, Debug)]
pub struct Schema {
    json: Arc<RawValue>,
    tokens: u64,
}

impl Schema {
    /// Its JSON. Equal schemas are equal texts: the keys of a JSON map are sorted.
    pub fn json(&self) -> &str {
        self.json.get()
    }

    /// The same, to be written into a request as it is.
    pub(crate) fn raw(&self) -> &RawValue {
        &self.json
    }

    /// About how many tokens it is.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// It, read again.
    pub fn value(&self) -> Value {
        serde_json::from_str(self.json()).expect("what was written as JSON is JSON")
    }
}

impl From<&Value> for Schema {
    fn from(schema: &Value) -> Self {
        let json = RawValue::from_string(schema.to_string()).expect("a JSON value is written as JSON");
        Schema { tokens: tokens::of_text(json.get()), json: json.into() }
    }
}

impl From<Value> for Schema {
    fn from(schema: Value) -> Self {
        Schema::from(&schema)
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.json, &other.json) || self.json() == other.json()
    }
}

impl Eq for Schema {}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_is_its_text() {
        let value = json!({"type": "object", "properties": {"b": {"const": "é\n"}, "a": {}}});
        let schema = Schema::from(&value);
        assert_eq!(schema.json(), value.to_string());
        assert_eq!((schema.value(), schema.tokens()), (value.clone(), tokens::of_text(&value.to_string())));
        assert_eq!(schema, Schema::from(value));
        assert_ne!(schema, Schema::from(json!({})));
    }
}
