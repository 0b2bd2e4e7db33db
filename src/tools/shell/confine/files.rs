//! Landlock: which files a command may read, write and run; and, where the kernel knows it, that it reaches no port and
//! no process but its own.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};

use crate::shell::plan::{Held, Plan};
use crate::shell::system;

/// The first ABI that bounds the emptying of files.
const LEAST: ABI = ABI::V3;
/// The newest ABI that was looked at here. What an older kernel does not know of it is left out.
const NEWEST: ABI = ABI::V6;

/// Confines this process, and says what the kernel took on. `own_processes`: `/proc` shows the command's alone.
///
/// # Errors
/// If the kernel knows Landlock and yet does not take the rules.
pub(super) fn confine(plan: &Plan, own_processes: bool, held: &mut Held) -> Result<()> {
    let Ok(ruleset) = handled(plan.network) else {
        // Older than the least that serves: there is nothing to confine with.
        return Ok(());
    };
    let mut rules = ruleset.create().context("make rules for files")?;
    let all = AccessFs::from_all(NEWEST);
    let (read, run) = (AccessFs::ReadFile | AccessFs::ReadDir, AccessFs::from_read(NEWEST));
    let write = read | AccessFs::WriteFile | AccessFs::Truncate;
    rules = grant(rules, Path::new("."), all)?;
    for path in grantable(plan, system::PROGRAMS) {
        rules = grant(rules, &path, run)?;
    }
    let extra = plan.read.iter().flat_map(|path| system::without(path, &plan.hidden));
    for path in extra {
        rules = grant(rules, &path, run)?;
    }
    let names = if plan.network { system::NAMES } else { &[] };
    let kernel: &[&str] = if own_processes { &["/proc"] } else { system::KERNEL };
    for path in [system::SETTINGS, system::SOURCES, names, kernel].into_iter().flat_map(|list| grantable(plan, list)) {
        rules = grant(rules, &path, read)?;
    }
    for path in grantable(plan, system::SINKS) {
        rules = grant(rules, &path, write)?;
    }
    let status = rules.restrict_self().context("confine to files")?;
    if status.ruleset != RulesetStatus::NotEnforced
        && let LandlockStatus::Available { effective_abi, kernel_abi } = status.landlock
    {
        held.files_abi = kernel_abi.unwrap_or(effective_abi as i32);
        held.signals = effective_abi >= ABI::V6;
    }
    Ok(())
}

/// Everything that is refused unless it is granted.
fn handled(network: bool) -> Result<Ruleset> {
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let ruleset = ruleset.handle_access(AccessFs::from_all(LEAST))?;
    let ruleset = ruleset.set_compatibility(CompatLevel::BestEffort);
    let ruleset = ruleset.handle_access(AccessFs::from_all(NEWEST))?.scope(Scope::from_all(NEWEST))?;
    if network { Ok(ruleset) } else { Ok(ruleset.handle_access(AccessNet::from_all(NEWEST))?) }
}

fn grantable<'a>(plan: &'a Plan, paths: &'a [&'a str]) -> impl Iterator<Item = PathBuf> + 'a {
    paths.iter().flat_map(|path| system::without(Path::new(path), &plan.hidden))
}

/// A path that has gone, or that may not be looked at, grants nothing.
fn grant(rules: RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> Result<RulesetCreated> {
    let Ok(handle) = PathFd::new(path) else { return Ok(rules) };
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
    rules.add_rule(PathBeneath::new(handle, access)).with_context(|| format!("grant {}", path.display()))
}
