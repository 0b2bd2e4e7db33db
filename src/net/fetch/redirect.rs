//! What becomes of a request when an answer leads elsewhere (RFC 9110, 15.4; WHATWG Fetch, "HTTP-redirect fetch").

use reqwest::Method;
use reqwest::header::HeaderMap;
use url::Url;

use super::headers;

/// A request as it goes to one URL of the way.
pub(super) struct Outgoing {
    pub method: Method,
    pub headers: HeaderMap,
    pub body: Option<Vec<u8>>,
}

/// Whether an answer of this status leads elsewhere, if it says where.
pub(super) fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

impl Outgoing {
    /// Changes the request for its way from one URL to the next.
    pub fn follow(&mut self, status: u16, from: &Url, to: &Url) {
        let becomes_get = match status {
            301 | 302 => self.method == Method::POST,
            303 => self.method != Method::GET && self.method != Method::HEAD,
            _ => false,
        };
        if becomes_get {
            self.method = Method::GET;
            self.body = None;
            headers::drop_body(&mut self.headers);
        }
        if from.origin() != to.origin() {
            headers::leave_origin(&mut self.headers);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_method_and_the_body_change_as_browsers_change_them() {
        let here = Url::parse("https://example.org/").unwrap();
        for (status, method, becomes, with_body) in [
            (301, "POST", "GET", false),
            (302, "POST", "GET", false),
            (303, "POST", "GET", false),
            (307, "POST", "POST", true),
            (308, "POST", "POST", true),
            (301, "PUT", "PUT", true),
            (302, "DELETE", "DELETE", true),
            (303, "PUT", "GET", false),
            (303, "HEAD", "HEAD", true),
            (301, "HEAD", "HEAD", true),
            (301, "GET", "GET", true),
        ] {
            let mut request = Outgoing {
                method: method.parse().unwrap(),
                headers: headers::read(&[("content-type".into(), "a/b".into()), ("x-key".into(), "k".into())]).unwrap(),
                body: Some(b"body".to_vec()),
            };
            request.follow(status, &here, &here);
            let kept = (request.body.is_some(), request.headers.contains_key("content-type"));
            assert_eq!((request.method.as_str(), kept), (becomes, (with_body, with_body)), "{status} {method}");
            assert!(request.headers.contains_key("x-key"), "the same origin");
        }
    }

    #[test]
    fn another_scheme_host_or_port_is_another_origin() {
        for (from, to, stays) in [
            ("https://a.org/", "https://a.org:443/b", true),
            ("https://a.org/", "https://a.org:8443/", false),
            ("https://a.org/", "http://a.org/", false),
            ("https://a.org/", "https://b.a.org/", false),
        ] {
            let headers = headers::read(&[("authorization".into(), "k".into())]).unwrap();
            let mut request = Outgoing { method: Method::GET, headers, body: None };
            request.follow(307, &Url::parse(from).unwrap(), &Url::parse(to).unwrap());
            assert_eq!(request.headers.contains_key("authorization"), stays, "{from} to {to}");
        }
    }
}
