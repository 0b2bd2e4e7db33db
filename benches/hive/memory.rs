//! `memory`: what an idle hive holds, and what each further topic adds once nobody talks in it.

use std::ops::Range;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fakes::discord::Discord;
use fakes::product::{Product, Setup};
use fakes::telegram::Telegram;
use serde::{Deserialize, Serialize};

use crate::Extent;
use crate::house::{self, CONNECTED};
use crate::line::Line;
use crate::machine::Machine;
use crate::proc::resident_kib;
use crate::report::{Compared, Figure, Goal, Report};
use crate::spread::{Spread, median};
use crate::talk::Talk;

/// The most that an idle hive may hold, in MB of a million bytes.
const IDLE_MB: f64 = 25.0;
/// The most that each further topic may hold, in KiB.
const TOPIC_KIB: f64 = 0.5;
/// After this an idle hive has settled.
const SETTLED: Duration = Duration::from_secs(3);
/// Messages that are open at once while topics are made.
const AT_ONCE: usize = 50;

/// What the process found out in which topics grow.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Grown {
    /// Growth by messages in new topics, in KiB for each topic, once for each pair.
    fresh_kib: Vec<f64>,
    /// Growth by as many messages in the topics that were there, in KiB for each.
    known_kib: Vec<f64>,
    /// Messages that nothing answered.
    lost: usize,
}

/// Runs it.
pub async fn run(extent: Extent) -> Result<Report> {
    let folder = house::folder()?;
    let (discord, telegram) = (Discord::start().await, Telegram::start().await);
    let settled = extent.of(SETTLED, Duration::from_millis(500));
    let (mut connected_mb, mut alone_mb) = (Vec::new(), Vec::new());
    for pair in 0..extent.pairs {
        let home = house::program(&folder.path().join(format!("connected-{pair}"))).set("HIVE_LOG", "info");
        let both = home.on_discord(&discord).on_telegram(&telegram).start();
        both.listens_to(&["discord", "telegram"], CONNECTED).await;
        connected_mb.push(at_rest_mb(both, settled).await?);
        let alone = house::program(&folder.path().join(format!("alone-{pair}")));
        alone_mb.push(at_rest_mb(alone.start(), settled).await?);
    }
    let topics = extent.of(3_000, 200);
    let grown = grow(folder.path(), extent.pairs, topics).await?;
    let per_topic = Spread::of(&grown.fresh_kib);
    Ok(Report {
        name: "memory".to_owned(),
        about: "resident memory of the program, idle, with both adapters connected; and the growth by each further \
                topic at rest"
            .to_owned(),
        pairs: extent.pairs,
        quick: extent.quick,
        compared: vec![Compared::of(
            "idle on both platforms",
            "MB",
            &connected_mb,
            "the same program idle with no platform but a terminal",
            &alone_mb,
        )],
        goals: vec![
            Goal::at_most("resident when idle", median(&connected_mb), IDLE_MB, "MB"),
            Goal::at_most("each further topic at rest", mean(&grown.fresh_kib), TOPIC_KIB, "KiB"),
            Goal::at_most("messages lost meanwhile", grown.lost as f64, 0.0, ""),
        ],
        also: vec![
            Figure::new("further topics that were made", (extent.pairs * topics) as f64, ""),
            Figure::new("each further topic, lowest of the pairs", per_topic.low, "KiB"),
            Figure::new("each further topic, highest of the pairs", per_topic.high, "KiB"),
            Figure::new("floor: as many messages in topics that are there, for each", mean(&grown.known_kib), "KiB"),
        ],
        machine: Machine::here(folder.path())?,
    })
}

/// What the program holds once it has settled, in MB. Ends it.
async fn at_rest_mb(product: Product, settled: Duration) -> Result<f64> {
    tokio::time::sleep(settled).await;
    let process = product.pid().with_context(|| format!("the hive runs: {}", product.log()))?.to_string();
    let resident = resident_kib(&process)?;
    product.kill().await;
    Ok(resident * 1_024.0 / 1e6)
}

fn mean(measured: &[f64]) -> f64 {
    measured.iter().sum::<f64>() / measured.len() as f64
}

/// Lets topics grow in a process of their own, so that nothing but a hive is in it.
async fn grow(folder: &std::path::Path, pairs: usize, topics: usize) -> Result<Grown> {
    let ourselves = std::env::current_exe().context("find this program")?;
    let arguments = ["--resident".to_owned(), pairs.to_string(), topics.to_string()];
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let product = Setup::new(ourselves, folder.join("grown")).start_as(&arguments);
    let output = product.wait_output(Duration::from_secs(1_200), |output| output.ends_with('\n')).await;
    serde_json::from_str(output.trim()).context("read what the process found out")
}

/// The process in which topics grow: a hive on a platform that keeps nothing. Prints what it found out.
pub async fn resident(pairs: usize, topics: usize) -> Result<()> {
    let folder = house::folder()?;
    let (line, posted) = Line::new();
    let hive = house::hive(folder.path(), line.clone()).await?;
    let mut talk = Talk::new(line, posted);
    let topics = topics as u64;
    let mut grown = Grown::default();
    // The first topics also fill caches and pools, which grow once.
    let mut next = topics + 1;
    for known in [1..next, 1..next] {
        grown.lost += talk.once_in_each(known, AT_ONCE).await.lost;
    }
    let mut before = at_rest_kib(&hive).await?;
    let mut step = async |range: Range<u64>, lost: &mut usize| -> Result<f64> {
        *lost += talk.once_in_each(range, AT_ONCE).await.lost;
        let now = at_rest_kib(&hive).await?;
        let each = (now - before) / topics as f64;
        before = now;
        Ok(each)
    };
    for _ in 0..pairs {
        let fresh = next..next + topics;
        next += topics;
        let each = step(fresh.clone(), &mut grown.lost).await?;
        grown.fresh_kib.push(each);
        let each = step(fresh, &mut grown.lost).await?;
        grown.known_kib.push(each);
    }
    ensure!(grown.fresh_kib.len() == pairs, "every pair was measured");
    hive.stop().await;
    use std::io::Write;
    writeln!(std::io::stdout(), "{}", serde_json::to_string(&grown)?).context("tell what was found out")
}

/// What this process holds once nothing is going on.
async fn at_rest_kib(hive: &openhive::app::Hive) -> Result<f64> {
    hive.idle(Duration::from_secs(30)).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    resident_kib("self")
}
