//! `hive render`: Markdown in, what would be sent out, one JSON object a line each.

use std::io::{BufRead, Write};

use anyhow::Result;
use channels::render::{self, RenderLimits};
use channels::{File, FileSource, Kind, Piece};
use serde_json::{Map, Value, json};

use super::jsonl;

/// Answers each line of `input`, `{"id"?, "markdown", "file_over_chars"?}`, with one line,
/// `{"id", "pieces": [{"text", "plain", "length", "files": [{"name", "text"}]}]}`.
///
/// `text` is another name for `markdown`; other keys are passed over.
///
/// `id` comes back as it was given, whatever it is. `length` is in UTF-16 units, as the platform counts: for Telegram
/// what is left of `text` when its entities are read. A line that cannot be understood is answered with
/// `{"id": null, "line", "error"}`, and the next one is read; blank lines have no answer.
///
/// # Errors
/// Only where `input` cannot be read or `output` not written.
pub fn run(kind: Kind, input: impl BufRead, mut output: impl Write) -> Result<()> {
    jsonl::each_line(input, |number, line| {
        let answer = match jsonl::object(line).and_then(Asked::from_object) {
            Ok(asked) => asked.answer(kind),
            Err(error) => json!({"id": null, "line": number, "error": error}),
        };
        jsonl::write(&mut output, &answer)
    })?;
    Ok(output.flush()?)
}

/// One line as it was read.
struct Asked {
    id: Value,
    markdown: String,
    limits: RenderLimits,
}

impl Asked {
    fn from_object(mut object: Map<String, Value>) -> Result<Self, String> {
        let id = object.remove("id").unwrap_or(Value::Null);
        let markdown = match object.remove("markdown").or_else(|| object.remove("text")) {
            Some(Value::String(markdown)) => markdown,
            Some(other) => return Err(format!("`markdown` is {}, expected text", jsonl::kind_of(&other))),
            None => return Err("`markdown` is missing: expected text".to_owned()),
        };
        let limits = match object.remove("file_over_chars") {
            None | Some(Value::Null) => RenderLimits::default(),
            Some(value) => RenderLimits { file_over_chars: count(&value)? },
        };
        Ok(Asked { id, markdown, limits })
    }

    fn answer(self, kind: Kind) -> Value {
        let pieces = render::pieces(kind, &self.markdown, self.limits);
        let pieces: Vec<Value> = pieces.iter().map(|piece| shown(kind, piece)).collect();
        json!({"id": self.id, "pieces": pieces})
    }
}

fn count(value: &Value) -> Result<usize, String> {
    let count = value.as_u64().and_then(|count| usize::try_from(count).ok());
    count.ok_or_else(|| {
        format!("`file_over_chars` is {}, expected a count of characters, 0 or more", jsonl::kind_of(value))
    })
}

fn shown(kind: Kind, piece: &Piece) -> Value {
    let files: Vec<Value> = piece.files.iter().map(file).collect();
    json!({"text": piece.text, "plain": piece.plain, "length": render::length(kind, piece), "files": files})
}

fn file(file: &File) -> Value {
    let text = match &file.source {
        FileSource::Text(text) => Value::from(text.as_str()),
        // Rendering makes none of these.
        FileSource::Path(_) => Value::Null,
    };
    json!({"name": file.name, "text": text})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(kind: Kind, input: &str) -> Vec<Value> {
        let mut output = Vec::new();
        run(kind, input.as_bytes(), &mut output).expect("writes to memory");
        let output = String::from_utf8(output).expect("JSON is UTF-8");
        output.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
    }

    #[test]
    fn each_line_is_answered_in_the_markup_of_its_platform() {
        let input = "{\"id\": 7, \"markdown\": \"**a** & b\"}\n\n{\"text\": \"\"}\n";
        let answer = |id: Value, text: &str, plain: &str, length: usize| {
            let piece = json!({"text": text, "plain": plain, "length": length, "files": []});
            json!({"id": id, "pieces": [piece]})
        };
        let telegram = [answer(json!(7), "<b>a</b> &amp; b", "a & b", 5), answer(Value::Null, "", "", 0)];
        assert_eq!(answers(Kind::Telegram, input), telegram);
        assert_eq!(answers(Kind::Discord, input)[0], answer(json!(7), "**a** & b", "a & b", 9));
    }

    #[test]
    fn the_documentation_shows_what_is_answered() {
        let page = include_str!("../../docs/rendering.md");
        let (_, example) = page.split_once("printf '%s\\n' '").expect("an example");
        let (input, rest) = example.split_once("' | hive render telegram --jsonl\n").expect("the end of its input");
        let output = rest.lines().next().expect("its output");
        assert_eq!(answers(Kind::Telegram, input), [serde_json::from_str::<Value>(output).expect("a JSON line")]);
    }

    #[test]
    fn a_text_over_the_given_length_comes_with_the_whole_as_a_file() {
        let answers = answers(Kind::Discord, r#"{"id": "x", "markdown": "**four**", "file_over_chars": 3}"#);
        let files = json!([{"name": "reply.md", "text": "**four**"}]);
        let piece = json!({"text": "**four**…", "plain": "four…", "length": 9, "files": files});
        assert_eq!(answers, [json!({"id": "x", "pieces": [piece]})]);
    }

    #[test]
    fn a_bad_line_is_answered_with_its_number_and_the_next_one_is_read() {
        let bad = [
            "not json",
            "[]",
            "{}",
            r#"{"markdown": 1}"#,
            r#"{"markdown": "a", "file_over_chars": -1}"#,
            r#"{"markdown": "a", "markdown": "b"}"#,
        ];
        let input = format!("{}\n{{\"markdown\": \"good\"}}", bad.join("\n"));
        let answers = answers(Kind::Telegram, &input);
        assert_eq!(answers.len(), bad.len() + 1);
        for (index, answer) in answers[..bad.len()].iter().enumerate() {
            assert_eq!((&answer["id"], &answer["line"]), (&Value::Null, &json!(index + 1)));
            assert!(answer["error"].as_str().is_some_and(|error| !error.is_empty()), "{answer}");
        }
        assert_eq!(answers[bad.len()]["pieces"][0]["plain"], "good");
    }
}
