//! What every adapter promises.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use channels::render::{self, RenderLimits};
use channels::{
    Action, Addressed, Arguments, Button, Content, ConversationId, Deliver, Emphasis, File, FileSource, Gone, Inbound,
    Outbound, Piece, Place, ReceiveError, Report, Scope, SendError, Sent,
};

use super::peer::{Fault, Peer, Said, Shown};
use crate::host::{Host, PATIENCE, Running};

type Promise<P> = fn(P) -> Pin<Box<dyn Future<Output = ()> + Send>>;

/// The list. Each one gets a platform of its own.
fn list<P: Peer>() -> Vec<(&'static str, Promise<P>)> {
    vec![
        ("check_names_the_bot", |peer| Box::pin(check_names_the_bot(peer))),
        ("a_text_comes_in_and_an_answer_goes_out", |peer| Box::pin(a_text_comes_in_and_an_answer_goes_out(peer))),
        ("a_conversation_is_found_again_by_its_id", |peer| Box::pin(a_conversation_is_found_again_by_its_id(peer))),
        ("in_a_room_it_hears_what_speaks_to_it", |peer| Box::pin(in_a_room_it_hears_what_speaks_to_it(peer))),
        ("an_edit_is_not_a_new_message", |peer| Box::pin(an_edit_is_not_a_new_message(peer))),
        ("what_was_said_while_it_was_away_comes_once", |peer| {
            Box::pin(what_was_said_while_it_was_away_comes_once(peer))
        }),
        ("what_the_host_refused_comes_again", |peer| Box::pin(what_the_host_refused_comes_again(peer))),
        ("a_lost_connection_is_made_again", |peer| Box::pin(a_lost_connection_is_made_again(peer))),
        ("a_long_text_arrives_whole_and_in_order", |peer| Box::pin(a_long_text_arrives_whole_and_in_order(peer))),
        ("a_message_is_edited_and_deleted", |peer| Box::pin(a_message_is_edited_and_deleted(peer))),
        ("a_click_carries_who_clicked", |peer| Box::pin(a_click_carries_who_clicked(peer))),
        ("a_command_arrives_as_a_command", |peer| Box::pin(a_command_arrives_as_a_command(peer))),
        ("a_rate_limit_is_waited_out_by_its_conversation_alone", |peer| {
            Box::pin(a_rate_limit_is_waited_out_by_its_conversation_alone(peer))
        }),
        ("a_fault_of_the_server_can_be_tried_again", |peer| Box::pin(a_fault_of_the_server_can_be_tried_again(peer))),
        ("a_send_whose_answer_is_lost_is_never_doubled", |peer| {
            Box::pin(a_send_whose_answer_is_lost_is_never_doubled(peer))
        }),
        ("a_thread_that_is_gone_is_said_to_be_gone", |peer| Box::pin(a_thread_that_is_gone_is_said_to_be_gone(peer))),
        ("no_text_of_ours_pings_anybody", |peer| Box::pin(no_text_of_ours_pings_anybody(peer))),
        ("a_file_comes_in_described_and_is_fetched_within_a_limit", |peer| {
            Box::pin(a_file_comes_in_described_and_is_fetched_within_a_limit(peer))
        }),
        ("a_file_goes_out", |peer| Box::pin(a_file_goes_out(peer))),
        ("a_key_goes_with_every_send_where_the_platform_has_keys", |peer| {
            Box::pin(a_key_goes_with_every_send_where_the_platform_has_keys(peer))
        }),
    ]
}

/// Has one kind of peer keep every promise, all at once, and names each that was broken.
pub async fn all<P: Peer>() {
    let running: Vec<_> = list::<P>()
        .into_iter()
        .map(|(name, promise)| (name, tokio::spawn(async move { promise(P::start().await).await })))
        .collect();
    let mut broken = Vec::new();
    for (name, promise) in running {
        let stop = promise.abort_handle();
        match tokio::time::timeout(3 * PATIENCE, promise).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => broken.push(format!("{name}: {}", cause(error))),
            Err(_) => {
                stop.abort();
                broken.push(format!("{name}: did not end"));
            }
        }
    }
    assert!(broken.is_empty(), "{} broken:\n{}", broken.len(), broken.join("\n"));
}

