//! Every fault: the whole message, with its place, what was found and what would be right.

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
fn values_in_config_yaml() {
    check(
        "config.yaml",
        &[
            (
                "log_level: inof",
                &[
                    "log_level: found `inof`, expected `trace`, `debug`, `info`, `warn` or `error`; did you mean `info`? (line 1)",
                ],
            ),
            ("log_format: xml", &["log_format: found `xml`, expected `human` or `json` (line 1)"]),
            (
                "topics:\n  active_max: 0",
                &["topics.active_max: found `0`, expected a whole number from 1 to 50 (line 2)"],
            ),
            (
                "topics:\n  active_max: +5",
                &["topics.active_max: found `+5`, expected a whole number from 1 to 50 (line 2)"],
            ),
            (
                "topics:\n  active_max: 5.0",
                &["topics.active_max: found `5.0`, expected a whole number from 1 to 50 (line 2)"],
            ),
            (
                "topics:\n  active_max: [5]",
                &["topics.active_max: found a list, expected a whole number from 1 to 50 (line 2)"],
            ),
            (
                "topics:\n  idle_after: 90",
                &[
                    "topics.idle_after: found `90`, expected a time from `1m` to `365d`, such as `90s`, `2h` or `14d` (line 2)",
                ],
            ),
            (
                "topics:\n  idle_after: 30s",
                &[
                    "topics.idle_after: found `30s`, expected a time from `1m` to `365d`, such as `90s`, `2h` or `14d` (line 2)",
                ],
            ),
            (
                "topics: {idle_after: 3h, closed_after: 2h}",
                &[
                    "topics.closed_after: expected a longer time than `topics.idle_after`: a topic goes idle first (line 1)",
                ],
            ),
            (
                "topics:\n  closed_after: 1h",
                &[
                    "topics.closed_after: expected a longer time than `topics.idle_after`: a topic goes idle first (line 2)",
                ],
            ),
            (
                "topics:\n  several_topics: yes",
                &["topics.several_topics: found `yes`, expected `true` or `false` (line 2)"],
            ),
            (
                "topics:\n  several_topics: ''",
                &["topics.several_topics: found an empty text, expected `true` or `false` (line 2)"],
            ),
            (
                "topics:\n  during_turn: inject later",
                &["topics.during_turn: found `inject later`, expected `inject`, `queue` or `interrupt`; \
             did you mean `inject`? (line 2)"],
            ),
            ("topics: many", &["topics: found a single value, expected a mapping (`key: value`) (line 1)"]),
            (
                "attachments:\n  size_max: 10mb",
                &[
                    "attachments.size_max: found `10mb`, expected a size from `0B` to `1GB`, such as `500KB` or `10MB` (line 2)",
                ],
            ),
            (
                "attachments:\n  types: image/png",
                &["attachments.types: found a single value, expected a list such as `[a, b]` (line 2)"],
            ),
            (
                "attachments:\n  types:\n  - image/png\n  - pdf\n  - [a]",
                &[
                    "attachments.types[1]: found `pdf`, expected a media type such as `application/pdf` or `image/*` (line 4)",
                    "attachments.types[2]: found a list, expected a media type such as `application/pdf` or `image/*` (line 5)",
                ],
            ),
            (
                "budgets:\n  hive_daily_usd: $5",
                &[
                    "budgets.hive_daily_usd: found `$5`, expected an amount of US dollars from 0 to 1000000 such as `2.50`, \
             with at most 6 decimals (line 2)",
                ],
            ),
            (
                "outbox:\n  ambiguous: resend",
                &[
                    "outbox.ambiguous: found `resend`, expected `resend_marked` or `report`; did you mean `resend_marked`? \
             (line 2)",
                ],
            ),
        ],
    );
}

