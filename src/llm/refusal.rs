//! A provider's refusal as one of our errors: a pure function of status, headers and body.
//!
//! Both providers, and the many servers that speak like them, use the same statuses and nearly the same bodies, so
//! one list of signs serves all. Codes are looked at before words; words only where providers give nothing better.

use std::time::Duration;

use base::Moment;
use base::text::{cut, headline};
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::error::{Class, ModelError};
use crate::retry_after::retry_after;

/// The longest text of a provider that is put into one of our errors, in characters.
const TEXT_LENGTH_MAX: usize = 300;

/// What an answer that is no success means.
pub(crate) fn of_status(status: u16, headers: &HeaderMap, body: &[u8], now: Moment) -> ModelError {
    let said = Said::read(&String::from_utf8_lossy(body));
    let wait = retry_after(headers, now);
    let class = class(status, &said, wait);
    let text =
        if said.message.is_empty() { format!("HTTP {status}") } else { format!("HTTP {status}: {}", said.message) };
    ModelError::new(class, text)
}

/// What an error told of within an answer means. Such an answer began with a success, so there is no status to go
/// by but the one that some servers put into the code.
pub(crate) fn within_stream(error: &Value) -> ModelError {
    let said = Said::of(error);
    let status = said.code.parse().ok().filter(|code| (400..600).contains(code)).unwrap_or(match said.kind.as_str() {
        "authentication_error" | "permission_error" => 401,
        "billing_error" => 402,
        "rate_limit_error" | "rate_limit_exceeded" => 429,
        "overloaded_error" => 529,
        "invalid_request_error" | "not_found_error" => 400,
        _ => 500,
    });
    let text = if said.message.is_empty() { "an error without a message" } else { &said.message };
    ModelError::new(class(status, &said, None), format!("within the answer: {text}"))
}

/// What a provider says of an error, in lower case where signs are looked for.
#[derive(Default)]
struct Said {
    /// `error.type`.
    kind: String,
    /// `error.code`, which is a word with some and a status with others.
    code: String,
    /// One line, short.
    message: String,
}

impl Said {
    /// Reads a body: `{"error": {...}}`, `{"error": "..."}`, `{"message": ...}`, `{"detail": ...}`, any of these in
    /// a list, or words.
    fn read(body: &str) -> Said {
        match serde_json::from_str::<Value>(body) {
            Ok(Value::Array(list)) => list.first().map(Said::of_body).unwrap_or_default(),
            Ok(body @ Value::Object(_)) => Said::of_body(&body),
            Ok(_) => Said::default(),
            // A page of a proxy in between: its markup tells nobody anything.
            Err(_) if body.trim_start().starts_with('<') => Said::default(),
            Err(_) => Said { message: headline(body, TEXT_LENGTH_MAX), ..Said::default() },
        }
    }

    fn of_body(body: &Value) -> Said {
        Said::of(body.get("error").filter(|error| !error.is_null()).unwrap_or(body))
    }

    fn of(error: &Value) -> Said {
        let field = |name: &str| match error.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        let words = || ["message", "detail", "error"].map(field).into_iter().find(|text| !text.is_empty());
        let message = match error {
            Value::String(text) => text.clone(),
            _ => words().unwrap_or_else(|| listed(&error["detail"])),
        };
        let one_line = message.split_whitespace().collect::<Vec<_>>().join(" ");
        Said {
            kind: field("type").to_ascii_lowercase(),
            code: field("code").to_ascii_lowercase(),
            message: cut(&one_line, TEXT_LENGTH_MAX),
        }
    }

    fn is(&self, signs: &[&str]) -> bool {
        signs.contains(&self.kind.as_str()) || signs.contains(&self.code.as_str())
    }

    fn speaks_of(&self, signs: &[&str]) -> bool {
        let message = self.message.to_ascii_lowercase();
        signs.iter().any(|sign| message.contains(sign))
    }
}