fn cause(error: tokio::task::JoinError) -> String {
    let Ok(panic) = error.try_into_panic() else { return "cancelled".to_owned() };
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
}

/// A message to send, with a key of its own.
fn message(conversation: &ConversationId, key: &str, piece: Piece) -> Outbound {
    let action = Action::Send(piece);
    Outbound { conversation: conversation.clone(), key: key.to_owned(), action, reply_to: None, handle: None }
}

fn plain(text: &str) -> Piece {
    Piece { text: text.to_owned(), plain: text.to_owned(), ..Piece::default() }
}

fn changed(out: &Outbound, action: Action) -> Outbound {
    Outbound { action, ..out.clone() }
}

/// Delivers as a host does: waits for the rate, and tries again what was certainly not done.
async fn deliver(channel: &dyn Deliver, out: &Outbound) -> Result<Sent, SendError> {
    for _ in 0..10 {
        channel.ready(&out.conversation).await;
        match channel.deliver(out).await {
            Err(SendError::RateLimited { .. } | SendError::Transient(_)) => {}
            outcome => return outcome,
        }
    }
    panic!("ten attempts were not enough")
}

async fn texts<P: Peer>(peer: &P, place: &ConversationId) -> Vec<String> {
    peer.shown(place).await.into_iter().map(|shown| shown.text).collect()
}

fn text_of(event: &Inbound) -> Option<&str> {
    match &event.content {
        Content::Text(text) => Some(&text.text),
        _ => None,
    }
}

async fn text_event(host: &Host, text: &str) -> Inbound {
    host.event(&format!("message that says {text:?}"), |event| text_of(event) == Some(text)).await
}

async fn check_names_the_bot<P: Peer>(peer: P) {
    let name = peer.adapter().check().await.expect("the platform is there");
    assert!(!name.is_empty());
}

async fn a_text_comes_in_and_an_answer_goes_out<P: Peer>(peer: P) {
    let (host, channel) = (Host::new(), peer.adapter());
    let running = Running::start(channel.clone(), &host).await;
    let id = peer.say(&peer.direct(), &peer.alice(), Said::text("ping <&> 😀")).await;
    let event = text_event(&host, "ping <&> 😀").await;
    assert_eq!((&event.conversation, &event.sender.id, &event.event_id), (&peer.direct(), &peer.alice(), &id));
    assert_eq!((&event.place, event.addressed), (&Place::Direct, Addressed::Direct));
    assert!(!event.sender.name.is_empty());
    let piece = render::pieces(peer.kind(), "pong", RenderLimits::default()).remove(0);
    let answer = Outbound { reply_to: Some(id.clone()), ..message(&event.conversation, "k1", piece) };
    let sent = deliver(&*channel, &answer).await.expect("it can be sent");
    let shown = peer.shown(&peer.direct()).await;
    let expected = Shown { message_id: sent.message_id, text: "pong".into(), reply_to: Some(id), ..Shown::default() };
    assert_eq!(shown.into_iter().map(|shown| Shown { key: None, ..shown }).collect::<Vec<_>>(), [expected]);
    running.stop().await.expect("it ends in order");
}

async fn a_conversation_is_found_again_by_its_id<P: Peer>(peer: P) {
    let (host, channel) = (Host::new(), peer.adapter());
    let _running = Running::start(channel.clone(), &host).await;
    let places = [Some(peer.direct()), Some(peer.room()), Some(peer.other_room()), peer.thread()];
    for (number, place) in places.into_iter().flatten().enumerate() {
        let text = format!("here {number}");
        let said = Said { mentions_bot: place != peer.direct(), ..Said::text(&text) };
        peer.say(&place, &peer.alice(), said).await;
        let event = text_event(&host, &text).await;
        assert_eq!(event.conversation, place);
        assert_eq!(event.conversation.kind(), peer.kind());
        let is_thread = Some(&place) == peer.thread().as_ref();
        match &event.place {
            Place::Thread { parent, .. } => assert_eq!((parent, is_thread), (&peer.room(), true)),
            Place::Direct => assert_eq!(place, peer.direct()),
            Place::Group { .. } => assert!(!is_thread && place != peer.direct(), "{place}"),
        }
        let stored: ConversationId = event.conversation.as_str().parse().expect("an id reads back");
        deliver(&*channel, &message(&stored, &format!("k{number}"), plain("here too"))).await.expect("it goes there");
        assert_eq!(texts(&peer, &place).await, ["here too"], "{place}");
    }
}

