//! Files that hang on a message → their descriptions.

use teloxide::types::{FileMeta, MediaKind, PhotoSize, Sticker};

use crate::Attachment;

/// What teloxide says for the size of a file where Telegram says nothing.
const SIZE_UNKNOWN: u32 = u32::MAX;

/// The files of a message. Telegram puts one on each; of a picture's sizes it is the largest.
pub(super) fn of(media: &MediaKind) -> Vec<Attachment> {
    let described = |file: &FileMeta, name: Option<&str>, fallback: &str, media_type: String| Attachment {
        reference: file.id.0.clone(),
        name: name.unwrap_or(fallback).to_owned(),
        media_type,
        size_bytes: if file.size == SIZE_UNKNOWN { 0 } else { u64::from(file.size) },
    };
    let kind = |given: Option<String>, fallback: &str| given.unwrap_or_else(|| fallback.to_owned());
    let one = match media {
        MediaKind::Photo(media) => {
            let area = |size: &&PhotoSize| u64::from(size.width) * u64::from(size.height);
            let largest = media.photo.iter().max_by_key(area);
            return largest
                .map(|size| described(&size.file, None, "photo.jpg", "image/jpeg".into()))
                .into_iter()
                .collect();
        }
        MediaKind::Document(media) => {
            let (file, name) = (&media.document, media.document.file_name.as_deref());
            described(&file.file, name, "document", kind(file.mime_type.as_ref().map(ToString::to_string), ""))
        }
        MediaKind::Voice(media) => {
            let given = media.voice.mime_type.as_ref().map(ToString::to_string);
            described(&media.voice.file, None, "voice.ogg", kind(given, "audio/ogg"))
        }
        MediaKind::Audio(media) => {
            let (file, name) = (&media.audio, media.audio.file_name.as_deref());
            described(&file.file, name, "audio", kind(file.mime_type.as_ref().map(ToString::to_string), ""))
        }
        MediaKind::Video(media) => {
            let (file, name) = (&media.video, media.video.file_name.as_deref());
            described(
                &file.file,
                name,
                "video.mp4",
                kind(file.mime_type.as_ref().map(ToString::to_string), "video/mp4"),
            )
        }
        MediaKind::VideoNote(media) => described(&media.video_note.file, None, "video_note.mp4", "video/mp4".into()),
        MediaKind::Animation(media) => {
            let (file, name) = (&media.animation, media.animation.file_name.as_deref());
            let given = file.mime_type.as_ref().map(ToString::to_string);
            described(&file.file, name, "animation.mp4", kind(given, "video/mp4"))
        }
        MediaKind::Sticker(media) => {
            let (name, media_type) = sticker(&media.sticker);
            described(&media.sticker.file, None, name, media_type.into())
        }
        _ => return Vec::new(),
    };
    vec![one]
}

fn sticker(sticker: &Sticker) -> (&'static str, &'static str) {
    if sticker.is_animated() {
        ("sticker.tgs", "application/x-tgsticker")
    } else if sticker.is_video() {
        ("sticker.webm", "video/webm")
    } else {
        ("sticker.webp", "image/webp")
    }
}
