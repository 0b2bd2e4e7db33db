//! Fetching a file that somebody has sent, with a hard limit to its size.

use std::path::Path;

use serde::Deserialize;
use teloxide::payloads::GetFile;
use teloxide::types::FileId;
use tokio::io::AsyncWriteExt;

use super::call::{Api, CallError};
use super::errors;
use crate::{Attachment, SendError};

/// The largest file that Telegram lets a bot fetch (getFile): 20 MB.
const DOWNLOAD_MAX_BYTES: u64 = 20 << 20;

/// The part of `getFile`'s answer that we use.
#[derive(Deserialize)]
struct Found {
    file_path: Option<String>,
    file_size: Option<u64>,
}

/// Writes the file to `to`, or nothing.
pub(super) async fn fetch(api: &Api, attachment: &Attachment, to: &Path, size_max_bytes: u64) -> Result<(), SendError> {
    let within = |size: u64| match size {
        _ if size > size_max_bytes => Err(too_large(size_max_bytes)),
        _ if size > DOWNLOAD_MAX_BYTES => Err(too_large(DOWNLOAD_MAX_BYTES)),
        _ => Ok(()),
    };
    within(attachment.size_bytes)?;
    let payload = GetFile::new(FileId(attachment.reference.clone()));
    let found: Found = api.call(&payload).await.map_err(|error| match error {
        CallError::Refused(refusal) if refusal.says("file is too big") => too_large(DOWNLOAD_MAX_BYTES),
        error => reading(error),
    })?;
    within(found.file_size.unwrap_or(0))?;
    let path = found.file_path.ok_or_else(|| SendError::Refused("Telegram no longer has this file".to_owned()))?;
    let response = api.download(&path).await.map_err(reading)?;
    match response.status().as_u16() {
        200 => {}
        404 => return Err(SendError::Refused("Telegram no longer has this file".to_owned())),
        status => return Err(SendError::Transient(format!("the file was answered with {status}"))),
    }
    within(response.content_length().unwrap_or(0))?;
    let written = write(api, response, to, size_max_bytes.min(DOWNLOAD_MAX_BYTES)).await;
    if written.is_err()
        && let Err(error) = tokio::fs::remove_file(to).await
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(%error, "a partly fetched file stays behind");
    }
    written
}

async fn write(api: &Api, mut response: reqwest::Response, to: &Path, limit: u64) -> Result<(), SendError> {
    let local = |error: std::io::Error| SendError::Refused(format!("the file cannot be written: {error}"));
    let mut file = tokio::fs::File::create(to).await.map_err(local)?;
    let mut size = 0;
    while let Some(chunk) = response.chunk().await.map_err(|error| reading(api.failed(error)))? {
        size += chunk.len() as u64;
        if size > limit {
            return Err(too_large(limit));
        }
        file.write_all(&chunk).await.map_err(local)?;
    }
    file.flush().await.map_err(local)
}

/// Reading changes nothing, so that whatever broke off can simply be tried again.
fn reading(error: CallError) -> SendError {
    match error {
        CallError::Unknown(why) => SendError::Transient(why),
        error => errors::send_error(error),
    }
}

fn too_large(limit: u64) -> SendError {
    SendError::Refused(format!("the file is larger than {limit} bytes"))
}
