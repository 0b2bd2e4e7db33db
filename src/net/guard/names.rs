//! Names that mean this machine or a network around it, whatever a resolver says of them.

/// What a name ends in (the whole name, or after a dot), and where that is written.
const SUFFIXES: [(&str, &str); 12] = [
    ("localhost", "this machine (RFC 6761)"),
    ("localdomain", "this machine"),
    ("ip6-localhost", "this machine"),
    ("ip6-loopback", "this machine"),
    ("local", "names of the local link (RFC 6762)"),
    // Reserved for private use by ICANN's board, 2024-07-29; a cloud's metadata server has a name under it.
    ("internal", "names of private networks"),
    ("home.arpa", "names of a home network (RFC 8375)"),
    // In wide private use and in no public zone (RFC 6762, appendix G).
    ("intranet", "names of private networks"),
    ("private", "names of private networks"),
    ("corp", "names of private networks"),
    ("home", "names of private networks"),
    ("lan", "names of private networks"),
];

/// What a lower-case name without a dot at its end is reserved for; `None` for one that may be public.
pub(super) fn reserved(name: &str) -> Option<&'static str> {
    let ends_in = |suffix: &str| name.strip_suffix(suffix).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    SUFFIXES.iter().find(|(suffix, _)| ends_in(suffix)).map(|(_, what)| *what)
}

/// Whether a name is one of this machine's.
pub(super) fn is_localhost(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_private_networks_are_reserved_and_only_whole_labels_count() {
        for name in [
            "localhost",
            "a.localhost",
            "localhost.localdomain",
            "printer.local",
            "metadata.google.internal",
            "ip6-localhost",
            "router.home.arpa",
            "wiki.corp",
            "nas.lan",
        ] {
            assert!(reserved(name).is_some(), "{name}");
        }
        for name in
            ["example.org", "notlocalhost", "localhost.example.org", "mylocal", "10.example.com", "arpa", "vlan"]
        {
            assert_eq!(reserved(name), None, "{name}");
        }
        assert!(is_localhost("a.localhost") && !is_localhost("alocalhost"));
    }
}
