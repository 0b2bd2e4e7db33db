//! What went wrong with a request → what to do next. Pure.

use std::time::Duration;

use serde_json::Value;

use crate::{Gone, Kind, ReceiveError, Scope, SendError};

/// The variable that holds the token, as people are told when it is wrong.
pub(super) const TOKEN: &str = "DISCORD_TOKEN";

/// Why a request brought no result.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fault {
    /// Discord answered, and not with success.
    Answer(Answer),
    /// Certainly not carried out: no connection was made.
    Unsent(String),
    /// Written, and the answer never came or was cut.
    Unanswered(String),
    /// Held back by the limiter for longer than is waited in place, or answered with 429.
    Limited { retry_after: Duration, everything: bool },
    /// It could not even be written down as a request.
    Malformed(String),
}

/// An answer that is no success.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// Discord's own code (<https://discord.com/developers/docs/topics/opcodes-and-status-codes#json>), 0 for none.
    pub code: i64,
    /// Its words.
    pub message: String,
}

impl Fault {
    /// Reads an answer that is no success. `retry_after` is that header, in seconds; `global` whether the header
    /// says so.
    pub(super) fn of_answer(status: u16, body: &[u8], retry_after: Option<f64>, global: bool) -> Self {
        let json = serde_json::from_slice::<Value>(body).ok().filter(Value::is_object);
        if status == 429 {
            let told = json.as_ref().and_then(|json| json["retry_after"].as_f64()).or(retry_after);
            // A 429 without Discord's body comes from its front, which counts by address and not by channel.
            let everything = global || json.as_ref().is_none_or(|json| json["global"].as_bool() == Some(true));
            return Fault::Limited { retry_after: seconds(told.unwrap_or(1.0)), everything };
        }
        let json = json.unwrap_or_default();
        let mut message = json["message"].as_str().unwrap_or("no explanation").to_owned();
        if let Some(detail) = first_detail(&json["errors"], String::new()) {
            message = format!("{message} ({detail})");
        }
        Fault::Answer(Answer { status, code: json["code"].as_i64().unwrap_or(0), message })
    }

    /// Whether waiting may help, and for how long it should be waited at least.
    pub(super) fn passing(&self) -> Option<Duration> {
        match self {
            Fault::Limited { retry_after, .. } => Some(*retry_after),
            Fault::Unsent(_) | Fault::Unanswered(_) => Some(Duration::ZERO),
            Fault::Answer(answer) if answer.status >= 500 || answer.status == 408 => Some(Duration::ZERO),
            Fault::Answer(_) | Fault::Malformed(_) => None,
        }
    }

    /// Why a token or an address did not prove itself.
    pub(super) fn into_receive_error(self) -> ReceiveError {
        match self {
            Fault::Answer(Answer { status: 401, .. }) => ReceiveError::Unauthorized(Kind::Discord, TOKEN),
            Fault::Answer(Answer { status: 403, message, .. }) => {
                ReceiveError::Forbidden(format!("Discord does not let the bot in: {message}"))
            }
            other => ReceiveError::Unreachable(SendError::from(other).to_string()),
        }
    }
}

impl From<Fault> for SendError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Answer(answer) => answer.into(),
            Fault::Unsent(why) => SendError::Transient(why),
            Fault::Unanswered(why) => SendError::Ambiguous(why),
            Fault::Limited { retry_after, everything: true } => {
                SendError::RateLimited { retry_after, scope: Scope::Everything }
            }
            Fault::Limited { retry_after, everything: false } => {
                SendError::RateLimited { retry_after, scope: Scope::Conversation }
            }
            Fault::Malformed(why) => SendError::Refused(why),
        }
    }
}

impl From<Answer> for SendError {
    fn from(Answer { status, code, message }: Answer) -> Self {
        // The code says more than the status: an expired interaction comes as 401 and as 404.
        match (status, code) {
            // Unknown channel, unknown guild.
            (_, 10003 | 10004) => SendError::Gone(Gone::Conversation),
            (_, 10008) => SendError::Gone(Gone::Message),
            // Unknown interaction, unknown webhook, invalid webhook token.
            (_, 10062 | 10015 | 50027) => SendError::Gone(Gone::Interaction),
            // No access, no permission, cannot message this user, the thread is archived or locked, not verified.
            (_, 50001 | 50013 | 50007 | 50009 | 50083 | 160005) => SendError::Forbidden(message),
            (401, _) => SendError::Unauthorized,
            (403, _) => SendError::Forbidden(message),
            (404, _) => SendError::Gone(Gone::Conversation),
            (408 | 500.., _) => SendError::Transient(format!("Discord answered {status}: {message}")),
            _ => SendError::Refused(format!("{status}: {message}")),
        }
    }
}