/// A list of faults, as FastAPI servers give it: what is wrong and where. The `input` beside them is what people
/// wrote, and left out.
fn listed(faults: &Value) -> String {
    let fault = |fault: &Value| {
        let place = fault["loc"].as_array().into_iter().flatten();
        let place: Vec<String> =
            place.map(|part| part.as_str().map_or_else(|| part.to_string(), str::to_owned)).collect();
        format!("{} ({})", fault["msg"].as_str().unwrap_or("a fault"), place.join("."))
    };
    faults.as_array().into_iter().flatten().map(fault).collect::<Vec<_>>().join("; ")
}

const TOO_LONG_CODES: &[&str] = &["context_length_exceeded", "exceed_context_size_error", "request_too_large"];
const TOO_LONG_WORDS: &[&str] = &[
    "prompt is too long",
    "maximum context length",
    "context length exceeded",
    "exceeds the context",
    "exceed context limit",
    "exceeds the available context",
    "context window",
    "input is too long",
    "exceeds the maximum number of tokens",
    "reduce the length of the messages",
];
const QUOTA_CODES: &[&str] =
    &["insufficient_quota", "billing_error", "billing_hard_limit_reached", "billing_not_active", "access_terminated"];
const QUOTA_WORDS: &[&str] = &[
    "credit balance is too low",
    "exceeded your current quota",
    "insufficient credits",
    "insufficient balance",
    "requires more credits",
    "billing hard limit",
];
const AUTH_CODES: &[&str] = &["authentication_error", "invalid_api_key", "permission_error"];
const AUTH_WORDS: &[&str] = &["api key not valid", "invalid api key", "incorrect api key", "invalid x-api-key"];
const REFUSED_CODES: &[&str] = &["content_filter", "content_policy_violation", "moderation_blocked"];
const REFUSED_WORDS: &[&str] =
    &["content management policy", "content policy", "usage policies", "flagged by moderation", "input was flagged"];
const OVERLOADED_CODES: &[&str] = &["overloaded_error", "engine_overloaded", "server_overloaded"];

