//! One JSON object a line: how the doors for outsiders read and write.

use std::fmt;
use std::io::{BufRead, Write};

use anyhow::{Context, Result};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Calls `take` with each line of `input` that is not blank, and its number counted from 1. A line that is not UTF-8
/// comes with its broken bytes replaced.
pub(super) fn each_line(mut input: impl BufRead, mut take: impl FnMut(usize, &str) -> Result<()>) -> Result<()> {
    let mut bytes = Vec::new();
    let mut number = 0;
    loop {
        bytes.clear();
        if input.read_until(b'\n', &mut bytes).context("read input")? == 0 {
            return Ok(());
        }
        number += 1;
        let line = String::from_utf8_lossy(&bytes);
        let line = line.trim_end_matches(['\n', '\r']);
        // Some editors begin a file with a byte order mark.
        let line = if number == 1 { line.trim_start_matches('\u{feff}') } else { line };
        if !line.trim().is_empty() {
            take(number, line)?;
        }
    }
}

/// Reads one object. A key that stands in an object twice is an error: it would be a guess which of the two is meant.
pub(super) fn object(line: &str) -> Result<Map<String, Value>, String> {
    match serde_json::from_str::<Strict>(line) {
        Ok(Strict(Value::Object(object))) => Ok(object),
        Ok(Strict(other)) => Err(format!("found {}, expected an object", kind_of(&other))),
        Err(error) => Err(format!("not JSON: {error}")),
    }
}

/// Writes one object.
pub(super) fn write(output: &mut impl Write, value: &Value) -> Result<()> {
    serde_json::to_writer(&mut *output, value).context("write output")?;
    output.write_all(b"\n").context("write output")
}

/// What sort of value it is, for a person.
pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// An id that may be written as text or as a whole number; a number is the text of its digits.
pub(super) fn id_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        // A number that is no whole number of 64 bits was rounded when it was read: it is no id any more.
        Value::Number(number) if !number.is_f64() => Some(number.to_string()),
        _ => None,
    }
}

/// A JSON value without keys that stand twice.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Strict)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((key, Strict(value))) = entries.next_entry::<String, Strict>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format!("the key `{key}` stands twice in one object")));
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

/// What `docs/doors.md` says that `command` reads and writes.
#[cfg(test)]
pub(super) fn documented(command: &str) -> (&'static str, &'static str) {
    let page = include_str!("../../docs/doors.md");
    let (_, example) = page.split_once(&format!("$ {command} <<'END'\n")).expect("an example of the command");
    let (input, rest) = example.split_once("END\n").expect("the end of its input");
    (input, rest.split_once("```").expect("the end of its output").0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_read_as_they_were_written() {
        let line = r#"{"a":[1,-2,1.5,true,null,"é\n"],"b":{"c":18446744073709551615}}"#;
        let expected = json!({"a": [1, -2, 1.5, true, null, "é\n"], "b": {"c": u64::MAX}});
        assert_eq!(object(line).map(Value::Object), Ok(expected));
    }

    #[test]
    fn what_is_no_object_or_says_a_thing_twice_is_an_error() {
        for line in ["", "{", "[]", "null", "{\"a\":1,\"a\":1}", "{\"a\":{\"b\":1,\"b\":2}}", "{} {}"] {
            assert!(object(line).is_err(), "{line}");
        }
    }

    #[test]
    fn blank_lines_are_passed_over_but_counted_and_broken_bytes_do_not_stop_the_rest() {
        let mut seen = Vec::new();
        let input: &[u8] = b"\xef\xbb\xbfa\r\n\n \nb\xff\nlast";
        each_line(input, |number, line| {
            seen.push((number, line.to_owned()));
            Ok(())
        })
        .expect("reads from memory");
        assert_eq!(seen, [(1, "a".into()), (4, "b\u{fffd}".into()), (5, "last".into())]);
    }

    #[test]
    fn an_id_is_text_or_a_whole_number_that_lost_nothing() {
        assert_eq!(id_text(&json!(123_456_789_012_345_678_u64)).as_deref(), Some("123456789012345678"));
        assert_eq!(id_text(&json!(-100)).as_deref(), Some("-100"));
        assert_eq!(id_text(&json!("x")).as_deref(), Some("x"));
        let huge = object(r#"{"id":123456789012345678901234567890}"#).expect("an object");
        for value in [&huge["id"], &json!(1.0), &json!(null), &json!(true), &json!([])] {
            assert_eq!(id_text(value), None, "{value}");
        }
    }
}
