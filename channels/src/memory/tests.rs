//! The promises of the port, as the memory channel keeps them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::{Carried, Memory, Outcome};
use crate::pace::{Limit, Pace, Rate};
use crate::{
    Action, Addressed, Attachment, Button, Closed, Content, ConversationId, Cursor, Deliver as _, Emphasis, Gone,
    Inbound, Intake, Kind, Outbound, Piece, Place, Receive as _, ReceiveError, Reply as _, Report, Scope, SendError,
    Sender, SenderId, Text,
};

const LIMIT: Duration = Duration::from_secs(5);

fn room(kind: Kind) -> ConversationId {
    ConversationId::new(kind, 1)
}

fn event(kind: Kind, id: &str) -> Inbound {
    Inbound {
        conversation: room(kind),
        place: Place::Direct,
        event_id: id.to_owned(),
        sender: Sender { id: SenderId::new(kind, 42), name: "Alice".to_owned() },
        sent_at_ms: 0,
        addressed: Addressed::Direct,
        content: Content::Text(Text { text: "hello".to_owned(), ..Text::default() }),
    }
}

fn cursor(stream: &str, value: &str) -> Option<Cursor> {
    Some(Cursor { stream: stream.to_owned(), value: value.to_owned() })
}

fn outbound(kind: Kind, key: &str, action: Action) -> Outbound {
    Outbound { conversation: room(kind), key: key.to_owned(), action, reply_to: None, handle: None }
}

fn piece(text: &str) -> Piece {
    Piece { text: text.to_owned(), plain: text.to_owned(), ..Piece::default() }
}

fn send(kind: Kind, key: &str, text: &str) -> Outbound {
    outbound(kind, key, Action::Send(piece(text)))
}

fn texts(memory: &Memory, kind: Kind) -> Vec<String> {
    memory.shown(&room(kind)).into_iter().map(|shown| shown.text).collect()
}

/// Takes events until it is told to close; keeps what it was given.
#[derive(Default)]
struct Host {
    takes: Mutex<Vec<(Vec<String>, Option<Cursor>)>>,
    closes_after: Option<usize>,
}

impl Host {
    fn takes(&self) -> Vec<(Vec<String>, Option<Cursor>)> {
        self.takes.lock().unwrap().clone()
    }
}

impl Intake for Host {
    fn take<'a>(&'a self, events: Vec<Inbound>, cursor: Option<Cursor>) -> BoxFuture<'a, Result<(), Closed>> {
        let mut takes = self.takes.lock().unwrap();
        let closed = self.closes_after.is_some_and(|after| takes.len() >= after);
        if !closed {
            takes.push((events.into_iter().map(|event| event.event_id).collect(), cursor));
        }
        async move { if closed { Err(Closed) } else { Ok(()) } }.boxed()
    }

    fn cursors(&self, _: Kind) -> BoxFuture<'_, Result<Vec<Cursor>, Closed>> {
        async { Ok(Vec::new()) }.boxed()
    }

    fn report(&self, _: Kind, _: Report) {}
}

#[tokio::test(start_paused = true)]
async fn events_are_handed_over_in_order_with_the_cursor_of_their_stream() {
    let (memory, host, stop) = (Memory::new(Kind::Discord), Arc::new(Host::default()), CancellationToken::new());
    let (a, b) = (cursor("discord/1", "11"), cursor("discord/2", "21"));
    for (id, cursor) in [("10", None), ("11", a.clone()), ("21", b.clone()), ("22", None)] {
        memory.inject(event(Kind::Discord, id), cursor);
    }
    let receive = memory.receive(host.clone(), stop.clone());
    let drive = async {
        memory.until(|memory| memory.untaken() == 0).await;
        memory.inject(event(Kind::Discord, "23"), None);
        memory.until(|memory| memory.untaken() == 0).await;
        stop.cancel();
    };
    let (ended, ()) = timeout(LIMIT, futures::future::join(receive, drive)).await.unwrap();
    assert_eq!(ended, Ok(()));
    let id = |id: &str| id.to_owned();
    assert_eq!(
        host.takes(),
        [(vec![id("10"), id("11")], a), (vec![id("21"), id("22")], b), (vec![id("23")], None)],
        "a batch ends where the stream changes"
    );
    assert_eq!(memory.reports(), [Report::Connected { name: "memory-discord".to_owned() }]);
}