async fn in_a_room_it_hears_what_speaks_to_it<P: Peer>(peer: P) {
    let (host, channel) = (Host::new(), peer.adapter());
    let _running = Running::start(channel.clone(), &host).await;
    let (room, alice, bob) = (peer.room(), peer.alice(), peer.bob());
    let sent = deliver(&*channel, &message(&room, "k1", plain("I am here"))).await.expect("it can be sent");
    peer.say(&room, &alice, Said::text("among ourselves")).await;
    peer.say(&room, &alice, Said { mentions_bot: true, ..Said::text("to you") }).await;
    peer.say(&room, &bob, Said { reply_to: Some(sent.message_id.clone()), ..Said::text("answered") }).await;
    let mentioned = text_event(&host, "to you").await;
    assert_eq!((mentioned.addressed, &mentioned.sender.id), (Addressed::Mention, &alice));
    let answered = text_event(&host, "answered").await;
    assert_eq!((answered.addressed, &answered.sender.id), (Addressed::Reply, &bob));
    let Content::Text(text) = &answered.content else { panic!("not a text") };
    assert_eq!(text.reply_to.as_ref(), Some(&sent.message_id));
    assert_eq!(host.events().iter().filter_map(text_of).collect::<Vec<_>>(), ["to you", "answered"]);
}

async fn an_edit_is_not_a_new_message<P: Peer>(peer: P) {
    let (host, channel) = (Host::new(), peer.adapter());
    let _running = Running::start(channel, &host).await;
    let id = peer.say(&peer.direct(), &peer.alice(), Said::text("frist")).await;
    text_event(&host, "frist").await;
    peer.edit(&peer.direct(), &id, "first").await;
    let edit = host.event("edit", |event| matches!(event.content, Content::Edit { .. })).await;
    assert_eq!(edit.content, Content::Edit { message_id: id.clone(), text: "first".to_owned() });
    assert_eq!((&edit.conversation, &edit.sender.id), (&peer.direct(), &peer.alice()));
    assert!(edit.event_id.starts_with(&format!("edit:{id}:")), "{}", edit.event_id);
    peer.edit(&peer.direct(), &id, "the first").await;
    let second = host
        .event("second edit", |event| matches!(&event.content, Content::Edit { text, .. } if text == "the first"))
        .await;
    assert_ne!(second.event_id, edit.event_id);
    assert_eq!(host.events().len(), 3);
}

async fn what_was_said_while_it_was_away_comes_once<P: Peer>(peer: P) {
    let host = Host::new();
    let running = Running::start(peer.adapter(), &host).await;
    peer.say(&peer.direct(), &peer.alice(), Said::text("before")).await;
    text_event(&host, "before").await;
    running.kill().await;
    peer.say(&peer.direct(), &peer.alice(), Said::text("meanwhile 1")).await;
    peer.say(&peer.direct(), &peer.alice(), Said::text("meanwhile 2")).await;
    let running = Running::start(peer.adapter(), &host).await;
    text_event(&host, "meanwhile 2").await;
    peer.say(&peer.direct(), &peer.alice(), Said::text("after")).await;
    text_event(&host, "after").await;
    assert_eq!(
        host.events().iter().filter_map(text_of).collect::<Vec<_>>(),
        ["before", "meanwhile 1", "meanwhile 2", "after"]
    );
    running.stop().await.expect("it ends in order");
    // The host forgets nothing, so nothing needs to come twice; what does must keep its id, and was passed over.
    let repeated = host.deliveries().len() - host.events().len();
    assert!(repeated <= 1, "{repeated} events came again after an orderly take");
}

