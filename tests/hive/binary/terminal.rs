//! The terminal: joined to a hive that runs, or the whole of a hive that has no platform.

use super::world::{PATIENCE, World};
use super::{Named, real};

pub(super) const ALL: &[Named] = &[
    ("hive_chat_joins_the_hive_that_runs", || real(joined())),
    ("hive_chat_without_a_hive_runs_one_for_as_long_as_somebody_talks", || real(alone())),
    ("without_token_and_key_a_question_piped_in_is_answered_by_the_offline_model", || real(piped())),
];

async fn joined() {
    let world = World::with_anthropic().await;
    let product = world.start().await;
    let mut chat = world.setup.start_as(&["chat"]);
    chat.say("good morning\n").await;
    chat.wait_output(PATIENCE, |shown| shown.contains("You said: good morning")).await;
    chat.say("/whoami\n").await;
    chat.wait_output(PATIENCE, |shown| shown.contains("an admin")).await;
    chat.end_input();
    let ended = chat.ended(PATIENCE).await;
    assert_eq!(ended.code(), Some(0), "{}", ended.log);
    // The hive is not its terminal: it goes on.
    world.say_on_telegram("are you there");
    world.telegram_shows(&["You said: are you there"]).await;
    assert_eq!(product.stop().await.code(), Some(0));
}

async fn alone() {
    let world = World::new().await;
    let ended = world.without_platforms().run(&["chat"], "hello\n").await;
    assert_eq!(ended.code(), Some(0), "{}", ended.log);
    assert!(ended.output.contains("offline model"), "{}", ended.output);
}

async fn piped() {
    let world = World::new().await;
    let setup = world.without_platforms();
    let ended = setup.run(&[], "how do I add a key?\n").await;
    assert_eq!(ended.code(), Some(0), "{}", ended.log);
    assert!(ended.output.contains("ANTHROPIC_API_KEY"), "{}", ended.output);
    assert!(!ended.output.contains("INFO") && ended.log.contains("offline model"), "the log goes to stderr");
    let ended = setup.run(&[], "which topics are there?\n").await;
    assert!(ended.output.contains("list_topics answered"), "a tool was called: {}", ended.output);
    // It remembers: what was said is in the database of the next start.
    let topics = setup.run(&["topics", "--json"], "").await;
    assert!(topics.output.contains("console:local"), "{}", topics.output);
}