#[tokio::test(start_paused = true)]
async fn what_a_closing_host_did_not_take_is_offered_to_the_next() {
    let memory = Memory::new(Kind::Telegram);
    memory.inject(event(Kind::Telegram, "1"), None);
    let closing = Arc::new(Host { closes_after: Some(0), ..Host::default() });
    let ended = timeout(LIMIT, memory.receive(closing, CancellationToken::new())).await.unwrap();
    assert_eq!((ended, memory.untaken()), (Err(ReceiveError::Closed), 1));

    let (host, stop) = (Arc::new(Host::default()), CancellationToken::new());
    let receive = memory.receive(host.clone(), stop.clone());
    let drive = memory.until(|memory| memory.untaken() == 0).map(|()| stop.cancel());
    assert_eq!(timeout(LIMIT, futures::future::join(receive, drive)).await.unwrap().0, Ok(()));
    assert_eq!(host.takes(), [(vec!["1".to_owned()], None)]);
}

#[tokio::test]
async fn people_see_what_was_sent_edited_and_deleted() {
    let memory = Memory::new(Kind::Telegram);
    let first = memory.deliver(&send(Kind::Telegram, "1", "one")).await.unwrap().message_id;
    let second = memory.deliver(&send(Kind::Telegram, "2", "two")).await.unwrap().message_id;
    assert_ne!(first, second);
    let button = Button { label: "Yes".to_owned(), data: "y".to_owned(), emphasis: Emphasis::Plain };
    let edited = Piece { buttons: vec![vec![button]], ..piece("two, edited") };
    let edit = outbound(Kind::Telegram, "3", Action::Edit { message_id: second.clone(), piece: edited.clone() });
    memory.deliver(&edit).await.unwrap();
    memory.deliver(&edit).await.unwrap();
    let delete = outbound(Kind::Telegram, "4", Action::Delete { message_id: first.clone() });
    memory.deliver(&delete).await.unwrap();
    memory.deliver(&delete).await.expect("taking away what is gone is no error");

    let shown = memory.shown(&room(Kind::Telegram));
    assert_eq!(shown.len(), 1);
    assert_eq!((&shown[0].message_id, &shown[0].text, shown[0].edits), (&second, &edited.text, 2));
    assert_eq!(shown[0].buttons, edited.buttons);
    let lost = outbound(Kind::Telegram, "5", Action::Edit { message_id: first, piece: piece("?") });
    assert_eq!(memory.deliver(&lost).await, Err(SendError::Gone(Gone::Message)));
    assert_eq!(memory.outbox().len(), 7);
}

#[tokio::test(start_paused = true)]
async fn a_key_counts_for_two_minutes_on_discord_and_never_on_telegram() {
    for (kind, copies_at_once, copies_later) in [(Kind::Discord, 1, 2), (Kind::Telegram, 2, 3)] {
        let memory = Memory::new(kind);
        let out = send(kind, "k", "once");
        let first = memory.deliver(&out).await.unwrap();
        let again = memory.deliver(&out).await.unwrap();
        assert_eq!(first == again, kind == Kind::Discord);
        assert_eq!(texts(&memory, kind).len(), copies_at_once);
        tokio::time::advance(Duration::from_mins(2)).await;
        memory.deliver(&out).await.unwrap();
        assert_eq!(texts(&memory, kind).len(), copies_later);
    }
}

#[tokio::test(start_paused = true)]
async fn only_discord_reads_back_and_only_since_the_given_time() {
    for kind in [Kind::Discord, Kind::Telegram] {
        let memory = Memory::new(kind).with_clock(|| 1_000);
        let out = send(kind, "k", "there");
        let sent = memory.deliver(&out).await.unwrap();
        let seen = (kind == Kind::Discord).then_some(sent);
        assert_eq!(memory.reads_back(), seen.is_some());
        assert_eq!(memory.find(&out, 1_000).await, Ok(seen));
        assert_eq!(memory.find(&out, 1_001).await, Ok(None));
        assert_eq!(memory.find(&send(kind, "other", "there"), 0).await, Ok(None));
    }
}