async fn what_the_host_refused_comes_again<P: Peer>(peer: P) {
    let host = Host::new();
    let running = Running::start(peer.adapter(), &host).await;
    // Both sides have agreed on a position before anything is refused.
    peer.say(&peer.direct(), &peer.alice(), Said::text("taken")).await;
    text_event(&host, "taken").await;
    host.refuse(1);
    let id = peer.say(&peer.direct(), &peer.alice(), Said::text("refused")).await;
    assert_eq!(running.end().await, Err(ReceiveError::Closed));
    assert_eq!((host.refused(), host.events().len()), (1, 1));
    let running = Running::start(peer.adapter(), &host).await;
    let event = text_event(&host, "refused").await;
    assert_eq!(event.event_id, id);
    running.stop().await.expect("it ends in order");
}

async fn a_lost_connection_is_made_again<P: Peer>(peer: P) {
    if !peer.has_connection() {
        return;
    }
    let host = Host::new();
    let _running = Running::start(peer.adapter(), &host).await;
    peer.say(&peer.direct(), &peer.alice(), Said::text("before")).await;
    text_event(&host, "before").await;
    peer.fail(Fault::Disconnect).await;
    host.report_of("loss of connection", |report| matches!(report, Report::Disconnected { .. })).await;
    peer.say(&peer.direct(), &peer.alice(), Said::text("after")).await;
    text_event(&host, "after").await;
    let connected = |host: &Host| {
        let times = host.reports().iter().filter(|report| matches!(report, Report::Connected { .. })).count();
        (times == 2).then_some(())
    };
    host.wait("second connection", connected).await;
    assert_eq!(host.events().iter().filter_map(text_of).collect::<Vec<_>>(), ["before", "after"]);
}

async fn a_long_text_arrives_whole_and_in_order<P: Peer>(peer: P) {
    let channel = peer.adapter();
    // Longer than any platform's message, and short enough for a few pieces.
    let words: Vec<String> = (0..900).map(|number| format!("word{number}")).collect();
    let pieces = render::pieces(peer.kind(), &words.join(" "), RenderLimits { file_over_chars: usize::MAX });
    for (number, piece) in pieces.into_iter().enumerate() {
        let out = message(&peer.direct(), &format!("k{number}"), piece);
        deliver(&*channel, &out).await.expect("each piece is within the limits");
    }
    let seen = texts(&peer, &peer.direct()).await;
    assert!(seen.len() > 1, "it was not split");
    let seen = seen.join(" ");
    assert_eq!(seen.split_whitespace().collect::<Vec<_>>(), words);
}

async fn a_message_is_edited_and_deleted<P: Peer>(peer: P) {
    let (channel, place) = (peer.adapter(), peer.direct());
    let first = message(&place, "k1", plain("thinking"));
    let sent = deliver(&*channel, &first).await.expect("it can be sent");
    let message_id = sent.message_id.clone();
    let edit = changed(&first, Action::Edit { message_id: message_id.clone(), piece: plain("done") });
    for _ in 0..2 {
        let edited = deliver(&*channel, &edit).await.expect("an edit can be repeated");
        assert_eq!(edited, sent);
    }
    assert_eq!(texts(&peer, &place).await, ["done"]);
    let delete = changed(&first, Action::Delete { message_id: message_id.clone() });
    for _ in 0..2 {
        deliver(&*channel, &delete).await.expect("what is gone can be deleted again");
    }
    assert_eq!(texts(&peer, &place).await, Vec::<String>::new());
    assert_eq!(deliver(&*channel, &edit).await, Err(SendError::Gone(Gone::Message)));
}

async fn a_click_carries_who_clicked<P: Peer>(peer: P) {
    let (host, channel) = (Host::new(), peer.adapter());
    let running = Running::start(channel.clone(), &host).await;
    let button = |label: &str, data: &str, emphasis| Button { label: label.into(), data: data.into(), emphasis };
    let data = "x".repeat(64);
    let buttons = vec![
        vec![button("Trust", "trust:1", Emphasis::Primary), button("Deny", "deny:1", Emphasis::Danger)],
        vec![button("Later", &data, Emphasis::Plain)],
    ];
    let out = message(&peer.room(), "k1", Piece { buttons, ..plain("May they?") });
    let sent = deliver(&*channel, &out).await.expect("it can be sent");
    let shown = peer.shown(&peer.room()).await;
    assert_eq!(shown[0].buttons, ["Trust", "Deny", "Later"]);
    running.stop().await.expect("it ends in order");
    // The button was made before this adapter was: nothing of it is kept in memory.
    let _running = Running::start(peer.adapter(), &host).await;
    for (label, data, who) in [("Deny", "deny:1", peer.bob()), ("Later", data.as_str(), peer.alice())] {
        peer.click(&peer.room(), &sent.message_id, label, &who).await;
        let is = |event: &Inbound| matches!(&event.content, Content::Click { data: d, .. } if d == data);
        let click = host.event("click", is).await;
        let Content::Click { message_id, .. } = &click.content else { panic!("not a click") };
        assert_eq!((&click.sender.id, message_id), (&who, &sent.message_id));
        assert_eq!((&click.conversation, click.addressed), (&peer.room(), Addressed::Explicit));
        assert!(click.event_id.starts_with("click:"), "{}", click.event_id);
    }
}

