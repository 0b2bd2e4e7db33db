//! The part of a prompt that is the same bytes in every session of a role.

use std::path::Path;

use anyhow::{Result, bail};
use llm::System;
use org::markdown::Grade;
use org::rules::{self, Cascade, Role, Rule};

const TOOLS: &str = include_str!("../../../prompts/parts/tools.md");

/// The text that is the same in every session of a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixed {
    text: String,
}

impl Fixed {
    /// The fixed part for a role. `owner` are the owner's rules.
    pub fn of(role: Role, owner: &[Rule]) -> Fixed {
        let rules = Cascade::fixed_of(role, owner);
        Fixed { text: format!("{rules}\n\n{}", TOOLS.trim()) }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The system part of a request.
    pub fn system(&self, varies: String) -> Vec<System> {
        vec![System { text: self.text.clone(), cached: true }, System { text: varies, cached: false }]
    }
}

/// The owner's rules, by file name.
///
/// # Errors
/// Every rule that cannot be read or has no room: a hive does not work without rules that its owner wrote. What is only
/// odd is logged.
pub fn owner_rules(data_dir: &Path) -> Result<Vec<Rule>> {
    let mut faults = Vec::new();
    let rules = rules::owner(data_dir, &mut faults);
    faults.extend(Cascade::too_long(&rules));
    let (errors, warnings): (Vec<_>, Vec<_>) = faults.iter().partition(|fault| fault.grade == Grade::Error);
    for fault in warnings {
        tracing::warn!("rule {fault}");
    }
    if !errors.is_empty() {
        let lines: Vec<String> = errors.iter().map(|fault| format!("\n  {fault}")).collect();
        bail!("the owner's rules in {} cannot all be read:{}", data_dir.display(), lines.concat());
    }
    Ok(rules)
}
