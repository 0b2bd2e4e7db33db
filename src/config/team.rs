//! `team` in `config.yaml`: what the main team's agent may do.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use llm::ModelRef;
use org::teams::Bucket;
use org::teams::forms::{self, TextForm};

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
    /// Whether teams may be given a browser. Default yes.
    pub browser: bool,
    /// The servers whose tools teams may be given; `*` for every one. Default `*`.
    pub mcp_servers: Vec<String>,
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
            browser: true,
            mcp_servers: vec!["*".to_owned()],
            shell_network: false,
            shell_workspace_bytes_max: 4 << 30,
            memory_embedding: None,
        }
    }
}

pub(super) fn read(mut section: Reader<'_>) -> Team {
    let allowed_tools = section.list("allowed_tools", &["*"], &text(&forms::TOOL));
    let toolboxes = section.find_list("toolboxes", &text(&forms::TOOLBOX));
    let team = Team {
        allowed_tools,
        toolboxes,
        daily_ops_max: section.get("max_concurrent_daily_ops", "5", &number(&forms::DAILY_OPS)),
        allowed_domains: section.list("allowed_domains", &["*"], &text(&forms::HOST)),
        rate_limit_buckets: buckets(&mut section),
        browser: section.get("browser", "true", &flag()),
        mcp_servers: section.list("mcp_servers", &["*"], &text(&forms::SERVER)),
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
        let bucket =
            Bucket { rps: rule.get("rps", "1", &rate()), burst: rule.get("burst", "1", &number(&forms::BURST)) };
        rule.finish();
        buckets.insert(key, bucket);
    }
    buckets
}

/// A profile's own model is one that talks: the model that makes vectors is always named.
fn embedding() -> Form<ModelRef> {
    Form::new("`profile:model` with a model that makes vectors", |text: &str| text.parse().ok())
}

/// A text as it is written in a team's own file too.
fn text(form: &'static TextForm) -> Form<String> {
    Form::new(form.wanted, form.read)
}

fn rate() -> Form<f64> {
    Form::new(forms::RATE.wanted, |text: &str| (forms::RATE.read)(&text.parse().ok()?))
}

fn number(bounds: &RangeInclusive<u32>) -> Form<u32> {
    whole(u64::from(*bounds.start())..=u64::from(*bounds.end()))
        .map(|number| u32::try_from(number).expect("its bounds are of 32 bits"))
}
