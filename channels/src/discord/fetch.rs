//! Attachments: from Discord's own hosts only, into a file, with a hard end.

use std::path::Path;

use futures::StreamExt;
use tokio::io::AsyncWriteExt;
use url::Url;

use super::Discord;
use super::errors::Fault;
use crate::{Attachment, Gone, SendError};

/// Where Discord keeps what people send
/// (<https://discord.com/developers/docs/reference#image-formatting>, and `proxy_url` of attachments).
const HOSTS: [&str; 2] = ["cdn.discordapp.com", "media.discordapp.net"];

/// Writes the attachment's bytes to `to`, which is taken away again where they are not all there.
pub(super) async fn fetch(
    discord: &Discord,
    attachment: &Attachment,
    to: &Path,
    size_max_bytes: u64,
) -> Result<(), SendError> {
    let url = allowed(&attachment.reference, discord.rest.api_url())?;
    if attachment.size_bytes > size_max_bytes {
        return Err(too_large(size_max_bytes));
    }
    // Without the token: the address alone gives the right to read.
    let response = discord.rest.client().get(url).send().await;
    let response = response.map_err(|fault| transient(&fault))?;
    let status = response.status();
    if !status.is_success() {
        return Err(refused(status.as_u16()));
    }
    if response.content_length().is_some_and(|length| length > size_max_bytes) {
        return Err(too_large(size_max_bytes));
    }
    let written = write(response, to, size_max_bytes).await;
    if written.is_err() {
        // What is there is not the attachment. A file that cannot even be removed is the host's to find.
        let _ours_no_more = tokio::fs::remove_file(to).await;
    }
    written
}

async fn write(response: reqwest::Response, to: &Path, size_max_bytes: u64) -> Result<(), SendError> {
    let not_written =
        |fault: std::io::Error| SendError::Transient(format!("the file cannot be written: {}", fault.kind()));
    let mut file = tokio::fs::File::create(to).await.map_err(not_written)?;
    let mut chunks = response.bytes_stream();
    let mut size_bytes = 0u64;
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|fault| transient(&fault))?;
        size_bytes += chunk.len() as u64;
        if size_bytes > size_max_bytes {
            return Err(too_large(size_max_bytes));
        }
        file.write_all(&chunk).await.map_err(not_written)?;
    }
    file.flush().await.map_err(not_written)
}

/// The address, if it is one of Discord's hosts, or the host of the API that is used instead.
fn allowed(reference: &str, api_url: Option<&str>) -> Result<Url, SendError> {
    let foreign = || SendError::Refused("the attachment does not lie with Discord".to_owned());
    let url = Url::parse(reference).map_err(|_| foreign())?;
    let discords =
        url.scheme() == "https" && url.port().is_none() && url.host_str().is_some_and(|host| HOSTS.contains(&host));
    let apis = api_url.and_then(|api| Url::parse(api).ok()).is_some_and(|api| api.origin() == url.origin());
    if (discords || apis) && url.username().is_empty() && url.password().is_none() { Ok(url) } else { Err(foreign()) }
}

fn too_large(size_max_bytes: u64) -> SendError {
    SendError::Refused(format!("the attachment is larger than {size_max_bytes} bytes"))
}

/// Reading twice does no harm: whatever broke is worth another attempt.
fn transient(fault: &reqwest::Error) -> SendError {
    SendError::Transient(if fault.is_timeout() { "timed out" } else { "the download broke off" }.to_owned())
}

fn refused(status: u16) -> SendError {
    match status {
        404 | 410 => SendError::Gone(Gone::Message),
        // An address that has expired is answered so too.
        401 | 403 => SendError::Forbidden("the attachment cannot be read any more".to_owned()),
        _ => Fault::of_answer(status, b"", None, false).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_fetched_from_anywhere_else() {
        let api = Some("http://127.0.0.1:5000/");
        let good = [
            ("https://cdn.discordapp.com/attachments/1/2/a.png?ex=1&hm=2", None),
            ("https://media.discordapp.net/attachments/1/2/a.png", api),
            ("http://127.0.0.1:5000/attachments/1/2/a.png", api),
        ];
        for (url, api) in good {
            assert!(allowed(url, api).is_ok(), "{url}");
        }
        let bad = [
            ("http://cdn.discordapp.com/a", None),
            ("https://cdn.discordapp.com:8443/a", None),
            ("https://cdn.discordapp.com.evil.example/a", None),
            ("https://cdn.discordapp.com@evil.example/a", None),
            ("https://user@cdn.discordapp.com/a", None),
            ("https://evil.example/cdn.discordapp.com", None),
            ("http://127.0.0.1:5000/a", None),
            ("http://127.0.0.1:5001/a", api),
            ("https://127.0.0.1:5000/a", api),
            ("file:///etc/passwd", api),
            ("/attachments/1", api),
            ("", api),
        ];
        for (url, api) in bad {
            assert!(matches!(allowed(url, api), Err(SendError::Refused(_))), "{url}");
        }
    }
}