#[test]
fn keys_that_nobody_knows() {
    check(
        "config.yaml",
        &[
            ("topic:\n  active_max: 5", &["topic: is no key; did you mean `topics`? (line 1)"]),
            ("session:\n  maxSteps: 5", &["session.maxSteps: is no key; did you mean `max_steps`? (line 2)"]),
            (
                "outbox:\n  retries: 5",
                &["outbox.retries: is no key; known here: `ambiguous` and `give_up_after` (line 2)"],
            ),
            ("? [a, b]\n: c", &["found a key that is no text, expected a name (line 1)"]),
            (
                "outbox:\n  <<: {}\n",
                &["outbox.\"<<\": is no key; known here: `ambiguous` and `give_up_after` (line 2)"],
            ),
            (
                "outbox:\n  \"a.b\\n\": 1\n",
                &["outbox.\"a.b\\n\": is no key; known here: `ambiguous` and `give_up_after` (line 2)"],
            ),
        ],
    );
}

#[test]
fn text_that_is_not_one_mapping() {
    check(
        "config.yaml",
        &[
            ("- a", &["found a list, expected a mapping (`key: value`) (line 1)"]),
            ("just words", &["found a single value, expected a mapping (`key: value`) (line 1)"]),
            ("log_level: info\n---\nlog_level: warn", &["found a second document (`---`), expected one (line 2)"]),
            ("log_level: info\nlog_level: warn", &["log_level: is there twice: first in line 1 (line 2)"]),
            (
                "topics:\n  active_max: 5\n  idle_after: 1h\n  active_max: 5",
                &["topics.active_max: is there twice: first in line 2 (line 4)"],
            ),
            (
                "log_level: !level info",
                &[
                    "log_level: found a tag (`!…`), which means nothing here; put a value that begins with `!` in quotes (line 1)",
                ],
            ),
            ("topics: &a\n  b: *a", &["an alias stands inside its own anchor (line 2)"]),
            ("topics: *a", &["is not YAML from column 9 on: while parsing node, found unknown anchor (line 1)"]),
            ("topics: [", &["is not YAML from column 9 on: unclosed bracket '[' (line 1)"]),
            ("a: b: c", &["is not YAML from column 5 on: mapping values are not allowed in this context (line 1)"]),
            (
                "topics:\n\tactive_max: 5",
                &["is not YAML from column 2 on: tabs disallowed within this context (block indentation) (line 2)"],
            ),
        ],
    );
}

#[test]
fn a_file_that_is_no_text() {
    let faults = Written::nothing().file("config.yaml", b"log_level: \xff").faults();
    assert_eq!(faults, ["config.yaml: is not UTF-8 from byte 12 on"]);
    let faults = Written::nothing().file("config.yaml", vec![b'#'; 2 << 20]).faults();
    assert_eq!(faults, ["config.yaml: has more than 1048576 bytes"]);
    let faults = Written::nothing().file("rules/tone.md", b"\xff\xfe").faults();
    assert_eq!(faults, ["rules/tone.md: is not UTF-8 from byte 1 on"]);
    let faults = Written::nothing().file("channels.yaml/x", "").faults();
    assert_eq!(faults, ["channels.yaml: cannot be read: Is a directory (os error 21)"]);
}

#[test]
fn a_file_whose_name_is_a_little_off() {
    let written = file("channels.yml", "").file("Config.yaml", "").file("provider.yaml", "").file("notes.yaml", "");
    assert_eq!(
        written.faults(),
        [
            "Config.yaml: is not read; did you mean `config.yaml`?",
            "channels.yml: is not read; did you mean `channels.yaml`?",
            "provider.yaml: is not read; did you mean `providers.yaml`?",
        ]
    );
}

#[test]
fn a_few_lines_that_stand_for_billions_of_values() {
    let mut text = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (name, of) in ["b", "c", "d", "e", "f", "g", "h", "i"].iter().zip(["a", "b", "c", "d", "e", "f", "g", "h"]) {
        text += &format!("{name}: &{name} [*{of}, *{of}, *{of}, *{of}, *{of}, *{of}, *{of}, *{of}, *{of}]\n");
    }
    assert_eq!(
        file("config.yaml", &text).faults(),
        ["config.yaml: stands for more than 20000 values, aliases followed (line 5)"]
    );
    let mut deep = "a: &a0 [x]\n".to_owned();
    for number in 0..30 {
        deep += &format!("b{number}: &a{} [*a{number}]\n", number + 1);
    }
    assert_eq!(
        file("config.yaml", &deep).faults(),
        ["config.yaml: is nested more than 24 levels deep, aliases followed (line 23)"]
    );
    let faults = file("config.yaml", &("[".repeat(100_000))).faults();
    assert_eq!(faults, ["config.yaml: is not YAML from column 25 on: recursion limit exceeded (line 1)"]);
}

