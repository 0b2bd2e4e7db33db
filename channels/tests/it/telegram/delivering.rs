//! Sends, edits, files, refusals, pacing.

use std::time::{Duration, Instant};

use channels::telegram::{Settings, Telegram};
use channels::{Action, Deliver, File, FileSource, Gone, Piece, Receive, Reply, SendError};
use fakes::telegram::{Failure, Fault, Say};

use super::bot::{Bot, acting, conversation, html, send, topic};

fn refusal(fault: Fault) -> Failure {
    Failure::new(fault).of("sendMessage")
}

#[tokio::test]
async fn html_that_telegram_refuses_arrives_as_plain_text_in_the_same_delivery() {
    let bot = Bot::new().await;
    let chat = bot.server.private(bot.server.user("Alice"));
    let sent = bot.telegram.deliver(&send(chat, html("<b>bold", "bold"))).await.expect("it arrives");
    let shown = bot.server.messages(chat);
    assert_eq!((shown.len(), shown[0].text.as_str(), shown[0].html), (1, "bold", false));
    let edit = Action::Edit { message_id: sent.message_id, piece: html("<h1>x</h1>", "x & <y>") };
    bot.telegram.deliver(&acting(conversation(chat), edit)).await.expect("it arrives");
    assert_eq!(bot.server.messages(chat)[0].text, "x & <y>");
    let good = bot.telegram.deliver(&send(chat, html("<b>1 &lt; 2</b>", "1 < 2"))).await.expect("it arrives");
    let shown = bot.server.messages(chat);
    assert_eq!(
        (shown[1].message_id.to_string(), shown[1].text.as_str(), shown[1].html),
        (good.message_id, "1 < 2", true)
    );
}

#[tokio::test]
async fn general_is_written_to_without_a_thread_and_a_topic_with_its_own() {
    let bot = Bot::new().await;
    let forum = bot.server.forum("Hive");
    let plans = bot.server.topic(forum, "Plans", bot.server.user("Alice"));
    for place in [conversation(forum), topic(forum, 1), topic(forum, plans)] {
        bot.telegram.deliver(&acting(place.clone(), Action::Send(html("x", "x")))).await.expect("it arrives");
        bot.telegram.typing(&place).await;
    }
    let threads: Vec<_> = bot.server.messages(forum).iter().map(|shown| shown.thread).collect();
    assert_eq!(threads, [None, None, Some(plans)]);
    let typing = |thread| ("typing".to_owned(), thread);
    assert_eq!(bot.server.actions(forum), [typing(None), typing(None), typing(Some(plans))]);
}

#[tokio::test]
async fn a_reply_to_what_is_gone_or_elsewhere_is_sent_without_being_a_reply() {
    let bot = Bot::new().await;
    let alice = bot.server.user("Alice");
    let forum = bot.server.forum("Hive");
    let plans = bot.server.topic(forum, "Plans", alice);
    let said = bot.server.say(forum, alice, Say::text("hello").in_topic(plans));
    let mut out = acting(topic(forum, plans), Action::Send(html("x", "x")));
    for (place, reply_to, expected) in [
        (topic(forum, plans), said, Some(said)),
        (topic(forum, plans), 99_999, None),
        (conversation(forum), said, None),
    ] {
        out.conversation = place;
        out.reply_to = Some(reply_to.to_string());
        bot.telegram.deliver(&out).await.expect("it arrives");
        assert_eq!(bot.server.messages(forum).last().expect("a message").reply_to, expected);
    }
}

#[tokio::test]
async fn each_refusal_is_typed_by_what_to_do_next() {
    let bot = Bot::new().await;
    let alice = bot.server.user("Alice");
    let (blocked, gone) = (bot.server.private(alice), bot.server.private(bot.server.user("Bob")));
    let (forum, group) = (bot.server.forum("Hive"), bot.server.group("Small"));
    let (closed, deleted) = (bot.server.topic(forum, "Closed", alice), bot.server.topic(forum, "Deleted", alice));
    bot.server.throw_out(blocked);
    bot.server.delete_chat(gone);
    bot.server.close_topic(forum, closed);
    bot.server.delete_topic(forum, deleted);
    let supergroup = bot.server.migrate(group);
    let too_long = SendError::Refused("Bad Request: message is too long".into());
    for (place, text, expected) in [
        (conversation(blocked), "x", SendError::Forbidden("Forbidden: bot was blocked by the user".into())),
        (conversation(gone), "x", SendError::Gone(Gone::Conversation)),
        (topic(forum, closed), "x", SendError::Forbidden("Bad Request: TOPIC_CLOSED".into())),
        (topic(forum, deleted), "x", SendError::Gone(Gone::Conversation)),
        (conversation(group), "x", SendError::Moved(conversation(supergroup))),
        (conversation(forum), &"x".repeat(4097), too_long),
    ] {
        let out = acting(place.clone(), Action::Send(html(text, text)));
        assert_eq!(bot.telegram.deliver(&out).await, Err(expected), "{place}");
    }
    let edit = Action::Edit { message_id: "77".into(), piece: html("x", "x") };
    let out = acting(conversation(supergroup), edit);
    assert_eq!(bot.telegram.deliver(&out).await, Err(SendError::Gone(Gone::Message)));
}

