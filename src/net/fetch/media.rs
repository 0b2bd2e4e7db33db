//! What a body is: a page, a text or a file; in which characters; and what to call the file.

use encoding_rs::{CoderResult, Encoding, UTF_8};
use url::Url;

/// How a body is given to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// HTML: as Markdown.
    Page,
    /// As it is.
    Text,
    /// As a file.
    File,
    /// Nobody said: what the bytes look like decides.
    Unsaid,
}

/// Types of text that are not called `text/…`.
const TEXTS: [&str; 18] = [
    "application/ecmascript",
    "application/graphql",
    "application/javascript",
    "application/json",
    "application/ld+json",
    "application/ndjson",
    "application/sql",
    "application/toml",
    "application/x-javascript",
    "application/x-ndjson",
    "application/x-sh",
    "application/x-sql",
    "application/x-www-form-urlencoded",
    "application/x-yaml",
    "application/xml",
    "application/xml-dtd",
    "application/yaml",
    "image/svg+xml",
];

/// The ending of a file of a type, where it is not known better. The types that agents meet.
const ENDINGS: [(&str, &str); 25] = [
    ("application/gzip", "gz"),
    ("application/msword", "doc"),
    ("application/pdf", "pdf"),
    ("application/vnd.ms-excel", "xls"),
    ("application/vnd.openxmlformats-officedocument.presentationml.presentation", "pptx"),
    ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"),
    ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"),
    ("application/wasm", "wasm"),
    ("application/x-7z-compressed", "7z"),
    ("application/x-tar", "tar"),
    ("application/zip", "zip"),
    ("application/zstd", "zst"),
    ("audio/mpeg", "mp3"),
    ("audio/ogg", "ogg"),
    ("audio/wav", "wav"),
    ("font/woff2", "woff2"),
    ("image/avif", "avif"),
    ("image/gif", "gif"),
    ("image/jpeg", "jpg"),
    ("image/png", "png"),
    ("image/vnd.microsoft.icon", "ico"),
    ("image/webp", "webp"),
    ("image/x-icon", "ico"),
    ("video/mp4", "mp4"),
    ("video/webm", "webm"),
];

/// The longest name of a file that is suggested, without an ending of ours, in bytes: with one, and with a number, it
/// stays under the 255 that file systems take.
const NAME_BYTES_MAX: usize = 120;

/// How far a page's own word about its characters is looked for, in bytes (WHATWG HTML, "prescan a byte stream").
const PRESCAN_BYTES: usize = 1_024;

/// The type alone, lower case, without its parameters.
pub(super) fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or("").trim().to_ascii_lowercase()
}

/// What a body is by its `Content-Type`.
pub(super) fn kind(content_type: &str) -> Kind {
    let essence = essence(content_type);
    match essence.as_str() {
        // The type of what a server does not know.
        "" | "application/octet-stream" | "binary/octet-stream" => Kind::Unsaid,
        "text/html" | "application/xhtml+xml" => Kind::Page,
        _ if essence.starts_with("text/") || essence.ends_with("+json") || essence.ends_with("+xml") => Kind::Text,
        _ if TEXTS.contains(&essence.as_str()) => Kind::Text,
        _ => Kind::File,
    }
}

/// What a body is by its bytes, for one of which nobody said it.
pub(super) fn look(bytes: &[u8]) -> Kind {
    let start = &bytes[..bytes.len().min(PRESCAN_BYTES)];
    let (encoding, _) = Encoding::for_bom(start).unwrap_or((UTF_8, 0));
    let readable = encoding != UTF_8 || (!bytes.contains(&0) && is_cut_utf8(bytes));
    if !readable {
        return Kind::File;
    }
    let start = String::from_utf8_lossy(start).trim_start_matches('\u{feff}').trim_start().to_ascii_lowercase();
    if start.starts_with("<!doctype html") || start.starts_with("<html") { Kind::Page } else { Kind::Text }
}

/// Whether these bytes are UTF-8, but for a last character that was cut.
fn is_cut_utf8(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).map_or_else(|error| error.error_len().is_none(), |_| true)
}

