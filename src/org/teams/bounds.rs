//! No team has more than its parent: what a configuration asks for beyond that, and what remains of it. Pure.
//!
//! Tools are bounded elsewhere, where they are known: a child's are cut with those that its parent's agent may use. Steps
//! and slots are no right: they bound a team's own turns.

use std::collections::BTreeMap;
use std::fmt;

use super::config::{Browser, Bucket, Budgets, TeamConfig};
use super::forms::EVERY;

/// Stands where no host is left: an empty list would be one that was never written, and allow every host. The domain
/// `.invalid` has no hosts (RFC 2606).
const NO_HOST: &str = "none.invalid";

impl TeamConfig {
    /// What is in force of this below such a parent, whose own bounds are in force already.
    #[must_use]
    pub fn within(&self, parent: &TeamConfig) -> TeamConfig {
        let domains = cut_domains(self.allowed_domains.as_deref(), parent.allowed_domains.as_deref());
        TeamConfig {
            provider_profile: chosen(&self.provider_profile, &parent.provider_profile, is_root(parent)),
            memory_embedding: chosen(&self.memory_embedding, &parent.memory_embedding, is_root(parent)),
            rate_limit_buckets: cut_buckets(&self.rate_limit_buckets, &parent.rate_limit_buckets),
            browser: cut_browser(self.browser.as_ref(), parent.browser.as_ref(), domains.as_deref()),
            allowed_domains: domains,
            mcp_servers: cut_servers(&self.mcp_servers, &parent.mcp_servers),
            budgets: Budgets {
                daily_usd: least(self.budgets.daily_usd, parent.budgets.daily_usd),
                daily_tokens: least(self.budgets.daily_tokens, parent.budgets.daily_tokens),
            },
            shell_network: self.shell_network && parent.shell_network,
            ..self.clone()
        }
    }

    /// What of this is more than such a parent has.
    pub fn excess(&self, parent: &TeamConfig) -> Vec<Excess> {
        let mut more = Vec::new();
        if self.shell_network && !parent.shell_network {
            more.push(Excess::of("shell_network", "the shell of the team above has no network"));
        }
        let hosts = parent.allowed_domains.as_deref();
        more.extend(beyond_hosts("allowed_domains", self.allowed_domains.as_deref(), &[hosts]));
        let of_browser =
            |config: &TeamConfig| config.browser.as_ref().and_then(|browser| browser.allowed_domains.clone());
        let (own, theirs) = (of_browser(self), of_browser(parent));
        more.extend(beyond_hosts("browser.allowed_domains", own.as_deref(), &[hosts, theirs.as_deref()]));
        if self.browser.is_some() && parent.browser.is_none() {
            more.push(Excess::of("browser", "the team above has none"));
        }
        let servers = self.mcp_servers.iter().filter(|name| !has_server(&parent.mcp_servers, name));
        more.extend(servers.map(|name| Excess::of("mcp_servers", format!("the team above may not use `{name}`"))));
        let budgets = [
            ("budgets.daily_usd", beyond(self.budgets.daily_usd, parent.budgets.daily_usd)),
            ("budgets.daily_tokens", beyond(self.budgets.daily_tokens, parent.budgets.daily_tokens)),
        ];
        more.extend(budgets.iter().filter(|(_, more)| *more).map(|(key, _)| Excess::of(*key, LOWER)));
        for (key, bucket) in &self.rate_limit_buckets {
            let theirs = parent.rate_limit_buckets.get(key);
            if theirs.is_some_and(|theirs| bucket.rps > theirs.rps || bucket.burst > theirs.burst) {
                more.push(Excess::of(format!("rate_limit_buckets.{key}"), LOWER));
            }
        }
        let profiles = [
            ("provider_profile", &self.provider_profile, &parent.provider_profile),
            ("memory_embedding", &self.memory_embedding, &parent.memory_embedding),
        ];
        let other = profiles.iter().filter(|(_, own, theirs)| own.is_some() && own != theirs && !is_root(parent));
        let only = "only a child of the main team has another one than the team above";
        more.extend(other.map(|(key, ..)| Excess::of(*key, only)));
        more
    }
}

/// Something that a configuration asks for, and the team above does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excess {
    /// The key, with those above it.
    pub key: String,
    /// Why it cannot be had.
    pub why: String,
}

const LOWER: &str = "that of the team above is lower";

impl Excess {
    fn of(key: impl Into<String>, why: impl Into<String>) -> Excess {
        Excess { key: key.into(), why: why.into() }
    }
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.key, self.why)
    }
}

/// The root chooses any model for its children; every other team passes on its own.
fn is_root(config: &TeamConfig) -> bool {
    config.parent.is_none()
}

