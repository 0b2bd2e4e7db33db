//! `docs/configuration.md` and `.env.example` say what the readers know, and nothing else.

use std::collections::BTreeMap;

use super::super::models::{PROVIDERS, Provider};
use super::super::{Key, VARIABLES, env_example, keys};
use super::Written;

const MANUAL: &str = include_str!("../../../docs/configuration.md");
const FILES: [&str; 3] = ["config.yaml", "channels.yaml", "providers.yaml"];

/// The keys and defaults of the manual's tables, by the `## FILE` heading that they stand under.
fn keys_of_manual() -> BTreeMap<Key, String> {
    let mut file = None;
    let mut keys = BTreeMap::new();
    for line in MANUAL.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            file = FILES.into_iter().find(|file| *file == heading);
        }
        let cells: Vec<&str> = line.split(" | ").collect();
        let (Some(file), [key, default, _]) = (file, cells.as_slice()) else { continue };
        let Some(path) = key.strip_prefix("| `").and_then(|key| key.strip_suffix('`')) else { continue };
        let default = if *default == "–" { "" } else { default.trim_matches('`') };
        let key = Key { file: file.to_owned(), path: path.to_owned() };
        assert!(keys.insert(key, default.to_owned()).is_none(), "`{path}` is in the manual twice");
    }
    keys
}

#[test]
fn the_manual_lists_every_key_with_its_default_and_no_other() {
    let known = keys();
    assert!(known.len() > 40, "the survey saw only {} keys", known.len());
    assert_eq!(keys_of_manual(), known);
}

#[test]
fn the_manual_lists_every_variable() {
    let row = |variable: &super::super::Variable| {
        let default = if variable.default.is_empty() { "–".to_owned() } else { format!("`{}`", variable.default) };
        format!("| `{}` | {default} | {} |\n", variable.name, variable.about)
    };
    let rows: String = VARIABLES.iter().map(row).collect();
    assert!(MANUAL.contains(&format!("|---|---|---|\n{rows}\n")), "the table of variables should be:\n{rows}");
}

#[test]
fn the_manual_names_the_models_that_are_used_without_a_file() {
    let row = |provider: &Provider| {
        let prices = llm::price::list_price(provider.model).expect("the price of a default model is known");
        let dollars = [prices.input, prices.output, prices.cache_read, prices.cache_write]
            .map(|micro| (micro as f64 / 1e6).to_string());
        format!("| `{}` | `{}` | `{}` | {} |\n", provider.key, provider.profile, provider.model, dollars.join(", "))
    };
    let rows: String = PROVIDERS.iter().map(row).collect();
    assert!(MANUAL.contains(&format!("|---|---|---|---|\n{rows}\n")), "the table of models should be:\n{rows}");
}

#[test]
fn the_examples_of_the_manual_load() {
    let mut written = Written::nothing().variable("ANTHROPIC_API_KEY", "abc").variable("CHEAP_KEY", "def");
    let mut seen = Vec::new();
    for block in MANUAL.split("```yaml\n").skip(1) {
        let text = block.split("```").next().unwrap();
        let name = text.lines().next().and_then(|line| line.strip_prefix("# ")).unwrap();
        seen.push(name);
        written = written.file(name, text);
    }
    assert_eq!(seen, FILES);
    assert_eq!(written.faults(), Vec::<String>::new());
}

#[test]
fn the_faults_in_the_manual_are_the_ones_that_are_told() {
    let written = Written::nothing()
        .file("config.yaml", "topics:\n  idle_after: 2\n")
        .file("channels.yaml", "trust:\n  channels:\n    discord:\n      polcy: deny\n")
        .variable("HIVE_LGO", "info");
    let shown = written.load().unwrap_err().to_string();
    let shown = shown.replace(written.data().to_str().unwrap(), "data");
    assert!(MANUAL.contains(&format!("```text\n{shown}\n```")), "{shown}");
}

#[test]
fn the_example_of_the_environment_names_every_variable() {
    let written = include_str!("../../../.env.example");
    assert_eq!(written, env_example(), ".env.example should be:\n{}", env_example());
}

#[test]
fn the_example_of_the_environment_loads_with_every_line_switched_on() {
    let text: String =
        env_example().lines().map(|line| format!("{}\n", line.strip_prefix('#').unwrap_or(line))).collect();
    // Comments proper have lost their `#` as well: what is left of them is not `NAME=value`.
    let lines = text.lines().filter(|line| VARIABLES.iter().any(|variable| line.starts_with(variable.name)));
    let mut written = Written::nothing();
    for (name, value) in lines.filter_map(|line| line.split_once('=')) {
        written = written.variable(name, value);
    }
    assert_eq!(written.variables.len(), VARIABLES.len());
    assert_eq!(written.faults(), Vec::<String>::new());
}