fn class(status: u16, said: &Said, retry_after: Option<Duration>) -> Class {
    // Faults of the request and of the account come first: providers give them several statuses, 429 among them.
    let of_the_request = (400..500).contains(&status) && status != 429 || status == 500;
    if said.is(TOO_LONG_CODES) || status == 413 || of_the_request && said.speaks_of(TOO_LONG_WORDS) {
        return Class::ContextTooLong;
    }
    if status == 402 || said.is(QUOTA_CODES) || status < 500 && said.speaks_of(QUOTA_WORDS) {
        return Class::Quota;
    }
    if said.is(REFUSED_CODES) || matches!(status, 400 | 403) && said.speaks_of(REFUSED_WORDS) {
        return Class::Refused;
    }
    if matches!(status, 401 | 403) || said.is(AUTH_CODES) || status == 400 && said.speaks_of(AUTH_WORDS) {
        return Class::Auth;
    }
    match status {
        _ if said.is(OVERLOADED_CODES) => Class::Overloaded { retry_after },
        429 => Class::RateLimited { retry_after },
        503 | 529 => Class::Overloaded { retry_after },
        408 | 409 | 425 | 500.. => Class::Transient,
        _ => Class::Malformed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_to_do() {
        let wait = |seconds| Some(Duration::from_secs(seconds));
        let anthropic = |kind: &str, message: &str| {
            format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}}}}"#)
        };
        let openai = |code: &str, message: &str| {
            format!(r#"{{"error":{{"message":"{message}","type":"some_error","param":null,"code":{code}}}}}"#)
        };
        let cases: Vec<(u16, String, Class)> = vec![
            (401, anthropic("authentication_error", "invalid x-api-key"), Class::Auth),
            (403, anthropic("permission_error", "no"), Class::Auth),
            (401, openai(r#""invalid_api_key""#, "Incorrect API key provided"), Class::Auth),
            (
                400,
                r#"[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key."}}]"#.into(),
                Class::Auth,
            ),
            (400, anthropic("invalid_request_error", "Your credit balance is too low to access the API"), Class::Quota),
            (402, String::new(), Class::Quota),
            (429, openai(r#""insufficient_quota""#, "You exceeded your current quota"), Class::Quota),
            (403, openai(r#""billing_hard_limit_reached""#, ""), Class::Quota),
            (
                429,
                anthropic("rate_limit_error", "This request would exceed your rate limit"),
                Class::RateLimited { retry_after: wait(7) },
            ),
            (429, "too many".into(), Class::RateLimited { retry_after: wait(7) }),
            (529, anthropic("overloaded_error", "Overloaded"), Class::Overloaded { retry_after: wait(7) }),
            (503, "<html>no backend</html>".into(), Class::Overloaded { retry_after: wait(7) }),
            (
                400,
                anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
                Class::ContextTooLong,
            ),
            (413, anthropic("request_too_large", "Request exceeds the maximum size"), Class::ContextTooLong),
            (
                400,
                openai(r#""context_length_exceeded""#, "This model's maximum context length is"),
                Class::ContextTooLong,
            ),
            (400, openai("null", "This model's maximum context length is 4096 tokens"), Class::ContextTooLong),
            (400, openai(r#""content_filter""#, "The response was filtered"), Class::Refused),
            (403, openai("403", "Your input was flagged"), Class::Refused),
            (404, anthropic("not_found_error", "model: nope"), Class::Malformed),
            (
                400,
                anthropic("invalid_request_error", "messages: text content blocks must be non-empty"),
                Class::Malformed,
            ),
            (301, String::new(), Class::Malformed),
            (500, anthropic("api_error", "Internal server error"), Class::Transient),
            (502, "Bad Gateway".into(), Class::Transient),
            (408, String::new(), Class::Transient),
        ];
        let mut headers = HeaderMap::new();
        headers.insert("retry-after", reqwest::header::HeaderValue::from_static("7"));
        for (status, body, expected) in cases {
            let error = of_status(status, &headers, body.as_bytes(), 0);
            assert_eq!(error.class, expected, "{status} {body}");
        }
    }

    #[test]
    fn an_error_within_an_answer_says_what_to_do_without_a_status() {
        for (error, expected) in [
            (r#"{"type":"overloaded_error","message":"Overloaded"}"#, Class::Overloaded { retry_after: None }),
            (r#"{"type":"api_error","message":"Internal"}"#, Class::Transient),
            (r#"{"type":"rate_limit_error","message":""}"#, Class::RateLimited { retry_after: None }),
            (r#"{"code":429,"message":"Rate limit exceeded"}"#, Class::RateLimited { retry_after: None }),
            (r#"{"code":502,"message":"Upstream"}"#, Class::Transient),
            (r#"{"code":"insufficient_quota","message":""}"#, Class::Quota),
            (r#"{"type":"invalid_request_error","message":"prompt is too long: 3 > 2"}"#, Class::ContextTooLong),
            (r#""words""#, Class::Transient),
            ("null", Class::Transient),
        ] {
            let value = serde_json::from_str(error).expect("the cases are JSON");
            assert_eq!(within_stream(&value).class, expected, "{error}");
        }
    }

    #[test]
    fn the_text_is_one_short_line_without_markup() {
        let body = format!("{{\"error\": \"two\\n lines {}\"}}", "x".repeat(900));
        let error = of_status(500, &HeaderMap::new(), body.as_bytes(), 0);
        assert!(error.text.starts_with("HTTP 500: two lines xxx"), "{error}");
        assert!(error.text.chars().count() <= TEXT_LENGTH_MAX + 10);
        assert_eq!(of_status(502, &HeaderMap::new(), b" <html>\n<body>", 0).text, "HTTP 502");
        let listed =
            r#"{"detail":[{"msg":"Extra inputs are not permitted","loc":["body","stop",0],"input":"private"}]}"#;
        let error = of_status(422, &HeaderMap::new(), listed.as_bytes(), 0);
        assert_eq!(error.text, "HTTP 422: Extra inputs are not permitted (body.stop.0)");
        assert_eq!(of_status(500, &HeaderMap::new(), &[0xff, 0xfe], 0).class, Class::Transient);
    }
}
