//! What the hive tells an operator: doctor, backup, logs; and what it tells nobody.

use std::path::Path;

use fakes::model::{Refusal, Reply};
use fakes::product::Setup;
use serde_json::Value;

use super::world::{KEY, PATIENCE, World};
use super::{Named, real};

pub(super) const ALL: &[Named] = &[
    ("doctor_finds_nothing_wrong_where_nothing_is", || real(healthy())),
    ("doctor_names_wrong_tokens_and_keys_without_showing_them", || real(ill())),
    ("every_call_of_a_tool_is_in_the_audit_and_a_changed_row_shows", || real(audited())),
    ("a_tool_is_explained_with_the_rule_that_decided", || real(explained())),
    ("a_backup_of_a_running_hive_is_whole", || real(backed_up())),
    ("every_line_of_a_json_log_is_json", || real(json_log())),
    ("no_secret_is_in_the_log_or_in_the_database", || real(secrets())),
];

async fn healthy() {
    let world = World::with_anthropic().await;
    world.model.accept_only(KEY);
    let product = world.start().await;
    let doctor = world.setup.run(&["doctor"], "").await;
    assert_eq!(doctor.code(), Some(0), "{}{}", doctor.output, doctor.log);
    for part in [
        "a hive runs on this run directory",
        "every page and index",
        "discord: the token is hive's",
        "telegram: the token is",
        "model profile anthropic: the key is accepted",
        "Nothing is wrong.",
    ] {
        assert!(doctor.output.contains(part), "`{part}` is not in\n{}", doctor.output);
    }
    shows_no_secret(&world, &doctor.output);
    shows_no_secret(&world, &doctor.log);
    drop(product);
}

async fn audited() {
    let world = World::with_anthropic().await;
    world.model.queue(Reply::call("list_directory", &serde_json::json!({ "path": "." })));
    world.model.queue(Reply::text("It is empty."));
    let asked = world.setup.run(&["chat"], "what is in your folder?\n").await;
    assert_eq!(asked.code(), Some(0), "{}{}", asked.output, asked.log);
    let listed = world.setup.run(&["audit", "--json"], "").await;
    let row: Value = serde_json::from_str(listed.output.trim()).expect("one call is one line");
    assert_eq!(
        (&row["tool"], &row["decision"], &row["outcome"]),
        (&"list_directory".into(), &"allowed".into(), &"done".into())
    );
    let whole = world.setup.run(&["audit", "verify"], "").await;
    assert_eq!(whole.code(), Some(0), "{}{}", whole.output, whole.log);
    let rows = rusqlite::Connection::open(world.setup.run_dir().join("openhive.db")).expect("it is there");
    rows.execute_batch("DROP TRIGGER audit_is_never_changed; UPDATE audit SET sender = 'discord:1'").expect("spoilt");
    let spoilt = world.setup.run(&["audit", "verify"], "").await;
    assert_eq!(spoilt.code(), Some(1), "{}{}", spoilt.output, spoilt.log);
    assert!(spoilt.output.contains("row 1 is not to be trusted"), "{}", spoilt.output);
    let doctor = world.setup.run(&["doctor", "--offline"], "").await;
    assert!(doctor.output.contains("WRONG  audit: row 1"), "{}", doctor.output);
}

async fn explained() {
    let world = World::new().await;
    let setup =
        world.setup.clone().file("config.yaml", "team: { toolboxes: [scout] }\n").set("HIVE_ADMINS", "discord:1");
    for (arguments, code, part) in [
        (&["explain", "main", "list_topics"][..], 1, "none of the agent's toolboxes or direct grants names it"),
        (&["explain", "main", "read_file"], 0, "every main agent has it"),
        (&["explain", "main", "create_toolbox", "--sender", "discord:1"], 1, "disabled by default"),
        (&["explain", "main", "read_file", "--sender", "discord:2"], 1, "reaches no tool"),
        (&["explain", "main", "no_such"], 1, "There is no tool `no_such`"),
        (&["explain", "other", "read_file"], 1, "there is no team `other`"),
    ] {
        let asked = setup.run(arguments, "").await;
        let said = format!("{}{}", asked.output, asked.log);
        assert!(asked.code() == Some(code) && said.contains(part), "{arguments:?}: {:?} {said}", asked.code());
    }
    let wrong = world.setup.clone().file("config.yaml", "team: { toolboxes: [research, sconut] }\n");
    let refused = wrong.run(&["explain", "main", "read_file"], "").await;
    assert!(refused.log.contains("there is no toolbox `sconut`"), "{}", refused.log);
}

