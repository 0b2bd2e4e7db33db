//! `config.yaml` of a team: what it may do. What a team really may is this, as narrow as its ancestors' ([`TeamConfig::within`]).

use std::collections::BTreeMap;
use std::fmt;

use base::TeamName;
use serde::{Deserialize, Serialize};

use super::fields;
use crate::markdown;

/// The name of the file in the team's folder.
pub const FILE: &str = "config.yaml";

/// The most bytes that such a file may have. Far above any real one.
pub const FILE_BYTES_MAX: usize = 64 * 1_024;

/// What a team may do, as its file says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TeamConfig {
    /// Its name: that of its folder, where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<TeamName>,
    /// Whose child it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TeamName>,
    /// What it is for.
    #[serde(default, deserialize_with = "fields::text", skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Names and patterns of the tools that its agents may have at all. Default: none but those without which no agent
    /// could work.
    #[serde(default, deserialize_with = "fields::tools")]
    pub allowed_tools: Vec<String>,
    /// The toolboxes of its agent; left out: everything in `allowed_tools`.
    #[serde(default, deserialize_with = "fields::toolboxes", skip_serializing_if = "Option::is_none")]
    pub toolboxes: Option<Vec<String>>,
    /// The profile of its model; left out: its parent's.
    #[serde(default, deserialize_with = "fields::profile", skip_serializing_if = "Option::is_none")]
    pub provider_profile: Option<String>,
    /// Most steps of one of its turns. Default 100.
    #[serde(default = "TeamConfig::steps", alias = "maxSteps", deserialize_with = "fields::steps")]
    pub max_steps: u32,
    /// How many daily ops run side by side. Default 5.
    #[serde(default = "TeamConfig::daily_ops", deserialize_with = "fields::daily_ops")]
    pub max_concurrent_daily_ops: u32,
    /// How often something may be asked, by the key that a call of `web_fetch` names.
    #[serde(default, deserialize_with = "fields::buckets", skip_serializing_if = "BTreeMap::is_empty")]
    pub rate_limit_buckets: BTreeMap<String, Bucket>,
    /// The hosts that may be asked: `example.org`, `*.example.org`, or `*`. Left out or empty: those of its parent.
    #[serde(default, deserialize_with = "fields::domains", skip_serializing_if = "Option::is_none")]
    pub allowed_domains: Option<Vec<String>>,
    /// Whether it has a browser, and for what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub browser: Option<Browser>,
    /// The names of the servers whose tools it may use; `*` for every one that its parent has.
    #[serde(default, deserialize_with = "fields::servers", skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<String>,
    /// What it may spend in a UTC day.
    #[serde(default, skip_serializing_if = "Budgets::is_none")]
    pub budgets: Budgets,
    /// Whether its shell may use the network. Default no.
    #[serde(default)]
    pub shell_network: bool,
    /// What makes the vectors of its memory: a profile, for its own model, or `profile:model`; left out: its parent's.
    #[serde(default, deserialize_with = "fields::embedding", skip_serializing_if = "Option::is_none")]
    pub memory_embedding: Option<String>,
}

/// How a bucket of requests fills.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bucket {
    /// How many requests a second come in. Default 1.
    #[serde(default = "Bucket::one_a_second", deserialize_with = "fields::rate")]
    pub rps: f64,
    /// How many it holds. Default 1.
    #[serde(default = "Bucket::one", deserialize_with = "fields::burst")]
    pub burst: u32,
}

impl Bucket {
    fn one_a_second() -> f64 {
        1.0
    }

    fn one() -> u32 {
        1
    }
}

/// A team's browser.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Browser {
    /// The hosts that it may visit; left out: those of `allowed_domains`.
    #[serde(default, deserialize_with = "fields::domains", skip_serializing_if = "Option::is_none")]
    pub allowed_domains: Option<Vec<String>>,
    /// How long one page may take, in milliseconds. Default 30,000.
    #[serde(default = "Browser::timeout", deserialize_with = "fields::timeout")]
    pub timeout_ms: u32,
}

impl Browser {
    fn timeout() -> u32 {
        30_000
    }
}

impl Default for Browser {
    /// What an empty mapping says.
    fn default() -> Self {
        Browser { allowed_domains: None, timeout_ms: Browser::timeout() }
    }
}

