//! Which URLs may be asked, and at which addresses: the one guard against requests into private networks.
//!
//! | file | one thing |
//! |---|---|
//! | `ranges` | addresses that no public server has |
//! | `names` | names that mean this machine or a network around it |
//! | `ports` | ports on which something else listens |
//! | `domains` | the owner's list of hosts |
//! | `door` | [`verdict`]: the guard for outsiders, offline |
//!
//! A URL is judged in two steps, for the second one needs answers from outside: [`target`] judges what the URL says,
//! [`Target::at`] the addresses that its host has. Whoever asks the host connects to the addresses that `at` returned
//! and to no others, and begins anew for every redirect: a name may mean something else a moment later.
//!
//! Hosts are read as browsers read them (the WHATWG URL standard, crate `url`): an IPv4 address may be decimal, octal,
//! hexadecimal or short, digits may be wide or circled, a name may be percent-encoded or in any script. What is judged
//! is what comes out of that, and the request is made of it as well.

mod domains;
mod door;
mod names;
mod ports;
mod ranges;

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;
use url::{Host, Url};

pub use domains::{Allowlist, BadPattern, Pattern};
pub use door::verdict;

pub(crate) use domains::compared;

/// The longest URL that is looked at, in bytes. Servers should take 8,000 (RFC 9110, 4.1).
const URL_BYTES_MAX: usize = 8_000;

/// What an owner may change about the guard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuardRules {
    /// Whether this machine itself may be asked: 127.0.0.0/8, ::1 and the name `localhost`. For development and tests.
    pub loopback_permitted: bool,
    /// Networks that are refused although their addresses are public: the owner's own, or the prefix under which a
    /// network's NAT64 gateway shows IPv4 (RFC 6052, 2.2), which nobody can tell from other public addresses.
    pub refused: Vec<IpNet>,
}

impl GuardRules {
    /// Why this address is not to be asked; `None` if it may be.
    pub fn refuses(&self, address: IpAddr) -> Option<&'static str> {
        if self.refused.iter().any(|net| net.contains(&address)) {
            return Some("the owner refuses this network");
        }
        if self.loopback_permitted && address.is_loopback() {
            return None;
        }
        ranges::special(address)
    }
}

/// Why a URL is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct Refusal {
    /// Which rule says so.
    pub rule: Rule,
    /// What is wrong, in words for people and models.
    pub detail: String,
}

/// The rules of the guard, in the order in which they are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// It can be read as a URL with a host.
    Url,
    /// It is `http` or `https`.
    Scheme,
    /// It does not name a port of another protocol.
    Port,
    /// Its host is on the owner's list.
    Allowlist,
    /// Its name is not reserved for this machine or a private network.
    Name,
    /// Its name has an address.
    Unresolvable,
    /// All its addresses are public.
    Address,
}

impl Rule {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Rule::Url => "url",
            Rule::Scheme => "scheme",
            Rule::Port => "port",
            Rule::Allowlist => "allowlist",
            Rule::Name => "name",
            Rule::Unresolvable => "unresolvable",
            Rule::Address => "address",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A URL that may be asked, if its addresses are right as well.
///
/// Invariant: its scheme is `http` or `https`; it has a host and a port; it has no user, no password and no fragment,
/// which no server is to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    url: Url,
    /// The address, where the host is one.
    literal: Option<IpAddr>,
    had_credentials: bool,
}

/// Judges what a URL says.
///
/// # Errors
/// If it may not be asked whatever its host's addresses are.
pub fn target(url: &str, allowed: &Allowlist, rules: &GuardRules) -> Result<Target, Refusal> {
    if url.len() > URL_BYTES_MAX {
        return Err(refuse(Rule::Url, format!("the URL is longer than {URL_BYTES_MAX} bytes")));
    }
    let url = Url::parse(url).map_err(|error| refuse(Rule::Url, format!("this is not a whole URL: {error}")))?;
    judge(url, allowed, rules)
}

