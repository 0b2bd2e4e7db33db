//! Polling, offsets, faults, a second poller, the menu.

use std::sync::Arc;
use std::time::{Duration, Instant};

use channels::telegram::{Settings, Telegram};
use channels::{Addressed, Answering, Content, Hearing, Kind, Place, Receive, ReceiveError, Report};
use fakes::telegram::{Failure, Fault, Say, Telegram as Server};
use serde_json::json;

use super::bot::{Bot, adapter, conversation, menu, text_of, topic};
use crate::host::{Host, PATIENCE, Running};

/// The offsets of the polls so far.
fn offsets(server: &Server) -> Vec<Option<i64>> {
    server
        .requests_of("getUpdates")
        .iter()
        .map(|request| request.params.get("offset").and_then(|o| o.as_i64()))
        .collect()
}

#[tokio::test]
async fn an_update_is_acknowledged_only_after_it_was_taken_with_its_cursor() {
    let bot = Bot::new().await;
    let alice = bot.server.user("Alice");
    let chat = bot.server.private(alice);
    bot.host.refuse(1);
    bot.server.say(chat, alice, "one");
    let running = bot.receives().await;
    assert_eq!(running.end().await, Err(ReceiveError::Closed));
    assert_eq!((bot.server.updates_waiting(), offsets(&bot.server)), (1, vec![None]), "nothing was acknowledged");
    assert_eq!(bot.host.cursor("telegram/updates"), None);
    let running = bot.receives().await;
    bot.hears("one").await;
    let next = 500_000_001;
    assert_eq!(bot.host.cursor("telegram/updates"), Some(next.to_string()));
    bot.server
        .wait_until(PATIENCE, || "not acknowledged".into(), || (bot.server.updates_waiting() == 0).then_some(()))
        .await;
    assert_eq!(offsets(&bot.server), [None, None, Some(next)]);
    running.stop().await.expect("it ends in order");
}

#[tokio::test]
async fn the_stored_cursor_is_the_first_offset() {
    let bot = Bot::new().await;
    let alice = bot.server.user("Alice");
    let chat = bot.server.private(alice);
    let running = bot.receives().await;
    bot.server.say(chat, alice, "one");
    bot.hears("one").await;
    running.kill().await;
    let asked = offsets(&bot.server).len();
    let running = bot.receives().await;
    bot.server.say(chat, alice, "two");
    bot.hears("two").await;
    assert_eq!(offsets(&bot.server)[asked], Some(500_000_001));
    assert_eq!(bot.host.deliveries().len(), 2, "what was taken does not come again");
    running.stop().await.expect("it ends in order");
}

#[tokio::test]
async fn one_unreadable_update_neither_blocks_nor_loses_the_others() {
    let bot = Bot::new().await;
    let alice = bot.server.user("Alice");
    let chat = bot.server.private(alice);
    bot.server.say(chat, alice, "before");
    bot.server.raw_update("message", json!({"message_id": "secret words", "date": {}}));
    bot.server.raw_update("telepathy", json!("secret words"));
    bot.server.raw_update("callback_query", json!([]));
    bot.server.say(chat, alice, "after");
    let _running = bot.receives().await;
    bot.hears("after").await;
    assert_eq!(bot.host.events().iter().filter_map(text_of).collect::<Vec<_>>(), ["before", "after"]);
    let unreadable = |host: &Host| {
        let named = host.reports().into_iter().filter_map(|report| match report {
            Report::Unreadable { what } => Some(what),
            _ => None,
        });
        Some(named.collect::<Vec<_>>()).filter(|named| named.len() == 3)
    };
    let named = bot.host.wait("three reports", unreadable).await;
    let shape = |kind: &str| format!("an update of type `{kind}` that does not have its shape");
    assert_eq!(named, [shape("message"), shape("telepathy"), shape("callback_query")]);
    bot.server.wait_until(PATIENCE, || "blocked".into(), || (bot.server.updates_waiting() == 0).then_some(())).await;
}

