//! Faults in `config.yaml`, and in files as such.

use super::super::{Written, file};
use super::check;

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
            (
                "team:\n  memory_embedding: main",
                &[
                    "team.memory_embedding: found `main`, expected `profile:model` with a model that makes vectors (line 2)",
                ],
            ),
            ("team:\n  memory_embedding: nobody:vectors", &["team.memory_embedding: there is no profile `nobody`"]),
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
