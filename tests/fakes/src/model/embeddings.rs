//! Vectors of texts in OpenAI's form: texts that share words are near each other.

use serde_json::{Value, json};

use super::reply::Refusal;

/// How many numbers a vector has.
const DIMENSION: usize = 32;
/// The most texts that OpenAI takes in one request.
const TEXTS_MAX: usize = 2_048;

/// The answer, or why a real provider would refuse the request.
pub(super) fn answer(body: &Value) -> Result<Value, Refusal> {
    let bad = |message: &str| Err(Refusal::bad_request(message));
    let model = body["model"].as_str().unwrap_or("");
    if model.is_empty() {
        return bad("you must provide a model parameter");
    }
    let texts: Vec<&str> = match &body["input"] {
        Value::String(text) => vec![text],
        Value::Array(texts) => texts.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let given = body["input"].as_array().map_or(1, Vec::len);
    if texts.is_empty() || texts.len() != given || given > TEXTS_MAX || texts.contains(&"") {
        return bad("'$.input' is invalid.");
    }
    let row = |(index, text): (usize, &&str)| json!({"object": "embedding", "index": index, "embedding": vector(text)});
    let data: Vec<Value> = texts.iter().enumerate().map(row).collect();
    let words: usize = texts.iter().map(|text| text.split_whitespace().count()).sum();
    let usage = json!({"prompt_tokens": words, "total_tokens": words});
    Ok(json!({"object": "list", "data": data, "model": model, "usage": usage}))
}

/// How often the text has words of each of some groups; never all zeros.
fn vector(text: &str) -> Vec<f32> {
    let mut vector = vec![0.01; DIMENSION];
    for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        // FNV-1a: the same group for the same word, everywhere.
        let hash = word
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        vector[(hash % DIMENSION as u64) as usize] += 1.0;
    }
    vector
}
