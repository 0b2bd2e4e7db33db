//! What happened on the way to an answer: every address that was judged, and every one that was connected to.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// The way of one fetch: its URLs, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The first URL and those of the redirects.
    pub hops: Vec<Hop>,
}

/// One URL of the way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// `GET`, `POST` and so on.
    pub method: String,
    /// The URL that was asked, without credentials; one that the guard refused, as it was given.
    pub url: String,
    /// The addresses of its host, each with the reason why it is refused.
    pub addresses: Vec<(IpAddr, Option<&'static str>)>,
    /// The address that was connected to.
    pub connected: Option<SocketAddr>,
    /// The answer's status.
    pub status: Option<u16>,
    /// What went wrong here.
    pub failure: Option<String>,
}

impl Trace {
    /// A further URL.
    pub(super) fn hop(&mut self, method: &str, url: &str) {
        self.hops.push(Hop { method: method.to_owned(), url: url.to_owned(), ..Hop::default() });
    }

    /// The URL that is asked now.
    pub(super) fn here(&mut self) -> &mut Hop {
        if self.hops.is_empty() {
            self.hops.push(Hop::default());
        }
        self.hops.last_mut().expect("there is one: it was pushed")
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, hop) in self.hops.iter().enumerate() {
            writeln!(f, "{}. {} {}", at + 1, hop.method, shown(&hop.url))?;
            for (address, refused) in &hop.addresses {
                match refused {
                    None => writeln!(f, "   checked {address}: allowed")?,
                    Some(what) => writeln!(f, "   checked {address}: refused, {what}")?,
                }
            }
            if let Some(connected) = hop.connected {
                writeln!(f, "   connected to {connected}")?;
            }
            if let Some(status) = hop.status {
                writeln!(f, "   answered {status}")?;
            }
            if let Some(failure) = &hop.failure {
                writeln!(f, "   failed: {}", shown(failure))?;
            }
        }
        Ok(())
    }
}

/// On one line, whatever a server put into it.
fn shown(text: &str) -> String {
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect::<Vec<_>>() } else { vec![c] }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_is_shown_url_by_url() {
        let mut trace = Trace::default();
        trace.hop("GET", "https://example.org/");
        let hop = trace.here();
        hop.addresses = vec![("93.184.216.34".parse().unwrap(), None)];
        hop.connected = Some("93.184.216.34:443".parse().unwrap());
        hop.status = Some(302);
        trace.hop("GET", "http://inside.org/\n");
        trace.here().addresses = vec![("10.0.0.1".parse().unwrap(), Some("private use"))];
        trace.here().failure = Some("no".to_owned());
        let expected = [
            "1. GET https://example.org/",
            "   checked 93.184.216.34: allowed",
            "   connected to 93.184.216.34:443",
            "   answered 302",
            "2. GET http://inside.org/\\n",
            "   checked 10.0.0.1: refused, private use",
            "   failed: no",
        ];
        assert_eq!(trace.to_string().lines().collect::<Vec<_>>(), expected);
    }
}
