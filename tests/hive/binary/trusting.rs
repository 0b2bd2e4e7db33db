//! Who may talk: strangers, admins' buttons and commands, pairing codes, and the command line beside a running hive.

use fakes::discord::{Given, Shown};
use fakes::product::{Product, Setup};
use fakes::telegram;

use super::world::{PATIENCE, World};
use super::{Named, real};

pub(super) const ALL: &[Named] = &[
    ("on_discord_a_stranger_is_told_once_and_heard_when_an_admin_presses_trust", || real(trusted_on_discord())),
    ("on_telegram_a_stranger_is_told_once_and_heard_when_an_admin_presses_trust", || real(trusted_on_telegram())),
    ("whoever_an_admin_denies_by_a_button_gets_no_word_more", || real(denied_by_a_button())),
    ("trust_is_given_by_slash_command_and_by_text_and_by_admins_alone", || real(by_command())),
    ("a_pairing_code_makes_one_admin_and_works_once", || real(paired())),
    ("trust_changed_on_the_command_line_holds_in_the_hive_that_runs", || real(on_the_command_line())),
];

async fn trusted_on_discord() {
    let world = World::with_anthropic().await;
    let _product = world.start().await;
    let stranger = world.discord.user("Stranger");
    let dm = world.discord.dm(stranger);
    world.discord.say(dm, stranger, "first words");
    let told = world.discord.wait_for(dm, |shown| shown.len() == 2, PATIENCE).await;
    assert!(told[1].text.contains(&format!("discord:{stranger}")), "{told:?}");
    let notice = notice(&world).await;
    assert!(notice.text.contains("Stranger") && notice.text.contains(&format!("discord:{stranger}")), "{notice:?}");
    world.discord.say(dm, stranger, "second words");
    // Whoever presses the button is judged, not whoever it was shown to.
    world.discord.click(notice.id, "Trust", stranger);
    world.say_on_discord("are you still there");
    let waits = |shown: &[Shown]| shown.iter().any(|it| it.text == "You said: are you still there");
    world.discord.wait_for(world.discord_dm, waits, PATIENCE).await;
    assert_eq!(world.discord.answers(dm).len(), 1, "told once, and not heard");
    world.discord.click(notice.id, "Trust", world.discord_admin);
    let heard = |shown: &[Shown]| shown.iter().any(|it| it.text.contains("You said: second words"));
    world.discord.wait_for(dm, heard, PATIENCE).await;
    let asked: Vec<String> =
        world.model.requests().iter().map(|request| String::from_utf8_lossy(&request.body).into_owned()).collect();
    assert!(asked.iter().any(|body| body.contains("first words")), "what was held is handed over");
    let settled = |shown: &[Shown]| shown.iter().any(|it| it.id == notice.id && it.buttons.is_empty());
    world.discord.wait_for(world.discord_dm, settled, PATIENCE).await;
}

/// The notice that the admin gets on Discord.
async fn notice(world: &World) -> Shown {
    let has_buttons = |shown: &[Shown]| shown.iter().any(|it| it.buttons.len() == 2);
    let shown = world.discord.wait_for(world.discord_dm, has_buttons, PATIENCE).await;
    shown.into_iter().find(|it| it.buttons.len() == 2).expect("just seen")
}

async fn trusted_on_telegram() {
    let world = World::with_anthropic().await;
    let _product = world.start().await;
    let stranger = world.telegram.private(world.telegram.user("Stranger"));
    world.telegram.say(stranger, stranger, "first words");
    let told = world.telegram.wait_for(stranger, PATIENCE, |shown| shown.len() == 1).await;
    assert!(told[0].text.contains(&format!("telegram:{stranger}")), "{told:?}");
    let has_buttons = |shown: &[telegram::Shown]| shown.iter().any(|it| !it.buttons.is_empty());
    let shown = world.telegram.wait_for(world.telegram_admin, PATIENCE, has_buttons).await;
    let notice = shown.into_iter().find(|it| !it.buttons.is_empty()).expect("just seen");
    world.telegram.say(stranger, stranger, "second words");
    world.say_on_telegram("are you still there");
    let waits = |shown: &[telegram::Shown]| shown.iter().any(|it| it.text == "You said: are you still there");
    world.telegram.wait_for(world.telegram_admin, PATIENCE, waits).await;
    assert_eq!(world.telegram.messages(stranger).len(), 1, "told once, and not heard");
    let query = world.telegram.click(world.telegram_admin, notice.message_id, "Trust", world.telegram_admin);
    let heard = |shown: &[telegram::Shown]| shown.iter().any(|it| it.text.contains("You said: second words"));
    world.telegram.wait_for(stranger, PATIENCE, heard).await;
    let answered = || world.telegram.click_answered(&query).then_some(());
    world.telegram.wait_until(PATIENCE, || "the button still waits".to_owned(), answered).await;
}

async fn denied_by_a_button() {
    let world = World::with_anthropic().await;
    let _product = world.start().await;
    let stranger = world.discord.user("Stranger");
    let dm = world.discord.dm(stranger);
    world.discord.say(dm, stranger, "let me in");
    let notice = notice(&world).await;
    world.discord.click(notice.id, "Deny", world.discord_admin);
    let settled = |shown: &[Shown]| shown.iter().any(|it| it.id == notice.id && it.buttons.is_empty());
    world.discord.wait_for(world.discord_dm, settled, PATIENCE).await;
    world.discord.say(dm, stranger, "once more");
    logged(&world.setup, &format!("\"{stranger}\""), "denied").await;
    assert_eq!(world.discord.answers(dm).len(), 1, "told once, and denied without a word");
    assert_eq!(world.model.count(), 0, "nobody's words reached a model");
}

