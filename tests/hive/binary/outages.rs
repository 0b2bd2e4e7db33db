//! Platforms that fail: away and back, too many requests, somebody else who polls.

use std::time::Duration;

use fakes::{discord, telegram};

use super::world::{PATIENCE, World};
use super::{Named, real};

pub(super) const ALL: &[Named] = &[
    ("a_second_poller_is_named_and_outlasted", || real(second_poller())),
    ("when_discord_comes_back_what_was_said_meanwhile_is_answered_once", || real(discord_away())),
    ("when_telegram_comes_back_what_was_said_meanwhile_is_answered_once", || real(telegram_away())),
    ("a_hive_that_starts_before_its_platforms_waits_for_them", || real(started_first())),
    ("commands_that_cannot_be_registered_now_hold_nobody_up", || real(commands_limited())),
    ("a_limited_conversation_waits_and_no_other_does", || real(one_limited())),
];

async fn second_poller() {
    let world = World::with_anthropic().await;
    let product = world.start().await;
    let url = format!("{}/bot{}/GetUpdates", world.telegram.url(), world.telegram.token());
    let other = reqwest::Client::new();
    let ask = || other.post(&url).json(&serde_json::json!({ "timeout": 0 })).send();
    let named = |log: &str| log.contains("another process polls with the same token");
    let mut asked = 0;
    while !named(&product.log()) {
        asked += 1;
        assert!(asked < 2_000, "nothing was said of the second poller:\n{}", product.log());
        ask().await.expect("the server answers");
    }
    world.say_on_telegram("are you there");
    world.telegram_shows(&["You said: are you there"]).await;
}

async fn discord_away() {
    let world = World::with_anthropic().await;
    let product = world.start().await;
    world.say_on_discord("before");
    world.discord_shows(&["You said: before"]).await;
    world.discord.offline();
    world.say_on_discord("meanwhile");
    product.wait_log(PATIENCE, |log| log.contains("discord: the connection is lost")).await;
    world.say_on_telegram("and you");
    world.telegram_shows(&["You said: and you"]).await;
    world.discord.online();
    world.discord_shows(&["You said: before", "You said: meanwhile"]).await;
    // The next connection cannot resume: what is said until then has to be read back.
    world.discord.disconnect();
    world.discord.forget_sessions();
    world.say_on_discord("after");
    world.discord_shows(&["You said: before", "You said: meanwhile", "You said: after"]).await;
}

async fn telegram_away() {
    let world = World::with_anthropic().await;
    let product = world.start().await;
    let bad_gateway = || telegram::Failure::new(telegram::Fault::Status(502));
    world.telegram.fail(bad_gateway().of("getupdates").times(3));
    world.telegram.fail(bad_gateway().of("sendmessage").times(1));
    world.telegram.cut_poll();
    world.say_on_telegram("meanwhile");
    product.wait_log(PATIENCE, |log| log.contains("telegram: the connection is lost")).await;
    world.telegram_shows(&["You said: meanwhile"]).await;
    world.say_on_telegram("after");
    world.telegram_shows(&["You said: meanwhile", "You said: after"]).await;
}

async fn started_first() {
    let world = World::with_anthropic().await;
    world.discord.offline();
    world.telegram.fail(telegram::Failure::new(telegram::Fault::CutBefore).times(3));
    let product = world.setup.start();
    product.listens_to(&["telegram"], PATIENCE).await;
    world.discord.online();
    product.listens_to(&["discord"], PATIENCE).await;
    world.say_on_discord("hello");
    world.discord_shows(&["You said: hello"]).await;
}

async fn commands_limited() {
    let world = World::with_anthropic().await;
    let limited = discord::Fault::TooMany { retry_after: Duration::from_secs(60), global: false };
    world.discord.fail(discord::On::Commands, limited, 1);
    world.telegram.fail(telegram::Failure::new(telegram::Fault::TooManyRequests(60)).of("setmycommands"));
    let _product = world.start().await;
    world.say_on_discord("hello");
    world.say_on_telegram("hello");
    world.discord_shows(&["You said: hello"]).await;
    world.telegram_shows(&["You said: hello"]).await;
    assert_eq!(world.discord.commands().as_array().map_or(0, Vec::len), 0, "they are still waited with");
}

async fn one_limited() {
    let world = World::with_anthropic().await;
    let limited = discord::Fault::TooMany { retry_after: Duration::from_secs(2), global: false };
    world.discord.fail_in(world.discord_dm, discord::On::Send, limited, 1);
    let room = world.discord.channel("general");
    let _product = world.start().await;
    world.say_on_discord("slow");
    let sent = |request: &discord::Request| request.status == 429;
    world.discord.until(|| world.discord.requests().iter().any(sent).then_some(()), PATIENCE).await.expect("limited");
    world.discord.say(room, world.discord_admin, &format!("{} quick", world.discord.mention()));
    let bot = world.discord.bot_id();
    world.discord.wait_for(room, |shown| shown.iter().any(|it| it.author == bot), PATIENCE).await;
    assert_eq!(world.on_discord().len(), 0, "the limited conversation still waits");
    world.discord_shows(&["You said: slow"]).await;
}
