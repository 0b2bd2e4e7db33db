//! Stopping and coming back: by SIGTERM, by a kill, in the middle of a turn and between turns.

use std::time::Duration;

use fakes::model::Reply;
use fakes::product::Product;

use super::world::{PATIENCE, World};
use super::{Named, real};

pub(super) const ALL: &[Named] = &[
    ("a_turn_that_a_stop_cuts_off_ends_in_one_reply_after_the_next_start", || real(cut_off(How::Stopped))),
    ("a_turn_that_a_kill_cuts_off_ends_in_one_reply_after_the_next_start", || real(cut_off(How::Killed))),
    ("a_draft_that_a_kill_leaves_is_written_on_and_becomes_the_reply", || real(draft_goes_on())),
    ("a_stop_lets_a_turn_end_that_can_and_takes_nothing_in_meanwhile", || real(ends_in_time())),
    ("what_was_said_while_the_hive_was_down_is_answered_when_it_is_back", || real(caught_up())),
];

#[derive(Clone, Copy)]
enum How {
    Stopped,
    Killed,
}

async fn end(product: Product, how: How) {
    match how {
        How::Killed => drop(product.kill().await),
        How::Stopped => {
            let ended = product.stop().await;
            assert_eq!(ended.code(), Some(0), "{}", ended.log);
            assert!(ended.log.contains("left for the next start"), "{}", ended.log);
        }
    }
}

async fn cut_off(how: How) {
    let mut world = World::with_anthropic().await;
    world.setup = world.setup.file("config.yaml", "stop_grace: 1s\n");
    world.model.hold();
    let product = world.start().await;
    world.say_on_discord("one");
    world.say_on_telegram("two");
    world.model.wait_requests(2, PATIENCE).await.expect("both turns ask");
    end(product, how).await;
    world.model.release();
    let product = world.start().await;
    world.discord_shows(&["You said: one"]).await;
    world.telegram_shows(&["You said: two"]).await;
    assert!(product.log().contains("go on: 2") || matches!(how, How::Stopped), "{}", product.log());
    // What is sent late would come before the answer to what is said later.
    world.say_on_discord("three");
    world.say_on_telegram("four");
    world.discord_shows(&["You said: one", "You said: three"]).await;
    world.telegram_shows(&["You said: two", "You said: four"]).await;
}

async fn draft_goes_on() {
    let world = World::with_anthropic().await;
    let whole = (1..=60).map(|n| format!("word{n}")).collect::<Vec<_>>().join(" ");
    // Longer than anybody waits: whole only once it is asked for again.
    world.model.queue(Reply::text(&whole).in_chunks(300).paced(Duration::from_millis(60)));
    world.model.queue(Reply::text(&whole).in_chunks(300).paced(Duration::from_millis(60)));
    let product = world.start().await;
    world.say_on_discord("a story");
    world.say_on_telegram("a story");
    world.discord.wait_for(world.discord_dm, |shown| shown.len() == 2, PATIENCE).await;
    world.telegram.wait_for(world.telegram_admin, PATIENCE, |shown| shown.len() == 1).await;
    product.kill().await;
    let drafts = (world.on_discord(), world.on_telegram());
    assert!(drafts.0[0] != whole && drafts.1[0] != whole, "killed in the middle: {drafts:?}");
    world.model.rule("a story", Reply::text(&whole));
    let _product = world.start().await;
    world.discord_shows(&[&whole]).await;
    // Killed after Telegram had the draft and before its id was noted, the hive cannot know that it is there.
    let is_there = |shown: &[fakes::telegram::Shown]| shown.last().is_some_and(|it| it.text == whole);
    let shown = world.telegram.wait_for(world.telegram_admin, PATIENCE, is_there).await;
    assert_eq!(shown.iter().filter(|it| it.text == whole).count(), 1, "{shown:?}");
}

async fn ends_in_time() {
    let world = World::with_anthropic().await;
    world.model.hold();
    let product = world.start().await;
    world.say_on_discord("one");
    world.model.wait_requests(1, PATIENCE).await.expect("the turn asks");
    product.ask_to_stop().await;
    product.wait_log(PATIENCE, |log| log.contains("stopping")).await;
    world.model.release();
    let ended = product.ended(PATIENCE).await;
    assert_eq!(ended.code(), Some(0), "{}", ended.log);
    assert_eq!(world.on_discord(), ["You said: one"], "the turn ended, and what it said was sent");
}

async fn caught_up() {
    let world = World::with_anthropic().await;
    let room = world.discord.channel("general");
    let product = world.start().await;
    world.say_on_discord("before");
    world.say_on_telegram("before");
    world.discord_shows(&["You said: before"]).await;
    world.telegram_shows(&["You said: before"]).await;
    assert_eq!(product.stop().await.code(), Some(0));
    world.say_on_discord("meanwhile");
    world.say_on_telegram("meanwhile");
    world.discord.say(room, world.discord_admin, &format!("{} meanwhile", world.discord.mention()));
    let product = world.start().await;
    world.discord_shows(&["You said: before", "You said: meanwhile"]).await;
    world.telegram_shows(&["You said: before", "You said: meanwhile"]).await;
    // A room in which nothing was ever said to the bot is looked at too.
    let bot = world.discord.bot_id();
    world.discord.wait_for(room, |shown| shown.iter().any(|it| it.author == bot), PATIENCE).await;
    product.wait_log(PATIENCE, |log| log.contains("caught up with 2 messages sent while away, skipped 0")).await;
}
