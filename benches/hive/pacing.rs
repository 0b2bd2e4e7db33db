//! `pacing`: a thousand replies to two hundred conversations on each platform, whose servers keep their documented
//! limits; the platform refuses one conversation for a while.
//!
//! Each of two hundred people asks once, and each answer is five messages long.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use fakes::discord::{self, Discord};
use fakes::model::{ModelServer, Reply};
use fakes::telegram::{self, Telegram};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::Extent;
use crate::house;
use crate::machine::Machine;
use crate::report::{Compared, Figure, Goal, Report};
use crate::spread::Spread;

/// Messages of one answer.
const PIECES: usize = 5;
/// Messages a second to everybody together (Bot FAQ, "Broadcasting to Users").
///
/// And one a second to one person, so that five take four seconds.
const TELEGRAM: Platform =
    Platform { name: "Telegram", per_second: 30, one_answer: Duration::from_secs(4), piece_chars: 3_900 };
/// Requests a second of one bot (<https://discord.com/developers/docs/topics/rate-limits#global-rate-limit>).
///
/// And five in five seconds to one channel, so that five may go at once.
const DISCORD: Platform = Platform { name: "Discord", per_second: 50, one_answer: Duration::ZERO, piece_chars: 1_900 };
/// How much longer than the optimum everything may take before it is given up.
const PATIENCE: u32 = 4;

/// A platform's documented limit.
#[derive(Clone, Copy)]
struct Platform {
    name: &'static str,
    per_second: u32,
    /// The least time from the first message of an answer to its last.
    one_answer: Duration,
    /// So long that two pieces do not fit into one message.
    piece_chars: usize,
}

impl Platform {
    /// Five paragraphs, each as long as a message may be.
    fn answer(self) -> String {
        let paragraph = "so it goes on ".repeat(self.piece_chars / 14);
        vec![paragraph.trim().to_owned(); PIECES].join("\n\n")
    }

    /// The least time in which the documented rates let so many requests through, where one answer begins after
    /// `held`.
    fn optimum(self, requests: usize, held: Duration) -> Duration {
        (Duration::from_secs(1) * requests as u32 / self.per_second).max(held + self.one_answer)
    }
}

/// When each message of the bot was posted, by conversation.
type Posts = BTreeMap<i64, Vec<Instant>>;

/// What came of one platform in one run.
struct Came {
    /// From the first question to the last message of an answer.
    took: Duration,
    /// From the first question to the first message of an answer.
    first: Duration,
    /// The longest time in which nothing was posted after that.
    pause: Duration,
    /// Messages that are missing, or too many.
    wrong: usize,
    /// Requests that the platform refused, without the one that it was told to.
    refused: usize,
    /// Requests that showed that somebody is at work.
    typing: usize,
}

impl Came {
    fn of(posts: &Posts, conversations: usize, begun: Instant) -> Result<Came> {
        let mut at: Vec<Instant> = posts.values().flatten().copied().collect();
        at.sort();
        let (first, last) = (*at.first().context("something was posted")?, at[at.len() - 1]);
        let pause = at.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default();
        let missing = conversations.saturating_sub(posts.len()) * PIECES;
        let wrong = posts.values().map(|posts| posts.len().abs_diff(PIECES)).sum::<usize>() + missing;
        Ok(Came { took: last - begun, first: first - begun, pause, wrong, refused: 0, typing: 0 })
    }

    fn with(self, refused: usize, typing: usize) -> Came {
        Came { refused, typing, ..self }
    }
}

/// Runs it.
pub async fn run(extent: Extent) -> Result<Report> {
    let people = extent.of(200, 20);
    let folder = house::folder()?;
    let mut came: [Vec<Came>; 2] = Default::default();
    // For how long the platform refuses the one conversation: in the middle of all the others.
    let held = extent.of(Duration::from_secs(8), Duration::from_secs(1));
    for run in 0..extent.pairs {
        let [telegram, discord] = once(&folder.path().join(run.to_string()), people, held).await?;
        came[0].push(telegram);
        came[1].push(discord);
    }
    // The held conversation is answered too, after one request that the platform refuses.
    let requests = (people + 1) * PIECES + 1;
    let mut report = Report {
        name: "pacing".to_owned(),
        about: format!(
            "{} replies to {people} conversations on each platform, and as many as fit to one that the platform \
             refuses for {} s",
            people * PIECES,
            held.as_secs()
        ),
        pairs: extent.pairs,
        quick: extent.quick,
        compared: Vec::new(),
        goals: Vec::new(),
        also: Vec::new(),
        machine: Machine::here(folder.path())?,
    };
    for (platform, came) in [TELEGRAM, DISCORD].into_iter().zip(&came) {
        account(&mut report, platform, came, requests, held);
    }
    Ok(report)
}

