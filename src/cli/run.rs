//! `hive run`: the hive, until it is told to stop.

use std::fs::File;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use base::{Clock, Scrub, Stop, Tasks};
use channels::console::Console;
use channels::{Channel, discord, telegram};
use llm::Models;
use store::Db;
use tools::shell::{ShellRules, Support};

use super::logging;
use crate::app::{Hive, House, Minds, Parts};
use crate::config::Config;

/// The database of a run directory.
pub(super) const DATABASE: &str = "openhive.db";
/// The socket on which a running hive is talked to by `hive chat`.
pub(super) const SOCKET: &str = "hive.sock";
/// Held by the hive that runs: two on one database would answer everything twice.
const LOCK: &str = "hive.lock";

/// Whoever sits at the terminal: one person, an admin.
const PERSON: &str = "admin";
/// How often other processes' writes are looked for: people wait for what they typed on the command line.
const LISTEN: Duration = Duration::from_secs(1);
/// How long the end of the input waits for the last answer.
const LAST_ANSWER: Duration = Duration::from_secs(120);

/// How people at this machine talk to the hive.
pub(super) enum Terminal {
    /// Here: this program's own input and output.
    Here,
    /// From elsewhere, with `hive chat`.
    Socket,
}

pub(super) fn run(config: Config) -> Result<ExitCode> {
    let terminal = match config.discord.token.is_none() && config.telegram.token.is_none() {
        true => Terminal::Here,
        false => Terminal::Socket,
    };
    with_hive(config, terminal)
}

/// Runs a hive until it is told to stop, or nobody is left to listen to.
pub(super) fn with_hive(config: Config, terminal: Terminal) -> Result<ExitCode> {
    let scrub = Scrub::new();
    config.secrets().for_each(|secret| scrub.learn(secret));
    logging::start(&config.settings.logs, &scrub)?;
    let _lock = lock(&config.run_dir)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("start the runtime")?;
    runtime.block_on(serve(config, terminal, scrub))
}

async fn serve(config: Config, terminal: Terminal, scrub: Scrub) -> Result<ExitCode> {
    let signals = Tasks::new();
    let told = told_to_stop(&signals)?;
    let db = open(&config).await?;
    let left = Stop::new();
    let mut channels = platforms(&config)?;
    let (socket, here) = (config.run_dir.join(SOCKET), matches!(terminal, Terminal::Here));
    channels.push(Arc::new(match terminal {
        Terminal::Here => Console::stdio(PERSON).at_end(left.clone()),
        Terminal::Socket => Console::serve(PERSON, listener(&socket)?),
    }));
    let all = Arc::new(models(&config)?);
    let minds = minds(&config, all)?;
    if config.models.profiles.is_empty() {
        tracing::info!("no model is configured: the offline model answers; .env.example says how to name one");
    }
    if config.trust == org::trust::Policy::default() && !here {
        tracing::info!("nobody is trusted by configuration: `hive pair` makes the first admin");
    }
    let (data_dir, run_dir, vault_key) = (config.data_dir.clone(), config.run_dir.clone(), config.vault_key.clone());
    let parts = Parts {
        db,
        clock: Clock::Wall,
        channels,
        minds,
        settings: config.settings,
        policy: config.trust,
        house: House { data_dir, run_dir, scrub, vault_key, listen_every: LISTEN },
    };
    let home = parts.house.run_dir.join("teams").join(base::ids::MAIN);
    let hive = Hive::start(parts).await?;
    signals.spawn("look at what commands can be confined with", async move { tell_confinement(&home).await });
    let deaf = tokio::select! {
        biased;
        () = told.cancelled() => false,
        // Whoever leaves the terminal (or pipes a question in) still gets the answer.
        () = async { left.cancelled().await; hive.idle(LAST_ANSWER).await } => false,
        () = hive.deaf() => true,
    };
    tracing::info!("stopping: nothing is taken in any more");
    hive.stop().await;
    signals.stop();
    // A socket that is left behind is replaced at the next start.
    let _ = std::fs::remove_file(&socket);
    if deaf {
        bail!("every platform has failed; the log above says why");
    }
    Ok(ExitCode::SUCCESS)
}