/// Waits until the log of decisions has an entry that names `who` and decides `what` about one of their messages.
async fn logged(setup: &Setup, who: &str, what: &str) {
    for _ in 0..200 {
        let log = setup.run(&["trust", "log", "--json", "--limit", "100"], "").await;
        let is_it = |line: &str| line.contains(who) && line.contains(what) && line.contains("\"actor\":null");
        if log.output.lines().any(is_it) {
            return;
        }
    }
    panic!("no decision `{what}` about {who} was logged");
}

async fn by_command() {
    let world = World::with_anthropic().await;
    let _product = world.start().await;
    let (one, two) = (world.discord.user("One"), world.telegram.private(world.telegram.user("Two")));
    let dm = world.discord.dm(one);
    world.discord.slash(world.discord_dm, world.discord_admin, "trust add", &[("who", Given::User(one))]);
    let text = format!("`discord:{one}` is trusted everywhere.");
    world.discord_shows(&[&text]).await;
    world.say_on_telegram(&format!("/trust add {two}"));
    world.telegram_shows(&[&format!("telegram:{two} is trusted everywhere.")]).await;
    world.discord.say(dm, one, "hello");
    world.telegram.say(two, two, "hello");
    world.discord.wait_for(dm, |shown| shown.iter().any(|it| it.text == "You said: hello"), PATIENCE).await;
    world.telegram.wait_for(two, PATIENCE, |shown| shown.iter().any(|it| it.text == "You said: hello")).await;
    // Neither of them is an admin, by whatever path they try.
    world.discord.slash(dm, one, "trust add", &[("who", Given::Text("discord:42".to_owned()))]);
    let refused = "`/trust add` is for admins.";
    world.discord.wait_for(dm, |shown| shown.iter().any(|it| it.text == refused), PATIENCE).await;
    world.discord.say(dm, one, "/trust add discord:42");
    let twice = |shown: &[Shown]| shown.iter().filter(|it| it.text == refused).count() == 2;
    world.discord.wait_for(dm, twice, PATIENCE).await;
    world.telegram.say(two, two, "/trust add 42");
    let refused = |shown: &[telegram::Shown]| shown.iter().any(|it| it.text == "/trust add is for admins.");
    world.telegram.wait_for(two, PATIENCE, refused).await;
    let list = world.setup.run(&["trust", "list", "--json"], "").await;
    assert!(!list.output.contains("\"42\""), "{}", list.output);
}

async fn paired() {
    let mut world = World::new().await;
    world.setup = world.setup.without("HIVE_ADMINS");
    let product = world.start().await;
    let code = code(&world.setup).await;
    let first = world.telegram.private(world.telegram.user("First"));
    world.telegram.say(first, first, format!("/pair {code}"));
    let paired = |shown: &[telegram::Shown]| shown.iter().any(|it| it.text.starts_with("You are an admin now"));
    world.telegram.wait_for(first, PATIENCE, paired).await;
    let second = world.discord.user("Second");
    let dm = world.discord.dm(second);
    world.discord.say(dm, second, &format!("/pair {code}"));
    world
        .discord
        .wait_for(dm, |shown| shown.iter().any(|it| it.text.starts_with("This code is wrong")), PATIENCE)
        .await;
    let list = world.setup.run(&["trust", "list"], "").await;
    assert!(list.output.contains(&format!("telegram:{first}: admin")), "{}", list.output);
    assert!(!list.output.contains(&format!("discord:{second}")), "{}", list.output);
    assert!(!product.log().contains(&code), "the code is in the log");
}

/// What `hive pair` prints.
async fn code(setup: &Setup) -> String {
    let pair = setup.run(&["pair"], "").await;
    assert_eq!(pair.code(), Some(0), "{}", pair.log);
    let command = pair.output.lines().find_map(|line| line.trim().strip_prefix("/pair "));
    command.unwrap_or_else(|| panic!("no code in {}", pair.output)).to_owned()
}

async fn on_the_command_line() {
    let world = World::with_anthropic().await;
    let _product: Product = world.start().await;
    let stranger = world.discord.user("Stranger");
    let (dm, id) = (world.discord.dm(stranger), format!("discord:{stranger}"));
    world.discord.say(dm, stranger, "please");
    world.discord.wait_for(dm, |shown| shown.len() == 2, PATIENCE).await;
    let added = world.setup.run(&["trust", "add", &id, "--expires", "2h"], "").await;
    assert_eq!(added.output, format!("{id} is trusted; messages of theirs that were waiting: 1\n"), "{}", added.log);
    world.discord.wait_for(dm, |shown| shown.iter().any(|it| it.text == "You said: please"), PATIENCE).await;
    let list = world.setup.run(&["trust", "list", "--json"], "").await;
    let rows = list.output.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    let row = rows.into_iter().find(|row| row["sender_id"].as_str() == id.strip_prefix("discord:")).expect("a row");
    assert_eq!((&row["channel_type"], &row["trust_level"]), (&"discord".into(), &"trusted".into()), "{row}");
    assert!(row["expires_at_ms"].is_i64(), "{row}");
    let denied = world.setup.run(&["trust", "deny", &id], "").await;
    assert_eq!(denied.code(), Some(0), "{}", denied.log);
    world.discord.say(dm, stranger, "and now");
    logged(&world.setup, &format!("\"{stranger}\""), "denied").await;
    assert_eq!(world.discord.answers(dm).len(), 2, "denied without a word");
}
