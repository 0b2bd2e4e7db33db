//! Fetching over loopback sockets, from servers that mean well and servers that do not.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use futures::{FutureExt, future};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::server::Acceptor;

use super::*;
use crate::guard::{GuardRules, Rule};
use crate::resolve::FixedResolver;

/// How a server answers one request.
enum Reply {
    /// Says this and closes.
    Say(Vec<u8>),
    /// Says this and then nothing for ever.
    Stall(Vec<u8>),
    /// Says the first, and the second again and again as long as anybody listens.
    Endless(Vec<u8>, Vec<u8>),
}

fn say(head: &str, body: &[u8]) -> Reply {
    let length = format!("content-length: {}\r\n\r\n", body.len());
    Reply::Say([b"HTTP/1.1 ", head.as_bytes(), b"\r\n", length.as_bytes(), body].concat())
}

fn lead(status: u16, location: &str) -> Reply {
    say(&format!("{status} Elsewhere\r\nlocation: {location}"), b"go on")
}

/// Serves on loopback while `work` runs. What comes back: what came of the work, and the requests as they came.
async fn serve<T>(answer: impl Fn(&str) -> Reply, work: impl AsyncFnOnce(u16) -> T) -> (T, Vec<String>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = Mutex::new(Vec::new());
    let server = async {
        let mut open = FuturesUnordered::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => open.push(exchange(accepted.unwrap().0, &answer, &seen)),
                Some(()) = open.next() => {}
            }
        }
    };
    let done = match future::select(Box::pin(work(port)), Box::pin(server)).await {
        future::Either::Left((done, _)) => done,
        future::Either::Right((never, _)) => never,
    };
    (done, seen.into_inner().unwrap())
}

async fn exchange(mut socket: TcpStream, answer: impl Fn(&str) -> Reply, seen: &Mutex<Vec<String>>) {
    let mut request = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                break;
            }
        }
        if socket.read_buf(&mut request).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let request = String::from_utf8(request).unwrap();
    let path = request.split(' ').nth(1).unwrap().to_owned();
    seen.lock().unwrap().push(request);
    // Whoever has heard enough hangs up: that is no fault of a server's.
    match answer(&path) {
        Reply::Say(bytes) => drop(socket.write_all(&bytes).await),
        Reply::Stall(bytes) => {
            drop(socket.write_all(&bytes).await);
            future::pending::<()>().await;
        }
        Reply::Endless(head, piece) => {
            let mut said = socket.write_all(&head).await;
            while said.is_ok() {
                said = socket.write_all(&piece).await;
            }
        }
    }
}

fn rules() -> FetchRules {
    let guard = GuardRules { loopback_permitted: true, ..GuardRules::default() };
    FetchRules { guard, idle: Duration::from_secs(5), total: Duration::from_secs(20), ..FetchRules::default() }
}

/// Names as they are in these tests.
fn fetcher(rules: FetchRules) -> Fetcher {
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    let table = BTreeMap::from([
        ("a.example".to_owned(), vec![ip("127.0.0.1")]),
        ("b.example".to_owned(), vec![ip("127.0.0.1")]),
        ("mixed.example".to_owned(), vec![ip("127.0.0.1"), ip("10.0.0.1")]),
        ("inside.example".to_owned(), vec![ip("192.168.0.1")]),
    ]);
    Fetcher::with_resolver(rules, Arc::new(FixedResolver(table)))
}

fn get(url: String) -> Request {
    Request { url, ..Request::default() }
}

async fn fetch(rules: FetchRules, request: Request) -> (Result<Fetched, FetchError>, Trace) {
    let mut trace = Trace::default();
    let fetched = fetcher(rules).fetch(request, &Allowlist::Anywhere, &mut trace).await;
    (fetched, trace)
}

