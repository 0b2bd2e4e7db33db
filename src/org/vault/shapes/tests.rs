//! Secrets by shape: a table of what is one and what is none, and rules that others have published.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::json;

use super::*;

/// Put together here, so that no scanner takes this file for one with secrets.
fn token(begin: &str, rest: &str) -> String {
    format!("{begin}{rest}")
}

#[test]
fn every_form_compiles_and_no_word_stands_in_upper_case() {
    for (number, rule) in RULES.rules.iter().enumerate() {
        RULES.regex(number);
        assert!(rule.entropy >= 1.0, "{}", rule.name);
    }
    let words =
        TOKENS.iter().chain(SURROUNDED).flat_map(|shape| shape.words).chain(PRODUCTS.iter().flat_map(|p| p.words));
    words.for_each(|word| assert_eq!(*word, word.to_lowercase()));
    assert!(RULES.rules.len() > 150);
}

#[test]
fn secrets_are_found_by_their_shape() {
    let random = "a8F3kd02Lx9qPzR7vB1nM4tYw6HjKc5sD0eG";
    let hex = "9f86d081884c7d659a2feaa0c55ad015";
    for (text, rule) in [
        (token("ghp_", random), "github-token"),
        (format!("https://x:{}@github.com/a/b", token("ghp_", random)), "github-token"),
        (format!("{{\\\"token\\\": \\\"{}\\\"}}", token("glpat-", &random[..20])), "gitlab-token"),
        (token("AKIA", "QYLPMN5HHHFPZAM2"), "aws-access-token"),
        (
            format!("aws_secret_access_key = {}", token("wJalrXUtnFEMI/K7MDENG/", "bPxRfiCYzR4nd0mKEY")),
            "aws-secret-key",
        ),
        (token("-----BEGIN RSA PRIVATE ", &format!("KEY-----\nMIIEow{random}\n{random}{random}\n")), "private-key"),
        (
            token(
                "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.",
                "eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvIn0.dBjftJeZ4CVPmB92K27uhbUJU1p1r",
            ),
            "jwt",
        ),
        (token("sk-ant-api03-", &format!("{random}{random}{random}AA")), "anthropic-api-key"),
        (token("xoxb-", "123456789012-1234567890123-a8F3kd02Lx9qPzR7vB1nM4tY"), "slack-token"),
        (token("123456789:A", "AHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw9"), "telegram-bot-api-token"),
        (format!("DATADOG_API_KEY={}", &hex[..32]), "datadog-access-token"),
        (format!("heroku: {}-1234-4abc-8def-{}", &hex[..8], &hex[..12]), "heroku-api-key"),
        (format!("const apiKey = \"{random}\";"), "generic-api-key"),
        (format!("password: {random}\n"), "generic-api-key"),
        (format!("\"client_secret\":\"{random}\""), "generic-api-key"),
        ("postgres://app:9fK2-x7Lq_vT@db.internal:5432/app".to_owned(), "url-credentials"),
        (format!("curl -H 'Authorization: Bearer {random}' https://a.example"), "authorization-header"),
        (format!("curl -u admin:{} https://a.example", &random[..12]), "curl-auth-user"),
        (
            "kind: Secret\nmetadata:\n  name: x\ndata:\n  password: czNjcjN0LXY0bHVlMTIz\n".to_owned(),
            "kubernetes-secret-yaml",
        ),
    ] {
        let found = find(&text);
        assert_eq!(found.iter().map(|finding| finding.rule).collect::<Vec<_>>(), [rule], "{text}");
    }
}

#[test]
fn what_is_no_secret_is_left_alone() {
    for text in [
        "",
        "The access token is kept in the vault; ask an admin for the key to it.",
        "risk-management-dashboard-team and task-sk-learn-something-longer-than-twenty",
        "Bearer of good news: the password policy was changed on 2024-11-21.",
        "password = \"${DB_PASSWORD}\"; token: {{secret:API_KEY}}; key = <your-api-key>; secret=$SECRET",
        "api_key = process.env.API_KEY_2",
        "const token = await getAccessTokenFromVault2();",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "id: 123e4567-e89b-12d3-a456-426614174000",
        "page_token=CDIQAA1x9Zk3 next_token: a8F3kd02Lx9qPzR7vB1n",
        "public_key = \"a8F3kd02Lx9qPzR7vB1n\"",
        "key_id = a8F3kd02Lx9qPzR7vB1n",
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "-----BEGIN PRIVATE KEY-----",
        "https://user:password@localhost/ and https://example.com:8443/path@2",
        "https://docs.rs/secrecy/latest/secrecy/struct.SecretBox.html",
        "curl -u user:pass https://a.example and curl -H 'Accept: application/json' https://a.example",
        "import { accessToken } from '@scope/token-provider-3';",
        "let tokens_max = 1234567890123;",
        "monkey = \"a8F3kd02Lx9qPzR7\"",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    ] {
        assert_eq!(find(text), [], "{text}");
    }
}

#[test]
fn a_finding_tells_where_it_is() {
    let text = format!("first\nsecond {} end\n", token("npm_", "a8F3kd02Lx9qPzR7vB1nM4tYw6HjKc5sD0eG"));
    let found = find(&text);
    assert_eq!((found.len(), found[0].line, &text[found[0].place.clone()][..4]), (1, 2, "npm_"));
}

