//! What a start says when something is wrong: in plain words, with an exit code, and without a secret.

use std::path::Path;

use fakes::product::{Ended, Setup};
use rusqlite::Connection;

use super::world::{PATIENCE, World};
use super::{Named, real};

pub(super) const ALL: &[Named] = &[
    ("a_wrong_token_is_said_to_be_wrong_and_ends_the_hive", || real(wrong_tokens())),
    ("a_wrong_token_on_one_platform_leaves_the_other_alone", || real(one_wrong_token())),
    ("every_fault_of_the_configuration_is_told_at_once", || real(broken_files())),
    ("a_second_hive_on_one_run_directory_is_refused", || real(two_hives())),
    ("a_file_that_is_no_database_is_refused_in_words", || real(no_database())),
    ("a_database_of_a_newer_version_is_refused_in_words", || real(newer_database())),
    ("a_run_directory_that_cannot_be_is_named", || real(no_run_directory())),
    ("on_a_full_disk_nothing_is_acknowledged_and_nothing_lost", || real(full_disk())),
];

const WRONG: &str = "MTE5wrongwrongwrong.GtOkEn.0123456789abcdefghijklmnopq";
const WRONG_SECRET: &str = "AAFwrongwrongwrongwrongwrongwrong12";

async fn wrong_tokens() {
    let world = World::new().await;
    let telegram_token = format!("7000000001:{WRONG_SECRET}");
    let only_telegram = world.setup.clone().without("DISCORD_TOKEN").without("DISCORD_API_URL");
    let only_discord = world.setup.clone().without("TELEGRAM_TOKEN").without("TELEGRAM_API_URL");
    for (setup, name) in [
        (only_discord.set("DISCORD_TOKEN", WRONG), "discord"),
        (only_telegram.set("TELEGRAM_TOKEN", telegram_token), "telegram"),
    ] {
        let ended = setup.start().ended(PATIENCE).await;
        assert_eq!(ended.code(), Some(1), "{}", ended.log);
        assert!(ended.log.contains(name) && ended.log.contains("token"), "{}", ended.log);
        keeps_secrets(&ended);
    }
}

async fn one_wrong_token() {
    let mut world = World::new().await;
    world.setup = world.setup.set("DISCORD_TOKEN", WRONG);
    let product = world.setup.start();
    product.listens_to(&["telegram"], PATIENCE).await;
    product.wait_log(PATIENCE, |log| log.contains("discord is not listened to")).await;
    world.say_on_telegram("hello");
    let answered = |shown: &[fakes::telegram::Shown]| shown.iter().any(|it| it.text.contains("offline model"));
    world.telegram.wait_for(world.telegram_admin, PATIENCE, answered).await;
    keeps_secrets(&product.stop().await);
}

fn keeps_secrets(ended: &Ended) {
    for secret in [WRONG, WRONG_SECRET] {
        assert!(!ended.log.contains(secret) && !ended.output.contains(secret), "{}", ended.log);
    }
}

async fn broken_files() {
    let world = World::new().await;
    let setup = world
        .setup
        .clone()
        .file("config.yaml", "topics:\n  idle_after: 2\nsesion: {}\n")
        .file("channels.yaml", "trust:\n  channels:\n    discord:\n      polcy: allow\n  default_policy: perhaps\n")
        .file("providers.yaml", "profiles:\n  main: { provider: nobody }\n")
        .set("HIVE_LGO", "debug");
    let ended = setup.start().ended(PATIENCE).await;
    assert_eq!(ended.code(), Some(2), "{}", ended.log);
    for part in [
        "HIVE_LGO",
        "did you mean `HIVE_LOG`",
        "config.yaml: topics.idle_after",
        "sesion",
        "did you mean `session`",
        "channels.yaml: trust.channels.discord.polcy",
        "did you mean `policy`",
        "trust.default_policy",
        "providers.yaml: profiles.main.provider",
    ] {
        assert!(ended.log.contains(part), "`{part}` is not in\n{}", ended.log);
    }
    assert!(!setup.run_dir().exists(), "nothing was begun");
}

