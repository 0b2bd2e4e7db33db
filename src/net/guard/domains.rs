//! Which hosts may be asked at all: an owner's list.

use std::fmt;

use url::Host;

/// The hosts that may be asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Allowlist {
    /// Every host with a public address.
    #[default]
    Anywhere,
    /// Those that one of these patterns names.
    Only(Vec<Pattern>),
}

/// A host (`example.org`, `192.0.2.1`) or all names under one (`*.example.org`, which is not `example.org` itself).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// In the form in which hosts are compared: lower case, IDNA's ASCII, no dot at the end.
    host: String,
    under: bool,
}

/// Why a text is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no host: write `example.org`, or `*.example.org` for all names under it")]
pub struct BadPattern(String);

impl Allowlist {
    /// The list as an owner writes it. An empty one allows every host, as a missing one does.
    ///
    /// # Errors
    /// Names the first entry that is no host.
    pub fn parse<S: AsRef<str>>(entries: &[S]) -> Result<Allowlist, BadPattern> {
        if entries.is_empty() {
            return Ok(Allowlist::Anywhere);
        }
        let patterns = entries.iter().map(|entry| Pattern::parse(entry.as_ref())).collect::<Result<_, _>>()?;
        Ok(Allowlist::Only(patterns))
    }

    /// Whether a host in compared form (see [`Pattern`]) may be asked.
    pub(super) fn allows(&self, host: &str) -> bool {
        match self {
            Allowlist::Anywhere => true,
            Allowlist::Only(patterns) => patterns.iter().any(|pattern| pattern.names(host)),
        }
    }
}

impl Pattern {
    fn parse(text: &str) -> Result<Pattern, BadPattern> {
        let bad = || BadPattern(text.to_owned());
        let (under, host) = match text.trim().strip_prefix("*.") {
            Some(host) => (true, host),
            None => (false, text.trim()),
        };
        let host = compared(host).ok_or_else(bad)?;
        // `*` in other places, and a whole URL, would be taken for something else than was meant.
        let is_name = host.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:[]".contains(c));
        if is_name { Ok(Pattern { host, under }) } else { Err(bad()) }
    }

    fn names(&self, host: &str) -> bool {
        if !self.under {
            return host == self.host;
        }
        host.strip_suffix(&*self.host).is_some_and(|label| label.len() > 1 && label.ends_with('.'))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.under { "*." } else { "" }, self.host)
    }
}

/// A host in the form in which hosts are compared; `None` where it is none. An IPv6 address may come with brackets or
/// without.
pub(crate) fn compared(host: &str) -> Option<String> {
    if let Ok(address) = host.parse::<std::net::Ipv6Addr>() {
        return Some(format!("[{address}]"));
    }
    let host = Host::parse(host).ok()?.to_string();
    let host = host.strip_suffix('.').unwrap_or(&host);
    (!host.is_empty()).then(|| host.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(entries: &[&str], host: &str) -> bool {
        Allowlist::parse(entries).unwrap().allows(host)
    }

    #[test]
    fn a_host_is_named_exactly_and_a_star_names_what_is_under_it() {
        for (entry, host, expected) in [
            ("example.org", "example.org", true),
            ("example.org", "www.example.org", false),
            ("EXAMPLE.org.", "example.org", true),
            ("*.example.org", "a.b.example.org", true),
            ("*.example.org", "example.org", false),
            ("*.example.org", "badexample.org", false),
            ("*.example.org", "example.org.evil.com", false),
            ("bücher.de", "xn--bcher-kva.de", true),
            ("127.1", "127.0.0.1", true),
            ("2606:4700::1111", "[2606:4700::1111]", true),
        ] {
            assert_eq!(allows(&[entry], host), expected, "{entry} and {host}");
        }
        assert!(allows(&[], "example.org"));
        assert!(allows(&["other.org", "*.example.org"], "www.example.org"));
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for entry in ["", "*", "*.", "a.*.org", "https://example.org", "example.org/path", "exa mple.org", "."] {
            assert!(Allowlist::parse(&[entry]).is_err(), "{entry}");
        }
    }
}