#[tokio::test]
async fn more_updates_than_one_answer_holds_all_come_in_order() {
    let bot = Bot::new().await;
    let alice = bot.server.user("Alice");
    let chat = bot.server.private(alice);
    let said: Vec<String> = (0..250).map(|number| format!("message {number}")).collect();
    for text in &said {
        bot.server.say(chat, alice, text.as_str());
    }
    let _running = bot.receives().await;
    bot.hears("message 249").await;
    assert_eq!(bot.host.events().iter().filter_map(text_of).collect::<Vec<_>>(), said);
}

#[tokio::test]
async fn a_fault_of_the_server_is_reported_once_and_polling_goes_on_at_once() {
    let bot = Bot::new().await;
    let alice = bot.server.user("Alice");
    let chat = bot.server.private(alice);
    let running = bot.receives().await;
    bot.server.say(chat, alice, "before");
    bot.hears("before").await;
    for fault in
        [Fault::Status(502), Fault::Status(500), Fault::Refusal(500, "Internal Server Error"), Fault::CutBefore]
    {
        bot.server.fail(Failure::new(fault).of("getUpdates"));
    }
    let start = Instant::now();
    bot.server.say(chat, alice, "after");
    bot.hears("after").await;
    assert!(start.elapsed() < Duration::from_secs(5), "it took {:?}", start.elapsed());
    let reports = bot.host.reports();
    let of = |what: fn(&&Report) -> bool| reports.iter().filter(what).count();
    let lost = of(|report| matches!(report, Report::Disconnected { .. }));
    let made = of(|report| matches!(report, Report::Connected { .. }));
    assert_eq!((lost, made), (1, 2), "{reports:?}");
    running.stop().await.expect("it ends in order");
}

#[tokio::test]
async fn a_second_poller_is_named_once_and_polling_goes_on() {
    let bot = Bot::new().await;
    let alice = bot.server.user("Alice");
    let chat = bot.server.private(alice);
    let first = bot.receives().await;
    let other_host = Host::new();
    let second = Running::start(Arc::new(adapter(&bot.server, Hearing::default())), &other_host).await;
    bot.host.report_of("second poller", |report| *report == Report::SecondPoller).await;
    second.kill().await;
    bot.server.say(chat, alice, "still there");
    bot.hears("still there").await;
    let named = bot.host.reports().iter().filter(|report| **report == Report::SecondPoller).count();
    assert_eq!(named, 1);
    first.stop().await.expect("it ends in order");
}

#[tokio::test]
async fn a_webhook_is_deleted_as_it_stops_polling() {
    let bot = Bot::new().await;
    bot.server.set_webhook();
    let alice = bot.server.user("Alice");
    let chat = bot.server.private(alice);
    bot.server.say(chat, alice, "hello");
    let _running = bot.receives().await;
    bot.hears("hello").await;
    let why = |report: &Report| matches!(report, Report::Disconnected { why } if why.contains("webhook"));
    bot.host.report_of("webhook", why).await;
    assert!(!bot.host.reports().contains(&Report::SecondPoller));
}