#[test]
fn places_and_answers_in_channels_yaml() {
    check(
        "channels.yaml",
        &[
            ("discrod:\n  answer: always", &["discrod: is no key; did you mean `discord`? (line 1)"]),
            (
                "discord:\n  answer: mention",
                &[
                    "discord.answer: found `mention`, expected `always`, `mentioned` or `never`; did you mean `mentioned`? (line 2)",
                ],
            ),
            (
                "discord:\n  rooms:\n    general: always",
                &["discord.rooms.general: the key: found `general`, expected a Discord channel id: digits such as \
             `123456789012345678` (line 3)"],
            ),
            (
                "discord:\n  rooms:\n    123: allways",
                &[
                    "discord.rooms.123: found `allways`, expected `always`, `mentioned` or `never`; did you mean `always`? (line 3)",
                ],
            ),
            (
                "discord:\n  rooms:\n    123: always\n    discord:123: never",
                &[
                    "discord.rooms.\"discord:123\": names the same place as an earlier key: keep one of the two (line 4)",
                ],
            ),
            (
                "discord:\n  watched_channels: [1, 1.5e18, 0123, telegram:5]",
                &[
                    "discord.watched_channels[1]: found `1.5e18`, expected a Discord channel id: digits such as \
             `123456789012345678` (line 2)",
                    "discord.watched_channels[2]: found `0123`, expected a Discord channel id: digits such as \
             `123456789012345678` (line 2)",
                    "discord.watched_channels[3]: found `telegram:5`, expected a Discord channel id: digits such as \
             `123456789012345678` (line 2)",
                ],
            ),
            (
                "telegram:\n  rooms:\n    -100/0: always",
                &[
                    "telegram.rooms.-100/0: the key: found `-100/0`, expected a Telegram chat id such as `-1001234567890`, \
             or `-1001234567890/7` for a forum topic (line 3)",
                ],
            ),
            (
                "telegram:\n  watched_channels: [1]",
                &["telegram.watched_channels: is no key; known here: `token`, `answer` and `rooms` (line 2)"],
            ),
        ],
    );
}

