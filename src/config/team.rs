//! `team` in `config.yaml`: what the main team's agent may do.

use std::collections::BTreeMap;

use llm::ModelRef;

use super::form::{Form, flag, size, whole};
use super::reader::Reader;

/// What a team may do.
#[derive(Clone, Debug, PartialEq)]
pub struct Team {
    /// Names and patterns of the tools that its agents may have at all. Default `*`.
    pub allowed_tools: Vec<String>,
    /// The toolboxes of its agent; `None`: everything in `allowed_tools`.
    pub toolboxes: Option<Vec<String>>,
    /// How many daily ops run side by side. Default 5.
    pub daily_ops_max: u32,
    /// The hosts that `web_fetch` may ask: `example.org`, `*.example.org`, or `*` for every public one. Default `*`.
    pub allowed_domains: Vec<String>,
    /// How often something may be asked, by the key that a call of `web_fetch` names.
    pub rate_limit_buckets: BTreeMap<String, Bucket>,
    /// Whether the shell may use the network. Default no.
    pub shell_network: bool,
    /// How much the workspace may hold while a command of the shell runs, in bytes. Default 4 GiB.
    pub shell_workspace_bytes_max: u64,
    /// The provider's model that makes vectors of what is remembered; `None`: the embedded one, without network.
    pub memory_embedding: Option<ModelRef>,
}

impl Default for Team {
    fn default() -> Self {
        Team {
            allowed_tools: vec!["*".to_owned()],
            toolboxes: None,
            daily_ops_max: 5,
            allowed_domains: vec!["*".to_owned()],
            rate_limit_buckets: BTreeMap::new(),
            shell_network: false,
            shell_workspace_bytes_max: 4 << 30,
            memory_embedding: None,
        }
    }
}

/// How a bucket of requests fills.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    /// How many requests a second come in.
    pub rps: f64,
    /// How many it holds.
    pub burst: u32,
}

pub(super) fn read(mut section: Reader<'_>) -> Team {
    let allowed_tools = section.list("allowed_tools", &["*"], &tool());
    let toolboxes = section.find_list("toolboxes", &toolbox());
    let team = Team {
        allowed_tools,
        toolboxes,
        daily_ops_max: section
            .get("max_concurrent_daily_ops", "5", &whole(1..=100))
            .try_into()
            .expect("its bounds fit into 32 bits"),
        allowed_domains: section.list("allowed_domains", &["*"], &domain()),
        rate_limit_buckets: buckets(&mut section),
        shell_network: section.get("shell_network", "false", &flag()),
        shell_workspace_bytes_max: section.get("shell_workspace_max", "4GiB", &size("1MB", "1000GB")),
        memory_embedding: section.find("memory_embedding", &embedding()),
    };
    section.finish();
    team
}

fn buckets(section: &mut Reader<'_>) -> BTreeMap<String, Bucket> {
    let mut buckets = BTreeMap::new();
    for (key, value) in section.entries("rate_limit_buckets", "<key>") {
        let mut rule = value.section();
        let bucket = Bucket {
            rps: rule.get("rps", "1", &rate()),
            burst: rule.get("burst", "1", &whole(1..=10_000)).try_into().expect("its bounds fit into 32 bits"),
        };
        rule.finish();
        buckets.insert(key, bucket);
    }
    buckets
}

/// A profile's own model is one that talks: the model that makes vectors is always named.
fn embedding() -> Form<ModelRef> {
    Form::new("`profile:model` with a model that makes vectors", |text: &str| text.parse().ok())
}

fn tool() -> Form<String> {
    Form::new("a tool's name or a pattern such as `engineering.*`", |text: &str| {
        let fits = |c: char| c.is_ascii_alphanumeric() || "_-.*".contains(c);
        (!text.is_empty() && text.len() <= 128 && text.chars().all(fits)).then(|| text.to_owned())
    })
}

fn toolbox() -> Form<String> {
    Form::new("a toolbox's name such as `research`", |text: &str| {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        (!text.is_empty() && text.chars().all(fits)).then(|| text.to_owned())
    })
}

fn domain() -> Form<String> {
    Form::new("a host such as `example.org`, `*.example.org`, or `*`", |text: &str| {
        let host = text.strip_prefix("*.").unwrap_or(text);
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
        let whole = text == "*" || (!host.is_empty() && host.chars().all(fits) && !host.starts_with('.'));
        whole.then(|| text.to_ascii_lowercase())
    })
}

fn rate() -> Form<f64> {
    Form::new("a number from 0.0001 to 1000 such as `0.5`", |text: &str| {
        text.parse().ok().filter(|rate: &f64| (0.0001..=1_000.0).contains(rate))
    })
}
