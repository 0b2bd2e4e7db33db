//! The right side of an answer: `"text" 2s list {"path": "."} broken read {"pa`.

use std::time::Duration;

use base::clock;
use llm::script::{Turn, USAGE};
use llm::{Class, ModelError, StopReason, Usage};
use serde_json::Value;

/// `90s`, `2h`, `250ms`.
pub fn span(text: &str) -> Result<Duration, String> {
    if let Some(ms) = text.strip_suffix("ms").and_then(|number| number.parse::<u64>().ok()) {
        return Ok(Duration::from_millis(ms));
    }
    clock::parse_span(text).ok_or_else(|| format!("`{text}` is no time: write `90s`, `2h` or `250ms`"))
}

/// Adds what `rest` says to a turn. The turn, and how often it is played.
pub fn extend(mut turn: Turn, rest: &str) -> Result<(Turn, usize), String> {
    let mut rest = rest.trim();
    let mut times = 1;
    if rest.is_empty() {
        return Err("an answer without anything is written `nothing`".to_owned());
    }
    while !rest.is_empty() {
        if rest.starts_with('"') {
            let (text, after) = json(rest)?;
            turn = turn.and_say(text.as_str().unwrap_or_default());
            rest = after;
            continue;
        }
        let (word, after) = rest.split_once(' ').map_or((rest, ""), |(word, after)| (word, after.trim_start()));
        rest = after;
        if word == "broken" {
            let (name, arguments) = after.split_once(' ').ok_or("write `broken TOOL ARGUMENTS`")?;
            return Ok((turn.and_broken_call(name, arguments), times));
        }
        if after.starts_with('{') {
            let (arguments, behind) = json(after)?;
            turn = turn.and_call(word, arguments);
            rest = behind;
        } else if let Some(number) = word.strip_prefix('x').and_then(|number| number.parse().ok()) {
            times = number;
        } else {
            turn = one_word(turn, word)?;
        }
    }
    Ok((turn, times))
}

fn one_word(turn: Turn, word: &str) -> Result<Turn, String> {
    if let Some((input, output)) = word.strip_prefix("tokens=").and_then(|both| both.split_once('/')) {
        let number = |text: &str| text.parse::<u64>().map_err(|_| format!("`{word}`: write `tokens=IN/OUT`"));
        return Ok(turn.using(Usage { input_tokens: number(input)?, output_tokens: number(output)?, ..USAGE }));
    }
    if let Some(count) = word.strip_prefix("words=").and_then(|count| count.parse().ok()) {
        return Ok(turn.and_say(words(count)));
    }
    Ok(match word {
        "nothing" => turn,
        "cut" => turn.then_cut(),
        "limit" => turn.stopped(StopReason::OutputLimit),
        word => {
            let wait = span(word).map_err(|_| {
                format!("`{word}` is no part of an answer: write \"text\", a time, `tool {{json}}`, `broken tool …`, `cut`, `limit`, `nothing`, `words=N`, `tokens=I/O` or `xN`")
            })?;
            turn.and_wait(wait)
        }
    })
}

/// A long text: numbers, fifty in a paragraph.
fn words(count: usize) -> String {
    let paragraph = |numbers: &[String]| numbers.join(" ");
    let numbers: Vec<String> = (1..=count).map(|number| number.to_string()).collect();
    numbers.chunks(50).map(paragraph).collect::<Vec<_>>().join("\n\n")
}

/// The JSON value at the start of a text, and what follows it.
fn json(text: &str) -> Result<(Value, &str), String> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next().ok_or("expected JSON")?.map_err(|error| format!("bad JSON: {error}: {text}"))?;
    let end = values.byte_offset();
    Ok((value, text[end..].trim_start()))
}

/// The fault of `fail model AGENT …`.
pub fn model_error(word: &str, after: Option<Duration>) -> Result<ModelError, String> {
    let class = match word {
        "401" => Class::Auth,
        "402" => Class::Quota,
        "429" => Class::RateLimited { retry_after: after },
        "529" => Class::Overloaded { retry_after: after },
        "500" => Class::Transient,
        "400" => Class::Malformed,
        "silent" => Class::Silent,
        "cut" => Class::Cut,
        "refused" => Class::Refused,
        "too-long" => Class::ContextTooLong,
        _ => {
            return Err(format!(
                "`{word}` is no fault of a model: 400, 401, 402, 429, 500, 529, silent, cut, refused or too-long"
            ));
        }
    };
    Ok(ModelError::new(class, format!("scripted: {word}")))
}
