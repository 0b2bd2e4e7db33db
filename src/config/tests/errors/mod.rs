//! Every fault: the whole message, with its place, what was found and what would be right.

mod channels;
mod files;
mod providers;
mod variables;

use super::{Written, file};

/// Each case: a file's text and all faults in it, without the file's name in front.
fn check(name: &str, cases: &[(&str, &[&str])]) {
    assert!(!cases.is_empty());
    for (text, expected) in cases {
        let faults = file(name, text).faults();
        let expected: Vec<String> = expected.iter().map(|fault| format!("{name}: {fault}")).collect();
        assert_eq!(faults, expected, "{name}:\n{text}");
    }
}

/// Each case: a variable's value and the fault in it, without the variable's name in front.
fn check_variable(name: &str, cases: &[(&str, &str)]) {
    assert!(!cases.is_empty());
    for (value, expected) in cases {
        let faults = Written::nothing().variable(name, value).faults();
        assert_eq!(faults, [format!("{name}: {expected}")], "{name}={value}");
    }
}

#[test]
fn a_secret_in_the_wrong_place_is_not_shown() {
    let cases = [
        ("channels.yaml", "discord: hunter2"),
        ("channels.yaml", "discord: [hunter2]"),
        ("channels.yaml", "discord:\n  token: [hunter2]"),
        ("channels.yaml", "discord:\n  token: 'hunter2 hunter2'"),
        ("channels.yaml", "discord: {token:hunter2}"),
        ("channels.yaml", "discord:\n  token:hunter2\n"),
        ("channels.yaml", "discord:\n  token: !hunter2\n"),
        ("channels.yaml", "discord:\n  token: *hunter2\n"),
        ("channels.yaml", "discord:\n  tokn: hunter2\n"),
        ("channels.yaml", "telegram:\n  token: hunter2\n"),
        ("providers.yaml", "profiles: {main: {api_key_env: sk-hunter2}}"),
        ("providers.yaml", "profiles: {main: {type: oauth, oauth_token_env: hunter2}}"),
        ("providers.yaml", "profiles: {main: {api_key: \"hunter2"),
        ("providers.yaml", "profiles: {main: {api_key: x, api_url: 'https://hunter2@example.com'}}"),
        ("providers.yaml", "profiles: {main: hunter2}"),
    ];
    for (name, text) in cases {
        let faults = file(name, text).faults();
        assert!(!faults.is_empty(), "{text}");
        assert!(!faults.concat().contains("hunter2"), "{text}\n{faults:?}");
    }
}

#[test]
fn everything_at_once() {
    let written = Written::nothing()
        .file("config.yaml", "log_level: loud\ntopics:\n  active_max: 0\nfoo: 1\n")
        .file("channels.yaml", "trust:\n  default_policy: no\n  channels:\n    irc: {}\n")
        .file("providers.yaml", "profiles:\n  main: {}\n  main: {}\n")
        .variable("HIVE_ADMINS", "alice,bob")
        .variable("TELEGRAM_TOKEN", "x");
    let shown = written.load().unwrap_err().to_string();
    let expected = format!(
        "10 faults in the configuration (data directory `{}`):\n  \
         TELEGRAM_TOKEN: the value does not look like one of Telegram's, which are digits, `:`, then letters, digits, \
         `_`, `-` (it is not shown because it may be secret)\n  \
         HIVE_ADMINS: found `alice`, expected `discord:ID` or `telegram:ID`\n  \
         HIVE_ADMINS: found `bob`, expected `discord:ID` or `telegram:ID`\n  \
         config.yaml: log_level: found `loud`, expected `trace`, `debug`, `info`, `warn` or `error` (line 1)\n  \
         config.yaml: topics.active_max: found `0`, expected a whole number from 1 to 50 (line 3)\n  \
         config.yaml: foo: is no key; known here: `log_level`, `log_format`, `topics`, `session`, `delegation`, `budgets`, `replies`, \
         `outbox`, `attachments`, `retention`, `team` and `stop_grace` (line 4)\n  \
         channels.yaml: trust.default_policy: found `no`, expected `allow` or `deny` (line 2)\n  \
         channels.yaml: trust.channels.irc: is no key; known here: `discord`, `telegram`, `console` and `web` (line 4)\n  \
         providers.yaml: profiles.main.api_key: is missing: set the variable ANTHROPIC_API_KEY, or give `api_key` or \
         `api_key_env` (line 2)\n  \
         providers.yaml: profiles.main: is there twice: first in line 2 (line 3)",
        written.data().display()
    );
    assert_eq!(shown, expected);
}
