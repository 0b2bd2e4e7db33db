//! Faults in variables.

use super::super::{Written, file};
use super::check_variable;

#[test]
fn admins() {
    check_variable(
        "HIVE_ADMINS",
        &[
            ("", "is set to nothing: give it a value, or take it away"),
            ("123", "found `123`, expected `discord:ID` or `telegram:ID`"),
            ("disocrd:1", "found `disocrd:1`, expected `discord:ID` or `telegram:ID`; did you mean `discord:`?"),
            ("console:local", "found `console:local`, expected `discord:ID` or `telegram:ID`"),
            ("discord:alice", "found `discord:alice`, expected digits after `discord:`, as the platform shows the id"),
            ("discord:", "found `discord:`, expected digits after `discord:`, as the platform shows the id"),
            ("telegram:007", "found `telegram:007`, expected digits after `telegram:`, as the platform shows the id"),
            ("telegram:-7", "found `telegram:-7`, expected digits after `telegram:`, as the platform shows the id"),
            ("discord:1, discord:2,discord:1", "names `discord:1` twice"),
            ("discord:1,", "found an empty text, expected `discord:ID` or `telegram:ID`"),
        ],
    );
}

#[test]
fn variables_of_the_hive_that_there_are_not() {
    let written =
        Written::nothing().variable("HIVE_ADMIN", "discord:1").variable("HIVE_WINGS", "2").variable("BEE", "3");
    assert_eq!(
        written.faults(),
        [
            "HIVE_ADMIN: is no variable of the hive; did you mean `HIVE_ADMINS`?",
            "HIVE_WINGS: is no variable of the hive; see `.env.example` for those there are",
        ]
    );
    let named = file("providers.yaml", "profiles: {main: {api_key_env: HIVE_KEY}}").variable("HIVE_KEY", "abc");
    assert_eq!(named.faults(), Vec::<String>::new());
}

#[test]
fn variables_of_the_log() {
    let expected =
        "expected `off`, `error`, `warn`, `info`, `debug` or `trace` or directives such as `info,openhive=debug`";
    check_variable(
        "HIVE_LOG",
        &[
            ("inof", &format!("found `inof`, {expected}; did you mean `info`?")),
            ("openhive", &format!("found `openhive`, {expected}")),
            ("info,openhive", &format!("found `info,openhive`, {expected}; did you mean `info`?")),
            ("openhive=loud", &format!("found `openhive=loud`, {expected}")),
        ],
    );
    check_variable("HIVE_LOG_FORMAT", &[("JSON", "found `JSON`, expected `human` or `json`; did you mean `json`?")]);
}

#[test]
fn addresses_are_never_shown() {
    let right = "expected one such as `https://api.example.com`";
    let cases = [
        ("hunter2.example.com", "cannot be read (`http://` or `https://` is missing?)"),
        ("ftp://hunter2", "does not begin with `http://` or `https://`"),
        ("http://me:hunter2@example.com", "holds a user name or password"),
        ("http://example.com?key=hunter2", "has a query (`?…`)"),
        ("http://example.com/#hunter2", "has a fragment (`#…`)"),
        ("http://exa mple.com/hunter2", "holds white space or quotes"),
        ("http://", "cannot be read (`http://` or `https://` is missing?)"),
    ];
    for name in ["DISCORD_API_URL", "TELEGRAM_API_URL", "ANTHROPIC_API_URL", "OPENAI_API_URL"] {
        for (url, fault) in cases {
            check_variable(name, &[(url, &format!("the address {fault}; {right}"))]);
        }
    }
}

#[test]
fn tokens_and_keys_are_never_shown() {
    let hidden = "(it is not shown because it may be secret)";
    let cases = [
        ("hunter2 hunter2", "holds white space"),
        ("\"hunter2\"", "holds quotes"),
        ("<hunter2>", "is a placeholder in angle brackets"),
        ("hünter2", "holds characters that no key has"),
    ];
    for name in ["DISCORD_TOKEN", "TELEGRAM_TOKEN", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"] {
        for (token, fault) in cases {
            check_variable(name, &[(token, &format!("the value {fault} {hidden}"))]);
        }
        check_variable(name, &[("", "is set to nothing: give it a value, or take it away")]);
    }
    check_variable(
        "DISCORD_TOKEN",
        &[("Bot hunter2", &format!("the value begins with `Bot `: leave that out {hidden}"))],
    );
    let shape = "does not look like one of Telegram's, which are digits, `:`, then letters, digits, `_`, `-`";
    for token in ["hunter2", "123:", ":hunter2", "12a:hunter2", "123:hunter.2"] {
        check_variable("TELEGRAM_TOKEN", &[(token, &format!("the value {shape} {hidden}"))]);
    }
}
