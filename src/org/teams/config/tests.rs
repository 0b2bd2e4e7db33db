//! What a team's configuration says, and what is said where it says nothing.

use super::*;

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
    let text = "
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
    let config = read(text).unwrap();
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
        ("name: ops\nmax_steps: many\n", "config.yaml, line 2, `max_steps`: ", ""),
        ("max_steps: 0", "config.yaml, line 1, `max_steps`: ", "0 is not a whole number from 1 to 500"),
        ("max_concurrent_daily_ops: 1.5", "config.yaml, line 1, `max_concurrent_daily_ops`: ", ""),
        ("name: Ops Team", "config.yaml, line 1, `name`: ", "`Ops Team` is not a team name"),
        ("\nallowed_tools: [a b]", "config.yaml, line 2, `allowed_tools`: ", "`a b` is not a tool's name or a pattern"),
        ("allowed_tools: x", "config.yaml, line 1, `allowed_tools`: ", ""),
        ("budgets:\n  daily_usd: -1", "config.yaml, line 2, `budgets.daily_usd`: ", "expected an amount"),
        (
            "rate_limit_buckets:\n  a:\n    rps: 0",
            "config.yaml, line 3, `rate_limit_buckets.a.rps`: ",
            "expected a number from 0.0001",
        ),
        ("credentials: {a: b}", "config.yaml, line 1", "unknown field `credentials`, expected one of name"),
        ("name: a\nname: b", "config.yaml, line 2", "duplicate"),
        ("name: [", "config.yaml, line 1", ""),
        ("- a", "config.yaml", ""),
        ("a: &a [x]\nb: *a", "config.yaml, line 1", "unknown field `a`"),
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
