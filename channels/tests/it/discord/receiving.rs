//! The gateway, places, who speaks to the bot, and what cannot be read.

use std::time::Duration;

use channels::{Addressed, Answering, Content, Hearing, Kind, Place, Receive, ReceiveError, Report, Sender, SenderId};
use fakes::discord::{Fault, On, Says};
use serde_json::json;

use super::bot::{Bot, conversation, text_of};
use crate::host::{Host, PATIENCE, Running};

#[tokio::test]
async fn a_direct_message_comes_in_whole() {
    let bot = Bot::listening().await;
    let ann = bot.server.user("ann");
    let dm = bot.server.dm(ann);
    let id = bot.server.say(dm, ann, "hello");
    let event = bot.heard("hello").await;
    assert_eq!(event.conversation, conversation(dm));
    assert_eq!((event.place, event.addressed), (Place::Direct, Addressed::Direct));
    assert_eq!(event.event_id, id.to_string());
    assert_eq!(event.sender, Sender { id: SenderId::new(Kind::Discord, ann), name: "ann".into() });
    assert_eq!(bot.host.cursor(&format!("discord/{dm}")), Some(id.to_string()), "with the message, not after it");
}

#[tokio::test]
async fn in_a_guild_it_hears_mentions_and_answers_to_itself_and_nothing_else() {
    let bot = Bot::listening().await;
    let (ann, room) = (bot.server.user("ann"), bot.server.channel("general"));
    bot.server.nick(ann, "Annie");
    let own = bot.server.say(room, bot.server.bot_id(), "I am here");
    bot.server.say(room, ann, "nobody in particular");
    bot.server.say(room, ann, "@everyone look");
    bot.server.say(room, ann, &format!("{} by name", bot.server.mention()));
    bot.server.say(room, ann, &format!("<@&{}> by role", bot.server.bot_role()));
    bot.server.reply(room, ann, "as an answer", own);
    let rung = Says { text: "and rung".into(), reply_to: Some(own), reply_pings: true, ..Says::default() };
    bot.server.says(room, ann, rung);
    let other = bot.server.say(room, ann, "something else");
    bot.server.reply(room, ann, "to somebody else", other);
    let last = bot.heard("and rung").await;
    assert_eq!(bot.texts(), ["by name", "by role", "as an answer", "and rung"]);
    let how: Vec<Addressed> = bot.host.events().iter().map(|event| event.addressed).collect();
    assert_eq!(how, [Addressed::Mention, Addressed::Mention, Addressed::Reply, Addressed::Reply]);
    assert_eq!(last.place, Place::Group { title: "general".into() });
    assert_eq!(last.sender.name, "Annie", "as they are called there");
    let text = text_of(&last).expect("a text");
    assert_eq!(text.reply_to, Some(own.to_string()));
    assert_eq!(
        text.reply_to_sender.as_ref().map(|s| s.id.clone()),
        Some(SenderId::new(Kind::Discord, bot.server.bot_id()))
    );
}

#[tokio::test]
async fn a_room_has_its_own_rule_and_threads_follow_it() {
    let mut rooms = Vec::new();
    let bot = Bot::with(|_| {}).await;
    for name in ["always", "never", "default"] {
        rooms.push(bot.server.channel(name));
    }
    let hearing = Hearing {
        default: Answering::WhenAddressed,
        rooms: [(conversation(rooms[0]), Answering::Always), (conversation(rooms[1]), Answering::Never)].into(),
    };
    let settings = channels::discord::Settings {
        api_url: Some(bot.server.url()),
        hearing,
        ..channels::discord::Settings::new(bot.server.token().into())
    };
    let adapter = std::sync::Arc::new(channels::discord::Discord::new(settings).expect("good settings"));
    let _running = Running::start(adapter, &bot.host).await;
    let ann = bot.server.user("ann");
    for &room in &rooms {
        let thread = bot.server.thread(room, "a thread");
        for place in [room, thread] {
            bot.server.say(place, ann, &format!("plain {place}"));
            bot.server.say(place, ann, &format!("{} named {place}", bot.server.mention()));
        }
    }
    let dm = bot.server.dm(ann);
    bot.server.say(dm, ann, "the end");
    bot.heard("the end").await;
    // Channels are taken in beside each other: the end of one says nothing of another.
    bot.host.wait("six events", |host| (host.events().len() >= 7).then_some(())).await;
    let heard = |room: u64| {
        let here = |event: &&channels::Inbound| event.conversation == conversation(room);
        bot.host.events().iter().filter(here).map(|event| event.addressed).collect::<Vec<_>>()
    };
    assert_eq!(heard(rooms[0]), [Addressed::Overheard, Addressed::Mention]);
    assert_eq!(heard(rooms[1]), []);
    assert_eq!(heard(rooms[2]), [Addressed::Mention]);
    assert_eq!(bot.host.events().len(), 2 * (2 + 1) + 1, "each thread as its room");
}