fn account(report: &mut Report, platform: Platform, came: &[Came], requests: usize, held: Duration) {
    let Platform { name, per_second, .. } = platform;
    let seconds =
        |pick: fn(&Came) -> Duration| -> Vec<f64> { came.iter().map(|came| pick(came).as_secs_f64()).collect() };
    let took = seconds(|came| came.took);
    let optimum = vec![platform.optimum(requests, held).as_secs_f64(); took.len()];
    let floor_is = format!("computed: {requests} requests at {per_second} a second");
    let compared = Compared::of(name, "s", &took, &floor_is, &optimum);
    let count = |pick: fn(&Came) -> usize| came.iter().map(pick).sum::<usize>() as f64;
    report.goals.push(Goal::at_most(&format!("{name}: ours ÷ optimum"), compared.ratio.median, 1.05, ""));
    report.goals.push(Goal::at_most(&format!("{name}: 429 of our making, all runs"), count(|it| it.refused), 0.0, ""));
    report.goals.push(Goal::at_most(&format!("{name}: replies missing or doubled"), count(|it| it.wrong), 0.0, ""));
    // A first burst as large as the limit: what the words of the documentation would just let through.
    let tightest = took.iter().map(|took| took / platform.optimum(requests - per_second as usize, held).as_secs_f64());
    let tightest = Spread::of(&tightest.collect::<Vec<_>>());
    report.also.push(Figure::new(&format!("{name}: ours ÷ a schedule that begins with a burst"), tightest.median, ""));
    let first = Spread::of(&seconds(|came| came.first));
    report.also.push(Figure::new(&format!("{name}: until the first reply"), first.median, "s"));
    let pause = Spread::of(&seconds(|came| came.pause));
    report.also.push(Figure::new(&format!("{name}: longest pause between two posts, with one held"), pause.high, "s"));
    let typing = count(|came| came.typing) / came.len() as f64;
    report.also.push(Figure::new(&format!("{name}: signs of typing beside them, mean of the runs"), typing, ""));
    report.compared.push(compared);
}

/// One run on both platforms, Telegram's result first.
async fn once(folder: &std::path::Path, people: usize, held: Duration) -> Result<[Came; 2]> {
    let (telegram, discord, model) = (Telegram::start().await, Discord::start().await, ModelServer::start().await);
    model.record(false);
    model.rule("telegram", Reply::text(TELEGRAM.answer()));
    model.rule("discord", Reply::text(DISCORD.answer()));
    let setup = house::program(folder)
        .file("config.yaml", "replies: { file_over_chars: 1000000 }\n")
        .set("HIVE_LOG", "info")
        .on_telegram(&telegram)
        .on_discord(&discord)
        .with_anthropic(&model, "a-key");
    let product = setup.start();
    product.listens_to(&["discord", "telegram"], house::CONNECTED).await;
    house::polled(&telegram).await;
    let conversations = people + 1;
    let chats = telegram_chats(&telegram, conversations);
    let rooms: Vec<(u64, u64)> = (0..conversations)
        .map(|number| {
            let user = discord.user(&format!("person{number}"));
            (discord.dm(user), user)
        })
        .collect();
    telegram.log_requests(true);
    telegram.keep_rates(true);
    discord.limit(true);
    let posted = discord.watch();
    // The last conversation is the one that is refused.
    let refusal = telegram::Fault::TooManyRequests(held.as_secs());
    telegram.fail(telegram::Failure::new(refusal).of("sendMessage").in_chat(chats[people]));
    let refusal = discord::Fault::TooMany { retry_after: held, global: false };
    discord.fail_in(rooms[people].0, discord::On::Send, refusal, 1);
    let begun = Instant::now();
    // The one that is refused asks first, so that it is refused while the others are answered.
    for number in (0..conversations).rev() {
        telegram.say(chats[number], chats[number], "What do you say on telegram?");
        discord.say(rooms[number].0, rooms[number].1, "What do you say on discord?");
    }
    let limit = TELEGRAM.optimum(conversations * PIECES, held) * PATIENCE;
    let (on_telegram, on_discord) =
        tokio::join!(telegram_posts(&telegram, &chats, limit), discord_posts(posted, conversations * PIECES, limit),);
    let log = product.stop().await.log;
    if on_telegram.is_empty() || on_discord.is_empty() {
        bail!("nothing was posted; the log says:\n{log}");
    }
    let sent: usize = on_telegram.values().map(Vec::len).sum();
    let refused = telegram.requests_of("sendMessage").len().saturating_sub(sent + 1);
    let typing = telegram.requests_of("sendChatAction").len();
    Ok([
        Came::of(&on_telegram, conversations, begun)?.with(refused, typing),
        Came::of(&on_discord, conversations, begun)?.with(discord.over_limit(), discord.typing().len()),
    ])
}

/// Private chats; each has the id of its person.
fn telegram_chats(telegram: &Telegram, count: usize) -> Vec<i64> {
    (0..count).map(|number| telegram.private(telegram.user(&format!("Person{number}")))).collect()
}

/// Waits until everything is there, or until `limit`.
async fn telegram_posts(telegram: &Telegram, chats: &[i64], limit: Duration) -> Posts {
    let deadline = Instant::now() + limit;
    loop {
        let times = |chat: &i64| telegram.messages(*chat).iter().filter_map(|shown| shown.sent_at).collect::<Vec<_>>();
        let posts: Posts = chats.iter().map(|chat| (*chat, times(chat))).collect();
        let all = posts.values().all(|posts| posts.len() >= PIECES);
        if all || Instant::now() >= deadline {
            return posts;
        }
        // Looking costs the server time that the hive should have: seldom, because the times are the server's own.
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Takes down what is posted until it is `count` messages, or until `limit`.
async fn discord_posts(mut posted: UnboundedReceiver<discord::Shown>, count: usize, limit: Duration) -> Posts {
    let mut posts = Posts::new();
    let all = async {
        let mut came = 0;
        while came < count {
            let Some(shown) = posted.recv().await else { return };
            if shown.edits == 0 && !shown.thinking {
                posts.entry(shown.channel as i64).or_default().push(Instant::now());
                came += 1;
            }
        }
    };
    // What has not come by then is counted as missing.
    let _in_time = tokio::time::timeout(limit, all).await;
    posts
}