#[tokio::test]
async fn what_may_have_been_carried_out_is_told_from_what_was_not() {
    let bot = Bot::new().await;
    let chat = |name: &str| bot.server.private(bot.server.user(name));
    for (name, fault, ambiguous, posted) in [
        ("A", Fault::Status(500), false, 0),
        ("B", Fault::Status(502), false, 0),
        ("C", Fault::Status(503), false, 0),
        ("D", Fault::Status(504), true, 0),
        ("E", Fault::Refusal(500, "Internal Server Error"), false, 0),
        ("F", Fault::CutAfter, true, 1),
        ("G", Fault::CutBefore, true, 0),
    ] {
        bot.server.fail(refusal(fault.clone()));
        let chat = chat(name);
        match bot.posts(chat, "x").await {
            Err(SendError::Ambiguous(_)) => assert!(ambiguous, "{fault:?}"),
            Err(SendError::Transient(_)) => assert!(!ambiguous, "{fault:?}"),
            other => panic!("{fault:?}: {other:?}"),
        }
        assert_eq!(bot.server.messages(chat).len(), posted, "{fault:?}");
    }
    bot.server.fail(refusal(Fault::Refusal(401, "Unauthorized")));
    assert_eq!(bot.posts(chat("H"), "x").await, Err(SendError::Unauthorized));
    // Port 9 of loopback: nothing listens there, so nothing can have been done.
    let settings = Settings { api_url: Some("http://127.0.0.1:9".into()), ..Settings::new(bot.server.token().into()) };
    let nowhere = Telegram::new(settings).expect("it could be a token");
    let error = nowhere.deliver(&send(1, html("x", "x"))).await.expect_err("nobody is there");
    assert!(matches!(&error, SendError::Transient(why) if !why.contains("/bot")), "{error}");
}

#[tokio::test]
async fn an_edit_that_changes_nothing_and_a_deletion_of_nothing_are_done() {
    let bot = Bot::new().await;
    let chat = bot.server.private(bot.server.user("Alice"));
    let sent = bot.posts(chat, "same").await.expect("it arrives");
    let edit = Action::Edit { message_id: sent.message_id.clone(), piece: html("same", "same") };
    assert_eq!(bot.telegram.deliver(&acting(conversation(chat), edit)).await, Ok(sent));
    let delete = Action::Delete { message_id: "77".into() };
    bot.telegram.deliver(&acting(conversation(chat), delete)).await.expect("it is not there any more");
}

#[tokio::test]
async fn files_go_alone_together_and_in_place_of_a_draft() {
    let bot = Bot::new().await;
    let group = bot.server.supergroup("Garden");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("x.bin");
    std::fs::write(&path, [0, 159, 146, 150]).expect("it can be written");
    let on_disk = File { name: "x.bin".into(), source: FileSource::Path(path) };
    let text = File { name: "a.md".into(), source: FileSource::Text("# a".into()) };
    let both = Piece { files: vec![on_disk.clone(), text.clone()], ..html("<b>two</b>", "two") };
    bot.telegram.deliver(&send(group, both)).await.expect("they arrive");
    let shown = bot.server.messages(group);
    let documents: Vec<_> = shown.iter().filter_map(|shown| shown.document.clone()).collect();
    assert_eq!(documents, [("x.bin".into(), vec![0, 159, 146, 150]), ("a.md".into(), b"# a".to_vec())]);
    assert_eq!((shown[0].text.as_str(), shown[1].text.as_str()), ("", "two"));
    let draft = bot.posts(group, "thinking").await.expect("it arrives");
    let edit = |piece| acting(conversation(group), Action::Edit { message_id: draft.message_id.clone(), piece });
    bot.telegram.deliver(&edit(Piece { files: vec![text], ..html("<b>done", "done") })).await.expect("it is changed");
    let last = bot.server.messages(group).pop().expect("a message");
    assert_eq!((last.text.as_str(), last.document.map(|(name, _)| name)), ("done", Some("a.md".into())));
    // The text of a message with a file is its caption, which has a method of its own.
    bot.telegram.deliver(&edit(html("<i>more</i>", "more"))).await.expect("it is changed");
    assert_eq!(bot.server.messages(group).pop().expect("a message").text, "more");
    let missing = File { name: "gone.bin".into(), source: FileSource::Path(folder.path().join("nothing")) };
    let out = send(group, Piece { files: vec![missing], ..Piece::default() });
    let error = bot.telegram.deliver(&out).await.expect_err("the file is not there");
    assert!(matches!(&error, SendError::Refused(why) if why.contains("gone.bin")), "{error}");
}

