//! The tools of this hive: the executor, and what the main agent is shown.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use base::{Clock, Scrub};
use llm::ToolDef;
use org::trust::Policy;
use store::Db;
use tools::{Catalogue, Executor, Gates, Grant, Handles, Limits, Workspaces};

/// What runs tools.
///
/// # Errors
/// Where the teams' folder cannot be opened.
pub fn executor(db: &Db, clock: Clock, teams: &Path, policy: &Arc<Policy>, scrub: &Scrub) -> Result<Executor> {
    let workspaces = Workspaces::open(teams)?;
    // The main team's folder is made now: a session's prompt names it.
    workspaces.of(&base::TeamName::main())?;
    let handles = Handles { db: db.clone(), clock, workspaces: workspaces.clone(), policy: policy.clone() };
    Ok(Executor {
        db: db.clone(),
        clock,
        catalogue: Arc::new(tools::catalogue(handles)?),
        gates: Gates::new(Gates::DAILY_OPS_MAX),
        scrub: scrub.clone(),
        workspaces,
        limits: Limits::default(),
    })
}

/// The tools that the main agent is shown: the same bytes in every session. What only an admin's turn may use is
/// shown in every turn, and refused where it is used: the list must not depend on who asks.
pub fn definitions(catalogue: &Catalogue) -> Vec<ToolDef> {
    let active = catalogue.active(&Grant::main(true));
    catalogue.definitions(&active).into_iter().map(ToolDef::from).collect()
}
