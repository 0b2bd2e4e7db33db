//! Slash commands, clicks, the menu.

use std::time::Duration;

use channels::{
    Action, Addressed, Arguments, Content, Deliver, Inbound, Kind, Outbound, Piece, Place, ReplyHandle, SenderId,
};
use fakes::discord::{Fault, Given, On};
use serde_json::Value;

use super::bot::{Bot, button, conversation, out, piece, send};
use crate::host::PATIENCE;

async fn command_event(bot: &Bot) -> Inbound {
    bot.host.event("command", |event| matches!(event.content, Content::Command { .. })).await
}

fn handle_of(event: &Inbound) -> ReplyHandle {
    match &event.content {
        Content::Command { handle: Some(handle), .. } => handle.clone(),
        other => panic!("{other:?} has no handle"),
    }
}

/// The answer to a command, as a host sends it.
fn answer(event: &Inbound, key: &str, text: &str) -> Outbound {
    let action = Action::Send(piece(text));
    Outbound {
        conversation: event.conversation.clone(),
        key: key.into(),
        action,
        reply_to: None,
        handle: Some(handle_of(event)),
    }
}

/// Waits until an interaction is acknowledged; with which type.
async fn acknowledged(bot: &Bot, id: u64) -> u8 {
    let look = || bot.server.interaction(id)?.callback.map(|(kind, _)| kind);
    bot.server.until(look, PATIENCE).await.expect("an acknowledgement")
}

#[tokio::test]
async fn a_command_comes_in_with_its_path_and_values_and_is_deferred_and_answered() {
    let bot = Bot::listening().await;
    let (ann, ben) = (bot.server.user("ann"), bot.server.user("ben"));
    bot.server.nick(ann, "Annie");
    let (room, rules) = (bot.server.channel("general"), bot.server.channel("rules"));
    let thread = bot.server.thread(room, "talk");
    let id = bot.server.slash(thread, ann, "trust add", &[("who", Given::User(ben)), ("room", Given::Channel(rules))]);
    let event = command_event(&bot).await;
    assert_eq!(event.event_id, format!("command:{id}"));
    assert_eq!((event.conversation.clone(), event.addressed), (conversation(thread), Addressed::Explicit));
    assert_eq!(event.place, Place::Thread { parent: conversation(room), title: "talk".into() });
    assert_eq!((event.sender.id.clone(), event.sender.name.as_str()), (SenderId::new(Kind::Discord, ann), "Annie"));
    let Content::Command { name, arguments, .. } = &event.content else { unreachable!() };
    let named = [("who", format!("discord:{ben}")), ("room", format!("discord:{rules}"))];
    let named = named.map(|(name, value)| (name.to_owned(), value)).to_vec();
    assert_eq!((name.as_str(), arguments), ("trust add", &Arguments::Named(named)));
    assert_eq!(acknowledged(&bot, id).await, 5, "deferred, with a message to come");
    assert!(bot.server.messages(thread)[0].thinking);
    let sent = bot.adapter.deliver(&answer(&event, "k1", "done")).await.expect("sent");
    let shown = bot.server.messages(thread);
    assert_eq!((shown.len(), shown[0].text.as_str(), shown[0].thinking), (1, "done", false), "the deferred message");
    assert_eq!(sent.message_id, shown[0].id.to_string());
    bot.adapter.deliver(&answer(&event, "k1", "done")).await.expect("again");
    assert_eq!(bot.server.messages(thread).len(), 1, "a second attempt changes nothing");
}

#[tokio::test]
async fn a_command_in_a_direct_conversation_has_no_member() {
    let bot = Bot::listening().await;
    let ann = bot.server.user("ann");
    bot.server.slash(bot.server.dm(ann), ann, "help", &[]);
    let event = command_event(&bot).await;
    assert_eq!((event.place, event.sender.name.as_str()), (Place::Direct, "ann"));
}

#[tokio::test]
async fn nothing_is_acknowledged_before_the_host_has_it() {
    let mut bot = Bot::listening().await;
    let ann = bot.server.user("ann");
    bot.host.refuse(1);
    let id = bot.server.slash(bot.server.dm(ann), ann, "help", &[]);
    bot.running.take().expect("it receives").end().await.expect_err("the host has closed");
    assert_eq!(bot.server.interaction(id).expect("there").callback, None);
}

#[tokio::test]
async fn an_answer_waits_for_its_own_deferral() {
    let bot = Bot::listening().await;
    let ann = bot.server.user("ann");
    let dm = bot.server.dm(ann);
    bot.server.fail(On::Callback, Fault::Delay(Duration::from_millis(300)), 1);
    bot.server.slash(dm, ann, "help", &[]);
    let event = command_event(&bot).await;
    bot.adapter.deliver(&answer(&event, "k1", "quick")).await.expect("sent");
    let shown = bot.server.messages(dm);
    assert_eq!((shown.len(), shown[0].text.as_str(), shown[0].thinking), (1, "quick", false));
}

