//! What was said while the bot was away.

use std::time::Duration;

use channels::{Cursor, Intake, Report};
use fakes::discord::{Fault, On};
use serde_json::json;

use super::bot::{Bot, conversation, limits, text_of};
use crate::host::PATIENCE;

#[tokio::test]
async fn what_was_said_meanwhile_comes_oldest_first_and_once() {
    let mut bot = Bot::listening().await;
    let ann = bot.server.user("ann");
    let (dm, room) = (bot.server.dm(ann), bot.server.channel("general"));
    let mention = bot.server.mention();
    bot.server.say(dm, ann, "first");
    bot.heard("first").await;
    bot.die().await;
    for n in 0..150 {
        bot.server.say(dm, ann, &format!("dm {n}"));
    }
    bot.server.say(room, ann, "to nobody");
    bot.server.say(room, ann, &format!("{mention} to the bot"));
    bot.come_back().await;
    assert_eq!(bot.caught_up().await, (101, 50), "the newest hundred of the one, and the other");
    let expected: Vec<String> =
        std::iter::once("first".to_owned()).chain((50..150).map(|n| format!("dm {n}"))).collect();
    let in_dm = |event: &channels::Inbound| event.conversation == conversation(dm);
    let heard: Vec<String> =
        bot.host.events().into_iter().filter(in_dm).filter_map(|e| Some(text_of(&e)?.text.clone())).collect();
    assert_eq!(heard, expected);
    assert!(bot.texts().contains(&"to the bot".to_owned()) && !bot.texts().contains(&"to nobody".to_owned()));
    let last = bot.server.messages(dm).last().expect("messages").id;
    assert_eq!(bot.host.cursor(&format!("discord/{dm}")), Some(last.to_string()));
    assert_eq!(bot.host.deliveries().len(), bot.host.events().len(), "nothing was given twice");
}

#[tokio::test]
async fn a_room_in_which_it_never_spoke_is_read_back_too() {
    let bot = Bot::quiet().await;
    let (ann, room) = (bot.server.user("ann"), bot.server.channel("general"));
    let thread = bot.server.thread(room, "talk");
    bot.server.say(room, ann, &format!("{} before it ever listened", bot.server.mention()));
    let mut bot = bot.listen().await;
    bot.die().await;
    bot.server.say(room, ann, &format!("{} in the room", bot.server.mention()));
    bot.server.say(thread, ann, &format!("{} in the thread", bot.server.mention()));
    bot.come_back().await;
    assert_eq!(bot.caught_up().await, (2, 0));
    let mut texts = bot.texts();
    texts.sort();
    assert_eq!(texts, ["in the room", "in the thread"], "what was said before its time is not for it");
}

#[tokio::test]
async fn what_is_too_old_is_counted_and_left() {
    let mut bot = Bot::with(|settings| settings.catch_up = limits(100, Duration::ZERO)).await.listen().await;
    let ann = bot.server.user("ann");
    let dm = bot.server.dm(ann);
    bot.server.say(dm, ann, "first");
    bot.heard("first").await;
    bot.die().await;
    for n in 0..3 {
        bot.server.say(dm, ann, &format!("old {n}"));
    }
    // An age of nothing: what was said a moment ago is too old.
    tokio::time::sleep(Duration::from_millis(5)).await;
    bot.come_back().await;
    assert_eq!(bot.caught_up().await, (0, 3));
    bot.server.say(dm, ann, "new");
    bot.heard("new").await;
    assert_eq!(bot.texts(), ["first", "new"]);
}

#[tokio::test]
async fn a_session_that_cannot_be_resumed_is_caught_up() {
    let bot = Bot::listening().await;
    let ann = bot.server.user("ann");
    let dm = bot.server.dm(ann);
    bot.server.say(dm, ann, "before");
    bot.heard("before").await;
    bot.server.forget_sessions();
    bot.server.say(dm, ann, "while nobody listened");
    bot.server.disconnect();
    // The sessions are forgotten, and with them their connections: the server ends those by going away for a moment.
    bot.server.offline();
    bot.server.online();
    bot.heard("while nobody listened").await;
    assert_eq!(bot.server.sessions().1, 0, "a new session");
    assert_eq!(bot.caught_up().await, (1, 0));
    bot.host.report_of("loss", |report| matches!(report, Report::Disconnected { .. })).await;
}