/// What a team may spend in a UTC day, its children's turns not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budgets {
    /// US dollars.
    #[serde(default, deserialize_with = "fields::dollars", skip_serializing_if = "Option::is_none")]
    pub daily_usd: Option<f64>,
    /// Tokens of all sorts.
    #[serde(default, deserialize_with = "fields::tokens", skip_serializing_if = "Option::is_none")]
    pub daily_tokens: Option<u64>,
}

impl Budgets {
    fn is_none(&self) -> bool {
        *self == Budgets::default()
    }
}

impl TeamConfig {
    fn steps() -> u32 {
        100
    }

    fn daily_ops() -> u32 {
        5
    }

    /// Of a team that nothing was written for: every tool that its parent has, and its own plugins'.
    pub fn of_new_team(name: &TeamName, parent: &TeamName, description: &str) -> TeamConfig {
        TeamConfig {
            name: Some(name.clone()),
            parent: Some(parent.clone()),
            description: description.to_owned(),
            allowed_tools: vec!["*".to_owned(), format!("{name}.*")],
            ..TeamConfig::default()
        }
    }

    /// Reads a file's text. `file` is what errors call it.
    ///
    /// # Errors
    /// Says the line, the key, and what is to be written there.
    pub fn parse(file: &str, text: &str) -> Result<TeamConfig, ConfigFault> {
        let fault = |line, key: String, message: String| ConfigFault { file: file.to_owned(), line, key, message };
        short_enough(text.len()).map_err(|message| fault(None, String::new(), message))?;
        let mut key = String::new();
        let read = serde_saphyr::with_deserializer_from_str_with_options(text, fields::options(), |yaml| {
            let config: Result<Option<TeamConfig>, _> = serde_path_to_error::deserialize(yaml);
            config.map(Option::unwrap_or_default).map_err(|error| {
                key = error.path().to_string();
                error.into_inner()
            })
        });
        read.map_err(|error: serde_saphyr::Error| {
            let line = error.location().map(|location| location.line()).filter(|line| *line > 0);
            let key = if key == "." || key == "?" { String::new() } else { std::mem::take(&mut key) };
            fault(line, key, fields::in_words(&error))
        })
    }

    /// The file's text.
    ///
    /// # Errors
    /// Only where the writer of YAML fails: a fault of ours.
    pub fn to_yaml(&self) -> anyhow::Result<String> {
        serde_saphyr::to_string(self).map_err(|error| anyhow::anyhow!("write a team's configuration: {error}"))
    }
}

/// The text of a file's bytes, of which not all need to be there where it is too long.
///
/// # Errors
/// Where it is too long, or no text: from which line on.
pub(super) fn text_of(file: &str, bytes: Vec<u8>) -> Result<String, ConfigFault> {
    // Of what is too long the last character may be in pieces.
    let short = short_enough(bytes.len()).map_err(|message| (None, message));
    short.and_then(|()| markdown::as_text(bytes)).map_err(|(line, message)| {
        let line = line.and_then(|line| u64::try_from(line).ok());
        ConfigFault { file: file.to_owned(), line, key: String::new(), message }
    })
}

fn short_enough(bytes: usize) -> Result<(), String> {
    if bytes <= FILE_BYTES_MAX {
        return Ok(());
    }
    Err(format!("it has more than {FILE_BYTES_MAX} bytes: shorten it"))
}

impl Default for TeamConfig {
    /// What an empty file says.
    fn default() -> Self {
        TeamConfig {
            name: None,
            parent: None,
            description: String::new(),
            allowed_tools: Vec::new(),
            toolboxes: None,
            provider_profile: None,
            max_steps: TeamConfig::steps(),
            max_concurrent_daily_ops: TeamConfig::daily_ops(),
            rate_limit_buckets: BTreeMap::new(),
            allowed_domains: None,
            browser: None,
            mcp_servers: Vec::new(),
            budgets: Budgets::default(),
            shell_network: false,
            memory_embedding: None,
        }
    }
}

/// What is wrong with a file. Shown as `config.yaml:2: `max_steps`: what is wrong`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFault {
    /// The file, as whoever reads this knows it.
    pub file: String,
    /// The line, from 1.
    pub line: Option<u64>,
    /// The key, with those above it: `budgets.daily_usd`. Empty where it is about the whole file.
    pub key: String,
    /// What is wrong, and what is to be there.
    pub message: String,
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": `{}`", self.key)?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for ConfigFault {}

#[cfg(test)]
mod tests;