#[tokio::test]
async fn an_answer_that_comes_too_late_is_an_ordinary_message() {
    for way in ["expired there", "expired here", "deleted", "never acknowledged"] {
        let bot = Bot::listening().await;
        let ann = bot.server.user("ann");
        let dm = bot.server.dm(ann);
        if way == "never acknowledged" {
            bot.server.set_interaction_window(Duration::ZERO);
        }
        let id = bot.server.slash(dm, ann, "help", &[]);
        let mut out = answer(&command_event(&bot).await, "k1", "late");
        if way != "never acknowledged" {
            acknowledged(&bot, id).await;
        }
        match way {
            "expired there" => bot.server.expire_interactions(),
            "expired here" => out.handle.as_mut().expect("a handle").expires_at_ms = 1,
            "deleted" => bot.server.delete_message(bot.server.messages(dm)[0].id),
            _ => {}
        }
        let sent = bot.adapter.deliver(&out).await.unwrap_or_else(|fault| panic!("{way}: {fault}"));
        let shown = bot.server.messages(dm).pop().expect("a message");
        assert_eq!((shown.text.as_str(), shown.nonce.as_deref()), ("late", Some("k1")), "{way}");
        assert_eq!(sent.message_id, shown.id.to_string(), "{way}");
    }
}

#[tokio::test]
async fn a_button_works_after_a_restart_and_says_who_pressed_it() {
    let mut bot = Bot::listening().await;
    let (ann, ben) = (bot.server.user("ann"), bot.server.user("ben"));
    let room = bot.server.channel("general");
    let asked = Piece { buttons: button("Trust", "trust:discord:5"), ..piece("Trust them?") };
    let sent = bot.adapter.deliver(&out(room, "k1", Action::Send(asked))).await.expect("sent");
    bot.die().await;
    bot.come_back().await;
    let message: u64 = sent.message_id.parse().expect("an id");
    for (who, label) in [(ann, "Trust"), (ben, "trust:discord:5")] {
        let id = bot.server.click(message, label, who);
        let event = bot.host.event("click", |event| event.event_id == format!("click:{id}")).await;
        let content =
            Content::Click { data: "trust:discord:5".into(), message_id: sent.message_id.clone(), handle: None };
        assert_eq!((event.content, event.sender.id), (content, SenderId::new(Kind::Discord, who)));
        assert_eq!(event.place, Place::Group { title: "general".into() });
        assert_eq!(acknowledged(&bot, id).await, 6, "seen, nothing changes");
    }
    let edit = Action::Edit { message_id: sent.message_id.clone(), piece: piece("Trusted.") };
    bot.adapter.deliver(&out(room, "k2", edit)).await.expect("edited");
    let shown = &bot.server.messages(room)[0];
    assert_eq!((shown.text.as_str(), shown.buttons.len()), ("Trusted.", 0));
}

#[tokio::test]
async fn the_menu_is_registered_once_and_when_it_changes() {
    let mut bot = Bot::listening().await;
    let registered = |bot: &Bot| bot.server.requests().iter().filter(|r| r.method == "PUT").count();
    bot.host.wait("the menu's mark", |host| host.cursor("discord/menu")).await;
    assert_eq!(registered(&bot), 1);
    let names: Vec<Value> =
        bot.server.commands().as_array().expect("a list").iter().map(|c| c["name"].clone()).collect();
    assert_eq!(names, ["help", "trust"]);
    bot.die().await;
    bot.come_back().await;
    let ann = bot.server.user("ann");
    bot.server.say(bot.server.dm(ann), ann, "hello");
    bot.heard("hello").await;
    assert_eq!(registered(&bot), 1, "nothing has changed");
    let mut changed = Bot::with(|settings| settings.menu.commands.truncate(1)).await;
    changed.host = bot.host.clone();
    let mark = bot.host.cursor("discord/menu");
    let changed = changed.listen().await;
    bot.host.wait("another mark", |host| (host.cursor("discord/menu") != mark).then_some(())).await;
    assert_eq!(changed.server.commands().as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn a_busy_registration_is_waited_out_while_messages_come_in() {
    let bot = Bot::quiet().await;
    bot.server.fail(On::Commands, Fault::TooMany { retry_after: Duration::from_millis(600), global: false }, 1);
    let bot = bot.listen().await;
    let ann = bot.server.user("ann");
    bot.server.say(bot.server.dm(ann), ann, "meanwhile");
    bot.heard("meanwhile").await;
    assert_eq!(bot.host.cursor("discord/menu"), None, "still waiting");
    bot.host.wait("the menu's mark", |host| host.cursor("discord/menu")).await;
    let puts: Vec<_> = bot.server.requests().into_iter().filter(|r| r.method == "PUT").collect();
    assert_eq!(puts.iter().map(|put| put.status).collect::<Vec<_>>(), [429, 200]);
    assert!(puts[1].at - puts[0].at >= Duration::from_millis(600));
}

#[tokio::test]
async fn a_menu_that_is_refused_stops_nothing() {
    let bot = Bot::quiet().await;
    bot.server.fail(On::Commands, Fault::Status { status: 400, code: 50035 }, 10);
    let bot = bot.listen().await;
    let ann = bot.server.user("ann");
    let dm = bot.server.dm(ann);
    bot.server.say(dm, ann, "hello");
    bot.heard("hello").await;
    bot.adapter.deliver(&send(dm, "k1", "hi")).await.expect("sent");
    assert_eq!(bot.host.cursor("discord/menu"), None);
}