impl Target {
    /// Judges where a redirect from here leads. `location` may be relative.
    ///
    /// # Errors
    /// As [`target`].
    pub fn redirect(&self, location: &str, allowed: &Allowlist, rules: &GuardRules) -> Result<Target, Refusal> {
        if location.len() > URL_BYTES_MAX {
            return Err(refuse(Rule::Url, format!("the redirect's URL is longer than {URL_BYTES_MAX} bytes")));
        }
        let bad = |error| refuse(Rule::Url, format!("the redirect leads to what is no URL: {error}"));
        judge(self.url.join(location).map_err(bad)?, allowed, rules)
    }

    /// The URL, without what no server is to see.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The host as a URL writes it: a name, or an address (IPv6 in brackets).
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or_default()
    }

    /// The address, where the host is one: there is nothing to resolve then.
    pub fn literal(&self) -> Option<IpAddr> {
        self.literal
    }

    /// Whether the URL came with a user or a password. They are left out.
    pub fn had_credentials(&self) -> bool {
        self.had_credentials
    }

    /// Judges the addresses of the host: those to connect to.
    ///
    /// # Errors
    /// If there is none, or a single one of them is not public: a name with one foot in a private network is no
    /// public name.
    pub fn at(&self, addresses: &[IpAddr], rules: &GuardRules) -> Result<Vec<SocketAddr>, Refusal> {
        if addresses.is_empty() {
            return Err(refuse(Rule::Unresolvable, format!("{} has no address", self.host())));
        }
        for &address in addresses {
            let Some(what) = rules.refuses(address) else { continue };
            let whose = if self.literal.is_some() { String::new() } else { format!(" of {}", self.host()) };
            return Err(refuse(Rule::Address, format!("the address {address}{whose} is not public: {what}")));
        }
        Ok(addresses.iter().map(|address| SocketAddr::new(*address, self.port())).collect())
    }
}

fn judge(mut url: Url, allowed: &Allowlist, rules: &GuardRules) -> Result<Target, Refusal> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refuse(Rule::Scheme, format!("`{}` is neither http nor https", url.scheme())));
    }
    let had_credentials = strip(&mut url)?;
    let port = url.port_or_known_default().unwrap_or_default();
    if ports::is_blocked(port) {
        return Err(refuse(Rule::Port, format!("port {port} belongs to another protocol")));
    }
    let literal = match url.host() {
        Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
        Some(Host::Domain(_)) => None,
        None => return Err(refuse(Rule::Url, "the URL has no host".to_owned())),
    };
    let host = url.host_str().unwrap_or_default();
    if !allowed.allows(host) {
        return Err(refuse(Rule::Allowlist, format!("{host} is not on the list of allowed domains")));
    }
    match (literal, names::reserved(host)) {
        (Some(address), _) => {
            if let Some(what) = rules.refuses(address) {
                return Err(refuse(Rule::Address, format!("the address {address} is not public: {what}")));
            }
        }
        (None, Some(_)) if rules.loopback_permitted && names::is_localhost(host) => {}
        (None, Some(what)) => {
            return Err(refuse(Rule::Name, format!("{host} is not a public name: {what}")));
        }
        (None, None) => {}
    }
    Ok(Target { url, literal, had_credentials })
}

/// Takes out what no server is to see, and the dot at the end of a name, so that one host has one spelling. Whether
/// there were credentials.
fn strip(url: &mut Url) -> Result<bool, Refusal> {
    url.set_fragment(None);
    let had_credentials = !url.username().is_empty() || url.password().is_some();
    if had_credentials {
        let cannot = |()| refuse(Rule::Url, "the URL has credentials and no host".to_owned());
        url.set_username("").map_err(cannot)?;
        url.set_password(None).map_err(cannot)?;
    }
    let Some(Host::Domain(name)) = url.host() else { return Ok(had_credentials) };
    let Some(bare) = name.strip_suffix('.') else { return Ok(had_credentials) };
    if bare.is_empty() || bare.ends_with('.') {
        return Err(refuse(Rule::Url, format!("`{name}` is not a host name")));
    }
    let bare = bare.to_owned();
    url.set_host(Some(&bare)).map_err(|error| refuse(Rule::Url, format!("`{bare}` is not a host name: {error}")))?;
    Ok(had_credentials)
}

fn refuse(rule: Rule, detail: String) -> Refusal {
    Refusal { rule, detail }
}

#[cfg(test)]
mod tests;
