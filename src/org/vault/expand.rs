//! Secret placeholders in a tool's arguments: `{{secret:KEY}}`, also `{{secret:KEY|base64}}` and `{{secret:KEY|urlencode}}`.

use std::collections::{BTreeMap, BTreeSet};

use base::Secret;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::Refusal;

/// The placeholder of a secret, as agents write it.
pub fn placeholder(key: &str) -> String {
    format!("{{{{secret:{key}}}}}")
}

/// Whether a text holds the placeholder of a secret, whichever: it must stay legible.
pub fn has_placeholder(text: &str) -> bool {
    next(text, 0).is_some()
}

/// Whether a text is the placeholder of a secret and nothing else.
pub fn is_placeholder(text: &str) -> bool {
    next(text, 0).is_some_and(|found| (found.begin, found.end) == (0, text.len()))
}

/// A text that stands for a secret.
struct Placeholder<'a> {
    /// Where it stands.
    begin: usize,
    end: usize,
    key: &'a str,
    /// What is done to the value; empty for nothing.
    encoding: &'a str,
}

/// The first placeholder at or after `from`.
fn next(text: &str, from: usize) -> Option<Placeholder<'_>> {
    let mut at = from;
    loop {
        let begin = at + text[at..].find("{{")?;
        let inside = &text[begin + 2..];
        let named = inside.trim_start().strip_prefix("secret:");
        if let Some(length) =
            inside.find("}}").filter(|length| named.is_some_and(|named| inside.len() - named.len() <= *length))
        {
            let content = inside[..length].trim().strip_prefix("secret:").unwrap_or_default();
            let (key, encoding) = content.split_once('|').unwrap_or((content, ""));
            return Some(Placeholder { begin, end: begin + length + 4, key: key.trim(), encoding: encoding.trim() });
        }
        at = begin + 1;
    }
}

/// The keys of all secrets that the arguments ask for.
pub(super) fn keys(arguments: &Value) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    visit(arguments, &mut |text| {
        let mut at = 0;
        while let Some(found) = next(text, at) {
            keys.insert(found.key.to_owned());
            at = found.end;
        }
    });
    keys
}

fn visit(value: &Value, each: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => each(text),
        Value::Array(items) => items.iter().for_each(|item| visit(item, each)),
        Value::Object(fields) => fields.iter().for_each(|(name, item)| {
            each(name);
            visit(item, each);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The arguments with the values in the placeholders' place, once: a value that looks like a placeholder stays as it is.
pub(super) fn fill(arguments: Value, secrets: &BTreeMap<String, Secret>) -> Result<Value, Refusal> {
    Ok(match arguments {
        Value::String(text) => Value::String(fill_text(text, secrets)?),
        Value::Array(items) => {
            Value::Array(items.into_iter().map(|item| fill(item, secrets)).collect::<Result<_, _>>()?)
        }
        Value::Object(fields) => {
            let filled = fields.into_iter().map(|(name, item)| Ok((fill_text(name, secrets)?, fill(item, secrets)?)));
            Value::Object(filled.collect::<Result<_, Refusal>>()?)
        }
        other => other,
    })
}

fn fill_text(text: String, secrets: &BTreeMap<String, Secret>) -> Result<String, Refusal> {
    if next(&text, 0).is_none() {
        return Ok(text);
    }
    let (mut filled, mut at) = (String::new(), 0);
    while let Some(found) = next(&text, at) {
        let Some(secret) = secrets.get(found.key) else {
            return Err(Refusal::Unknown { key: found.key.to_owned(), known: secrets.keys().cloned().collect() });
        };
        filled.push_str(&text[at..found.begin]);
        match found.encoding {
            "" => filled.push_str(secret.expose()),
            "base64" => filled.push_str(&STANDARD.encode(secret.expose())),
            "urlencode" => filled.push_str(&url_encoded(secret.expose())),
            other => return Err(Refusal::Encoding(other.to_owned())),
        }
        at = found.end;
    }
    filled.push_str(&text[at..]);
    Ok(filled)
}

/// Everything but RFC 3986's unreserved characters as `%XX`.
fn url_encoded(value: &str) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    value.bytes().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn filled(arguments: Value) -> Result<Value, String> {
        let secrets = [("API_KEY", "s3cr3t/v4lue"), ("a:b", "{{secret:API_KEY}}"), ("x", "")];
        let secrets = secrets.map(|(key, value)| (key.to_owned(), Secret::new(value))).into();
        fill(arguments, &secrets).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn placeholders_are_filled_wherever_they_stand() {
        for (arguments, expected) in [
            (json!("{{secret:API_KEY}}"), json!("s3cr3t/v4lue")),
            (
                json!({"a": ["x {{secret:API_KEY}}/{{ secret:a:b }}", 1, null]}),
                json!({"a": ["x s3cr3t/v4lue/{{secret:API_KEY}}", 1, null]}),
            ),
            (json!({"{{secret:API_KEY}}": true}), json!({"s3cr3t/v4lue": true})),
            (json!("{{{secret:API_KEY}}}"), json!("{s3cr3t/v4lue}")),
            (
                json!("{{secret:API_KEY|base64}} {{secret:API_KEY | urlencode}}"),
                json!("czNjcjN0L3Y0bHVl s3cr3t%2Fv4lue"),
            ),
            (json!("<{{secret:x}}>"), json!("<>")),
        ] {
            assert_eq!(filled(arguments.clone()), Ok(expected), "{arguments}");
        }
        for text in [
            "",
            "{{",
            "{{}}",
            "{{name}}",
            "{{secret}}",
            "{secret:API_KEY}",
            "{{secret:API_KEY",
            "{{secret:API_KEY}",
            "{{ {{",
            "é{{é}}",
        ] {
            assert_eq!(filled(json!(text)), Ok(json!(text)));
        }
    }

    #[test]
    fn what_cannot_be_filled_is_said_and_nothing_is_given() {
        let unknown = "there is no secret `NOPE` in this team; there are: `API_KEY`, `a:b`, `x`";
        for (text, refusal) in [
            ("{{secret:NOPE}}", unknown),
            ("{{secret:API_KEY}} {{secret:NOPE}}", unknown),
            ("{{secret:API_KEY|rot13}}", "`rot13` is no encoding of a secret: there are `base64` and `urlencode`"),
        ] {
            assert_eq!(filled(json!({"a": text})), Err(refusal.to_owned()), "{text}");
        }
        assert!(filled(json!("{{secret:}}")).unwrap_err().starts_with("there is no secret ``"));
    }

    #[test]
    fn the_keys_that_are_asked_for_are_known_before() {
        let arguments = json!({"{{secret:k}}": ["{{secret:a}}{{secret:b|base64}}", {"x": "{{secret:a}} {{other}}"}]});
        assert_eq!(keys(&arguments), ["a", "b", "k"].map(str::to_owned).into());
        assert_eq!(placeholder("a"), "{{secret:a}}");
    }
}