fn chosen(own: &Option<String>, parents: &Option<String>, root: bool) -> Option<String> {
    if root { own.clone().or_else(|| parents.clone()) } else { parents.clone() }
}

/// Whether a bound is looser than another; none is the loosest.
fn beyond<N: PartialOrd>(own: Option<N>, parents: Option<N>) -> bool {
    matches!((own, parents), (Some(own), Some(parents)) if own > parents)
}

fn least<N: PartialOrd>(own: Option<N>, parents: Option<N>) -> Option<N> {
    match (own, parents) {
        (Some(own), Some(parents)) => Some(if own < parents { own } else { parents }),
        (own, parents) => own.or(parents),
    }
}

/// What of a list of hosts one of these lists does not have.
fn beyond_hosts(key: &str, own: Option<&[String]>, by: &[Option<&[String]>]) -> Vec<Excess> {
    let has = |domain: &str| domain == NO_HOST || by.iter().all(|by| covered(domain, *by));
    let more = own.unwrap_or_default().iter().filter(|domain| !has(domain));
    more.map(|domain| Excess::of(key, format!("the team above may not ask `{domain}`"))).collect()
}

/// Whether all that a pattern names is named by one of these; `None` names every host.
fn covered(pattern: &str, by: Option<&[String]>) -> bool {
    by.is_none_or(|by| by.iter().any(|wide| covers(wide, pattern)))
}

fn covers(wide: &str, narrow: &str) -> bool {
    if wide == "*" || wide == narrow {
        return true;
    }
    // `*.example.org` is every name under it, and not `example.org` itself.
    let Some(suffix) = wide.strip_prefix('*') else { return false };
    let host = narrow.strip_prefix("*.").unwrap_or(narrow);
    narrow != "*" && host.ends_with(suffix) && host.len() > suffix.len()
}

/// The hosts that both name.
fn cut_domains(own: Option<&[String]>, parents: Option<&[String]>) -> Option<Vec<String>> {
    let (Some(own), Some(theirs)) = (own, parents) else { return own.or(parents).map(<[String]>::to_vec) };
    let mut both: Vec<String> = own.iter().filter(|domain| covered(domain, Some(theirs))).cloned().collect();
    for domain in theirs {
        if covered(domain, Some(own)) && !both.contains(domain) {
            both.push(domain.clone());
        }
    }
    if both.is_empty() {
        both.push(NO_HOST.to_owned());
    }
    Some(both)
}

fn has_server(servers: &[String], name: &String) -> bool {
    servers.contains(name) || servers.iter().any(|known| known == EVERY)
}

/// The servers that both name.
fn cut_servers(own: &[String], parents: &[String]) -> Vec<String> {
    let mut both: Vec<String> = own.iter().filter(|name| has_server(parents, name)).cloned().collect();
    for name in parents {
        if has_server(own, name) && !both.contains(name) {
            both.push(name.clone());
        }
    }
    both
}

fn cut_browser(own: Option<&Browser>, parents: Option<&Browser>, hosts: Option<&[String]>) -> Option<Browser> {
    let (own, parents) = (own?, parents?);
    let both = cut_domains(own.allowed_domains.as_deref(), parents.allowed_domains.as_deref());
    Some(Browser { allowed_domains: cut_domains(both.as_deref(), hosts), timeout_ms: own.timeout_ms })
}

