//! The terminal, over streams in memory and over a real Unix socket.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, duplex};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{AtEnd, Console, attach};
use crate::{
    Action, Addressed, Arguments, Button, Closed, Content, ConversationId, Cursor, Deliver as _, Emphasis, File,
    FileSource, Gone, Inbound, Intake, Kind, Outbound, Piece, Receive as _, Report, SendError,
};

const LIMIT: Duration = Duration::from_secs(10);

struct Host(mpsc::UnboundedSender<Inbound>);

impl Intake for Host {
    fn take<'a>(&'a self, events: Vec<Inbound>, _: Option<Cursor>) -> BoxFuture<'a, Result<(), Closed>> {
        let taken = events.into_iter().try_for_each(|event| self.0.send(event).map_err(|_| Closed));
        async move { taken }.boxed()
    }
    fn cursors(&self, _: Kind) -> BoxFuture<'_, Result<Vec<Cursor>, Closed>> {
        async { Ok(Vec::new()) }.boxed()
    }
    fn report(&self, _: Kind, _: Report) {}
}

/// A host's intake and what arrives there.
fn host() -> (Arc<Host>, mpsc::UnboundedReceiver<Inbound>) {
    let (sender, events) = mpsc::unbounded_channel();
    (Arc::new(Host(sender)), events)
}

/// Everything that comes of these lines.
async fn typed(input: &str) -> Vec<Inbound> {
    let (host, mut events) = host();
    let console = Console::new("ann", std::io::Cursor::new(input.to_owned()), tokio::io::sink(), false);
    timeout(LIMIT, console.receive(host, CancellationToken::new())).await.unwrap().unwrap();
    let mut all = Vec::new();
    while let Ok(event) = events.try_recv() {
        all.push(event);
    }
    all
}

fn outbound(action: Action) -> Outbound {
    let conversation = ConversationId::new(Kind::Console, "local");
    Outbound { conversation, key: "k".to_owned(), action, reply_to: None, handle: None }
}

fn piece(text: &str) -> Piece {
    Piece { text: text.to_owned(), plain: text.to_owned(), ..Piece::default() }
}

fn asking(text: &str) -> Piece {
    let button =
        |label: &str, data: &str, emphasis| Button { label: label.to_owned(), data: data.to_owned(), emphasis };
    let row = vec![button("Trust", "t", Emphasis::Primary), button("Deny", "d", Emphasis::Danger)];
    Piece { buttons: vec![row], ..piece(text) }
}

/// A console with its output in the hand.
fn shown(ansi: bool) -> (Console, DuplexStream) {
    let (ours, theirs) = duplex(64 * 1024);
    (Console::new("ann", tokio::io::empty(), theirs, ansi), ours)
}

async fn send(console: &Console, piece: Piece) -> String {
    console.deliver(&outbound(Action::Send(piece))).await.unwrap().message_id
}

async fn edit(console: &Console, message_id: &str, piece: Piece) {
    console.deliver(&outbound(Action::Edit { message_id: message_id.to_owned(), piece })).await.unwrap();
}

/// All that the console has written: it ends with the console.
async fn written(console: Console, mut output: DuplexStream) -> String {
    drop(console);
    let mut text = String::new();
    timeout(LIMIT, output.read_to_string(&mut text)).await.unwrap().unwrap();
    text
}