#[test]
fn a_verdict_names_the_rule_and_never_the_secret() {
    let secret = token("npm_", "a8F3kd02Lx9qPzR7vB1nM4tYw6HjKc5sD0eG");
    for (input, decision, rule, detail) in [
        (json!({"id": 1, "text": "hello"}), "allow", None, "no secret found"),
        (
            json!({"id": 2, "text": format!("a\n{secret}")}),
            "refuse",
            Some("npm-access-token"),
            "npm-access-token in line 2",
        ),
        (json!({"id": 3, "content": secret}), "refuse", Some("npm-access-token"), "npm-access-token in line 1"),
        (
            json!({"id": 4, "text": "cGxhaW4td29yZHM=", "known": ["plain-words"]}),
            "refuse",
            Some("known-secret"),
            "a known secret stands in the text",
        ),
        (json!({"id": 5, "path": "certs/ID.p12"}), "refuse", Some("pkcs12-file"), "a file of this kind holds keys"),
        (json!({"id": 6}), "error", None, "text: is missing"),
        (json!({"id": 7, "text": 7}), "error", None, "text: expected a text"),
        (json!({"id": 8, "text": "", "known": [1]}), "error", None, "known[0]: expected a text"),
        (json!([9]), "error", None, "expected a JSON object"),
    ] {
        let id = input.get("id").cloned().unwrap_or_default();
        let expected = json!({"id": id, "decision": decision, "rule": rule, "detail": detail});
        assert_eq!(verdict(&input), expected);
        assert!(!verdict(&input).to_string().contains(&secret));
    }
}

proptest! {
    #[test]
    fn any_text_gets_a_verdict_and_places_that_are_in_it(text in "(\\PC|[ -~\n]){0,300}", key in "(key|token|sk-|ghp_|curl -u |://){0,3}") {
        let text = format!("{key}{text}");
        let found = find(&text);
        prop_assert!(found.iter().all(|finding| text.get(finding.place.clone()).is_some()));
        prop_assert!(found.windows(2).all(|two| two[0].place.end <= two[1].place.start));
    }
}

/// A rule of the published set.
struct Published {
    id: String,
    form: String,
    entropy: f64,
    group: Option<usize>,
}

/// Reads `id`, `regex`, `entropy` and `secretGroup` of each rule: one line each, as that file has them.
fn published(toml: &str) -> Vec<Published> {
    let of = |block: &str, key: &str| -> Option<String> {
        let line = block.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix('='))?;
        Some(line.trim().trim_matches('\'').trim_matches('"').to_owned())
    };
    let rule = |block: &str| {
        // What only holds for files of a certain name cannot be told by a text.
        let own = block.split("[[rules.allowlists]]").next().unwrap_or_default();
        let form = of(own, "regex").filter(|_| of(own, "path").is_none())?;
        let entropy = of(own, "entropy").map_or(0.0, |text| text.parse().unwrap());
        let group = of(own, "secretGroup").map(|text| text.parse().unwrap());
        Some(Published { id: of(own, "id")?, form, entropy, group })
    };
    toml.split("[[rules]]").skip(1).filter_map(rule).collect()
}

/// A text of this form in which nothing but ASCII stands.
fn example(form: &str, runner: &mut TestRunner) -> Option<String> {
    // Dots that stand for themselves, though the rule says any character.
    let mut form = form
        .replace("hooks.slack.com", r"hooks\.slack\.com")
        .replace(".contribsys.com", r"\.contribsys\.com")
        .replace("xoxe.xox", r"xoxe\.xox");
    for (zero_width, nothing) in
        [(r"\b", ""), (r"\z", ""), (r"|\B", ""), (r"\B|", ""), ("|$", ""), ("$|", ""), ("^|", ""), ("(?:^", "(?:")]
    {
        form = form.replace(zero_width, nothing);
    }
    let text = proptest::string::string_regex(&form).ok()?.new_tree(runner).ok()?.current();
    let plain = |(at, c): (usize, char)| match c {
        c if c.is_ascii() => c,
        c if c.is_numeric() => char::from(b'0' + (c as usize % 10) as u8),
        c if c.is_whitespace() => ' ',
        c => char::from(b"abcdefghijklmnopqrstuvwxyz"[(c as usize + at) % 26]),
    };
    Some(text.chars().enumerate().map(plain).collect())
}

#[test]
fn what_published_rules_find_is_found() {
    let Some(path) = fakes::testset("secrets/gitleaks.toml") else { return };
    let rules = published(&std::fs::read_to_string(path).unwrap());
    assert!(rules.len() > 200, "{} rules were read", rules.len());
    let mut runner = TestRunner::deterministic();
    let (mut made, mut missed) = (0, Vec::new());
    for rule in &rules {
        let regex = ascii(&rule.form).unwrap();
        let mut of_rule = 0;
        for _ in 0..6 {
            let Some(text) = example(&rule.form, &mut runner) else { continue };
            let Some(captures) = regex.captures(text.as_bytes()) else { continue };
            let group = rule.group.unwrap_or(1);
            let secret = captures.get(group).or_else(|| captures.get(0)).unwrap().range();
            let secret = &text[secret];
            // What the published set would not report either: too little entropy, or a stop word of its own.
            if entropy(secret) < rule.entropy || random::is_example(secret) {
                continue;
            }
            (made, of_rule) = (made + 1, of_rule + 1);
            if find(&text).is_empty() {
                missed.push(format!("{}: {text}", rule.id));
            }
        }
        if of_rule == 0 {
            eprintln!("no example of {}", rule.id);
        }
    }
    let shown: Vec<_> = missed.iter().map(|text| base::text::cut(text, 240)).collect();
    // Some of their forms are wider than what they mean (a bare SHA-1, a key's title in mixed case): those we leave.
    assert!(missed.len() * 50 <= made, "{} of {made} missed:\n{}", missed.len(), shown.join("\n"));
}
