//! The main job: a trusted person's message becomes the model's answer, on both platforms and both protocols.

use std::time::Duration;

use fakes::discord::Discord;
use fakes::model::{Reply, Wire};
use serde_json::json;

use super::world::{KEY, PATIENCE, World};
use super::{Named, real};

pub(super) const ALL: &[Named] = &[
    ("a_message_is_answered_on_both_platforms_through_anthropic_s_protocol", || real(answered(Wire::Anthropic))),
    ("a_message_is_answered_on_both_platforms_through_openai_s_protocol", || real(answered(Wire::OpenAi))),
    ("in_a_room_the_bot_answers_who_mentions_it_and_nobody_else", || real(mentioned())),
    ("a_slow_answer_grows_in_one_message_and_ends_as_the_whole", || real(slow())),
    ("what_is_said_during_a_turn_is_answered_in_it", || real(said_meanwhile())),
    ("a_model_that_refuses_is_told_of_in_words", || real(refused())),
];

async fn answered(wire: Wire) {
    let mut world = World::new().await;
    world.model.accept_only(KEY);
    world.setup = match wire {
        Wire::Anthropic => world.setup.with_anthropic(&world.model, KEY),
        Wire::OpenAi => world.setup.with_openai(&world.model, KEY),
    };
    world.model.rule_by(|asked| {
        let wanted = asked.text == "which topics are there" && asked.results.is_empty();
        wanted.then(|| Reply::call("list_topics", &json!({})))
    });
    let _product = world.start().await;
    world.say_on_discord("good morning");
    world.say_on_telegram("good evening");
    world.discord_shows(&["You said: good morning"]).await;
    world.telegram_shows(&["You said: good evening"]).await;
    world.say_on_discord("which topics are there");
    world.say_on_telegram("which topics are there");
    let bot = world.discord.bot_id();
    let told = |text: &str, name: &str| text.starts_with("The tools said: ") && text.contains(name);
    let looks = |shown: &[fakes::discord::Shown]| {
        shown.iter().filter(|it| it.author == bot).count() == 2 && shown.iter().any(|it| told(&it.text, "good morning"))
    };
    world.discord.wait_for(world.discord_dm, looks, PATIENCE).await;
    let looks = |shown: &[fakes::telegram::Shown]| shown.len() == 2 && told(&shown[1].text, "good evening");
    world.telegram.wait_for(world.telegram_admin, PATIENCE, looks).await;
    for request in world.model.requests() {
        let path = if wire == Wire::Anthropic { "/v1/messages" } else { "/v1/chat/completions" };
        assert_eq!(request.path, path);
    }
}

async fn mentioned() {
    let world = World::with_anthropic().await;
    let room = world.discord.channel("general");
    let group = world.telegram.supergroup("General");
    let _product = world.start().await;
    world.discord.say(room, world.discord_admin, "not for the bot");
    world.telegram.say(group, world.telegram_admin, "not for the bot");
    let asked = world.discord.say(room, world.discord_admin, &format!("{} are you there", world.discord.mention()));
    let words = format!("@{} are you there", world.telegram.bot_name());
    let asked_in_group = world.telegram.say(group, world.telegram_admin, words);
    let bot = world.discord.bot_id();
    let looks = |shown: &[fakes::discord::Shown]| {
        shown.iter().any(|it| it.author == bot && it.reply_to == Some(asked) && it.text.contains("are you there"))
    };
    world.discord.wait_for(room, looks, PATIENCE).await;
    let looks = |shown: &[fakes::telegram::Shown]| {
        shown.iter().any(|it| it.reply_to == Some(asked_in_group) && it.text.contains("are you there"))
    };
    world.telegram.wait_for(group, PATIENCE, looks).await;
    assert_eq!((world.discord.answers(room).len(), world.telegram.messages(group).len()), (1, 1));
    for request in world.model.requests() {
        assert!(!String::from_utf8_lossy(&request.body).contains("not for the bot"), "it was read all the same");
    }
}

async fn slow() {
    let world = World::with_anthropic().await;
    let words: Vec<String> = (1..=40).map(|n| format!("word{n}")).collect();
    let whole = words.join(" ");
    world.model.rule("slowly", Reply::text(&whole).in_chunks(20).paced(Duration::from_millis(180)));
    let mut discord_showed = world.discord.watch();
    let _product = world.start().await;
    world.say_on_discord("slowly please");
    world.say_on_telegram("slowly please");
    world.discord_shows(&[&whole]).await;
    world.telegram_shows(&[&whole]).await;
    let mut stages = Vec::new();
    while let Ok(shown) = discord_showed.try_recv() {
        stages.push(shown);
    }
    assert!(stages.len() >= 3, "it grew: {stages:?}");
    assert!(stages.iter().all(|stage| stage.id == stages[0].id), "in one message: {stages:?}");
    for pair in stages.windows(2) {
        let before = pair[0].text.trim_end_matches('…').trim_end();
        assert!(whole.starts_with(before) && pair[1].text.len() >= before.len(), "{pair:?}");
    }
    let shown = world.telegram.messages(world.telegram_admin);
    assert!(shown[0].edits >= 1, "it grew: {shown:?}");
    assert!(world.discord.typing().contains(&world.discord_dm), "it typed");
    assert!(world.telegram.actions(world.telegram_admin).iter().any(|(action, _)| action == "typing"));
}

async fn said_meanwhile() {
    let world = World::with_anthropic().await;
    world.model.hold();
    let _product = world.start().await;
    world.say_on_telegram("first");
    let asked = world.model.wait_requests(1, PATIENCE).await;
    asked.expect("the model is asked");
    world.say_on_telegram("second");
    let taken = || world.telegram.updates_waiting() == 0;
    world.telegram.wait_until(PATIENCE, || "updates wait".to_owned(), || taken().then_some(())).await;
    world.model.release();
    let both = |shown: &[fakes::telegram::Shown]| {
        let all: String = shown.iter().map(|it| it.text.as_str()).collect::<Vec<_>>().join("\n");
        all.contains("You said: first") && all.contains("You said: second")
    };
    world.telegram.wait_for(world.telegram_admin, PATIENCE, both).await;
}

async fn refused() {
    let world = World::with_anthropic().await;
    world.model.accept_only("another key");
    let product = world.start().await;
    world.say_on_discord("hello");
    let apology = |discord: &Discord| {
        let shown = discord.answers(world.discord_dm);
        shown.first().filter(|it| it.text.starts_with("⚠️")).map(|it| it.text.clone())
    };
    let text = world.discord.until(|| apology(&world.discord), PATIENCE).await.expect("an apology");
    assert!(!text.contains(KEY) && !text.contains("401") && !text.contains("http"), "{text}");
    let log = product.wait_log(PATIENCE, |log| log.contains("the model did not answer")).await;
    assert!(!log.contains(KEY));
}
