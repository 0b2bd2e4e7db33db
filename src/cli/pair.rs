//! `hive pair`: a one-time code for the first admin.

use std::process::ExitCode;

use anyhow::{Context, Result};
use base::chance::Chance;
use base::{Clock, clock};
use store::pairings;

use super::{block_on, print, run::open};
use crate::commands::{CODE_CHARS, digest};
use crate::config::Config;

pub(super) fn run(config: &Config, valid: &str) -> Result<ExitCode> {
    let span = clock::parse_span(valid).with_context(|| format!("`{valid}` is no time span: write `15m` or `2h`"))?;
    let code = Chance::real().code(CODE_CHARS);
    let now = Clock::Wall.now();
    block_on(async {
        let db = open(config).await?;
        let until = now.saturating_add(clock::ms(span));
        db.tx("make a pairing code", async |conn| pairings::add(conn, &digest(&code), now, until).await).await
    })?;
    let shown = format!("{}-{}", &code[..CODE_CHARS / 2], &code[CODE_CHARS / 2..]);
    print(&format!(
        "Send this to the bot, in Discord or in Telegram, within {}:\n\n    /pair {shown}\n\nWhoever sends it first is an admin.",
        clock::show_span(span)
    ))?;
    Ok(ExitCode::SUCCESS)
}