/// A length of time from the outside: never negative, never endless.
fn seconds(told: f64) -> Duration {
    const DAY_S: f64 = 86_400.0;
    Duration::from_secs_f64(if told.is_finite() { told.clamp(0.0, DAY_S) } else { DAY_S })
}

/// The first of Discord's explanations, with the place in the request that it is about.
fn first_detail(errors: &Value, path: String) -> Option<String> {
    for (key, inner) in errors.as_object()? {
        if key == "_errors" {
            let message = inner.get(0)?.get("message")?.as_str()?;
            return Some(if path.is_empty() { message.to_owned() } else { format!("{path}: {message}") });
        }
        let deeper = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        if let Some(detail) = first_detail(inner, deeper) {
            return Some(detail);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(status: u16, body: &str) -> SendError {
        Fault::of_answer(status, body.as_bytes(), None, false).into()
    }

    #[test]
    fn every_answer_is_typed_by_what_to_do_next() {
        let message = |code: i64| format!(r#"{{"code":{code},"message":"m"}}"#);
        let table = [
            (404, message(10003), SendError::Gone(Gone::Conversation)),
            (404, message(10008), SendError::Gone(Gone::Message)),
            (404, message(10062), SendError::Gone(Gone::Interaction)),
            (404, message(10015), SendError::Gone(Gone::Interaction)),
            (401, message(50027), SendError::Gone(Gone::Interaction)),
            (404, "gone".to_owned(), SendError::Gone(Gone::Conversation)),
            (403, message(50001), SendError::Forbidden("m".into())),
            (403, message(50013), SendError::Forbidden("m".into())),
            (403, message(50007), SendError::Forbidden("m".into())),
            (400, message(50083), SendError::Forbidden("m".into())),
            (400, message(160005), SendError::Forbidden("m".into())),
            (403, "<html>".to_owned(), SendError::Forbidden("no explanation".into())),
            (401, message(0), SendError::Unauthorized),
            (400, message(50006), SendError::Refused("400: m".into())),
            (413, message(40005), SendError::Refused("413: m".into())),
            (500, message(0), SendError::Transient("Discord answered 500: m".into())),
            (502, String::new(), SendError::Transient("Discord answered 502: no explanation".into())),
        ];
        for (status, body, want) in table {
            assert_eq!(sent(status, &body), want, "{status} {body}");
        }
    }

    #[test]
    fn a_refusal_names_the_field_it_is_about() {
        let body = r#"{"code":50035,"message":"Invalid Form Body","errors":{"components":{"0":{"label":
            {"_errors":[{"code":"X","message":"Must be 80 or fewer"}]}}}}}"#;
        let want = SendError::Refused("400: Invalid Form Body (components.0.label: Must be 80 or fewer)".into());
        assert_eq!(sent(400, body), want);
    }

    #[test]
    fn a_429_says_how_long_and_for_what() {
        let limited = |ms, scope| SendError::RateLimited { retry_after: Duration::from_millis(ms), scope };
        let answer =
            |body: &str, header, global| SendError::from(Fault::of_answer(429, body.as_bytes(), header, global));
        let one = r#"{"message":"slow","retry_after":1.5,"global":false}"#;
        assert_eq!(answer(one, Some(2.0), false), limited(1_500, Scope::Conversation));
        assert_eq!(answer(one, None, true), limited(1_500, Scope::Everything));
        assert_eq!(answer(r#"{"retry_after":1,"global":true}"#, None, false), limited(1_000, Scope::Everything));
        assert_eq!(answer("{}", Some(3.0), false), limited(3_000, Scope::Conversation));
        assert_eq!(answer("error code: 1015", Some(60.0), false), limited(60_000, Scope::Everything));
        assert_eq!(answer(r#"{"retry_after":-4}"#, None, false), limited(0, Scope::Conversation));
        assert_eq!(answer(r#"{"retry_after":1e300}"#, None, false), limited(86_400_000, Scope::Conversation));
    }

    #[test]
    fn a_cut_answer_is_ambiguous_and_a_refused_connection_is_not() {
        assert_eq!(SendError::from(Fault::Unanswered("cut".into())), SendError::Ambiguous("cut".into()));
        assert_eq!(SendError::from(Fault::Unsent("refused".into())), SendError::Transient("refused".into()));
    }

    #[test]
    fn a_wrong_token_is_told_apart_from_an_address_that_does_not_answer() {
        let fault = |status| Fault::of_answer(status, b"{}", None, false).into_receive_error();
        assert_eq!(fault(401), ReceiveError::Unauthorized(Kind::Discord, TOKEN));
        assert!(matches!(fault(403), ReceiveError::Forbidden(_)));
        assert!(matches!(fault(503), ReceiveError::Unreachable(_)));
        assert!(matches!(Fault::Unsent("x".into()).into_receive_error(), ReceiveError::Unreachable(_)));
    }
}