/// The socket for `hive chat`, for this user alone: whoever may connect is an admin.
fn listener(socket: &Path) -> Result<tokio::net::UnixListener> {
    use std::os::unix::fs::PermissionsExt;
    let context = || format!("listen on {}", socket.display());
    // We hold the lock: a socket that is there was left by a hive that was killed.
    if let Err(error) = std::fs::remove_file(socket)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        return Err(error).with_context(context);
    }
    let listener = tokio::net::UnixListener::bind(socket).with_context(context)?;
    std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o600)).with_context(context)?;
    Ok(listener)
}

/// Says in the log what this machine can confine of the shell's commands.
async fn tell_confinement(home: &Path) {
    let rules = ShellRules::default();
    match Support::probe(&rules, home).await {
        Ok(support) => match support.lacks() {
            Some(lack) => tracing::warn!("no command of a shell runs here, because {lack}: {support}"),
            None => tracing::info!("commands of the shell: {support}"),
        },
        Err(error) => tracing::warn!("what commands of the shell can be confined with is not known: {error:#}"),
    }
}

/// Cancelled by SIGTERM or Ctrl-C.
fn told_to_stop(tasks: &Tasks) -> Result<Stop> {
    use tokio::signal::unix::{SignalKind, signal};
    let told = Stop::new();
    let mut terminate = signal(SignalKind::terminate()).context("listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("listen for SIGINT")?;
    let (seen, stop) = (told.clone(), tasks.stop_token());
    tasks.spawn("signals", async move {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        seen.cancel();
    });
    Ok(told)
}

/// Opens the database of this configuration.
pub(super) async fn open(config: &Config) -> Result<Db> {
    std::fs::create_dir_all(&config.run_dir).with_context(|| format!("make {}", config.run_dir.display()))?;
    Db::open(&config.run_dir.join(DATABASE)).await
}

/// The lock that one hive per run directory holds. The system frees it with the process, however that ends.
pub(super) fn lock(run_dir: &Path) -> Result<File> {
    std::fs::create_dir_all(run_dir).with_context(|| format!("make {}", run_dir.display()))?;
    let path = run_dir.join(LOCK);
    let file = File::options().create(true).append(true).open(&path);
    let file = file.with_context(|| format!("open {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => {
            bail!("a hive runs on {} already; stop it first, or name another HIVE_RUN_DIR", run_dir.display())
        }
        Err(std::fs::TryLockError::Error(error)) => Err(error).with_context(|| format!("lock {}", path.display())),
    }
}

/// The platforms that have a token.
pub(super) fn platforms(config: &Config) -> Result<Vec<Arc<dyn Channel>>> {
    let mut channels: Vec<Arc<dyn Channel>> = Vec::new();
    if let Some(token) = &config.discord.token {
        let catch_up = discord::CatchUp {
            per_channel_max: usize::try_from(config.discord.catch_up.per_channel_max)?,
            age_max: config.discord.catch_up.age_max,
        };
        channels.push(Arc::new(discord::Discord::new(discord::Settings {
            api_url: config.discord.api_url.clone(),
            hearing: config.discord.hearing.clone(),
            menu: crate::commands::menu(),
            catch_up,
            ..discord::Settings::new(token.to_secret_string())
        })?));
    }
    if let Some(token) = &config.telegram.token {
        channels.push(Arc::new(telegram::Telegram::new(telegram::Settings {
            api_url: config.telegram.api_url.clone(),
            hearing: config.telegram.hearing.clone(),
            menu: crate::commands::menu(),
            ..telegram::Settings::new(token.to_secret_string())
        })?));
    }
    Ok(channels)
}

/// The models of this configuration.
pub(super) fn models(config: &Config) -> Result<Models> {
    let session = &config.settings.session;
    let limits =
        llm::Limits { idle: session.answer_idle_timeout, total: session.answer_timeout, ..llm::Limits::STANDARD };
    Models::new(config.models.profiles.clone(), Clock::Wall, limits).map_err(|faults| {
        let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
        anyhow::anyhow!("{}", faults.join("\n"))
    })
}

fn minds(config: &Config, all: Arc<Models>) -> Result<Minds> {
    let main = all.get(&config.models.main)?;
    let offline = config.models.main.profile == llm::offline::PROFILE;
    let output_tokens_max =
        config.models.profile(&config.models.main.profile).map_or(1_024, |profile| profile.output_tokens_max);
    // The offline model cannot judge: the words of the messages do.
    let classifier = if offline { None } else { Some(all.get(&config.models.classifier)?) };
    Ok(Minds { main, output_tokens_max, classifier, all })
}