#[tokio::test]
async fn a_scripted_fault_hits_the_next_delivery_of_its_conversation_and_no_other() {
    let memory = Memory::new(Kind::Telegram);
    let other = ConversationId::new(Kind::Telegram, 2);
    let limited = SendError::RateLimited { retry_after: LIMIT, scope: Scope::Conversation };
    memory.fail_next_in(&other, limited.clone());
    memory.fail_next(SendError::Transient("502".to_owned()));
    let here = send(Kind::Telegram, "1", "here");
    let there = Outbound { conversation: other.clone(), ..here.clone() };
    assert_eq!(memory.deliver(&here).await, Err(SendError::Transient("502".to_owned())));
    assert!(memory.deliver(&here).await.is_ok());
    assert_eq!(memory.deliver(&there).await, Err(limited));
    assert!(memory.deliver(&there).await.is_ok());
    assert_eq!((memory.shown(&here.conversation).len(), memory.shown(&other).len()), (1, 1));
    memory.remove(&other);
    assert_eq!(memory.deliver(&there).await, Err(SendError::Gone(Gone::Conversation)));
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_and_a_hang_may_or_may_not_have_been_carried_out() {
    for (carried, copies) in [(Carried::Out, 1), (Carried::NotOut, 0)] {
        let memory = Memory::new(Kind::Telegram);
        let out = send(Kind::Telegram, "1", "perhaps");
        memory.lose_next_answer_in(&out.conversation, carried);
        assert!(matches!(memory.deliver(&out).await, Err(SendError::Ambiguous(_))));
        assert_eq!(texts(&memory, Kind::Telegram).len(), copies);
        memory.hang_next_in(&out.conversation, carried);
        assert!(timeout(LIMIT, memory.deliver(&out)).await.is_err());
        assert_eq!(texts(&memory, Kind::Telegram).len(), copies * 2);
        assert_eq!(memory.outbox()[1].outcome, Outcome::Hung);
    }
}

#[tokio::test]
async fn what_the_platform_would_refuse_is_refused() {
    let long = |units: usize| "x".repeat(units);
    let button = Button { label: "B".to_owned(), data: "d".repeat(65), emphasis: Emphasis::Plain };
    for (kind, out, accepted) in [
        (Kind::Discord, send(Kind::Discord, "1", &long(2_000)), true),
        (Kind::Discord, send(Kind::Discord, "1", &long(2_001)), false),
        (Kind::Telegram, send(Kind::Telegram, "1", &long(4_096)), true),
        (Kind::Telegram, send(Kind::Telegram, "1", &long(4_097)), false),
        (Kind::Console, send(Kind::Console, "1", &long(100_000)), true),
        (Kind::Discord, send(Kind::Discord, "1", " \n"), false),
        (Kind::Discord, send(Kind::Discord, &"k".repeat(26), "x"), false),
        (
            Kind::Telegram,
            outbound(Kind::Telegram, "1", Action::Send(Piece { buttons: vec![vec![button]], ..piece("x") })),
            false,
        ),
    ] {
        let memory = Memory::new(kind);
        let result = memory.deliver(&out).await;
        assert_eq!(result.is_ok(), accepted, "{result:?}");
        assert!(accepted || matches!(result, Err(SendError::Refused(_))));
        assert_eq!(texts(&memory, kind).len(), usize::from(accepted));
    }
}

#[tokio::test(start_paused = true)]
async fn with_a_pace_it_keeps_it_and_waits_out_what_the_platform_says() {
    let second = Duration::from_secs(1);
    let pace = Pace::new(Limit { most: 30, within: second }, |_| Rate { burst: 1, every: Duration::from_secs(1) });
    let (memory, start) = (Memory::new(Kind::Telegram).with_pace(pace), Instant::now());
    let out = send(Kind::Telegram, "1", "paced");
    let go = async || {
        memory.ready(&out.conversation).await;
        memory.deliver(&out).await
    };
    assert!(memory.draft_fits(&out.conversation));
    go().await.unwrap();
    assert!(!memory.draft_fits(&out.conversation));
    go().await.unwrap();
    assert_eq!(start.elapsed(), second);
    memory.fail_next(SendError::RateLimited { retry_after: second * 9, scope: Scope::Conversation });
    assert!(go().await.is_err());
    go().await.unwrap();
    assert_eq!(start.elapsed(), second * 11);
    memory.typing(&out.conversation).await;
    assert_eq!(memory.typed(), std::slice::from_ref(&out.conversation));
}

#[tokio::test]
async fn an_attachment_is_written_unless_it_is_too_large_or_unknown() {
    let memory = Memory::new(Kind::Discord);
    memory.attach("ref", "twelve bytes");
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("file");
    let named = |reference: &str| Attachment {
        reference: reference.to_owned(),
        name: "a.txt".to_owned(),
        media_type: String::new(),
        size_bytes: 12,
    };
    assert!(matches!(memory.fetch(&named("ref"), &to, 11).await, Err(SendError::Refused(_))));
    assert!(matches!(memory.fetch(&named("?"), &to, 11).await, Err(SendError::Refused(_))));
    assert!(!to.exists());
    memory.fetch(&named("ref"), &to, 12).await.unwrap();
    assert_eq!(std::fs::read_to_string(to).unwrap(), "twelve bytes");
}