/// The text of a body. Its own mark comes first, then what the server said, then what a page says of itself, then
/// UTF-8. `None` where it is none: a text holds no null character.
pub(super) fn text(bytes: &[u8], content_type: &str, kind: Kind, was_cut: bool) -> Option<String> {
    let said = || parameter(content_type, "charset").and_then(|label| Encoding::for_label(label.as_bytes()));
    let written = || if kind == Kind::Page { charset_of_page(bytes) } else { None };
    let encoding = match Encoding::for_bom(bytes) {
        Some((encoding, _)) => encoding,
        None => said().or_else(written).unwrap_or(UTF_8),
    };
    let mut decoder = encoding.new_decoder_with_bom_removal();
    let mut text = String::with_capacity(decoder.max_utf8_buffer_length(bytes.len())?);
    // A body that was cut may end inside of a character: that half is left out, not replaced.
    let (result, ..) = decoder.decode_to_string(bytes, &mut text, !was_cut);
    // The room was measured for all of it, so that there is always enough.
    (result == CoderResult::InputEmpty && !text.contains('\0')).then_some(text)
}

/// The `charset` that a page's `meta` names. One that would have been needed to read this far is not believed, as
/// browsers do it.
fn charset_of_page(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(PRESCAN_BYTES)]).to_ascii_lowercase();
    let mut rest = start.as_str();
    while let Some(at) = rest.find("<meta") {
        rest = &rest[at + 5..];
        let tag = &rest[..rest.find('>').unwrap_or(rest.len())];
        let Some(at) = tag.find("charset") else { continue };
        let Some(value) = tag[at + 7..].trim_start().strip_prefix('=') else { continue };
        let value = value.trim_start().trim_start_matches(['"', '\'']);
        let end = value.find(['"', '\'', ';', ' ', '/']).unwrap_or(value.len());
        let Some(encoding) = Encoding::for_label(&value.as_bytes()[..end]) else { continue };
        return Some(encoding.output_encoding());
    }
    None
}

/// A parameter of a header's value.
fn parameter<'a>(value: &'a str, name: &str) -> Option<&'a str> {
    value.split(';').skip(1).find_map(|part| {
        let (key, value) = part.split_once('=')?;
        key.trim().eq_ignore_ascii_case(name).then(|| value.trim().trim_matches('"'))
    })
}

/// What to call a file: as the server says, else as the URL ends; never a path, never hidden.
pub(super) fn file_name(url: &Url, content_disposition: &str, content_type: &str) -> String {
    let extended = parameter(content_disposition, "filename*").and_then(|value| value.rsplit_once('\''));
    let said = match extended {
        Some((_, encoded)) => Some(unescape(encoded)),
        None => parameter(content_disposition, "filename").map(str::to_owned),
    };
    let of_url = || url.path_segments().and_then(|mut segments| segments.next_back().map(unescape));
    let name = said.map(|name| plain(&name)).filter(|name| !name.is_empty());
    let name = name.or_else(|| of_url().map(|name| plain(&name)).filter(|name| !name.is_empty()));
    let name = name.unwrap_or_else(|| "download".to_owned());
    if name.contains('.') {
        return name;
    }
    let essence = essence(content_type);
    let ending = ENDINGS.iter().find(|(known, _)| *known == essence).map_or("bin", |(_, ending)| ending);
    format!("{name}.{ending}")
}

