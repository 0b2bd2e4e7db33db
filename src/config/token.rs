//! The shape of tokens and keys. What is wrong with one is said; what it is, never.

use base::Secret;

use super::form::Form;

/// A key of a model provider or a bot token of Discord: something that can stand in an HTTP header.
pub(super) fn key() -> Form<Secret> {
    form("a key", fault_of_key)
}

/// A bot token of Discord.
pub(super) fn discord() -> Form<Secret> {
    form("a bot token", |text| {
        let prefixed = text.trim_start().get(..4).is_some_and(|head| head.eq_ignore_ascii_case("bot "));
        if prefixed { Some("begins with `Bot `: leave that out") } else { fault_of_key(text) }
    })
}

/// A bot token of Telegram.
pub(super) fn telegram() -> Form<Secret> {
    form("a bot token", |text| {
        fault_of_key(text).or_else(|| {
            let good = text.split_once(':').is_some_and(|(id, secret)| {
                let letters = secret.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
                !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()) && !secret.is_empty() && letters
            });
            (!good).then_some(
                "does not look like one of Telegram's, which are digits, `:`, then letters, digits, `_`, `-`",
            )
        })
    })
}

fn form(what: &'static str, fault: fn(&str) -> Option<&'static str>) -> Form<Secret> {
    let read = move |text: &str| fault(text).is_none().then(|| Secret::new(text));
    Form::new(what, read).hidden(move |text| {
        let fault = fault(text).unwrap_or("cannot be used");
        format!("the value {fault} (it is not shown because it may be secret)")
    })
}

fn fault_of_key(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        Some("is empty")
    } else if text.contains(char::is_whitespace) {
        Some("holds white space")
    } else if text.contains(['"', '\'', '`']) {
        Some("holds quotes")
    } else if text.starts_with('<') && text.ends_with('>') {
        Some("is a placeholder in angle brackets")
    } else if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        Some("holds characters that no key has")
    } else {
        None
    }
}
