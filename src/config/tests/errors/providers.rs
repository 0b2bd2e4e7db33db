//! Faults in `providers.yaml`.

use super::super::file;
use super::{check, check_variable};

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
                "profiles:\n  offline: {api_key: x}\n",
                &["profiles.offline: is the name of the built-in model: take another one (line 2)"],
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