fn refused(result: Result<Fetched, FetchError>) -> Rule {
    match result {
        Err(FetchError::Refused(refusal)) => refusal.rule,
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test]
async fn a_text_comes_as_it_is_with_its_status_and_headers() {
    let reply = |_: &str| {
        say(
            "404 Not Found\r\ncontent-type: application/json\r\nX-A: 1\r\nx-a: 2\r\nset-cookie: a=b, c\r\nset-cookie: d=e",
            b"{\"a\": 1}",
        )
    };
    let ((fetched, trace), requests) =
        serve(reply, async |port| fetch(rules(), get(format!("http://a.example:{port}/x?y=1#z"))).await).await;
    let fetched = fetched.unwrap();
    assert_eq!((fetched.status, fetched.truncated), (404, false));
    assert_eq!(fetched.body, Body::Text("{\"a\": 1}".to_owned()));
    assert_eq!((&*fetched.headers["x-a"], &*fetched.headers["set-cookie"]), ("1, 2", "a=b, c\nd=e"));
    let port = fetched.url.port().unwrap();
    assert!(requests[0].starts_with("GET /x?y=1 HTTP/1.1\r\n"), "{}", requests[0]);
    assert!(requests[0].contains(&format!("host: a.example:{port}\r\n")), "{}", requests[0]);
    let loopback: IpAddr = Ipv4Addr::LOCALHOST.into();
    let hop = Hop {
        method: "GET".into(),
        url: format!("http://a.example:{port}/x?y=1"),
        addresses: vec![(loopback, None)],
        connected: Some((loopback, port).into()),
        status: Some(404),
        failure: None,
    };
    assert_eq!(trace.hops, [hop]);
}

#[tokio::test]
async fn a_page_comes_as_markdown_and_a_file_as_its_bytes() {
    let reply = |path: &str| match path {
        "/page" => say("200 OK\r\ncontent-type: text/html; charset=iso-8859-1", b"<h1>Caf\xe9</h1><a href=x>y</a>"),
        _ => say("200 OK\r\ncontent-type: image/png", b"\x89PNG\0"),
    };
    let (((page, _), (file, _)), _) = serve(reply, async |port| {
        let of = async |path: &str| fetch(rules(), get(format!("http://127.0.0.1:{port}{path}"))).await;
        (of("/page").await, of("/logo").await)
    })
    .await;
    let page = page.unwrap();
    let link = page.url.join("x").unwrap();
    assert_eq!(page.body, Body::Text(format!("# Café\n\n[y]({link})")));
    assert_eq!(file.unwrap().body, Body::File { bytes: b"\x89PNG\0".to_vec(), name: "logo.png".to_owned() });
}

#[tokio::test]
async fn this_machine_is_refused_unless_a_rule_permits_it() {
    let (results, requests) = serve(
        |_| say("200 OK", b"secret"),
        async |port| {
            let mut results = Vec::new();
            for host in ["127.0.0.1", "localhost", "a.example", "[::1]", "2130706433", "[::ffff:127.0.0.1]"] {
                results.push(fetch(FetchRules::default(), get(format!("http://{host}:{port}/"))).await);
            }
            results
        },
    )
    .await;
    assert_eq!(results.len(), 6);
    for (result, trace) in results {
        assert!(matches!(refused(result), Rule::Address | Rule::Name), "{trace}");
        assert_eq!(trace.hops[0].connected, None);
        assert!(trace.hops[0].failure.is_some());
    }
    assert_eq!(requests, Vec::<String>::new(), "nothing was asked");
}

#[tokio::test]
async fn a_redirect_into_a_private_network_is_refused_before_anything_is_asked() {
    for (location, rule) in [
        ("http://10.0.0.1/", Rule::Address),
        ("http://169.254.169.254/latest/meta-data/", Rule::Address),
        ("//[::ffff:127.0.0.1]/", Rule::Address),
        ("http://0x0a000001/", Rule::Address),
        ("http://inside.example/", Rule::Address),
        ("http://mixed.example/", Rule::Address),
        ("http://unknown.example/", Rule::Unresolvable),
        ("http://router.local/", Rule::Name),
        ("file:///etc/passwd", Rule::Scheme),
        ("gopher://127.0.0.1/", Rule::Scheme),
        ("http://a.example:22/", Rule::Port),
        ("http://[", Rule::Url),
    ] {
        let ((result, trace), requests) =
            serve(|_| lead(302, location), async |port| fetch(rules(), get(format!("http://a.example:{port}/"))).await)
                .await;
        assert_eq!(refused(result), rule, "{location}");
        assert_eq!((requests.len(), trace.hops.len()), (1, 2), "{location}");
        assert_eq!((trace.hops[0].status, trace.hops[1].connected), (Some(302), None), "{location}");
    }
}

#[tokio::test]
async fn one_bad_address_among_the_answers_refuses_the_host() {
    let ((result, trace), requests) =
        serve(|_| say("200 OK", b""), async |port| fetch(rules(), get(format!("http://mixed.example:{port}/"))).await)
            .await;
    assert_eq!((refused(result), requests.len()), (Rule::Address, 0));
    let shown = trace.to_string();
    assert!(shown.contains("checked 127.0.0.1: allowed") && shown.contains("checked 10.0.0.1: refused"), "{shown}");
}

/// A name that means this machine when it is checked, and another network afterwards.
#[derive(Default)]
struct Rebinding(AtomicUsize);

impl Resolve for Rebinding {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let first = self.0.fetch_add(1, Ordering::SeqCst) == 0;
        let address: IpAddr = if first { [127, 0, 0, 1].into() } else { [10, 0, 0, 1].into() };
        future::ready(Ok(vec![address])).boxed()
    }
}

