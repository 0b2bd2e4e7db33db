//! A conversation with the hive on a Discord and a Telegram of this machine: `cargo run --example demo`.
//!
//! Both platforms are loopback servers that speak their platforms' protocols; everything else is the product: its
//! command line, its adapters, its database, in a process of its own that is stopped, started and killed. The same
//! conversation goes on on both sides at once, and every line is read from what the servers hold. The exit code is 0
//! only where everything was seen as it should be.

mod acts;
mod side;
mod transcript;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use fakes::model::ModelServer;
use fakes::product::{Product, Setup};
use fakes::{discord::Discord, telegram::Telegram};

use side::{Person, Side};
use transcript::Transcript;

/// The longest that all of it may take. It takes about a third of this.
const LIMIT: Duration = Duration::from_secs(60);
/// How long a start may take.
const START: Duration = Duration::from_secs(20);

fn main() -> ExitCode {
    // Started by itself with a command, this program is `hive`.
    if std::env::args().nth(1).as_deref() == Some("run") {
        return openhive::cli::main();
    }
    match play() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nNot everything was seen: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn play() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async { tokio::time::timeout(LIMIT, conversation()).await.context("it took too long")? })
}

async fn conversation() -> Result<()> {
    let began = tokio::time::Instant::now();
    let folder = tempfile::tempdir().context("make a folder")?;
    let (discord, telegram, model) = (Discord::start().await, Telegram::start().await, ModelServer::start().await);
    let setup = Setup::new(std::env::current_exe().context("find this program")?, folder.path())
        .on_discord(&discord)
        .on_telegram(&telegram)
        // What a turn that is cut off by a stop gets; nothing here needs more.
        .file("config.yaml", "stop_grace: 2s\n");
    let (left, right) = (Side::discord(discord), Side::telegram(telegram));
    let setup = setup.set("HIVE_ADMINS", format!("{},{}", left.id(Person::Admin), right.id(Person::Admin)));
    let page = Transcript::begin("Discord", "Telegram");

    let hive = start(&setup).await;
    page.act("1. Somebody whom the hive does not know. The built-in offline model answers: no key, no network.");
    both(&page, acts::stranger(&left), acts::stranger(&right)).await?;
    page.act("2. An admin lets them in with a button; what they wrote meanwhile is handed over.");
    both(&page, acts::trusted(&left), acts::trusted(&right)).await?;
    page.act("3. Two topics in one conversation, each with a memory of its own.");
    both(&page, acts::topics(&left), acts::topics(&right)).await?;
    let ended = hive.stop().await;
    anyhow::ensure!(ended.status.success(), "the hive stopped with {}:\n{}", ended.status, ended.log);

    page.act("4. A slow answer grows in one message. From here on a scripted model behind HTTP answers: it is slow.");
    acts::script(&model);
    let setup = setup.with_anthropic(&model, "a-key-for-this-machine");
    let hive = start(&setup).await;
    both(&page, acts::growing(&left), acts::growing(&right)).await?;

    page.act("5. The process is killed in the middle of a turn, and started again.");
    both(&page, acts::cut_off(&left), acts::cut_off(&right)).await?;
    let pid = hive.pid().unwrap_or_default();
    hive.kill().await;
    page.note(&format!("process {pid} was killed (SIGKILL), with a draft on both screens"));
    let hive = start(&setup).await;
    page.note(&format!("process {} runs, and finds the turns in its journal", hive.pid().unwrap_or_default()));
    let (one, other) = tokio::try_join!(acts::finished(&left), acts::finished(&right))?;
    page.gap();
    page.rows(&one.lines, &other.lines);
    hive.stop().await;
    page.note(&format!(
        "replies to that one question: {} on Discord, {} on Telegram; the model was asked {} times for the two of them",
        one.copies,
        other.copies,
        acts::asked_for_the_cut_story(&model)
    ));
    anyhow::ensure!((one.copies, other.copies) == (1, 1), "not exactly one reply");
    page.end(&format!("Everything above was seen as it should be, in {:.1} s.", began.elapsed().as_secs_f64()));
    Ok(())
}

/// Starts the hive and waits until it listens to both platforms.
async fn start(setup: &Setup) -> Product {
    let hive = setup.start();
    hive.listens_to(&["discord", "telegram"], START).await;
    hive
}

/// Plays an act on both sides at once and prints what each of them saw.
async fn both(
    page: &Transcript,
    left: impl Future<Output = Result<Vec<transcript::Line>>>,
    right: impl Future<Output = Result<Vec<transcript::Line>>>,
) -> Result<()> {
    let (left, right) =
        tokio::try_join!(async { left.await.context("on Discord") }, async { right.await.context("on Telegram") })?;
    page.rows(&left, &right);
    Ok(())
}