/// A key without a bucket is not slowed down: whatever slows the parent down slows the child.
fn cut_buckets(own: &BTreeMap<String, Bucket>, parents: &BTreeMap<String, Bucket>) -> BTreeMap<String, Bucket> {
    let mut cut = own.clone();
    for (key, theirs) in parents {
        let bucket = cut.entry(key.clone()).or_insert(*theirs);
        bucket.rps = bucket.rps.min(theirs.rps);
        bucket.burst = bucket.burst.min(theirs.burst);
    }
    cut
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    use super::*;

    fn domains() -> impl Strategy<Value = Option<Vec<String>>> {
        let names = ["*", "a.org", "*.a.org", "b.a.org", "*.b.a.org", "c.net", "*.net", "none.invalid"];
        option::of(vec(prop::sample::select(names.to_vec()).prop_map(str::to_owned), 1..4))
    }

    fn names() -> impl Strategy<Value = Option<String>> {
        option::of(prop::sample::select(vec!["x", "y"]).prop_map(str::to_owned))
    }

    prop_compose! {
        fn config()(
            allowed_domains in domains(),
            browser_domains in option::of(domains()),
            mcp_servers in vec(prop::sample::select(vec!["one", "two", "*"]).prop_map(str::to_owned), 0..3),
            (daily_usd, daily_tokens) in (option::of(0.0..10.0), option::of(0..10_u64)),
            buckets in prop::collection::btree_map("[ab]", (1..5_u32, 1..5_u32), 0..3),
            (shell_network, root) in any::<(bool, bool)>(),
            (provider_profile, memory_embedding) in (names(), names()),
        ) -> TeamConfig {
            let bucket = |(rps, burst): (u32, u32)| Bucket { rps: f64::from(rps), burst };
            TeamConfig {
                parent: (!root).then(base::TeamName::main),
                allowed_domains,
                browser: browser_domains.map(|allowed_domains| Browser { allowed_domains, timeout_ms: 1 }),
                mcp_servers,
                budgets: Budgets { daily_usd, daily_tokens },
                rate_limit_buckets: buckets.into_iter().map(|(key, sizes)| (key, bucket(sizes))).collect(),
                shell_network,
                provider_profile,
                memory_embedding,
                ..TeamConfig::default()
            }
        }
    }

    /// Whether a list lets a host through, as `net` reads it; an empty list there is every host.
    fn allows(list: Option<&Vec<String>>, host: &str) -> bool {
        covered(host, list.map(Vec::as_slice))
    }

    proptest! {
        #[test]
        fn what_is_in_force_is_never_more_than_the_parent_s(child in config(), parent in config()) {
            let force = child.within(&parent);
            prop_assert_eq!(force.excess(&parent), Vec::<Excess>::new());
            for server in ["one", "two", "other"].map(str::to_owned) {
                let both = has_server(&child.mcp_servers, &server) && has_server(&parent.mcp_servers, &server);
                prop_assert_eq!(has_server(&force.mcp_servers, &server), both, "{}", server);
            }
            for host in ["a.org", "b.a.org", "c.b.a.org", "c.net", "d.e"] {
                let both = allows(child.allowed_domains.as_ref(), host) && allows(parent.allowed_domains.as_ref(), host);
                prop_assert_eq!(allows(force.allowed_domains.as_ref(), host), both, "{}", host);
            }
            prop_assert!(force.allowed_domains.as_ref().is_none_or(|domains| !domains.is_empty()));
            for (key, theirs) in &parent.rate_limit_buckets {
                let own = &force.rate_limit_buckets[key];
                prop_assert!(own.rps <= theirs.rps && own.burst <= theirs.burst);
            }
            prop_assert!(force.budgets.daily_usd.is_some() || parent.budgets.daily_usd.is_none());
        }

        #[test]
        fn what_asks_for_no_more_is_in_force_as_it_is_written(child in config(), parent in config()) {
            let force = child.within(&parent);
            prop_assert_eq!(force.within(&parent), force.clone());
            prop_assert!(!child.excess(&parent).is_empty() || force.shell_network == child.shell_network);
            let servers = child.mcp_servers.iter().all(|name| has_server(&force.mcp_servers, name));
            prop_assert!(!child.excess(&parent).is_empty() || servers);
        }
    }

    #[test]
    fn what_is_too_much_is_named() {
        let config = |text: &str| TeamConfig::parse("config.yaml", text).unwrap();
        let parent = config(
            "parent: main\nprovider_profile: cheap\nallowed_domains: ['*.a.org', b.org]\nbudgets: {daily_usd: 1}\n\
             rate_limit_buckets: {k: {rps: 1, burst: 1}}",
        );
        for (text, key) in [
            ("allowed_domains: ['*']", "`allowed_domains`: the team above may not ask `*`"),
            ("allowed_domains: [a.org]", "`allowed_domains`: the team above may not ask `a.org`"),
            ("allowed_domains: [x.a.org, '*.x.a.org', b.org]", ""),
            ("allowed_domains: [xa.org]", "`allowed_domains`: the team above may not ask `xa.org`"),
            ("shell_network: true", "`shell_network`: the shell of the team above has no network"),
            ("browser: {}", "`browser`: the team above has none"),
            ("mcp_servers: [github]", "`mcp_servers`: the team above may not use `github`"),
            ("budgets: {daily_usd: 1.5}", "`budgets.daily_usd`: that of the team above is lower"),
            ("budgets: {daily_usd: 1, daily_tokens: 5}", ""),
            ("rate_limit_buckets: {k: {rps: 2}}", "`rate_limit_buckets.k`: that of the team above is lower"),
            ("rate_limit_buckets: {other: {rps: 2}}", ""),
            (
                "provider_profile: dear",
                "`provider_profile`: only a child of the main team has another one than the team above",
            ),
            ("provider_profile: cheap", ""),
        ] {
            let told: Vec<String> = config(text).excess(&parent).iter().map(ToString::to_string).collect();
            assert_eq!(told.join(", "), key, "{text}");
        }
        let root = TeamConfig::default();
        assert!(config("provider_profile: dear").excess(&root).is_empty());
        assert_eq!(config("{}").within(&parent).provider_profile.as_deref(), Some("cheap"));
    }
}
