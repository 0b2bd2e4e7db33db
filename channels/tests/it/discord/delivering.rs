//! Sends, edits, files, refusals, pacing.

use std::time::{Duration, Instant};

use channels::{Action, Deliver, File, FileSource, Gone, Outbound, Piece, Reply, Scope, SendError};
use fakes::discord::{Fault, On};
use serde_json::json;

use super::bot::{Bot, button, conversation, out, piece, send};

#[tokio::test]
async fn a_message_goes_out_as_a_reply_with_its_key_and_rings_nobody() {
    let bot = Bot::quiet().await;
    let (ann, room) = (bot.server.user("ann"), bot.server.channel("general"));
    let asked = bot.server.say(room, ann, "question");
    let text = format!("@everyone <@{ann}> <@&{}> answer", bot.server.bot_role());
    let out = Outbound { reply_to: Some(asked.to_string()), ..send(room, "key-1", &text) };
    let sent = bot.adapter.deliver(&out).await.expect("sent");
    let shown = bot.server.answers(room).pop().expect("a message");
    assert_eq!((shown.id.to_string(), shown.nonce.as_deref()), (sent.message_id, Some("key-1")));
    assert_eq!((shown.reply_to, shown.text), (Some(asked), text));
    assert_eq!(shown.pings, [] as [&str; 0]);
    let body = bot.server.requests().pop().expect("a request").body;
    assert_eq!(body["enforce_nonce"], json!(true));
    assert_eq!(body["allowed_mentions"], json!({ "parse": [], "replied_user": false }));
    assert_eq!(body["message_reference"]["fail_if_not_exists"], json!(false));
}

#[tokio::test]
async fn a_reply_to_a_message_that_is_gone_is_still_sent() {
    let bot = Bot::quiet().await;
    let room = bot.server.channel("general");
    bot.adapter.deliver(&Outbound { reply_to: Some("5".into()), ..send(room, "k", "still") }).await.expect("sent");
    assert_eq!(bot.server.answers(room)[0].reply_to, None);
}

#[tokio::test]
async fn the_same_key_is_one_message_within_the_window() {
    let bot = Bot::quiet().await;
    let room = bot.server.channel("general");
    let first = bot.adapter.deliver(&send(room, "same", "once")).await.expect("sent");
    let second = bot.adapter.deliver(&send(room, "same", "once")).await.expect("sent");
    assert_eq!(first, second);
    assert_eq!(bot.server.answers(room).len(), 1);
    assert!(bot.adapter.key_window() > Duration::ZERO && bot.adapter.reads_back());
}

#[tokio::test]
async fn a_send_whose_answer_was_lost_is_found_by_reading_back() {
    let bot = Bot::quiet().await;
    let room = bot.server.channel("general");
    let before = bot.adapter.deliver(&send(room, "k0", "the same words")).await.expect("sent");
    let since_ms = i64::try_from(bot.server.answers(room)[0].created_ms).expect("a time") + 2_001;
    let lost = send(room, "k1", "the same words");
    assert_eq!(bot.adapter.find(&lost, since_ms).await, Ok(None), "an earlier message of the same words");
    bot.server.fail(On::Send, Fault::CutAfter, 1);
    // By the clock of a host that tries a good while later.
    let waited = async {
        while u64::try_from(since_ms).expect("a time") > now_ms() {
            tokio::time::sleep(Duration::from_millis(20)).await
        }
    };
    waited.await;
    assert!(matches!(bot.adapter.deliver(&lost).await, Err(SendError::Ambiguous(_))));
    let found = bot.adapter.find(&lost, since_ms).await.expect("read").expect("it is there");
    assert_ne!(found, before);
    bot.server.set_nonce_window(Duration::ZERO);
    assert_eq!(found.message_id, bot.server.answers(room)[1].id.to_string());
    let never = send(room, "k2", "never sent");
    assert_eq!(bot.adapter.find(&never, 0).await, Ok(None));
}

fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    u64::try_from(since.as_millis()).expect("a time")
}

#[tokio::test]
async fn every_failure_is_typed_by_what_to_do_next() {
    let status = |status, code| Fault::Status { status, code };
    let limited = |ms, scope| SendError::RateLimited { retry_after: Duration::from_millis(ms), scope };
    let too_many = |ms, global| Fault::TooMany { retry_after: Duration::from_millis(ms), global };
    let table = [
        (too_many(150, false), limited(150, Scope::Conversation)),
        (too_many(250, true), limited(250, Scope::Everything)),
        (status(401, 0), SendError::Unauthorized),
        (status(403, 50013), SendError::Forbidden("said the test".into())),
        (status(403, 50001), SendError::Forbidden("said the test".into())),
        (status(403, 50007), SendError::Forbidden("said the test".into())),
        (status(404, 10003), SendError::Gone(Gone::Conversation)),
        (status(400, 50035), SendError::Refused("400: said the test".into())),
        (status(500, 0), SendError::Transient("Discord answered 500: said the test".into())),
        (status(503, 0), SendError::Transient("Discord answered 503: said the test".into())),
    ];
    for (fault, wanted) in table {
        let bot = Bot::quiet().await;
        let room = bot.server.channel("general");
        bot.server.fail(On::Send, fault.clone(), 1);
        assert_eq!(bot.adapter.deliver(&send(room, "k", "x")).await, Err(wanted), "{fault:?}");
        assert_eq!(bot.server.answers(room), [], "{fault:?}");
        bot.adapter.deliver(&send(room, "k", "x")).await.unwrap_or_else(|again| panic!("{fault:?}, then {again}"));
    }
    let bot = Bot::quiet().await;
    let room = bot.server.channel("general");
    bot.server.fail(On::Send, Fault::CutBefore, 1);
    assert!(matches!(bot.adapter.deliver(&send(room, "k", "x")).await, Err(SendError::Ambiguous(_))));
    bot.server.offline();
    assert!(matches!(bot.adapter.deliver(&send(room, "k", "x")).await, Err(SendError::Transient(_))), "nobody there");
}

#[tokio::test]
async fn no_error_names_an_address_or_a_token() {
    let bot = Bot::quiet().await;
    let room = bot.server.channel("general");
    let (token, url) = (bot.server.token(), bot.server.url());
    bot.server.fail(On::Send, Fault::CutBefore, 1);
    let cut = bot.adapter.deliver(&send(room, "k", "x")).await.expect_err("cut").to_string();
    bot.server.offline();
    let away = bot.adapter.deliver(&send(room, "k", "x")).await.expect_err("away").to_string();
    for said in [cut, away] {
        assert!(!said.contains(&token) && !said.contains(&url) && !said.contains("channels/"), "{said}");
    }
}

/// As a host does it: waits for the conversation's turn, then delivers.
async fn in_turn(adapter: &channels::discord::Discord, out: &Outbound) -> Result<channels::Sent, SendError> {
    adapter.ready(&out.conversation).await;
    adapter.deliver(out).await
}