#[tokio::test]
async fn an_invalid_session_is_begun_anew() {
    let bot = Bot::listening().await;
    let ann = bot.server.user("ann");
    let dm = bot.server.dm(ann);
    bot.server.invalidate(false);
    let anew = || (bot.server.sessions().0 == 2).then_some(());
    bot.server.until(anew, PATIENCE).await.expect("another IDENTIFY");
    bot.server.say(dm, ann, "after");
    bot.heard("after").await;
}

#[tokio::test]
async fn live_messages_wait_for_what_came_before_them() {
    let mut bot = Bot::listening().await;
    let ann = bot.server.user("ann");
    let (dm, other) = (bot.server.dm(ann), bot.server.dm(bot.server.user("ben")));
    bot.server.say(dm, ann, "0");
    bot.heard("0").await;
    bot.die().await;
    for n in 1..=5 {
        bot.server.say(dm, ann, &n.to_string());
    }
    let before = bot.host.cursor(&format!("discord/{dm}"));
    // Discord is slow, then busy, then broken, and answers at last.
    bot.server.fail_in(dm, On::History, Fault::TooMany { retry_after: Duration::from_millis(700), global: false }, 1);
    bot.server.fail_in(dm, On::History, Fault::Status { status: 500, code: 0 }, 1);
    bot.server.fail_in(dm, On::History, Fault::CutBefore, 1);
    bot.come_back().await;
    bot.server.say(dm, ann, "6");
    bot.server.say(other, ann, "elsewhere");
    bot.heard("elsewhere").await;
    assert_eq!(bot.texts(), ["0", "elsewhere"], "other channels do not wait");
    assert_eq!(bot.host.cursor(&format!("discord/{dm}")), before, "the position waits too");
    bot.heard("6").await;
    assert_eq!(bot.texts(), ["0", "elsewhere", "1", "2", "3", "4", "5", "6"]);
    assert_eq!(bot.host.deliveries().len(), 8, "and nothing twice");
}

#[tokio::test]
async fn quiet_channels_are_not_asked_and_lost_ones_not_waited_for() {
    let mut bot = Bot::listening().await;
    let ann = bot.server.user("ann");
    let mention = bot.server.mention();
    let rooms: Vec<u64> = (0..20).map(|n| bot.server.channel(&format!("room {n}"))).collect();
    for &room in &rooms {
        bot.server.say(room, ann, &format!("{mention} in {room}"));
    }
    bot.host.wait("all", |host| (host.events().len() == 20).then_some(())).await;
    bot.die().await;
    bot.server.delete_channel(rooms[0]);
    bot.server.forbid(rooms[1], Some(50001));
    bot.server.say(rooms[1], ann, &format!("{mention} where it may not read"));
    bot.server.say(rooms[2], ann, &format!("{mention} again"));
    let asked = bot.server.requests().len();
    bot.come_back().await;
    assert_eq!(bot.caught_up().await, (1, 0));
    bot.heard("again").await;
    let histories = bot.server.requests()[asked..].iter().filter(|r| r.path.contains("/messages?")).count();
    assert!(histories < 10, "{histories} histories were read of 20 channels, 17 of them quiet");
}

#[tokio::test]
async fn a_message_that_cannot_be_parsed_stops_nothing() {
    let mut bot = Bot::listening().await;
    let ann = bot.server.user("ann");
    let dm = bot.server.dm(ann);
    bot.server.say(dm, ann, "first");
    bot.heard("first").await;
    bot.die().await;
    let broken = bot.server.say(dm, ann, "broken");
    bot.server.disfigure(broken, &json!({ "timestamp": "no time" }));
    bot.server.say(dm, ann, "sound");
    bot.come_back().await;
    bot.heard("sound").await;
    assert_eq!(bot.texts(), ["first", "sound"]);
    let is_it = |report: &Report| matches!(report, Report::Unreadable { what } if what.contains(&broken.to_string()));
    bot.host.report_of("what could not be read", is_it).await;
}

#[tokio::test]
async fn positions_that_make_no_sense_are_passed_over() {
    let bot = Bot::quiet().await;
    for (stream, value) in [("discord/0", "5"), ("discord/x", "5"), ("discord/9", "five"), ("discord/menu", "5")] {
        let cursor = Cursor { stream: stream.into(), value: value.into() };
        bot.host.take(Vec::new(), Some(cursor)).await.expect("the host is open");
    }
    let bot = bot.listen().await;
    let ann = bot.server.user("ann");
    bot.server.say(bot.server.dm(ann), ann, "all is well");
    bot.heard("all is well").await;
}