async fn ill() {
    let world = World::new().await;
    world.model.accept_only("another key");
    let (discord, telegram) = (format!("{}x", world.discord.token()), format!("{}x", world.telegram.token()));
    let setup = world
        .setup
        .clone()
        .with_anthropic(&world.model, KEY)
        .set("DISCORD_TOKEN", &discord)
        .set("TELEGRAM_TOKEN", &telegram);
    let doctor = setup.run(&["doctor"], "").await;
    assert_eq!(doctor.code(), Some(1), "{}{}", doctor.output, doctor.log);
    for part in ["WRONG  discord:", "WRONG  telegram:", "WRONG  model profile anthropic:", "Wrong: 3."] {
        assert!(doctor.output.contains(part), "`{part}` is not in\n{}", doctor.output);
    }
    assert_eq!(doctor.output.matches("token").count().min(2), 2, "both tokens are named: {}", doctor.output);
    shows_no_secret(&world, &doctor.output);
    shows_no_secret(&world, &doctor.log);
    let offline = setup.run(&["doctor", "--offline"], "").await;
    assert_eq!(offline.code(), Some(0), "{}{}", offline.output, offline.log);
}

async fn backed_up() {
    let world = World::with_anthropic().await;
    let _product = world.start().await;
    world.say_on_discord("remember this");
    world.discord_shows(&["You said: remember this"]).await;
    let copy = world.setup.folder().join("copy.db").display().to_string();
    let backup = world.setup.run(&["backup", &copy], "").await;
    assert_eq!(backup.code(), Some(0), "{}", backup.log);
    let again = world.setup.run(&["backup", &copy], "").await;
    assert_eq!(again.code(), Some(1), "a backup replaces nothing");
    let other = Setup::new(env!("CARGO_BIN_EXE_hive"), world.setup.folder().join("other"));
    std::fs::create_dir_all(other.run_dir()).expect("made");
    std::fs::copy(&copy, other.run_dir().join("openhive.db")).expect("copied");
    let topics = other.run(&["topics", "--json"], "").await;
    assert!(topics.output.contains("remember this"), "{}{}", topics.output, topics.log);
    let doctor = other.run(&["doctor", "--offline"], "").await;
    assert_eq!(doctor.code(), Some(0), "{}", doctor.output);
}

async fn json_log() {
    let mut world = World::with_anthropic().await;
    world.setup = world.setup.set("HIVE_LOG_FORMAT", "json").set("HIVE_LOG", "debug");
    let product = world.start().await;
    world.say_on_discord("a \"quoted\" line\nand another one");
    world.discord.wait_for(world.discord_dm, |shown| shown.len() == 2, PATIENCE).await;
    let log = product.stop().await.log;
    assert!(log.lines().count() > 5, "{log}");
    for line in log.lines() {
        let entry: Value = serde_json::from_str(line).unwrap_or_else(|fault| panic!("{fault} in {line}"));
        assert!(entry["level"].is_string() && entry["timestamp"].is_string(), "{line}");
        assert!(entry["fields"]["message"].is_string(), "{line}");
    }
    assert!(!log.contains("quoted"), "what people write is not logged");
}

async fn secrets() {
    let mut world = World::with_anthropic().await;
    world.setup = world.setup.set("HIVE_LOG", "trace");
    // A provider that shows the key in its refusal, and one that has the model say it.
    world.model.queue(Reply::refuse(Refusal::bad_request(&format!("the key {KEY} is not for this"))));
    world.model.queue(Reply::text(format!("Your key is {KEY}, by the way.")));
    let product = world.start().await;
    world.say_on_discord("one");
    world.discord.wait_for(world.discord_dm, |shown| shown.len() == 2, PATIENCE).await;
    world.say_on_telegram("two");
    world.telegram.wait_for(world.telegram_admin, PATIENCE, |shown| shown.len() == 1).await;
    for shown in world.on_discord().iter().chain(&world.on_telegram()) {
        shows_no_secret(&world, shown);
    }
    let copy = world.setup.folder().join("copy.db");
    let backup = world.setup.run(&["backup", &copy.display().to_string()], "").await;
    assert_eq!(backup.code(), Some(0), "{}", backup.log);
    let log = product.kill().await.log;
    assert!(log.contains("DEBUG") || log.contains("TRACE"), "it logged much");
    shows_no_secret(&world, &log);
    let mut files = 0;
    for file in std::fs::read_dir(world.setup.run_dir()).expect("the run directory").flatten() {
        if file.file_type().is_ok_and(|kind| kind.is_file()) {
            files += 1;
            holds_no_secret(&world, &file.path());
        }
    }
    assert!(files >= 2, "the database and its log were looked at");
    holds_no_secret(&world, &copy);
}

/// The secrets of this world, each in the part that nobody could have by chance.
fn secret_parts(world: &World) -> [String; 3] {
    let telegram = world.telegram.token();
    let secret_half = telegram.split_once(':').map_or(telegram.as_str(), |(_, secret)| secret);
    [KEY.to_owned(), world.discord.token(), secret_half.to_owned()]
}

fn shows_no_secret(world: &World, text: &str) {
    for (number, secret) in secret_parts(world).iter().enumerate() {
        assert!(!text.contains(secret.as_str()), "secret {number} is in:\n{text}");
    }
}

fn holds_no_secret(world: &World, path: &Path) {
    let bytes = std::fs::read(path).expect("a file of ours");
    for (number, secret) in secret_parts(world).iter().enumerate() {
        let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!found, "secret {number} is in {}", path.display());
    }
}