#[test]
fn who_may_speak() {
    check(
        "channels.yaml",
        &[
            (
                "trust:\n  default_policy: alow",
                &["trust.default_policy: found `alow`, expected `allow` or `deny`; did you mean `allow`? (line 2)"],
            ),
            (
                "trust:\n  channels:\n    telegramm:\n      policy: deny",
                &["trust.channels.telegramm: is no key; did you mean `telegram`? (line 3)"],
            ),
            (
                "trust:\n  channels:\n    cli:\n      policy: deny",
                &["trust.channels.cli: is no key; known here: `discord`, `telegram`, `console` and `web` (line 3)"],
            ),
            (
                "trust:\n  channels:\n    discord:\n      policy: maybe\n      polcy: deny\n",
                &[
                    "trust.channels.discord.policy: found `maybe`, expected `allow` or `deny` (line 4)",
                    "trust.channels.discord.polcy: is no key; did you mean `policy`? (line 5)",
                ],
            ),
            (
                "trust:\n  channels:\n    discord:\n      sender_allowlist: [1, 2]\n      sender_denylist: [2]\n",
                &[
                    "trust.channels.discord.sender_denylist: `2` is in `sender_allowlist` as well: keep one of the two (line 5)",
                ],
            ),
            (
                "trust:\n  channels:\n    discord:\n      sender_allowlist: 1\n",
                &[
                    "trust.channels.discord.sender_allowlist: found a single value, expected a list such as `[a, b]` (line 4)",
                ],
            ),
            (
                "trust:\n  channels:\n    discord:\n      sender_allowlist: [alice#1234]\n",
                &[
                    "trust.channels.discord.sender_allowlist[0]: found `alice#1234`, expected a Discord user id: digits such as \
             `123456789012345678` (line 4)",
                ],
            ),
            (
                "trust:\n  channels:\n    telegram:\n      channel_overrides:\n        -5: {}\n        x: {policy: allow}\n",
                &[
                    "trust.channels.telegram.channel_overrides.-5.policy: is missing, expected `allow` or `deny` (line 5)",
                    "trust.channels.telegram.channel_overrides.x: the key: found `x`, expected a Telegram chat id such as \
             `-1001234567890`, or `-1001234567890/7` for a forum topic (line 6)",
                ],
            ),
            (
                "trust:\n  channels:\n    telegram:\n      channel_overrides:\n        -5: allow\n",
                &[
                    "trust.channels.telegram.channel_overrides.-5: found a single value, expected a mapping (`key: value`) (line 5)",
                ],
            ),
        ],
    );
    let denied = file("channels.yaml", "trust:\n  channels:\n    telegram:\n      sender_denylist: [telegram:7]\n");
    assert_eq!(
        denied.variable("HIVE_ADMINS", "discord:7,telegram:7").faults(),
        [
            "channels.yaml: trust.channels.telegram.sender_denylist: `7` is one of HIVE_ADMINS: keep one of the two (line 4)"
        ]
    );
}

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
fn profiles() {
    let with = |profile: &str| format!("profiles:\n  main: {{{profile}}}\n");
    let cases: &[(&str, &[&str])] = &[
        (
            "",
            &[
                "profiles.main.api_key: is missing: set the variable ANTHROPIC_API_KEY, or give `api_key` or `api_key_env` (line 2)",
            ],
        ),
        (
            "provider: openai",
            &[
                "profiles.main.api_key: is missing: set the variable OPENAI_API_KEY, or give `api_key` or `api_key_env` (line 2)",
            ],
        ),
        (
            "api_key_env: SOME_KEY",
            &["profiles.main.api_key_env: the variable SOME_KEY is not set, expected the key in it (line 2)"],
        ),
        (
            "type: oauth",
            &[
                "profiles.main.oauth_token_env: is missing, expected the name of the variable that holds the token (line 2)",
            ],
        ),
        (
            "type: oauth, oauth_token_env: SOME_TOKEN",
            &["profiles.main.oauth_token_env: the variable SOME_TOKEN is not set, expected the key in it (line 2)"],
        ),
        (
            "type: oauth, oauth_token_env: BOTH, api_key: x",
            &[
                "profiles.main.api_key: belongs to `type: api`, which this profile does not have (line 2)",
                "profiles.main.oauth_token_env: the variable BOTH is not set, expected the key in it (line 2)",
            ],
        ),
        (
            "api_key: x, api_key_env: Y",
            &["profiles.main.api_key_env: stands beside `api_key`: keep one of the two (line 2)"],
        ),
        (
            "api_key: x, provider: antropic",
            &[
                "profiles.main.provider: found `antropic`, expected `anthropic` or `openai`; did you mean `anthropic`? (line 2)",
            ],
        ),
        (
            "api_key: x, model: a b",
            &[
                "profiles.main.model: found `a b`, expected the provider's name of a model, without white space (line 2)",
            ],
        ),
        (
            "api_key: x, context_window: -1",
            &["profiles.main.context_window: found `-1`, expected a whole number from 1000 to 100000000 (line 2)"],
        ),
        (
            "api_key: x, context_window: 30000, max_output_tokens: 30000",
            &["profiles.main.max_output_tokens: expected less than the context window of 30000 tokens (line 2)"],
        ),
        (
            "api_key: x, context_window: 15000",
            &[
                "profiles.main.context_window: expected more than `session.context_reserve_tokens` of config.yaml, 20000",
            ],
        ),
        (
            "api_key: x, prices: {input: 3}",
            &["profiles.main.prices.output: is missing, expected US dollars per million tokens (line 2)"],
        ),
        (
            "api_key: x, fallback: [man, 'main', 'main:', main:other, main:other]",
            &[
                "profiles.main.fallback[0]: there is no profile `man`; did you mean `main`? (line 2)",
                "profiles.main.fallback[1]: names the profile that it stands in (line 2)",
                "profiles.main.fallback[2]: found `main:`, expected a model after the colon (line 2)",
                "profiles.main.fallback[4]: names `main:other` a second time (line 2)",
            ],
        ),
    ];
    for (profile, expected) in cases {
        check("providers.yaml", &[(&with(profile), expected)]);
    }
}