#[tokio::test]
async fn a_limit_on_a_conversation_holds_that_one_and_one_on_everything_holds_all() {
    let bot = Bot::quiet().await;
    let (one, two) = (bot.server.channel("one"), bot.server.channel("two"));
    let wait = Duration::from_millis(700);
    bot.server.fail_in(one, On::Send, Fault::TooMany { retry_after: wait, global: false }, 1);
    bot.adapter.deliver(&send(one, "k1", "x")).await.expect_err("limited");
    assert!(!bot.adapter.draft_fits(&conversation(one)), "no draft where a message has to wait");
    let began = Instant::now();
    in_turn(&bot.adapter, &send(two, "k2", "x")).await.expect("the other goes on");
    assert!(began.elapsed() < wait / 2, "{:?}", began.elapsed());
    in_turn(&bot.adapter, &send(one, "k1", "x")).await.expect("after the wait");
    assert!(began.elapsed() >= wait - Duration::from_millis(100), "{:?}", began.elapsed());
    bot.server.fail_in(one, On::Edit, Fault::TooMany { retry_after: wait, global: true }, 1);
    let id = bot.server.answers(one)[0].id.to_string();
    let edit = out(one, "k3", Action::Edit { message_id: id, piece: piece("y") });
    assert!(matches!(in_turn(&bot.adapter, &edit).await, Err(SendError::RateLimited { scope: Scope::Everything, .. })));
    let began = Instant::now();
    in_turn(&bot.adapter, &send(two, "k4", "x")).await.expect("after the wait");
    assert!(began.elapsed() >= wait - Duration::from_millis(100), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_pace_stays_within_the_limits() {
    let bot = Bot::quiet().await;
    bot.server.limit(true);
    let rooms: Vec<u64> = (0..12).map(|n| bot.server.channel(&format!("room {n}"))).collect();
    let sends =
        rooms.iter().flat_map(|&room| (0..6).map(move |n| (room, send(room, &format!("{room}-{n}"), &n.to_string()))));
    let all: Vec<_> = sends
        .map(|(_, out)| {
            let adapter = bot.adapter.clone();
            tokio::spawn(async move { in_turn(&adapter, &out).await })
        })
        .collect();
    for one in all {
        one.await.expect("no panic").expect("sent at the first attempt");
    }
    assert_eq!(bot.server.over_limit(), 0, "no 429 of our making");
    for room in rooms {
        assert_eq!(bot.server.answers(room).len(), 6);
    }
}

#[tokio::test]
async fn a_message_is_edited_and_taken_away_and_what_is_gone_is_said() {
    let bot = Bot::quiet().await;
    let room = bot.server.channel("general");
    let with_button = Piece { buttons: button("Go", "go"), ..piece("draft") };
    let sent = bot.adapter.deliver(&out(room, "k1", Action::Send(with_button))).await.expect("sent");
    let edit = out(room, "k2", Action::Edit { message_id: sent.message_id.clone(), piece: piece("final") });
    assert_eq!(bot.adapter.deliver(&edit).await, Ok(sent.clone()));
    let shown = bot.server.answers(room).remove(0);
    assert_eq!((shown.text.as_str(), shown.edits, shown.buttons.len()), ("final", 1, 0));
    let delete = out(room, "k3", Action::Delete { message_id: sent.message_id.clone() });
    assert_eq!(bot.adapter.deliver(&delete).await, Ok(sent.clone()));
    assert_eq!(bot.server.answers(room), []);
    assert_eq!(bot.adapter.deliver(&delete).await, Ok(sent), "gone already is no error");
    assert_eq!(bot.adapter.deliver(&edit).await, Err(SendError::Gone(Gone::Message)));
    bot.server.delete_channel(room);
    assert_eq!(bot.adapter.deliver(&send(room, "k4", "x")).await, Err(SendError::Gone(Gone::Conversation)));
}

#[tokio::test]
async fn several_files_go_with_one_message_and_with_an_edit() {
    let bot = Bot::quiet().await;
    let room = bot.server.channel("general");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("b");
    std::fs::write(&path, [0u8, 159, 146, 150]).expect("written");
    let files = vec![
        File { name: "a.md".into(), source: FileSource::Text("# a\n".into()) },
        File { name: "b.bin".into(), source: FileSource::Path(path) },
    ];
    let with_files = Piece { files, ..piece("see") };
    let sent = bot.adapter.deliver(&out(room, "k1", Action::Send(with_files.clone()))).await.expect("sent");
    let files = |text: &str| {
        let shown = bot.server.answers(room).remove(0);
        assert_eq!(shown.text, text);
        shown.files.into_iter().map(|file| (file.name, file.bytes)).collect::<Vec<_>>()
    };
    let wanted = vec![("a.md".to_owned(), b"# a\n".to_vec()), ("b.bin".to_owned(), vec![0, 159, 146, 150])];
    assert_eq!(files("see"), wanted);
    let edit = |piece| out(room, "k2", Action::Edit { message_id: sent.message_id.clone(), piece });
    bot.adapter.deliver(&edit(piece("without"))).await.expect("edited");
    assert_eq!(files("without"), wanted, "an edit without files leaves them");
    let one = Piece { files: with_files.files[..1].to_vec(), ..piece("one") };
    bot.adapter.deliver(&edit(one)).await.expect("edited");
    assert_eq!(files("one"), wanted[..1]);
    let missing = vec![File { name: "c".into(), source: FileSource::Path("/nowhere/at/all".into()) }];
    let missing = out(room, "k3", Action::Send(Piece { files: missing, ..piece("x") }));
    assert!(matches!(bot.adapter.deliver(&missing).await, Err(SendError::Refused(_))));
}

#[tokio::test]
async fn typing_is_shown_unless_a_message_would_wait_for_it() {
    let bot = Bot::quiet().await;
    let room = bot.server.channel("general");
    bot.adapter.typing(&conversation(room)).await;
    assert_eq!(bot.server.typing(), [room]);
    bot.server.fail(On::Typing, Fault::Status { status: 403, code: 50001 }, 1);
    bot.adapter.typing(&conversation(room)).await;
    bot.server.fail(On::Send, Fault::TooMany { retry_after: Duration::from_secs(5), global: false }, 1);
    bot.adapter.deliver(&send(room, "k", "x")).await.expect_err("limited");
    bot.adapter.typing(&conversation(room)).await;
    assert_eq!(bot.server.typing(), [room], "not while the conversation is held");
    assert!(bot.adapter.draft_interval(&conversation(room)) >= Duration::from_secs(1));
}

#[tokio::test]
async fn what_is_no_place_of_discord_is_refused_without_a_request() {
    let bot = Bot::quiet().await;
    let elsewhere = Outbound { conversation: "telegram:5".parse().expect("an address"), ..send(1, "k", "x") };
    assert!(matches!(bot.adapter.deliver(&elsewhere).await, Err(SendError::Refused(_))));
    let edit = out(5, "k", Action::Edit { message_id: "x".into(), piece: piece("x") });
    assert!(matches!(bot.adapter.deliver(&edit).await, Err(SendError::Refused(_))));
    assert_eq!(bot.server.requests().len(), 0);
}

#[tokio::test]
async fn a_person_who_never_wrote_is_reached_in_their_direct_channel() {
    let bot = Bot::quiet().await;
    let admin = bot.server.user("admin");
    let place: channels::ConversationId = format!("discord:@{admin}").parse().expect("an address");
    for key in ["k1", "k2"] {
        let out = Outbound { conversation: place.clone(), ..send(1, key, key) };
        bot.adapter.deliver(&out).await.expect("sent");
    }
    let shown: Vec<_> = bot.server.messages(bot.server.dm(admin)).into_iter().map(|message| message.text).collect();
    assert_eq!(shown, ["k1", "k2"]);
    let opened = bot.server.requests().iter().filter(|request| request.path.ends_with("/users/@me/channels")).count();
    assert_eq!(opened, 1, "it is opened once");
}

#[tokio::test]
async fn a_message_that_was_taken_in_meanwhile_gets_eyes() {
    let bot = Bot::quiet().await;
    let (ann, room) = (bot.server.user("ann"), bot.server.channel("general"));
    let said = bot.server.say(room, ann, "and one more thing");
    bot.adapter.seen(&conversation(room), &said.to_string()).await;
    let eyes =
        bot.server.reactions().into_iter().map(|(message, emoji)| (message, emoji.replace("%F0%9F%91%80", "👀")));
    assert_eq!(eyes.collect::<Vec<_>>(), [(said, "👀".to_owned())]);
}
