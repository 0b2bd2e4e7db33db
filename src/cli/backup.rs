//! `hive backup FILE`: an online copy of the database, checked.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, ensure};

use super::{block_on, print, run::open};
use crate::config::Config;

pub(super) fn run(config: &Config, to: &Path) -> Result<ExitCode> {
    ensure!(!to.exists(), "{} exists already: name a file that does not", to.display());
    block_on(async { open(config).await?.backup(to).await })?;
    print(&format!(
        "{} is a whole copy of the database; to restore it, stop the hive and put it in place of openhive.db. The folders \
         teams and tables of {}, and the key of the vault, are to be copied besides.",
        to.display(),
        config.run_dir.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}