#[tokio::test]
async fn a_file_is_never_fetched_beyond_what_telegram_and_the_host_allow() {
    let bot = Bot::new().await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let to = folder.path().join("fetched");
    let described = |reference: String, size_bytes| channels::Attachment {
        reference,
        name: "x".into(),
        media_type: String::new(),
        size_bytes,
    };
    let huge = bot.server.file("huge.bin", vec![0; (20 << 20) + 1]);
    let error = bot.telegram.fetch(&described(huge, 0), &to, u64::MAX).await.expect_err("it is too large");
    assert_eq!(error, SendError::Refused("the file is larger than 20971520 bytes".into()));
    let unknown = bot.telegram.fetch(&described("nonsense".into(), 0), &to, 10).await;
    assert!(matches!(unknown, Err(SendError::Refused(_))), "{unknown:?}");
    assert!(!to.exists());
    let small = bot.server.file("small.txt", "hello");
    bot.server.fail(Failure::new(Fault::CutBefore).of("getFile"));
    let cut = bot.telegram.fetch(&described(small.clone(), 5), &to, 5).await;
    assert!(matches!(cut, Err(SendError::Transient(_))), "reading can be tried again: {cut:?}");
    bot.telegram.fetch(&described(small, 5), &to, 5).await.expect("it is within the limit");
    assert_eq!(std::fs::read_to_string(&to).expect("it was written"), "hello");
}

#[tokio::test]
async fn retry_after_holds_one_chat_with_all_its_topics_and_no_other() {
    let bot = Bot::new().await;
    let forum = bot.server.forum("Hive");
    let plans = bot.server.topic(forum, "Plans", bot.server.user("Alice"));
    let other = bot.server.private(bot.server.user("Bob"));
    bot.server.fail(refusal(Fault::TooManyRequests(2)).in_chat(forum));
    let start = Instant::now();
    let limited = bot.posts(forum, "x").await;
    assert!(matches!(limited, Err(SendError::RateLimited { .. })), "{limited:?}");
    assert!(!bot.telegram.draft_fits(&topic(forum, plans)));
    bot.posts(other, "free").await.expect("it arrives");
    assert!(start.elapsed() < Duration::from_secs(2), "another chat waited {:?}", start.elapsed());
    bot.telegram.ready(&topic(forum, plans)).await;
    assert!(start.elapsed() >= Duration::from_secs(2), "its topic did not wait: {:?}", start.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn within_its_own_pace_it_never_meets_the_documented_rates() {
    let bot = Bot::new().await;
    bot.server.keep_rates(true);
    let people: Vec<i64> = (0..20).map(|n| bot.server.private(bot.server.user(&format!("P{n}")))).collect();
    let group = bot.server.group("Garden");
    let start = Instant::now();
    let mut sends = Vec::new();
    for chat in people.iter().flat_map(|chat| [*chat; 3]).chain([group; 4]) {
        let telegram = bot.telegram.clone();
        sends.push(tokio::spawn(async move {
            telegram.ready(&conversation(chat)).await;
            telegram.deliver(&send(chat, html("x", "x"))).await
        }));
    }
    for send in sends {
        send.await.expect("no panic").expect("no rate limit of our making");
    }
    // Sixty-four messages at thirty a second, and three to one person: a little over two seconds is the optimum.
    assert!(start.elapsed() >= Duration::from_secs(2), "it was faster than allowed: {:?}", start.elapsed());
    assert!(people.iter().all(|chat| bot.server.messages(*chat).len() == 3));
}

#[tokio::test]
async fn drafts_come_more_slowly_in_groups_than_to_one_person() {
    let bot = Bot::new().await;
    let interval = |chat: i64| bot.telegram.draft_interval(&conversation(chat));
    assert!((1_000..1_100).contains(&interval(42).as_millis()), "one edit a second");
    assert!(interval(-42) >= Duration::from_secs(3), "twenty a minute are shared with the messages");
    assert_eq!(bot.telegram.key_window(), Duration::ZERO);
    assert!(!bot.telegram.reads_back());
}

#[tokio::test]
async fn a_message_that_was_taken_in_meanwhile_gets_eyes() {
    let bot = Bot::new().await;
    let ann = bot.server.user("ann");
    let chat = bot.server.private(ann);
    let said = bot.server.say(chat, ann, "and one more thing");
    bot.telegram.seen(&conversation(chat), &said.to_string()).await;
    assert_eq!(bot.server.reactions(chat), [(said, "👀".to_owned())]);
}