#[tokio::test]
async fn threads_and_forum_posts_are_places_of_their_own_with_a_parent() {
    let bot = Bot::quiet().await;
    let (room, forum) = (bot.server.channel("general"), bot.server.forum("help"));
    let before = bot.server.thread(room, "made before");
    let bot = bot.listen().await;
    let post = bot.server.thread(forum, "made after");
    let ann = bot.server.user("ann");
    for (thread, parent, title) in [(before, room, "made before"), (post, forum, "made after")] {
        bot.server.say(thread, ann, &format!("{} in {title}", bot.server.mention()));
        let event = bot.heard(&format!("in {title}")).await;
        assert_eq!(event.conversation, conversation(thread));
        assert_eq!(event.place, Place::Thread { parent: conversation(parent), title: title.into() });
    }
    assert!(
        bot.server.requests().iter().all(|request| !request.path.starts_with("/channels/")),
        "nothing had to be asked"
    );
}

#[tokio::test]
async fn bots_webhooks_and_the_bot_itself_are_not_heard() {
    let bot = Bot::listening().await;
    let (ann, other) = (bot.server.user("ann"), bot.server.other_bot("other"));
    let room = bot.server.channel("general");
    let mention = bot.server.mention();
    bot.server.say(room, other, &format!("{mention} a bot"));
    bot.server.say(room, bot.server.bot_id(), &format!("{mention} itself"));
    bot.server.says(room, ann, Says { text: format!("{mention} a hook"), webhook: true, ..Says::default() });
    bot.server.say(room, ann, &format!("{mention} a person"));
    bot.heard("a person").await;
    assert_eq!(bot.texts(), ["a person"]);
}

#[tokio::test]
async fn mentions_are_names_in_the_text_and_people_beside_it() {
    let bot = Bot::listening().await;
    let (ann, ben) = (bot.server.user("ann"), bot.server.user("ben"));
    bot.server.nick(ben, "Benny");
    let (room, rules) = (bot.server.channel("general"), bot.server.channel("rules"));
    let mention = bot.server.mention();
    bot.server.say(room, ann, &format!("{mention} ask <@{ben}> in <#{rules}>, {mention}"));
    let event = bot.heard("ask @Benny in #rules, @hive").await;
    let text = text_of(&event).expect("a text");
    assert_eq!(text.mentions, [Sender { id: SenderId::new(Kind::Discord, ben), name: "Benny".into() }]);
}

#[tokio::test]
async fn a_change_is_an_edit_with_a_stamp_of_its_own_and_a_preview_is_nothing() {
    let bot = Bot::listening().await;
    let ann = bot.server.user("ann");
    let dm = bot.server.dm(ann);
    let id = bot.server.say(dm, ann, "helo");
    bot.heard("helo").await;
    bot.server.refresh(id);
    bot.server.edit(id, "hello");
    let edit = bot.host.event("edit", |event| matches!(event.content, Content::Edit { .. })).await;
    assert_eq!(edit.content, Content::Edit { message_id: id.to_string(), text: "hello".into() });
    assert_eq!(edit.event_id, format!("edit:{id}:{}", edit.sent_at_ms));
    assert_eq!(bot.host.events().len(), 2, "the preview is no event");
    assert_eq!(bot.host.cursor(&format!("discord/{dm}")), Some(id.to_string()), "an edit moves no position");
}