async fn a_command_arrives_as_a_command<P: Peer>(peer: P) {
    let host = Host::new();
    let _running = Running::start(peer.adapter(), &host).await;
    peer.command(&peer.room(), &peer.bob(), "one two").await;
    let event = host.event("command", |event| matches!(event.content, Content::Command { .. })).await;
    let Content::Command { name, arguments, .. } = &event.content else { panic!("not a command") };
    let words = match arguments {
        Arguments::Line(line) => line.clone(),
        Arguments::Named(named) => named.iter().find(|(name, _)| name == "words").expect("the option").1.clone(),
    };
    assert_eq!((name.as_str(), words.as_str()), ("echo", "one two"));
    assert_eq!((&event.sender.id, event.addressed), (&peer.bob(), Addressed::Explicit));
    assert_eq!((&event.conversation, host.events().len()), (&peer.room(), 1));
}

async fn a_rate_limit_is_waited_out_by_its_conversation_alone<P: Peer>(peer: P) {
    let channel = peer.adapter();
    let wait = Duration::from_secs(2);
    peer.fail(Fault::RateLimit(wait)).await;
    let limited = message(&peer.room(), "k1", plain("limited"));
    let start = Instant::now();
    let Err(SendError::RateLimited { retry_after, scope }) = channel.deliver(&limited).await else {
        panic!("not a rate limit")
    };
    assert_eq!((retry_after, scope), (wait, Scope::Conversation));
    assert!(!channel.draft_fits(&peer.room()), "a draft would make the message wait");
    deliver(&*channel, &message(&peer.other_room(), "k2", plain("free"))).await.expect("others go on");
    assert!(start.elapsed() < wait, "another conversation waited {:?}", start.elapsed());
    channel.ready(&peer.room()).await;
    channel.deliver(&limited).await.expect("the adapter was ready when the platform was");
    assert!(start.elapsed() >= wait, "it was sent again after {:?}", start.elapsed());
    assert_eq!(texts(&peer, &peer.room()).await, ["limited"]);
}

async fn a_fault_of_the_server_can_be_tried_again<P: Peer>(peer: P) {
    let channel = peer.adapter();
    peer.fail(Fault::ServerError).await;
    let out = message(&peer.direct(), "k1", plain("once"));
    assert!(matches!(channel.deliver(&out).await, Err(SendError::Transient(_))));
    deliver(&*channel, &out).await.expect("the fault is over");
    assert_eq!(texts(&peer, &peer.direct()).await, ["once"]);
}

async fn a_send_whose_answer_is_lost_is_never_doubled<P: Peer>(peer: P) {
    let channel = peer.adapter();
    peer.fail(Fault::CutAfterPosting).await;
    let out = message(&peer.direct(), "k1", plain("once"));
    let since_ms = 0;
    assert!(matches!(channel.deliver(&out).await, Err(SendError::Ambiguous(_))), "nobody knows, and it says so");
    if channel.reads_back() {
        let found = channel.find(&out, since_ms).await.expect("the channel can be read");
        assert_eq!(found.map(|sent| sent.message_id), Some(peer.shown(&peer.direct()).await[0].message_id.clone()));
    } else {
        assert_eq!(channel.find(&out, since_ms).await, Ok(None));
    }
    if channel.key_window() > Duration::ZERO {
        let again = deliver(&*channel, &out).await.expect("the same key within the window");
        assert_eq!(again.message_id, peer.shown(&peer.direct()).await[0].message_id);
    }
    assert_eq!(texts(&peer, &peer.direct()).await, ["once"]);
}