#[tokio::test]
async fn a_wrong_token_is_said_to_be_wrong_and_never_shown() {
    let bot = Bot::new().await;
    for token in ["1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "nonsense"] {
        let settings = Settings { api_url: Some(bot.server.url()), ..Settings::new(token.into()) };
        let telegram = Arc::new(Telegram::new(settings).expect("it could be a token"));
        let wrong = ReceiveError::Unauthorized(Kind::Telegram, "TELEGRAM_TOKEN");
        assert_eq!(telegram.check().await, Err(wrong.clone()));
        assert_eq!(Running::start_unconnected(telegram.clone(), &bot.host).end().await, Err(wrong.clone()));
        assert!(!format!("{wrong} {wrong:?} {telegram:?}").contains(token));
    }
    let running = bot.receives().await;
    bot.server.revoke_token();
    assert_eq!(running.end().await, Err(ReceiveError::Unauthorized(Kind::Telegram, "TELEGRAM_TOKEN")));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_waited_for_and_the_token_stays_secret() {
    let token = "42:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    // Port 9 of loopback: nothing listens there.
    let settings = Settings { api_url: Some("http://127.0.0.1:9/".into()), ..Settings::new(token.into()) };
    let shown = format!("{settings:?}");
    let telegram = Arc::new(Telegram::new(settings).expect("it could be a token"));
    let Err(error) = telegram.check().await else { panic!("something answered") };
    assert!(matches!(error, ReceiveError::Unreachable(_)), "{error}");
    let host = Host::new();
    let running = Running::start_unconnected(telegram.clone(), &host);
    let report = host.report_of("loss of connection", |report| matches!(report, Report::Disconnected { .. })).await;
    running.stop().await.expect("it stops while it waits");
    let all = format!("{shown} {telegram:?} {error} {error:?} {report:?}");
    assert!(!all.contains("AAAAAA") && !all.contains("127.0.0.1:9/bot"), "{all}");
}

#[tokio::test]
async fn the_menu_is_registered_once_and_again_when_it_has_changed() {
    let bot = Bot::new().await;
    let registered = |host: &Host| host.cursor("telegram/menu");
    let running = bot.receives().await;
    let first = bot.host.wait("menu", registered).await;
    assert_eq!(bot.server.commands(), [("help".to_owned(), "what there is".to_owned())]);
    running.stop().await.expect("it ends in order");
    let running = bot.receives().await;
    let alice = bot.server.user("Alice");
    bot.server.say(bot.server.private(alice), alice, "hello");
    bot.hears("hello").await;
    assert_eq!(bot.server.requests_of("setMyCommands").len(), 1, "an unchanged menu is not sent again");
    running.stop().await.expect("it ends in order");
    let settings = Settings {
        api_url: Some(bot.server.url()),
        menu: menu("everything"),
        ..Settings::new(bot.server.token().into())
    };
    let telegram = Arc::new(Telegram::new(settings).expect("the token is the server's"));
    // A limit on the registration is waited out beside the polling.
    bot.server.fail(Failure::new(Fault::TooManyRequests(1)).of("setMyCommands"));
    let _running = Running::start(telegram, &bot.host).await;
    bot.host.wait("changed menu", |host| registered(host).filter(|mark| *mark != first)).await;
    assert_eq!(bot.server.commands(), [("help".to_owned(), "everything".to_owned())]);
    assert_eq!(bot.server.requests_of("setMyCommands").len(), 3);
}

#[tokio::test]
async fn the_offset_of_another_bot_is_not_used() {
    let bot = Bot::new().await;
    use channels::{Cursor, Intake};
    for (stream, value) in [("telegram/updates", "900000000"), ("telegram/menu", "99:0123")] {
        let cursor = Cursor { stream: stream.to_owned(), value: value.to_owned() };
        bot.host.take(Vec::new(), Some(cursor)).await.expect("the host is open");
    }
    let alice = bot.server.user("Alice");
    bot.server.say(bot.server.private(alice), alice, "hello");
    let _running = bot.receives().await;
    bot.hears("hello").await;
}

#[tokio::test]
async fn privacy_mode_lets_through_what_speaks_to_the_bot() {
    let bot = Bot::new().await;
    let (alice, other) = (bot.server.user("Alice"), bot.server.other_bot("Otherbot"));
    let group = bot.server.supergroup("Garden");
    let sent = bot.posts(group, "I am here").await.expect("it can be sent").message_id.parse().expect("an id");
    let _running = bot.receives().await;
    bot.server.say(group, alice, "among ourselves");
    bot.server.say(group, alice, "/help@otherbot me");
    bot.server.say(group, other, Say::text(format!("@{} beep", bot.server.bot_name())));
    bot.server.say(group, alice, Say::text("replied").reply_to(sent));
    bot.server.say(group, alice, Say::text(format!("so @{} what", bot.server.bot_name().to_uppercase())));
    bot.server.say(group, alice, Say::text("/help@HIVE_test_bot me"));
    let command = bot.host.event("command", |event| matches!(event.content, Content::Command { .. })).await;
    let events = bot.host.events();
    let addressed: Vec<_> = events.iter().map(|event| event.addressed).collect();
    assert_eq!(addressed, [Addressed::Reply, Addressed::Mention, Addressed::Explicit]);
    assert_eq!(command.place, Place::Group { title: "Garden".into() });
    assert_eq!(text_of(&events[1]), Some("so @HIVE_TEST_BOT what"), "only a mention at the start is taken off");
}

#[tokio::test]
async fn where_it_answers_always_or_never_is_a_rule_of_the_room_and_of_its_topics() {
    let mut bot = Bot::new().await;
    bot.server.privacy(false);
    let alice = bot.server.user("Alice");
    let (forum, mute) = (bot.server.forum("Hive"), bot.server.supergroup("Library"));
    let plans = bot.server.topic(forum, "Plans", alice);
    let rooms = [(conversation(forum), Answering::Always), (conversation(mute), Answering::Never)];
    bot.restarted(Hearing { default: Answering::WhenAddressed, rooms: rooms.into() });
    let _running = bot.receives().await;
    bot.server.say(mute, alice, Say::text(format!("@{} hush", bot.server.bot_name())));
    bot.server.say(mute, alice, "/help");
    bot.server.say(forum, alice, "in general");
    bot.server.say(forum, alice, Say::text("in plans").in_topic(plans));
    let threaded = bot.hears("in plans").await;
    assert_eq!((&threaded.conversation, threaded.addressed), (&topic(forum, plans), Addressed::Overheard));
    assert_eq!(threaded.place, Place::Thread { parent: conversation(forum), title: "Plans".into() });
    let general = bot.hears("in general").await;
    assert_eq!((&general.conversation, &general.place), (&conversation(forum), &Place::Group { title: "Hive".into() }));
    assert_eq!(bot.host.events().len(), 2);
}

#[tokio::test]
async fn a_topic_that_the_bot_opened_does_not_make_every_message_a_reply_to_it() {
    let bot = Bot::new().await;
    bot.server.privacy(false);
    let alice = bot.server.user("Alice");
    let forum = bot.server.forum("Hive");
    let own = bot.server.topic(forum, "Mine", bot.server.bot());
    let _running = bot.receives().await;
    bot.server.say(forum, alice, Say::text("among ourselves").in_topic(own));
    bot.server.say(forum, alice, Say::text(format!("@{} you", bot.server.bot_name())).in_topic(own));
    let event = bot.hears("you").await;
    let Content::Text(text) = &event.content else { panic!("not a text") };
    assert_eq!((bot.host.events().len(), &text.reply_to), (1, &None));
}

#[tokio::test]
async fn a_click_is_answered_after_it_was_taken() {
    let bot = Bot::new().await;
    let alice = bot.server.user("Alice");
    let chat = bot.server.private(alice);
    let button = channels::Button { label: "Yes".into(), data: "yes".into(), emphasis: Default::default() };
    let piece = channels::Piece { buttons: vec![vec![button]], ..super::bot::html("Well?", "Well?") };
    let sent =
        channels::Deliver::deliver(&*bot.telegram, &super::bot::send(chat, piece)).await.expect("it can be sent");
    bot.host.refuse(1);
    let query = bot.server.click(chat, sent.message_id.parse().expect("an id"), "Yes", alice);
    assert_eq!(bot.receives().await.end().await, Err(ReceiveError::Closed));
    assert!(!bot.server.click_answered(&query), "it was answered before it was kept");
    let _running = bot.receives().await;
    bot.host.event("click", |event| matches!(event.content, Content::Click { .. })).await;
    let answered = || bot.server.click_answered(&query).then_some(());
    bot.server.wait_until(PATIENCE, || "the button still waits".into(), answered).await;
}

#[tokio::test]
async fn stopping_does_not_wait_for_a_poll_to_end() {
    let bot = Bot::new().await;
    let running = bot.receives().await;
    let polling = || (!bot.server.requests_of("getUpdates").is_empty()).then_some(());
    bot.server.wait_until(PATIENCE, || "no poll".into(), polling).await;
    let start = Instant::now();
    running.stop().await.expect("it ends in order");
    assert!(start.elapsed() < Duration::from_secs(5), "it took {:?}", start.elapsed());
}
