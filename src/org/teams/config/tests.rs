//! What a team's configuration says, and what is said where it says nothing.

use super::*;
use crate::teams::forms;

fn read(text: &str) -> Result<TeamConfig, String> {
    TeamConfig::parse("config.yaml", text).map_err(|fault| fault.to_string())
}

#[test]
fn an_empty_file_grants_nothing() {
    for text in ["", "\n", "# nothing\n", "{}", "~"] {
        assert_eq!(read(text), Ok(TeamConfig::default()), "{text:?}");
    }
    let config = TeamConfig::default();
    assert!(config.allowed_tools.is_empty() && !config.shell_network && config.browser.is_none());
    assert_eq!((config.max_steps, config.max_concurrent_daily_ops), (100, 5));
}

#[test]
fn every_key_means_something() {
    let config = read(EVERY_KEY).unwrap();
    assert_eq!(config.name, Some("ops".parse().unwrap()));
    assert_eq!(config.description, "Runs things: all of them");
    assert_eq!(config.max_steps, 20);
    assert_eq!(config.rate_limit_buckets["plain"], Bucket { rps: 1.0, burst: 1 });
    assert_eq!(config.allowed_domains.as_ref().unwrap()[0], "status.example.org");
    assert_eq!(config.budgets, Budgets { daily_usd: Some(2.5), daily_tokens: Some(1_000) });
    // What is written is read again as the same.
    assert_eq!(read(&config.to_yaml().unwrap()), Ok(config));
}

#[test]
fn texts_that_look_like_something_else_stay_texts() {
    for description in ["yes", "null", "~", "12", "a: b", "# no", "'", "\"", "- x", "&a", "*", "line\nline", "é{}[]"] {
        let name = "007".parse().unwrap();
        let config = TeamConfig::of_new_team(&name, &TeamName::main(), description);
        let yaml = config.to_yaml().unwrap();
        assert_eq!(read(&yaml), Ok(config), "{yaml}");
    }
}

#[test]
fn faults_name_file_line_key_and_what_is_wanted() {
    let told = |text: &str| read(text).unwrap_err();
    for (text, place, wanted) in [
        ("name: ops\nmax_steps: many\n", "config.yaml:2: `max_steps`: ", ""),
        ("max_steps: 0", "config.yaml:1: `max_steps`: ", "0 is not a whole number from 1 to 500"),
        ("max_concurrent_daily_ops: 1.5", "config.yaml:1: `max_concurrent_daily_ops`: ", ""),
        ("name: Ops Team", "config.yaml:1: `name`: ", "`Ops Team` is not a team name"),
        ("\nallowed_tools: [a b]", "config.yaml:2: `allowed_tools`: ", "`a b` is not a tool's name or a pattern"),
        ("allowed_tools: x", "config.yaml:1: `allowed_tools`: ", ""),
        ("budgets:\n  daily_usd: -1", "config.yaml:2: `budgets.daily_usd`: ", "expected an amount"),
        (
            "rate_limit_buckets:\n  a:\n    rps: 0",
            "config.yaml:3: `rate_limit_buckets.a.rps`: ",
            "expected a number from 0.0001",
        ),
        ("credentials: {a: b}", "config.yaml:1", "unknown field `credentials`, expected one of name"),
        ("name: a\nname: b", "config.yaml:2", "duplicate"),
        ("name: [", "config.yaml:1", ""),
        ("- a", "config.yaml", ""),
        ("max_step: 5", "config.yaml:1", "there is no key `max_step`: did you mean `max_steps`?"),
        ("\nbudgets: {daily_used: 5}", "config.yaml:2", "there is no key `daily_used`: did you mean `daily_usd`?"),
        ("browser: {timeout: 5}", "config.yaml:1", "there is no key `timeout`: did you mean `timeout_ms`?"),
        ("allowed_domains: [999.1.1.1]", "config.yaml:1: `allowed_domains", "`999.1.1.1` is not a host"),
        (
            "memory_embedding: 'a:'",
            "config.yaml:1: `memory_embedding`",
            "`a:` is not a profile's name such as `vectors`",
        ),
        ("a: &a [x]\nb: *a", "config.yaml:1", "unknown field `a`"),
    ] {
        let said = told(text);
        assert!(said.starts_with(place), "{text:?}: {said}");
        assert!(said.contains(wanted) && said.len() < 400 && !said.contains('\n'), "{text:?}: {said}");
        assert!(said.len() > place.len() + 5, "{text:?}: {said}");
    }
}

#[test]
fn few_lines_cannot_stand_for_millions_of_values() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let one = format!("*a{}", level - 1);
        bomb.push_str(&format!("a{level}: &a{level} [{}]\n", vec![one; 10].join(", ")));
    }
    bomb.push_str("allowed_tools: *a8\n");
    assert!(read(&bomb).is_err());
    let deep = format!("description: {}{}", "[".repeat(200), "]".repeat(200));
    assert!(read(&deep).is_err());
    assert!(read(&format!("description: {}", "x".repeat(FILE_BYTES_MAX))).unwrap_err().contains("bytes"));
}

#[test]
fn what_is_no_text_names_its_line() {
    let told = |bytes: &[u8]| text_of("config.yaml", bytes.to_vec()).map_err(|fault| fault.to_string());
    assert_eq!(
        told(b"name: a\ndescription: \xe9").unwrap_err(),
        "config.yaml:2: it is not UTF-8 from here on: save it as UTF-8"
    );
    let long = "é".repeat(FILE_BYTES_MAX);
    assert_eq!(
        told(&long.as_bytes()[..=FILE_BYTES_MAX]).unwrap_err(),
        "config.yaml: it has more than 65536 bytes: shorten it"
    );
    assert_eq!(told(b"\xef\xbb\xbfname: a\r\n").unwrap(), "name: a\n");
}