async fn a_thread_that_is_gone_is_said_to_be_gone<P: Peer>(peer: P) {
    let Some(thread) = peer.thread() else { return };
    let channel = peer.adapter();
    deliver(&*channel, &message(&thread, "k1", plain("there"))).await.expect("the thread is there");
    peer.delete_thread().await;
    let out = message(&thread, "k2", plain("not there"));
    assert_eq!(deliver(&*channel, &out).await, Err(SendError::Gone(Gone::Conversation)));
    deliver(&*channel, &message(&peer.room(), "k3", plain("here"))).await.expect("the room is still there");
}

async fn no_text_of_ours_pings_anybody<P: Peer>(peer: P) {
    let (channel, alice) = (peer.adapter(), peer.alice());
    let user = alice.user();
    let markdown = format!("@everyone @here <@{user}> <@&{user}> [you](tg://user?id={user}) look");
    for (number, piece) in render::pieces(peer.kind(), &markdown, RenderLimits::default()).into_iter().enumerate() {
        deliver(&*channel, &message(&peer.room(), &format!("k{number}"), piece)).await.expect("it can be sent");
    }
    let shown = peer.shown(&peer.room()).await;
    assert!(shown[0].text.contains("look"), "{shown:?}");
    assert_eq!(shown.iter().map(|shown| shown.pings).sum::<usize>(), 0, "{shown:?}");
}

async fn a_file_comes_in_described_and_is_fetched_within_a_limit<P: Peer>(peer: P) {
    let (host, channel) = (Host::new(), peer.adapter());
    let _running = Running::start(channel.clone(), &host).await;
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let file = Some(("notes.txt".to_owned(), bytes.clone()));
    peer.say(&peer.direct(), &peer.alice(), Said { file, ..Said::text("read this") }).await;
    let event = text_event(&host, "read this").await;
    let Content::Text(text) = &event.content else { panic!("not a text") };
    let [attachment] = text.attachments.as_slice() else { panic!("{:?}", text.attachments) };
    assert_eq!((attachment.name.as_str(), attachment.size_bytes), ("notes.txt", 100_000));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let to = folder.path().join("fetched");
    assert!(matches!(channel.fetch(attachment, &to, 99_999).await, Err(SendError::Refused(_))));
    assert!(!to.exists(), "something was kept of a file that is too large");
    // What the platform says of the size is not what the limit is kept by.
    let understated = channels::Attachment { size_bytes: 1, ..attachment.clone() };
    assert!(matches!(channel.fetch(&understated, &to, 99_999).await, Err(SendError::Refused(_))));
    assert!(!to.exists(), "something was kept of a file that was larger than it said");
    channel.fetch(attachment, &to, 100_000).await.expect("it is within the limit");
    assert_eq!(std::fs::read(&to).expect("it was written"), bytes);
}

async fn a_file_goes_out<P: Peer>(peer: P) {
    let channel = peer.adapter();
    let file = File { name: "answer.md".to_owned(), source: FileSource::Text("# all of it\n".to_owned()) };
    let out = message(&peer.direct(), "k1", Piece { files: vec![file], ..plain("The beginning") });
    let sent = deliver(&*channel, &out).await.expect("it can be sent");
    let shown = peer.shown(&peer.direct()).await;
    let files = vec![("answer.md".to_owned(), b"# all of it\n".to_vec())];
    assert_eq!(shown.len(), 1);
    assert_eq!(
        (&shown[0].message_id, shown[0].text.as_str(), &shown[0].files),
        (&sent.message_id, "The beginning", &files)
    );
}

async fn a_key_goes_with_every_send_where_the_platform_has_keys<P: Peer>(peer: P) {
    let channel = peer.adapter();
    let out = message(&peer.direct(), "a-key-of-25-characters-xx", plain("keyed"));
    deliver(&*channel, &out).await.expect("it can be sent");
    let shown = peer.shown(&peer.direct()).await;
    let expected = (channel.key_window() > Duration::ZERO).then_some(out.key);
    assert_eq!(shown[0].key, expected);
}