fn said(event: &Inbound) -> &str {
    match &event.content {
        Content::Text(text) => &text.text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn lines_become_messages_and_a_back_slash_joins_them() {
    let events = typed("hello\r\n\n  \nfirst\\\nsecond\\\n\nlast without an end").await;
    let texts: Vec<&str> = events.iter().map(said).collect();
    assert_eq!(texts, ["hello", "first\nsecond", "last without an end"]);
    for event in &events {
        assert_eq!((event.conversation.as_str(), event.sender.id.as_str()), ("console:local", "console:ann"));
        assert_eq!(event.addressed, Addressed::Direct);
    }
    let again = typed("hello").await;
    assert!(
        events.iter().chain(&again).map(|event| &event.event_id).collect::<std::collections::BTreeSet<_>>().len() == 4
    );
}

#[tokio::test]
async fn a_line_with_a_slash_is_a_command() {
    let events = typed("/Trust  add discord:42 \n/help\n/\n1\n").await;
    let command = |name: &str, line: &str| Content::Command {
        name: name.to_owned(),
        arguments: Arguments::Line(line.to_owned()),
        reply_to: None,
        reply_to_sender: None,
        handle: None,
    };
    assert_eq!(events[0].content, command("trust", "add discord:42"));
    assert_eq!(events[1].content, command("help", ""));
    assert_eq!(events[0].addressed, Addressed::Explicit);
    assert!(events[0].event_id.starts_with("command:"));
    assert_eq!((said(&events[2]), said(&events[3])), ("/", "1"), "no buttons are open");
}

#[tokio::test]
async fn bytes_that_are_no_text_and_lines_without_end_are_taken_as_far_as_they_go() {
    let (host, mut events) = host();
    let mut input = b"a\xff\xfe b\n".to_vec();
    input.extend(vec![b'x'; 3 * 1024 * 1024]);
    input.extend(b"\nafter\n");
    let console = Console::new("ann", std::io::Cursor::new(input), tokio::io::sink(), false);
    timeout(LIMIT, console.receive(host, CancellationToken::new())).await.unwrap().unwrap();
    assert_eq!(said(&events.recv().await.unwrap()), "a\u{fffd}\u{fffd} b");
    assert_eq!(said(&events.recv().await.unwrap()).len(), 1024 * 1024);
    assert_eq!(said(&events.recv().await.unwrap()), "after");
}

#[tokio::test]
async fn the_end_of_input_ends_receiving_and_tells_the_host() {
    let (host, _events) = host();
    let ended = CancellationToken::new();
    let console = Console::new("ann", tokio::io::empty(), tokio::io::sink(), false).at_end(ended.clone());
    timeout(LIMIT, console.receive(host.clone(), CancellationToken::new())).await.unwrap().unwrap();
    assert!(ended.is_cancelled());

    let (still_open, _writer) = duplex(8);
    let (stop, ended) = (CancellationToken::new(), CancellationToken::new());
    let console = Console::new("ann", still_open, tokio::io::sink(), false).at_end(ended.clone());
    stop.cancel();
    timeout(LIMIT, console.receive(host, stop)).await.unwrap().unwrap();
    assert!(!ended.is_cancelled(), "the host stopped by itself");
}

#[tokio::test]
async fn a_draft_that_grows_is_continued_and_one_that_changes_is_shown_anew() {
    let (console, output) = shown(false);
    let id = send(&console, piece("Hel…")).await;
    edit(&console, &id, piece("Hello, wor…")).await;
    edit(&console, &id, piece("Hello, world.\nDone.")).await;
    edit(&console, &id, piece("Hello, world.\nDone.")).await;
    let id = send(&console, piece("One **tw…")).await;
    edit(&console, &id, piece("One two three")).await;
    let draft = send(&console, piece("left open…")).await;
    send(&console, piece("between")).await;
    edit(&console, &draft, piece("left open, and closed")).await;
    assert_eq!(
        written(console, output).await,
        "Hello, world.\nDone.\nOne **tw\nOne two three\nleft open\nbetween\nleft open, and closed\n"
    );
}

#[tokio::test]
async fn files_are_named_or_shown_and_nothing_can_steer_the_terminal() {
    let (console, output) = shown(false);
    let file = |name: &str, source| File { name: name.to_owned(), source };
    let files = vec![
        file("a.txt", FileSource::Path("/tmp/a.txt".into())),
        file("reply.md", FileSource::Text("whole\u{1b}[2J text\n".to_owned())),
    ];
    let id = send(&console, Piece { files, ..piece("see\u{1b}]0;title\u{7} this") }).await;
    console.deliver(&outbound(Action::Delete { message_id: id })).await.unwrap();
    assert_eq!(
        written(console, output).await,
        "see]0;title this\n(a.txt: /tmp/a.txt)\n(reply.md:)\nwhole[2J text\n(taken back)\n"
    );
}

#[tokio::test]
async fn a_number_clicks_the_button_of_the_latest_message() {
    let (mut keyboard, input) = duplex(1024);
    let (ours, theirs) = duplex(64 * 1024);
    let console = Console::new("ann", input, theirs, false);
    let (host, mut events) = host();
    let stop = CancellationToken::new();
    let receive = console.receive(host, stop.clone());
    let talk = async {
        let mut next = async |line: &str| {
            keyboard.write_all(line.as_bytes()).await.unwrap();
            events.recv().await.unwrap()
        };
        let id = send(&console, asking("Trust Bob?")).await;
        let click = next("2\n").await;
        assert_eq!(click.content, Content::Click { data: "d".to_owned(), message_id: id.clone(), handle: None });
        assert!(click.event_id.starts_with("click:") && click.addressed == Addressed::Explicit);
        assert_eq!(said(&next("3\n").await), "3", "there is no third button");
        assert_eq!(said(&next("+1\n").await), "+1");
        edit(&console, &id, piece("Bob is denied.")).await;
        assert_eq!(said(&next("2\n").await), "2", "the buttons are gone");
        send(&console, asking("Trust Eve?")).await;
        send(&console, piece("something else")).await;
        assert_eq!(said(&next("1\n").await), "1", "not the latest message");
        stop.cancel();
    };
    timeout(LIMIT, futures::future::join(receive, talk)).await.unwrap().0.unwrap();
    let text = written(console, ours).await;
    assert!(text.starts_with("Trust Bob?\n[1] Trust  [2] Deny\nBob is denied.\n"), "{text}");
}

#[tokio::test]
async fn colours_are_light_and_only_where_there_is_a_terminal() {
    let (console, output) = shown(true);
    send(&console, asking("Trust Bob?")).await;
    assert_eq!(
        written(console, output).await,
        "Trust Bob?\n\u{1b}[1;32m[1]\u{1b}[0m Trust  \u{1b}[1;31m[2]\u{1b}[0m Deny\n"
    );
}

#[tokio::test]
async fn an_output_that_is_closed_is_a_conversation_that_is_gone() {
    let (console, output) = shown(false);
    drop(output);
    let gone = Err(SendError::Gone(Gone::Conversation));
    assert_eq!(console.deliver(&outbound(Action::Send(piece("x")))).await, gone);
    let elsewhere =
        Outbound { conversation: ConversationId::new(Kind::Console, "x"), ..outbound(Action::Send(piece("x"))) };
    assert_eq!(console.deliver(&elsewhere).await, gone);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_takes_nothing_is_given_up_and_holds_nobody() {
    let (_full, theirs) = duplex(1);
    let console = Console::new("ann", tokio::io::empty(), theirs, false);
    let sent = console.deliver(&outbound(Action::Send(piece("more than one byte")))).await;
    assert_eq!(sent, Err(SendError::Gone(Gone::Conversation)));
}

#[tokio::test]
async fn several_sessions_over_a_socket_see_one_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hive.sock");
    let console = Console::serve("ann", UnixListener::bind(&path).unwrap());
    let (host, mut events) = host();
    let stop = CancellationToken::new();
    let receive = console.receive(host, stop.clone());
    let talk = async {
        send(&console, piece("while you were away…")).await;
        let early = send(&console, piece("dra…")).await;
        edit(&console, &early, piece("a draft, done")).await;

        let mut one = BufReader::new(UnixStream::connect(&path).await.unwrap()).lines();
        assert_eq!(one.next_line().await.unwrap().unwrap(), "while you were away");
        assert_eq!(one.next_line().await.unwrap().unwrap(), "a draft, done");
        let mut two = BufReader::new(UnixStream::connect(&path).await.unwrap());
        two.write_all(b"hello\n").await.unwrap();
        assert_eq!(said(&events.recv().await.unwrap()), "hello");
        let mut two = two.lines();
        assert_eq!(one.next_line().await.unwrap().unwrap(), "> hello");
        send(&console, piece("answer")).await;
        assert_eq!(one.next_line().await.unwrap().unwrap(), "answer");
        assert_eq!(two.next_line().await.unwrap().unwrap(), "answer");
        drop(two);
        send(&console, piece("still there")).await;
        assert_eq!(one.next_line().await.unwrap().unwrap(), "still there");
        stop.cancel();
    };
    timeout(LIMIT, futures::future::join(receive, talk)).await.unwrap().0.unwrap();
}

#[tokio::test]
async fn attaching_carries_lines_both_ways_until_the_input_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hive.sock");
    let console = Console::serve("ann", UnixListener::bind(&path).unwrap());
    let (host, mut events) = host();
    let stop = CancellationToken::new();
    let receive = console.receive(host, stop.clone());
    let talk = async {
        let (mut keyboard, input) = duplex(64);
        let (output, mut shown) = duplex(64);
        let client = attach(UnixStream::connect(&path).await.unwrap(), input, output, AtEnd::Leave);
        let person = async {
            keyboard.write_all(b"hi\n").await.unwrap();
            assert_eq!(said(&events.recv().await.unwrap()), "hi");
            send(&console, piece("hello")).await;
            let mut line = [0; 6];
            shown.read_exact(&mut line).await.unwrap();
            assert_eq!(&line, b"hello\n");
            drop(keyboard);
        };
        futures::future::join(client, person).await.0.unwrap();
        stop.cancel();
    };
    timeout(LIMIT, futures::future::join(receive, talk)).await.unwrap().0.unwrap();
}

#[tokio::test]
async fn a_question_that_is_piped_in_gets_its_answer_after_the_input_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hive.sock");
    let console = Console::serve("ann", UnixListener::bind(&path).unwrap());
    let (host, mut events) = host();
    let stop = CancellationToken::new();
    let receive = console.receive(host, stop.clone());
    let talk = async {
        let (output, mut shown) = duplex(64);
        let socket = UnixStream::connect(&path).await.unwrap();
        let client = attach(socket, &b"hi\n"[..], output, AtEnd::Wait);
        let hive = async {
            assert_eq!(said(&events.recv().await.unwrap()), "hi");
            send(&console, piece("hello")).await;
            let mut line = [0; 6];
            shown.read_exact(&mut line).await.unwrap();
            assert_eq!(&line, b"hello\n");
            // The hive closes: nothing more is waited for.
            stop.cancel();
        };
        futures::future::join(client, hive).await.0.unwrap();
    };
    timeout(LIMIT, futures::future::join(receive, talk)).await.unwrap().0.unwrap();
}
