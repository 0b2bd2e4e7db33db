//! Towards Discord itself serenity's own limiter is on: its path, through TLS, to the loopback server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use channels::discord::{Discord, Settings};
use channels::{Action, Deliver, File, FileSource, Piece, Receive, Reply, Scope, SendError};
use fakes::discord::{Discord as Server, Fault, On};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::bot::{conversation, out, piece, send, text_of};
use crate::host::{Host, Running};

/// `discord.com` as this one client sees it: a certificate of our own in front of the loopback server.
async fn discord_com(server: &Server) -> reqwest::Client {
    let made = rcgen::generate_simple_self_signed(vec!["discord.com".to_owned()]).expect("a certificate");
    let certificate: CertificateDer<'static> = made.cert.der().clone();
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring knows TLS")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .expect("the key is the certificate's");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let plain: SocketAddr = server.url().trim_start_matches("http://").parse().expect("an address");
    tokio::spawn(async move {
        while let Ok((outside, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                if let (Ok(mut outside), Ok(mut inside)) =
                    (acceptor.accept(outside).await, TcpStream::connect(plain).await)
                {
                    // Ends when either side has gone.
                    let _gone = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
                }
            });
        }
    });
    let root = reqwest::Certificate::from_der(&certificate).expect("a certificate");
    let client = reqwest::Client::builder().resolve("discord.com", address).add_root_certificate(root);
    client.build().expect("a client")
}

/// A bot that believes that it talks to Discord itself.
async fn production() -> (Server, Arc<Discord>) {
    let server = Server::start().await;
    let http = Some(discord_com(&server).await);
    let settings = Settings { http, ..Settings::new(server.token().into()) };
    (server, Arc::new(Discord::new(settings).expect("good settings")))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_short_limit_is_waited_out_by_serenity_itself() {
    let (server, adapter) = production().await;
    let room = server.channel("general");
    server.fail(On::Send, Fault::TooMany { retry_after: Duration::from_millis(900), global: false }, 1);
    let began = Instant::now();
    adapter.deliver(&send(room, "k1", "after a while")).await.expect("sent");
    assert!(began.elapsed() >= Duration::from_millis(900), "{:?}", began.elapsed());
    let statuses: Vec<u16> = server.requests().iter().map(|request| request.status).collect();
    assert_eq!(statuses, [429, 200]);
    assert!(server.requests().iter().all(|request| request.path == format!("/channels/{room}/messages")));
    assert_eq!(server.answers(room)[0].nonce.as_deref(), Some("k1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_limit_comes_back_typed_and_holds_our_own_pace() {
    let (server, adapter) = production().await;
    let (room, other) = (server.channel("general"), server.channel("other"));
    server.fail(On::Send, Fault::TooMany { retry_after: Duration::from_secs(30), global: false }, 1);
    let began = Instant::now();
    let limited = adapter.deliver(&send(room, "k1", "x")).await;
    let wanted = SendError::RateLimited { retry_after: Duration::from_secs(30), scope: Scope::Conversation };
    assert_eq!(limited, Err(wanted));
    assert!(!adapter.draft_fits(&conversation(room)));
    adapter.deliver(&send(other, "k2", "x")).await.expect("another conversation goes on");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn discords_own_headers_are_kept_to_without_a_single_429() {
    let (server, adapter) = production().await;
    server.limit(true);
    let room = server.channel("general");
    for n in 0..7 {
        adapter.deliver(&send(room, &format!("k{n}"), &n.to_string())).await.expect("sent");
    }
    let files = vec![
        File { name: "a".into(), source: FileSource::Text("a".into()) },
        File { name: "b".into(), source: FileSource::Text("b".into()) },
    ];
    adapter.deliver(&out(room, "files", Action::Send(Piece { files, ..piece("files") }))).await.expect("sent");
    assert_eq!(server.over_limit(), 0);
    assert_eq!(server.answers(room).last().map(|shown| shown.files.len()), Some(2), "also past serenity's form");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_whole_adapter_works_without_an_address_of_its_own() {
    let (server, adapter) = production().await;
    assert_eq!(adapter.check().await, Ok("hive".to_owned()));
    let host = Host::new();
    let running = Running::start(adapter.clone(), &host).await;
    let ann = server.user("ann");
    server.say(server.dm(ann), ann, "hello");
    host.event("message", |event| text_of(event).is_some_and(|text| text.text == "hello")).await;
    running.stop().await.expect("a clean end");
}
