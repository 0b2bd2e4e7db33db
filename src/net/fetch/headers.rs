//! The headers of a request: which the caller may set, and which go along when a redirect leaves the origin.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

/// Headers that are ours: they say where the request goes, how its body is framed and packed, or are meant for the next
/// machine only (RFC 9110, 7.6.1); or they open a cloud's metadata service. Lower case.
const OURS: [&str; 23] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "forwarded",
    "host",
    "http2-settings",
    "keep-alive",
    "max-forwards",
    "metadata",
    "metadata-flavor",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
    "x-aws-ec2-metadata-token",
    "x-aws-ec2-metadata-token-ttl-seconds",
    "x-forwarded-for",
    "x-google-metadata-request",
];

/// Headers that hold no secret of the origin they were meant for. All others stay behind when a redirect leads to
/// another origin: keys travel in headers of any name.
const HARMLESS: [&str; 10] = [
    "accept",
    "accept-language",
    "cache-control",
    "content-encoding",
    "content-language",
    "content-type",
    "if-modified-since",
    "pragma",
    "range",
    "user-agent",
];

/// Headers that describe a body.
const OF_A_BODY: [&str; 5] =
    ["content-encoding", "content-language", "content-length", "content-location", "content-type"];

/// How many headers a caller may set, and how long all of them may be together, in bytes: more is refused by common
/// servers (Apache: 100 headers of 8,190 bytes).
const HEADERS_MAX: usize = 100;
const HEADER_BYTES_MAX: usize = 16 << 10;

/// Reads what the caller gave.
///
/// # Errors
/// Says what is wrong with a header; never its value, which may be a secret.
pub(super) fn read(given: &[(String, String)]) -> Result<HeaderMap, String> {
    let size: usize = given.iter().map(|(name, value)| name.len() + value.len()).sum();
    if given.len() > HEADERS_MAX || size > HEADER_BYTES_MAX {
        return Err(format!("at most {HEADERS_MAX} headers of {HEADER_BYTES_MAX} bytes together can be set"));
    }
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let name = HeaderName::from_bytes(name.trim().as_bytes()).map_err(|_| format!("`{name}` is no header name"))?;
        if OURS.contains(&name.as_str()) || name.as_str().starts_with("sec-") {
            return Err(format!("the header `{name}` cannot be set: leave it out"));
        }
        let mut value =
            HeaderValue::from_str(value.trim()).map_err(|_| format!("the value of `{name}` is no header value"))?;
        value.set_sensitive(!HARMLESS.contains(&name.as_str()));
        headers.append(name, value);
    }
    Ok(headers)
}

/// What goes along to another origin.
pub(super) fn leave_origin(headers: &mut HeaderMap) {
    keep(headers, |name| HARMLESS.contains(&name));
}

/// What goes along without the body.
pub(super) fn drop_body(headers: &mut HeaderMap) {
    keep(headers, |name| !OF_A_BODY.contains(&name));
}

fn keep(headers: &mut HeaderMap, stays: impl Fn(&str) -> bool) {
    let gone: Vec<HeaderName> = headers.keys().filter(|name| !stays(name.as_str())).cloned().collect();
    for name in gone {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(headers: &[(&str, &str)]) -> Vec<(String, String)> {
        headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn names(headers: &HeaderMap) -> Vec<&str> {
        let mut names: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn framing_and_routing_are_not_the_callers() {
        for name in OURS.iter().chain(&["Host", "CONNECTION", "Sec-Fetch-Site", " Host ", "Content-Length"]) {
            assert!(read(&given(&[(name, "x")])).is_err(), "{name}");
        }
        for (name, value) in [("a b", "x"), ("", "x"), ("x-a", "line\r\nHost: evil"), ("x-a", "\0")] {
            assert!(read(&given(&[(name, value)])).is_err(), "{name}");
        }
        let secret = read(&given(&[("x-key", "hunter2\n")])).unwrap();
        assert!(!format!("{secret:?}").contains("hunter2"));
        let refused = read(&given(&[("x-key", "hunter2\u{0}")])).unwrap_err();
        assert!(!refused.contains("hunter2"));
        let many: Vec<_> = (0..=HEADERS_MAX).map(|n| (format!("x-{n}"), String::new())).collect();
        assert!(read(&many).is_err());
    }

    #[test]
    fn secrets_stay_with_their_origin_and_a_bodys_headers_with_the_body() {
        let all = given(&[
            ("Authorization", "Bearer k"),
            ("Cookie", "a=b"),
            ("X-Api-Key", "k"),
            ("Private-Token", "k"),
            ("Accept", "text/html"),
            ("Content-Type", "text/plain"),
            ("User-Agent", "me"),
        ]);
        let mut headers = read(&all).unwrap();
        leave_origin(&mut headers);
        assert_eq!(names(&headers), ["accept", "content-type", "user-agent"]);
        drop_body(&mut headers);
        assert_eq!(names(&headers), ["accept", "user-agent"]);
    }
}
