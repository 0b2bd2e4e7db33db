//! One request to one URL, at the addresses that were checked; and the answer's body.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use futures::FutureExt;
use reqwest::dns::{Name, Resolve as ClientResolve, Resolving};
use reqwest::header::{ACCEPT_ENCODING, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Client, Response};
use tokio::time::timeout;

use super::coding::{ACCEPTED, Kept, Unpacker};
use super::media::{self, Kind};
use super::redirect::Outgoing;
use super::{Body, FetchError, FetchRules, Fetched, Fetcher, Trace, markdown, shown};
use crate::guard::{Refusal, Rule, Target};

/// The addresses to connect to: asked for once, and judged.
pub(super) async fn addresses(
    fetcher: &Fetcher,
    target: &Target,
    trace: &mut Trace,
) -> Result<Vec<SocketAddr>, FetchError> {
    let rules = &fetcher.rules;
    let answers = match target.literal() {
        Some(address) => vec![address],
        None => {
            let limit = rules.connect;
            let looked_up = timeout(limit, fetcher.resolver.resolve(target.host())).await;
            let looked_up =
                looked_up.map_err(|_| FetchError::TimedOut { what: "the host's name was not resolved", limit })?;
            looked_up.map_err(|error| FetchError::Refused(unresolvable(target, &error)))?
        }
    };
    trace.here().addresses = answers.iter().map(|address| (*address, rules.guard.refuses(*address))).collect();
    target.at(&answers, &rules.guard).map_err(FetchError::Refused)
}

fn unresolvable(target: &Target, error: &io::Error) -> Refusal {
    Refusal { rule: Rule::Unresolvable, detail: format!("{} has no address: {error}", target.host()) }
}

/// Sends the request; the answer is as far as its headers.
pub(super) async fn send(
    rules: &FetchRules,
    target: &Target,
    addresses: &[SocketAddr],
    outgoing: &Outgoing,
    trace: &mut Trace,
) -> Result<Response, FetchError> {
    let client = client(rules, target, addresses)?;
    let mut request = client
        .request(outgoing.method.clone(), target.url().clone())
        .headers(outgoing.headers.clone())
        .header(ACCEPT_ENCODING, HeaderValue::from_static(ACCEPTED));
    if let Some(body) = &outgoing.body {
        request = request.body(body.clone());
    }
    let response = request.send().await.map_err(|error| FetchError::of_client("no answer", error))?;
    let connected = response.remote_addr();
    let hop = trace.here();
    (hop.connected, hop.status) = (connected, Some(response.status().as_u16()));
    // Cannot be: the client knows no other addresses. If it were, the guard would guard nothing.
    if !connected.is_some_and(|connected| addresses.contains(&connected)) {
        return Err(FetchError::Failed("the connection went to an address that was not checked".to_owned()));
    }
    Ok(response)
}

/// A client for this one request: it knows the addresses that were checked and no way to others. Connections are not
/// kept, for each is to be checked.
fn client(rules: &FetchRules, target: &Target, addresses: &[SocketAddr]) -> Result<Client, FetchError> {
    let client = Client::builder()
        .user_agent(concat!("openhive/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(rules.connect)
        .read_timeout(rules.idle)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .no_proxy()
        // Unpacked here, under the limit, whatever other packages make this client able to.
        .no_gzip()
        .no_brotli()
        .no_deflate()
        .no_zstd()
        .pool_max_idle_per_host(0)
        .dns_resolver(Arc::new(Nowhere))
        .resolve_to_addrs(target.host(), addresses);
    client.build().map_err(|error| FetchError::of_client("no client", error))
}

/// Stands where a client's own resolver would: whatever is not checked is not there.
struct Nowhere;

impl ClientResolve for Nowhere {
    fn resolve(&self, _: Name) -> Resolving {
        let error = io::Error::new(io::ErrorKind::NotFound, "this name was not checked");
        async move { Err(error.into()) }.boxed()
    }
}

/// Reads an answer to its end, or as far as is allowed.
pub(super) async fn read(rules: &FetchRules, target: Target, response: Response) -> Result<Fetched, FetchError> {
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let header = |name: HeaderName| headers.get(name).map_or("", |value| value.to_str().unwrap_or("")).to_owned();
    let content_type = header(CONTENT_TYPE);
    let kind = media::kind(&content_type);
    let bytes_max = if matches!(kind, Kind::Page | Kind::Text) { rules.text_bytes_max } else { rules.file_bytes_max };
    let kept = body(response, &header(CONTENT_ENCODING), bytes_max).await?;
    let name = media::file_name(target.url(), &header(CONTENT_DISPOSITION), &content_type);
    let (url, text_max) = (target.url().clone(), rules.text_bytes_max);
    let read = move || usable(kept, kind, &content_type, &url, name, text_max);
    // A page of a mebibyte takes long enough for others to wait.
    let used =
        tokio::task::spawn_blocking(read).await.map_err(|error| FetchError::failed("the body was not read", &error))?;
    let (body, truncated) = used.ok_or(FetchError::TooLong(bytes_max))?;
    Ok(Fetched { url: target.url().clone(), status, headers: shown(&headers), body, truncated })
}

/// The body, unpacked.
async fn body(mut response: Response, coding: &str, bytes_max: usize) -> Result<Kept, FetchError> {
    let broken = |error: io::Error| FetchError::failed("the body cannot be unpacked", &error);
    let mut unpacker = None;
    let mut packed_bytes = 0_usize;
    while let Some(piece) =
        response.chunk().await.map_err(|error| FetchError::of_client("the answer broke off", error))?
    {
        packed_bytes += piece.len();
        let unpacker = match &mut unpacker {
            Some(unpacker) => unpacker,
            none => none.insert(Unpacker::new(coding, bytes_max).map_err(broken)?),
        };
        match unpacker.take(&piece) {
            Err(_) if unpacker.is_full() => break,
            taken => taken.map_err(broken)?,
        }
        // Empty members of an archive unpack to nothing, however many there are.
        if packed_bytes > bytes_max.saturating_mul(2) {
            return Err(FetchError::TooLong(bytes_max));
        }
    }
    // An answer without a body may still name a coding: that of a HEAD is of the body it would have.
    unpacker.map_or_else(|| Ok(Kept::default()), |unpacker| unpacker.finish().map_err(broken))
}

/// The body as it can be used, and whether it was cut; `None` for a file that was.
fn usable(
    kept: Kept,
    kind: Kind,
    content_type: &str,
    url: &url::Url,
    name: String,
    text_max: usize,
) -> Option<(Body, bool)> {
    let kind = if kind == Kind::Unsaid { media::look(&kept.bytes) } else { kind };
    if kind != Kind::File {
        let cut = &kept.bytes[..kept.bytes.len().min(text_max)];
        let was_cut = kept.overflowed || cut.len() < kept.bytes.len();
        if let Some(text) = media::text(cut, content_type, kind, was_cut) {
            return Some(match kind {
                Kind::Page => {
                    let page = markdown::markdown(&text, url, text_max);
                    (Body::Text(page.text), was_cut || page.was_cut)
                }
                _ => (Body::Text(text), was_cut),
            });
        }
    }
    (!kept.overflowed).then_some((Body::File { bytes: kept.bytes, name }, false))
}