async fn two_hives() {
    let world = World::new().await;
    let product = world.start().await;
    let second = world.setup.start().ended(PATIENCE).await;
    assert_eq!(second.code(), Some(1));
    assert!(second.log.contains("a hive runs on") && second.log.contains("already"), "{}", second.log);
    // The first one has not noticed.
    world.say_on_discord("hello");
    world.discord.wait_for(world.discord_dm, |shown| shown.len() == 2, PATIENCE).await;
    product.kill().await;
    // A lock is nobody's once its process is gone, however it went.
    world.start().await;
}

async fn no_database() {
    let world = World::new().await;
    refuses(
        &world.setup,
        |path| {
            std::fs::write(path, "These are words, and no database. ".repeat(300)).expect("written");
        },
        &["openhive.db", "this file is not a database"],
    )
    .await;
}

async fn newer_database() {
    let world = World::new().await;
    let made = world.setup.run(&["status"], "").await;
    assert_eq!(made.code(), Some(0), "{}", made.log);
    let sql =
        "UPDATE _sqlx_migrations SET version = 999999 WHERE version = (SELECT max(version) FROM _sqlx_migrations)";
    let path = world.setup.run_dir().join("openhive.db");
    let rows = Connection::open(&path).expect("the hive has made it");
    rows.execute(sql, ()).expect("the table of versions is there");
    rows.close().expect("closed");
    refuses(&world.setup, |_| {}, &["openhive.db", "written by a newer version", "999999"]).await;
}

/// Starts on a database that `spoil` has spoilt; every one of `words` must be said.
async fn refuses(setup: &Setup, spoil: impl FnOnce(&Path), words: &[&str]) {
    std::fs::create_dir_all(setup.run_dir()).expect("the run directory can be made");
    spoil(&setup.run_dir().join("openhive.db"));
    let ended = setup.start().ended(PATIENCE).await;
    assert_eq!(ended.code(), Some(1), "{}", ended.log);
    for word in words {
        assert!(ended.log.contains(word), "`{word}` is not in\n{}", ended.log);
    }
    assert!(!ended.log.contains("panicked"), "{}", ended.log);
}

async fn no_run_directory() {
    let world = World::new().await;
    let file = world.setup.folder().join("a-file");
    std::fs::write(&file, "").expect("written");
    let run_dir = file.join("run").display().to_string();
    let ended = world.setup.clone().set("HIVE_RUN_DIR", &run_dir).start().ended(PATIENCE).await;
    assert_eq!(ended.code(), Some(1), "{}", ended.log);
    assert!(ended.log.contains(&run_dir), "{}", ended.log);
}

/// No file may grow past this, in blocks of 512 bytes: what a start writes to the database's log, and a message or two.
const ROOM_BLOCKS: u32 = 1400;

async fn full_disk() {
    let world = World::with_anthropic().await;
    let product = world.start().await;
    world.say_on_discord("message 1");
    world.discord_shows(&["You said: message 1"]).await;
    product.stop().await;
    // A database that is there is read, and its log takes a few changes more.
    let product = world.setup.start_with_little_room(ROOM_BLOCKS);
    product.listens_to(&["discord", "telegram"], PATIENCE).await;
    let full = |log: &str| log.contains("ERROR");
    let mut said = 1;
    while !full(&product.log()) {
        said += 1;
        assert!(said <= 200, "it never filled up:\n{}", product.log());
        world.say_on_discord(&format!("message {said}"));
        let answered = || world.on_discord().len() == said;
        tokio::select! {
            answered = world.discord.until(|| answered().then_some(()), PATIENCE) => {
                assert!(answered.is_some(), "neither an answer nor a word:\n{}", product.log());
            }
            _ = product.wait_log(PATIENCE, full) => {}
        }
    }
    let ended = product.kill().await;
    assert!(ended.log.contains("disk") && !ended.log.contains("panicked"), "{}", ended.log);
    // With room again, whatever was said is answered, and once.
    let _product = world.start().await;
    let all: Vec<String> = (1..=said).map(|n| format!("You said: message {n}")).collect();
    world.discord_shows(&all.iter().map(String::as_str).collect::<Vec<_>>()).await;
}