/// Percent escapes undone.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = match tail {
            [high, low, ..] if *first == b'%' => hex(*high).zip(hex(*low)),
            _ => None,
        };
        match escaped {
            Some((high, low)) => {
                bytes.push(high << 4 | low);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// A name as every file system takes it: the last part of a path, letters, digits and a few signs.
fn plain(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or("");
    let safe = last.chars().map(|c| if c.is_alphanumeric() || "._-+ ".contains(c) { c } else { '_' });
    let safe: String = safe.collect();
    // From the left, so that the ending stays.
    let start = safe.ceil_char_boundary(safe.len().saturating_sub(NAME_BYTES_MAX));
    safe[start..].trim_matches([' ', '.']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_body_is_what_its_type_says() {
        for (content_type, expected) in [
            ("text/html; charset=utf-8", Kind::Page),
            ("Application/XHTML+XML", Kind::Page),
            ("text/plain", Kind::Text),
            ("application/json", Kind::Text),
            ("application/problem+json;x=y", Kind::Text),
            ("application/atom+xml", Kind::Text),
            ("image/png", Kind::File),
            ("application/pdf", Kind::File),
            ("", Kind::Unsaid),
            ("application/octet-stream", Kind::Unsaid),
        ] {
            assert_eq!(kind(content_type), expected, "{content_type}");
        }
        for (bytes, expected) in [
            (&b"plain"[..], Kind::Text),
            (b"  <!DOCTYPE html><p>", Kind::Page),
            (b"\xef\xbb\xbf<HTML>", Kind::Page),
            (b"\xff\xfeh\0i\0", Kind::Text),
            (b"\x89PNG\r\n", Kind::File),
            (b"a\0b", Kind::File),
            (b"half \xf0\x9f\x90", Kind::Text),
            (b"", Kind::Text),
        ] {
            assert_eq!(look(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn characters_are_read_as_the_body_the_server_or_the_page_says() {
        for (bytes, content_type, kind, expected) in [
            (&b"caf\xe9"[..], "text/plain; charset=ISO-8859-1", Kind::Text, "café"),
            (b"caf\xc3\xa9", "text/plain", Kind::Text, "café"),
            (b"\xef\xbb\xbfcaf\xc3\xa9", "text/plain; charset=latin1", Kind::Text, "café"),
            (b"\xff\xfeh\0i\0", "text/plain", Kind::Text, "hi"),
            (b"<meta charset='windows-1251'>\xcf", "text/html", Kind::Page, "<meta charset='windows-1251'>П"),
            (
                b"<meta charset='windows-1251'>\xd0\x9f",
                "text/html;charset=\"utf-8\"",
                Kind::Page,
                "<meta charset='windows-1251'>П",
            ),
            (
                b"<meta content=\"text/html; charset=koi8-r\">\xf0",
                "text/html",
                Kind::Page,
                "<meta content=\"text/html; charset=koi8-r\">П",
            ),
            (b"caf\xe9", "text/plain; charset=nonsense", Kind::Text, "caf\u{fffd}"),
        ] {
            assert_eq!(text(bytes, content_type, kind, false).as_deref(), Some(expected), "{content_type}");
        }
        assert_eq!(text(b"a\0b", "text/plain", Kind::Text, false), None);
        assert_eq!(text(b"caf\xc3", "text/plain", Kind::Text, true).as_deref(), Some("caf"));
    }

    #[test]
    fn a_file_has_a_name_without_a_way() {
        let url = Url::parse("https://example.org/a/b%2F..%2Freport%20one.pdf?x=1").unwrap();
        for (disposition, content_type, expected) in [
            ("", "application/pdf", "report one.pdf"),
            ("attachment; filename=\"../../etc/passwd\"", "", "passwd.bin"),
            ("attachment; filename=x; filename*=UTF-8''na%C3%AFve%2Etxt", "", "naïve.txt"),
            ("attachment; filename=\".bashrc\"", "", "bashrc.bin"),
            ("attachment; filename=\"...\"", "", "report one.pdf"),
            ("inline; filename=logo", "image/png; x=y", "logo.png"),
            ("attachment; filename=\"C:\\\\run.exe\"", "", "run.exe"),
        ] {
            assert_eq!(file_name(&url, disposition, content_type), expected, "{disposition}");
        }
        let bare = Url::parse("https://example.org/").unwrap();
        assert_eq!(file_name(&bare, "", "image/jpeg"), "download.jpg");
    }

    proptest! {
        #[test]
        fn whatever_a_server_says_a_name_is_one_part_of_a_path(said in "\\PC{0,200}", extended: bool) {
            let url = Url::parse("https://example.org/").unwrap();
            let said = if extended { format!("a; filename*=UTF-8''{said}") } else { format!("a; filename=\"{said}\"") };
            let name = file_name(&url, &said, "");
            prop_assert!(!name.contains(['/', '\\', '\0', '\n']) && !name.starts_with('.') && !name.is_empty());
            prop_assert!(name.len() <= NAME_BYTES_MAX + 6);
        }

        #[test]
        fn any_bytes_are_read(bytes: Vec<u8>, content_type in "\\PC{0,60}", was_cut: bool) {
            let kind = kind(&content_type);
            look(&bytes);
            text(&bytes, &content_type, kind, was_cut);
        }
    }
}