#[test]
fn references_between_profiles() {
    check(
        "providers.yaml",
        &[
            (
                "default: mian\nclassifier: other\nprofiles:\n  main: {api_key: x}\n  small: {api_key: x}\n",
                &[
                    "default: there is no profile `mian`; did you mean `main`? (line 1)",
                    "classifier: there is no profile `other`; known here: `main` and `small` (line 2)",
                ],
            ),
            (
                "default: main",
                &["default: there is no profile `main`; there are none: set ANTHROPIC_API_KEY or OPENAI_API_KEY, \
             or write `profiles` (line 1)"],
            ),
            (
                "profiles:\n  'a b': {api_key: x}\n",
                &[
                    "profiles.\"a b\": the name: found `a b`, expected a name of letters, digits, `_`, `-` and `.`, at most 60 \
             (line 2)",
                ],
            ),
            (
                "profiles:\n  a: {api_key: x, fallback: [b]}\n  b: {api_key: x, fallback: [d, 'c:m']}\n\
             \x20 c: {api_key: x, fallback: [a]}\n  d: {api_key: x}\n  e: {api_key: x, fallback: [f]}\n\
             \x20 f: {api_key: x, fallback: [e]}\n",
                &[
                    "profiles.c.fallback[0]: closes a circle: a → b → c → a (line 4)",
                    "profiles.f.fallback[0]: closes a circle: e → f → e (line 7)",
                ],
            ),
        ],
    );
    check_variable(
        "HIVE_MODEL",
        &[
            (
                "openai:gpt-5",
                "there is no profile `openai`; there are none: set ANTHROPIC_API_KEY or OPENAI_API_KEY, or write `profiles`",
            ),
            ("a b", "found `a b`, expected a profile, or `profile:model`"),
        ],
    );
}

#[test]
fn a_budget_in_dollars_needs_prices() {
    let priceless = "profiles:\n  main: {api_key: x, model: some-model}\n";
    let written = file("config.yaml", "budgets: {hive_daily_usd: 5}\n").file("providers.yaml", priceless);
    assert_eq!(
        written.faults(),
        [
            "providers.yaml: profiles.main.prices: nobody knows the price of `some-model`, and config.yaml has a budget in US dollars"
        ]
    );
    let written = file("config.yaml", "budgets: {hive_daily_tokens: 5}\n").file("providers.yaml", priceless);
    assert_eq!(written.faults(), Vec::<String>::new());
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
         config.yaml: foo: is no key; known here: `log_level`, `log_format`, `topics`, `session`, `budgets`, `replies`, \
         `outbox`, `attachments`, `retention` and `stop_grace` (line 4)\n  \
         channels.yaml: trust.default_policy: found `no`, expected `allow` or `deny` (line 2)\n  \
         channels.yaml: trust.channels.irc: is no key; known here: `discord`, `telegram`, `console` and `web` (line 4)\n  \
         providers.yaml: profiles.main.api_key: is missing: set the variable ANTHROPIC_API_KEY, or give `api_key` or \
         `api_key_env` (line 2)\n  \
         providers.yaml: profiles.main: is there twice: first in line 2 (line 3)",
        written.data().display()
    );
    assert_eq!(shown, expected);
}