#[test]
fn a_parent_like_the_main_team_may_give_every_key_away() {
    let root = TeamConfig {
        allowed_tools: vec!["*".to_owned()],
        browser: Some(Browser::default()),
        mcp_servers: vec!["*".to_owned()],
        shell_network: true,
        ..TeamConfig::default()
    };
    let child = read(EVERY_KEY).unwrap();
    assert_eq!(child.excess(&root), []);
    let force = child.within(&root);
    assert_eq!((&force.browser, &force.mcp_servers), (&child.browser, &child.mcp_servers));
    assert_eq!((&force.memory_embedding, &force.provider_profile), (&child.memory_embedding, &child.provider_profile));
}

/// Every key, with a value that is not its default.
const EVERY_KEY: &str = "
name: ops
parent: main
description: 'Runs things: all of them'
allowed_tools: ['*', ops.*]
toolboxes: [ops]
provider_profile: cheap
maxSteps: 20
max_concurrent_daily_ops: 2
rate_limit_buckets:
  status: {rps: 0.5, burst: 3}
  plain: {}
allowed_domains: [Status.Example.org, '*.example.net']
browser: {allowed_domains: [status.example.org], timeout_ms: 5000}
mcp_servers: [github]
budgets: {daily_usd: 2.5, daily_tokens: 1000}
shell_network: true
memory_embedding: small
";

/// The manual's table of keys: each with its default.
fn keys_of_manual() -> BTreeMap<String, String> {
    let manual = include_str!("../../../../docs/teams.md");
    let part = manual.split("## What a team may do").nth(1).unwrap().split("\n## ").next().unwrap();
    let mut keys = BTreeMap::new();
    for line in part.lines() {
        let [key, default, _] = line.split(" | ").collect::<Vec<_>>()[..] else { continue };
        let Some(key) = key.strip_prefix("| `").and_then(|key| key.strip_suffix('`')) else { continue };
        let default = if default == "–" { "" } else { default.trim_matches('`') };
        assert!(keys.insert(key.to_owned(), default.to_owned()).is_none(), "`{key}` is there twice");
    }
    keys
}

/// The keys of a file, those of buckets under `<key>`.
fn keys_of(config: &TeamConfig) -> BTreeMap<String, String> {
    fn walk(path: &str, value: &serde_json::Value, found: &mut BTreeMap<String, String>) {
        let serde_json::Value::Object(fields) = value else {
            found.insert(path.to_owned(), value.to_string().replace('"', ""));
            return;
        };
        for (key, value) in fields {
            let key = if path == "rate_limit_buckets" { "<key>" } else { key.as_str() };
            walk(format!("{path}.{key}").trim_start_matches('.'), value, found);
        }
    }
    let mut found = BTreeMap::new();
    walk("", &serde_json::to_value(config).unwrap(), &mut found);
    found
}

#[test]
fn the_manual_lists_every_key_with_its_default_and_no_other() {
    let config = read(EVERY_KEY).unwrap();
    // A field more is a line more here, and in the text above.
    let TeamConfig {
        name: Some(_),
        parent: Some(_),
        description: _,
        allowed_tools: _,
        toolboxes: Some(_),
        provider_profile: Some(_),
        max_steps: _,
        max_concurrent_daily_ops: _,
        rate_limit_buckets: _,
        allowed_domains: Some(_),
        browser: Some(browser),
        mcp_servers: _,
        budgets: Budgets { daily_usd: Some(_), daily_tokens: Some(_) },
        shell_network: _,
        memory_embedding: Some(_),
    } = &config
    else {
        panic!("a key is missing: {config:?}")
    };
    assert!(browser.allowed_domains.is_some() && config.rate_limit_buckets.len() == 2);
    let manual = keys_of_manual();
    let (known, written) = (keys_of(&config), manual.keys().collect::<Vec<_>>());
    assert!(known.len() > 15, "{known:?}");
    assert_eq!(written, known.keys().collect::<Vec<_>>());
    // What an empty file says, and what is said of an empty bucket and an empty browser.
    let empty = TeamConfig {
        browser: Some(Browser::default()),
        rate_limit_buckets: [("k".to_owned(), read(EVERY_KEY).unwrap().rate_limit_buckets["plain"])].into(),
        ..TeamConfig::default()
    };
    let mut defaults = keys_of(&empty);
    defaults
        .extend(known.keys().filter(|key| !keys_of(&empty).contains_key(*key)).map(|key| (key.clone(), String::new())));
    defaults.insert("mcp_servers".to_owned(), "[]".to_owned());
    for (key, default) in &mut defaults {
        // Numbers as people write them.
        *default = default.strip_suffix(".0").unwrap_or(default).to_owned();
        assert_eq!(manual[key], *default, "{key}");
    }
}

#[test]
fn the_manual_names_the_bounds() {
    let manual = include_str!("../../../../docs/teams.md");
    for (key, bounds) in [
        ("max_steps", forms::STEPS),
        ("max_concurrent_daily_ops", forms::DAILY_OPS),
        ("rate_limit_buckets.<key>.burst", forms::BURST),
        ("browser.timeout_ms", forms::TIMEOUT_MS),
    ] {
        let row = manual.lines().find(|line| line.starts_with(&format!("| `{key}` | "))).unwrap();
        assert!(row.contains(&format!("{} to {}", bounds.start(), bounds.end())), "{row}");
    }
}

#[test]
fn the_example_of_the_manual_is_read() {
    let manual = include_str!("../../../../docs/teams.md");
    let example = manual.split("```yaml\n# config.yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let config = read(example).unwrap();
    assert!(config != TeamConfig::default() && config.name.is_some());
}