#[tokio::test]
async fn a_name_is_asked_for_once_for_each_url_of_the_way() {
    let resolver = Arc::new(Rebinding::default());
    let fetcher = Fetcher::with_resolver(rules(), resolver.clone());
    let reply = |path: &str| if path == "/" { lead(302, "/next") } else { say("200 OK", b"never") };
    let mut trace = Trace::default();
    let (result, requests) = serve(reply, async |port| {
        fetcher.fetch(get(format!("http://turns.example:{port}/")), &Allowlist::Anywhere, &mut trace).await
    })
    .await;
    // The first answer was used; the redirect to the same host asked again, and the second answer was judged.
    assert_eq!((refused(result), requests.len()), (Rule::Address, 1));
    assert_eq!(resolver.0.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn secrets_and_bodies_go_no_further_than_they_may() {
    let request = |url: String| Request {
        url,
        method: Method::Post,
        headers: vec![
            ("Authorization".into(), "Bearer k".into()),
            ("X-Key".into(), "k".into()),
            ("Accept".into(), "a/b".into()),
        ],
        body: Some(b"the body".to_vec()),
    };
    for (status, host, method, body, secrets) in [
        (307, "a.example", "POST", true, true),
        (308, "b.example", "POST", true, false),
        (303, "a.example", "GET", false, true),
        (301, "b.example", "GET", false, false),
    ] {
        let port = Mutex::new(0);
        let reply = |path: &str| match path {
            "/" => lead(status, &format!("http://user:pw@{host}:{}/next", port.lock().unwrap())),
            _ => say("200 OK", b"done"),
        };
        let ((result, _), requests) = serve(reply, async |at| {
            *port.lock().unwrap() = at;
            fetch(rules(), request(format!("http://a.example:{at}/"))).await
        })
        .await;
        assert_eq!(result.unwrap().status, 200);
        let last = requests.last().unwrap().to_ascii_lowercase();
        assert!(last.starts_with(&format!("{} /next ", method.to_lowercase())), "{last}");
        assert_eq!(last.contains("the body"), body, "{status}");
        assert_eq!((last.contains("bearer k"), last.contains("x-key")), (secrets, secrets), "{status}: {last}");
        assert!(last.contains("accept: a/b") && !last.contains("basic ") && !last.contains("referer"), "{last}");
    }
}

#[tokio::test]
async fn a_way_without_an_end_is_left() {
    let ((result, trace), requests) = serve(
        |_| lead(302, "/again"),
        async |port| fetch(FetchRules { redirects_max: 3, ..rules() }, get(format!("http://a.example:{port}/"))).await,
    )
    .await;
    assert!(matches!(result, Err(FetchError::Redirects(3))), "{result:?}");
    assert_eq!(requests.len(), 4);
    assert!(trace.to_string().ends_with("failed: there are more than 3 redirects\n"), "{trace}");
    // A redirect that does not say where is an answer.
    let ((result, _), _) =
        serve(|_| say("302 Found", b"x"), async |port| fetch(rules(), get(format!("http://a.example:{port}/"))).await)
            .await;
    assert_eq!(result.unwrap().status, 302);
}

fn bomb() -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&vec![b'a'; 32 << 20]).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn a_packed_body_is_taken_up_to_the_limit_of_what_it_unpacks_to() {
    let packed = bomb();
    let reply = |path: &str| match path {
        "/text" => say("200 OK\r\ncontent-type: text/plain\r\ncontent-encoding: gzip", &packed),
        "/file" => say("200 OK\r\ncontent-type: image/png\r\ncontent-encoding: gzip", &packed),
        "/broken" => say("200 OK\r\ncontent-encoding: gzip", b"not packed at all"),
        _ => say("200 OK\r\ncontent-encoding: zstd", b"?"),
    };
    let (results, _) = serve(reply, async |port| {
        let mut results = Vec::new();
        for path in ["/text", "/file", "/broken", "/other"] {
            let rules = FetchRules { text_bytes_max: 1_000, file_bytes_max: 5_000, ..rules() };
            results.push(fetch(rules, get(format!("http://a.example:{port}{path}"))).await.0);
        }
        results
    })
    .await;
    let text = results[0].as_ref().unwrap();
    assert_eq!((&text.body, text.truncated), (&Body::Text("a".repeat(1_000)), true));
    assert!(matches!(results[1], Err(FetchError::TooLong(5_000))), "{:?}", results[1]);
    assert!(matches!(results[2], Err(FetchError::Failed(_))), "{:?}", results[2]);
    assert!(matches!(results[3], Err(FetchError::Failed(_))), "{:?}", results[3]);
}

#[tokio::test]
async fn a_body_without_an_end_is_cut_and_half_a_file_is_none() {
    let reply = |path: &str| {
        let kind = if path == "/text" { "text/plain" } else { "application/zip" };
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n\r\n");
        Reply::Endless(head.into_bytes(), "ä".repeat(4_000).into_bytes())
    };
    let ((text, file), _) = serve(reply, async |port| {
        let rules = FetchRules { text_bytes_max: 100_001, file_bytes_max: 200_000, ..rules() };
        let of = async |path: &str| fetch(rules.clone(), get(format!("http://a.example:{port}{path}"))).await.0;
        (of("/text").await, of("/file").await)
    })
    .await;
    let text = text.unwrap();
    // Cut between two characters, not inside of one.
    assert_eq!((text.body, text.truncated), (Body::Text("ä".repeat(50_000)), true));
    assert!(matches!(file, Err(FetchError::TooLong(200_000))), "{file:?}");
}

#[tokio::test]
async fn a_server_that_falls_silent_is_left() {
    let slow = FetchRules { idle: Duration::from_millis(200), ..rules() };
    let hasty = FetchRules { total: Duration::from_millis(200), ..rules() };
    for (head, rules) in [
        ("", slow.clone()),
        ("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf", slow),
        ("", hasty.clone()),
        ("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf", hasty),
    ] {
        let ((result, trace), _) = serve(
            |_| Reply::Stall(head.as_bytes().to_vec()),
            async |port| fetch(rules, get(format!("http://a.example:{port}/?key=hunter2"))).await,
        )
        .await;
        let error = result.unwrap_err();
        assert!(matches!(error, FetchError::TimedOut { .. } | FetchError::Failed(_)), "{error:?}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
        assert!(trace.hops[0].failure.is_some());
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_an_error() {
    for reply in ["HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf", "nonsense\r\n\r\n", ""] {
        let ((result, _), _) = serve(
            |_| Reply::Say(reply.as_bytes().to_vec()),
            async |port| fetch(rules(), get(format!("http://a.example:{port}/"))).await,
        )
        .await;
        assert!(matches!(result, Err(FetchError::Failed(_))), "{result:?}");
    }
}

#[tokio::test]
async fn the_body_of_a_head_may_be_packed_and_is_not_there() {
    let reply =
        |_: &str| Reply::Say(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 99\r\n\r\n".to_vec());
    let ((result, _), requests) = serve(reply, async |port| {
        fetch(rules(), Request { method: Method::Head, ..get(format!("http://a.example:{port}/")) }).await
    })
    .await;
    assert_eq!(result.unwrap().body, Body::Text(String::new()));
    assert!(requests[0].starts_with("HEAD / "));
}

#[tokio::test]
async fn what_cannot_be_asked_is_said_before_anything_is_asked() {
    let at = |url: &str| get(url.to_owned());
    let header = |name: &str| Request { headers: vec![(name.into(), "x".into())], ..at("http://a.example/") };
    for request in [
        header("Host"),
        header("Transfer-Encoding"),
        header("Proxy-Authorization"),
        header("a b"),
        at("http://user:pw@a.example/"),
        Request { body: Some(Vec::new()), ..at("http://a.example/") },
        Request { method: Method::Post, body: Some(vec![0; 2 << 20]), ..at("http://a.example/") },
    ] {
        let (result, trace) = fetch(rules(), request.clone()).await;
        assert!(matches!(result, Err(FetchError::BadRequest(_))), "{request:?}: {result:?}");
        assert_eq!((trace.hops.len(), trace.hops[0].addresses.len()), (1, 0));
    }
    let secret = Request { headers: vec![("X-Key".into(), "hunter2".into())], ..at("http://a.example/") };
    assert!(!format!("{secret:?}").contains("hunter2"));
}

#[tokio::test]
async fn the_owners_list_holds_for_redirects_too() {
    let only = Allowlist::parse(&["a.example"]).unwrap();
    let mut trace = Trace::default();
    let (result, requests) = serve(
        |_| lead(302, "http://b.example/"),
        async |port| fetcher(rules()).fetch(get(format!("http://a.example:{port}/")), &only, &mut trace).await,
    )
    .await;
    assert_eq!((refused(result), requests.len()), (Rule::Allowlist, 1));
    let refused_first = fetcher(rules()).fetch(get("http://b.example/".into()), &only, &mut trace).await;
    assert_eq!(refused(refused_first), Rule::Allowlist);
}

/// The name stays the name where the connection goes to an address: it is asked for in the handshake, and the
/// certificate has to be of it.
#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_refused() {
    let made = rcgen::generate_simple_self_signed(vec!["a.example".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key).unwrap();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("https://a.example:{}/", listener.local_addr().unwrap().port());
    let server = async {
        let socket = listener.accept().await.unwrap().0;
        let hello = LazyConfigAcceptor::new(Acceptor::default(), socket).await.unwrap();
        let name = hello.client_hello().server_name().map(str::to_owned);
        (name, hello.into_stream(Arc::new(config)).await.is_err())
    };
    let ((result, _), handshake) = future::join(fetch(rules(), get(url)), server).await;
    assert_eq!(handshake, (Some("a.example".to_owned()), true));
    let error = result.unwrap_err().to_string();
    assert!(error.contains("certificate"), "{error}");
}
