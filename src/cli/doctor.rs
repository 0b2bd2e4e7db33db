//! `hive doctor`: what is wrong, and what to do about it.

mod charters;
mod teams;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use channels::Channel;
use store::{inbox, outbox, tasks};

use super::run::{DATABASE, lock, models, open, platforms};
use super::{block_on, print};
use crate::commands::show_counts;
use crate::config::{self, Config, Environment};

/// The longest that one question to a platform or a provider may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// What was found.
#[derive(Default)]
struct Findings {
    wrong: usize,
}

impl Findings {
    fn good(&self, what: &str) -> Result<()> {
        print(&format!("ok     {what}"))
    }
    fn note(&self, what: &str) -> Result<()> {
        print(&format!("note   {what}"))
    }
    fn bad(&mut self, what: &str) -> Result<()> {
        self.wrong += 1;
        print(&format!("WRONG  {what}"))
    }
}

pub(super) fn run(environment: &Environment, offline: bool) -> Result<ExitCode> {
    let mut found = Findings::default();
    let config = match config::load(environment) {
        Ok(config) => config,
        Err(errors) => {
            found.bad(&format!("configuration:\n{errors}"))?;
            return conclude(&found);
        }
    };
    found.good(&format!("configuration ({})", config.data_dir.display()))?;
    block_on(look(&config, offline, &mut found))?;
    conclude(&found)
}

fn conclude(found: &Findings) -> Result<ExitCode> {
    if found.wrong == 0 {
        print("\nNothing is wrong.")?;
        return Ok(ExitCode::SUCCESS);
    }
    print(&format!("\nWrong: {}.", found.wrong))?;
    Ok(ExitCode::FAILURE)
}

async fn look(config: &Config, offline: bool, found: &mut Findings) -> Result<()> {
    database(config, found).await?;
    admins(config, found).await?;
    let models = memory_model(config, found)?;
    teams::look(config, models.as_ref(), found).await?;
    if offline {
        return found.note("nobody on the network was asked (--offline)");
    }
    for channel in platforms(config)? {
        platform(channel, found).await?;
    }
    if config.discord.token.is_none() && config.telegram.token.is_none() {
        found.note("no platform: name DISCORD_TOKEN or TELEGRAM_TOKEN; until then the hive talks in the terminal")?;
    }
    providers(config, found).await
}

async fn database(config: &Config, found: &mut Findings) -> Result<()> {
    match lock(&config.run_dir) {
        Ok(_) => found.note("no hive runs on this run directory")?,
        Err(_) => found.note("a hive runs on this run directory")?,
    }
    let path = config.run_dir.join(DATABASE);
    let db = match open(config).await {
        Ok(db) => db,
        Err(error) => return found.bad(&format!("database: {error:#}")),
    };
    let verdict = db.read(async |conn| store::integrity(conn).await).await?;
    if verdict == "ok" {
        found.good(&format!("database ({}), every page and index", path.display()))?;
    } else {
        found.bad(&format!("database: {verdict}; restore a backup"))?;
    }
    let audited = db.read(async |conn| store::audit::verify(conn).await).await?;
    let sentence = super::audit::in_a_sentence(&audited);
    match audited {
        store::audit::Verified::Whole { .. } => found.good(&sentence)?,
        store::audit::Verified::Broken { .. } => found.bad(&sentence)?,
    }
    let (came, went, load, losses) = db
        .read(async |conn| {
            Ok((
                inbox::counts(conn).await?,
                outbox::counts(conn).await?,
                tasks::load(conn).await?,
                outbox::losses(conn, 3).await?,
            ))
        })
        .await?;
    found.note(&format!(
        "came in: {}; went out: {}; {} tasks queued",
        show_counts(&came),
        show_counts(&went),
        load.0
    ))?;
    for (conversation, state, note, _) in losses {
        found.note(&format!("a message to {conversation} is {state}: {note}"))?;
    }
    Ok(())
}

/// The models, if they can be made: what is wrong with them is told where their servers are asked. What memory is searched
/// with must be one of them.
fn memory_model(config: &Config, found: &mut Findings) -> Result<Option<llm::Models>> {
    let Ok(models) = models(config) else { return Ok(None) };
    if let Err(error) = crate::toolkit::library(&config.settings.team, &models) {
        found.bad(&format!("{error:#}"))?;
    }
    Ok(Some(models))
}

async fn admins(config: &Config, found: &mut Findings) -> Result<()> {
    let Ok(db) = open(config).await else { return Ok(()) };
    let now = base::Clock::Wall.now();
    let admins = db.read(async |conn| org::trust::admins(conn, &config.trust, now).await).await?;
    match admins.is_empty() {
        true => found.note("there is no admin but whoever sits at the terminal: `hive pair` makes one"),
        false => {
            found.good(&format!("admins: {}", admins.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")))
        }
    }
}

async fn platform(channel: Arc<dyn Channel>, found: &mut Findings) -> Result<()> {
    let kind = channel.kind();
    match tokio::time::timeout(PATIENCE, channel.check()).await {
        Ok(Ok(name)) => found.good(&format!("{kind}: the token is {name}'s")),
        Ok(Err(error)) => found.bad(&format!("{kind}: {error}")),
        Err(_) => found.bad(&format!("{kind}: no answer within {PATIENCE:?}")),
    }
}

async fn providers(config: &Config, found: &mut Findings) -> Result<()> {
    if config.models.profiles.is_empty() {
        return found.note("no model: name ANTHROPIC_API_KEY or OPENAI_API_KEY; until then the offline model answers");
    }
    let models = match models(config) {
        Ok(models) => models,
        Err(error) => return found.bad(&format!("models: {error:#}")),
    };
    for profile in &config.models.profiles {
        match tokio::time::timeout(PATIENCE, models.check(&profile.name)).await {
            Ok(Ok(())) => found.good(&format!("model profile {}: the key is accepted", profile.name))?,
            Ok(Err(error)) => found.bad(&format!("model profile {}: {error}", profile.name))?,
            Err(_) => found.bad(&format!("model profile {}: no answer within {PATIENCE:?}", profile.name))?,
        }
    }
    Ok(())
}
