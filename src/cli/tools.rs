//! `hive tools`: every tool with its record.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use base::{Clock, Scrub};
use org::trust::Policy;
use store::Db;

use super::{block_on, print};
use crate::toolkit::Means;

pub(super) fn run(json: bool, markdown: bool) -> Result<ExitCode> {
    // The records do not depend on any database: the tools are built on one that is thrown away.
    let folder = std::env::temp_dir().join(format!("hive-tools-{}", std::process::id()));
    std::fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    let catalogue = block_on(async {
        let db = Db::open(&folder.join("openhive.db")).await?;
        let (policy, team) = (Arc::new(Policy::default()), crate::config::Team::default());
        let means = Means {
            db: &db,
            clock: Clock::Wall,
            run_dir: &folder,
            hidden: Vec::new(),
            policy: &policy,
            scrub: &Scrub::new(),
            team: &team,
            vault_key: None,
        };
        Ok(crate::toolkit::executor(&means).await?.0.catalogue)
    });
    std::fs::remove_dir_all(&folder).with_context(|| format!("remove {}", folder.display()))?;
    let catalogue = catalogue?;
    let text = match (json, markdown) {
        (true, _) => serde_json::to_string_pretty(&tools::json(&catalogue))?,
        (_, true) => tools::markdown(&catalogue),
        _ => catalogue.entries().map(|entry| entry.spec().name.to_string()).collect::<Vec<_>>().join("\n"),
    };
    print(text.trim_end())?;
    Ok(ExitCode::SUCCESS)
}