#[tokio::test]
async fn a_burst_comes_in_order_in_every_channel() {
    let bot = Bot::listening().await;
    let ann = bot.server.user("ann");
    let rooms: Vec<u64> = (0..4).map(|_| bot.server.dm(bot.server.user("somebody"))).collect();
    for n in 0..1_000 {
        for room in &rooms {
            bot.server.say(*room, ann, &format!("{n}"));
        }
    }
    bot.host.wait("all", |host| (host.events().len() == 4_000).then_some(())).await;
    for room in rooms {
        let here = bot.host.events().into_iter().filter(|event| event.conversation == conversation(room));
        let numbers: Vec<String> = here.filter_map(|event| Some(text_of(&event)?.text.clone())).collect();
        assert_eq!(numbers, (0..1_000).map(|n| n.to_string()).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_lost_connection_is_resumed_and_nothing_is_lost_or_fetched() {
    let bot = Bot::listening().await;
    let ann = bot.server.user("ann");
    let dm = bot.server.dm(ann);
    bot.server.say(dm, ann, "before");
    bot.heard("before").await;
    for (way, text) in [("cut", "one"), ("close", "two"), ("asked", "three")] {
        let resumed = bot.server.sessions().1;
        match way {
            "cut" => bot.server.disconnect(),
            "close" => bot.server.close(4000),
            _ => bot.server.ask_to_reconnect(),
        }
        bot.server.say(dm, ann, text);
        bot.heard(text).await;
        assert_eq!(bot.server.sessions(), (1, resumed + 1), "after {way}: the same session, resumed");
    }
    assert_eq!(bot.texts(), ["before", "one", "two", "three"]);
    let histories = bot.server.requests().iter().filter(|r| r.path.contains("/messages?")).count();
    assert_eq!(histories, 0, "Discord itself replays");
    // Discord says that a session is resumed after it has replayed.
    let connected = |host: &Host| {
        let connected =
            host.reports().iter().filter(|r| matches!(r, Report::Connected { name } if name == "hive")).count();
        (connected == 4).then_some(())
    };
    bot.host.wait("four connections", connected).await;
    let lost = bot.host.reports().iter().filter(|r| matches!(r, Report::Disconnected { .. })).count();
    assert_eq!(lost, 3);
}

#[tokio::test]
async fn heartbeats_are_sent_and_a_silent_gateway_is_left() {
    let bot = Bot::quiet().await;
    bot.server.set_heartbeat(Duration::from_millis(200));
    let bot = bot.listen().await;
    let beats = || (bot.server.heartbeats() >= 2).then_some(());
    bot.server.until(beats, PATIENCE).await.expect("heartbeats");
    bot.server.mute_heartbeats(true);
    let back = || (bot.server.sessions().0 + bot.server.sessions().1 >= 2).then_some(());
    bot.server.until(back, PATIENCE).await.expect("another connection");
}

#[tokio::test]
async fn what_cannot_be_read_is_reported_without_its_content() {
    let bot = Bot::listening().await;
    let ann = bot.server.user("ann");
    let broken = json!({ "id": "5", "channel_id": "6", "content": "a secret", "author": { "id": "secret" } });
    bot.server.emit("MESSAGE_CREATE", &broken);
    bot.server.emit("INTERACTION_CREATE", &json!({ "id": "7", "type": 2, "token": "hush", "application_id": "8" }));
    bot.server.emit("SOMETHING_NEW", &json!({ "name": "secret" }));
    bot.server.emit("SOMETHING_NEW", &json!({ "name": "secret" }));
    bot.server.say(bot.server.dm(ann), ann, "still here");
    bot.heard("still here").await;
    let unreadable: Vec<String> = bot
        .host
        .reports()
        .into_iter()
        .filter_map(|report| match report {
            Report::Unreadable { what } => Some(what),
            _ => None,
        })
        .collect();
    assert_eq!(unreadable.len(), 3, "{unreadable:?}");
    assert!(
        unreadable[0].starts_with("MESSAGE_CREATE: ") && unreadable[1].starts_with("INTERACTION_CREATE: missing field")
    );
    assert!(unreadable.iter().all(|what| !what.contains("secret") && !what.contains("hush")), "{unreadable:?}");
}

#[tokio::test]
async fn a_wrong_token_ends_at_once_and_says_which_variable() {
    let bot = Bot::with(|settings| settings.token = "wrong".into()).await;
    let unauthorized = ReceiveError::Unauthorized(Kind::Discord, "DISCORD_TOKEN");
    assert_eq!(bot.adapter.check().await, Err(unauthorized.clone()));
    let running = Running::start_unconnected(bot.adapter.clone(), &bot.host);
    assert_eq!(running.end().await, Err(unauthorized));
}

#[tokio::test]
async fn what_the_gateway_refuses_for_good_ends_with_plain_words() {
    for (code, wanted) in [(4004, "DISCORD_TOKEN"), (4014, "Message Content Intent"), (4013, "gateway refuses")] {
        let bot = Bot::quiet().await;
        bot.server.refuse_identify(Some(code));
        let running = Running::start_unconnected(bot.adapter.clone(), &bot.host);
        let fault = running.end().await.expect_err("refused").to_string();
        assert!(fault.contains(wanted), "{code}: {fault}");
    }
}

#[tokio::test]
async fn a_server_that_is_away_at_the_start_is_waited_for_and_no_other_is_asked() {
    let bot = Bot::quiet().await;
    bot.server.offline();
    assert!(matches!(bot.adapter.check().await, Err(ReceiveError::Unreachable(_))));
    let running = Running::start_unconnected(bot.adapter.clone(), &bot.host);
    bot.host.report_of("that it waits", |report| matches!(report, Report::Disconnected { .. })).await;
    bot.server.fail(On::Gateway, Fault::Status { status: 503, code: 0 }, 1);
    bot.server.online();
    bot.host.report_of("connection", |report| matches!(report, Report::Connected { .. })).await;
    assert!(bot.server.requests().iter().any(|request| request.path.starts_with("/gateway")));
    running.stop().await.expect("a clean end");
}

#[tokio::test]
async fn an_api_without_a_gateway_is_an_error_and_not_discords_own() {
    let bot = Bot::quiet().await;
    bot.server.fail(On::Gateway, Fault::Status { status: 404, code: 0 }, 2);
    let running = Running::start_unconnected(bot.adapter.clone(), &bot.host);
    assert!(matches!(running.end().await, Err(ReceiveError::Forbidden(_))));
    let bot = Bot::quiet().await;
    bot.server.fail(On::Gateway, Fault::Status { status: 404, code: 0 }, 1);
    let bot = bot.listen().await;
    let asked: Vec<String> = bot.server.requests().into_iter().map(|request| request.path).take(2).collect();
    assert_eq!(asked, ["/gateway/bot", "/gateway"], "whichever there is");
}

#[tokio::test]
async fn it_stops_cleanly_and_says_goodbye() {
    let mut bot = Bot::listening().await;
    let began = std::time::Instant::now();
    bot.running.take().expect("it receives").stop().await.expect("a clean end");
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    let gone = || (bot.server.connected() == 0).then_some(());
    bot.server.until(gone, PATIENCE).await.expect("the connection is closed");
    assert!(!bot.host.reports().iter().any(|report| matches!(report, Report::Disconnected { .. })), "nothing was lost");
}

#[tokio::test]
async fn a_closed_host_ends_receiving_and_acknowledges_nothing() {
    let mut bot = Bot::listening().await;
    let ann = bot.server.user("ann");
    bot.host.refuse(1);
    let interaction = bot.server.slash(bot.server.dm(ann), ann, "help", &[]);
    assert_eq!(bot.running.take().expect("it receives").end().await, Err(ReceiveError::Closed));
    assert_eq!(bot.server.interaction(interaction).expect("there").callback, None);
    assert_eq!(Host::events(&bot.host), []);
}

#[tokio::test]
async fn an_attachment_is_fetched_within_its_limit_and_from_discord_only() {
    let bot = Bot::listening().await;
    let ann = bot.server.user("ann");
    let dm = bot.server.dm(ann);
    bot.server.understate_sizes();
    let file = ("a.bin".to_owned(), "application/octet-stream".to_owned(), vec![7u8; 200_000]);
    bot.server.says(dm, ann, Says { text: "file".into(), files: vec![file], ..Says::default() });
    let event = bot.heard("file").await;
    let attachment = text_of(&event).expect("a text").attachments[0].clone();
    assert_eq!((attachment.name.as_str(), attachment.size_bytes), ("a.bin", 1), "what the platform says");
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("a");
    let fault = bot.adapter.fetch(&attachment, &to, 199_999).await.expect_err("too large, whatever was said");
    assert!(matches!(fault, channels::SendError::Refused(_)), "{fault:?}");
    assert!(!to.exists());
    bot.adapter.fetch(&attachment, &to, 200_000).await.expect("within");
    assert_eq!(std::fs::read(&to).expect("written"), vec![7u8; 200_000]);
    let elsewhere = channels::Attachment { reference: "http://127.0.0.1:9/a".into(), ..attachment.clone() };
    assert!(matches!(bot.adapter.fetch(&elsewhere, &to, 1_000).await, Err(channels::SendError::Refused(_))));
    bot.server.delete_message(event.event_id.parse().expect("an id"));
    let gone = bot.adapter.fetch(&attachment, &to, 200_000).await;
    assert_eq!(gone, Err(channels::SendError::Gone(channels::Gone::Message)));
}

/// A host that takes nothing in until it is let.
struct Stalled {
    host: std::sync::Arc<Host>,
    open: tokio::sync::Semaphore,
}

impl channels::Intake for Stalled {
    fn take<'a>(
        &'a self,
        events: Vec<channels::Inbound>,
        cursor: Option<channels::Cursor>,
    ) -> futures::future::BoxFuture<'a, Result<(), channels::Closed>> {
        Box::pin(async move {
            let _turn = self.open.acquire().await.expect("it is never closed");
            self.host.take(events, cursor).await
        })
    }

    fn cursors(&self, kind: Kind) -> futures::future::BoxFuture<'_, Result<Vec<channels::Cursor>, channels::Closed>> {
        Box::pin(async move {
            let _turn = self.open.acquire().await.expect("it is never closed");
            self.host.cursors(kind).await
        })
    }

    fn report(&self, kind: Kind, report: Report) {
        self.host.report(kind, report);
    }
}

#[tokio::test]
async fn more_than_fits_waits_with_discord_and_comes_in_order() {
    let bot = Bot::quiet().await;
    let stalled = std::sync::Arc::new(Stalled { host: bot.host.clone(), open: tokio::sync::Semaphore::new(0) });
    let (stop, intake) = (tokio_util::sync::CancellationToken::new(), stalled.clone());
    let (adapter, token) = (bot.adapter.clone(), stop.clone());
    let receiving = tokio::spawn(async move { adapter.receive(intake, token).await });
    // The session is there, and its positions are not: everything queues.
    bot.host.report_of("connection", |report| matches!(report, Report::Connected { .. })).await;
    let ann = bot.server.user("ann");
    let dm = bot.server.dm(ann);
    for n in 0..3_000 {
        bot.server.say(dm, ann, &n.to_string());
    }
    assert_eq!(stalled.host.events().len(), 0);
    stalled.open.add_permits(1);
    bot.host.wait("all", |host| (host.events().len() == 3_000).then_some(())).await;
    assert_eq!(bot.texts(), (0..3_000).map(|n| n.to_string()).collect::<Vec<_>>());
    stop.cancel();
    receiving.await.expect("no panic").expect("a clean end");
}
