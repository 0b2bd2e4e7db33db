//! What single values of a team's configuration may be, and in words what each is to be: the same in a team's own file
//! and where the owner writes what the main team may do.

use std::ops::RangeInclusive;

use net::guard::Allowlist;

/// Stands for every host, or every server.
pub const EVERY: &str = "*";
/// Steps of a turn.
pub const STEPS: RangeInclusive<u32> = 1..=500;
/// Daily ops side by side.
pub const DAILY_OPS: RangeInclusive<u32> = 1..=100;
/// Requests that a bucket holds.
pub const BURST: RangeInclusive<u32> = 1..=10_000;
/// Milliseconds that a page of a browser may take.
pub const TIMEOUT_MS: RangeInclusive<u32> = 1..=600_000;
/// The longest name of a profile, in bytes.
const PROFILE_BYTES_MAX: usize = 60;
/// The longest name or pattern of a tool, in bytes.
const TOOL_BYTES_MAX: usize = 128;

/// How one text or number is written.
#[derive(Clone, Copy, Debug)]
pub struct ValueForm<Given: ?Sized + 'static, Meant: 'static> {
    /// What is wanted, to follow "is not" or "expected".
    pub wanted: &'static str,
    /// What it means; nothing where it is not that.
    pub read: fn(&Given) -> Option<Meant>,
}

/// A text that is kept as a text.
pub type TextForm = ValueForm<str, String>;

/// A name or pattern of tools.
pub const TOOL: TextForm = ValueForm {
    wanted: "a tool's name or a pattern such as `engineering.*`",
    read: |text| {
        let fits = |c: char| c.is_ascii_alphanumeric() || "_-.*".contains(c);
        ((1..=TOOL_BYTES_MAX).contains(&text.len()) && text.chars().all(fits)).then(|| text.to_owned())
    },
};

/// A name of a toolbox.
pub const TOOLBOX: TextForm = ValueForm {
    wanted: "a toolbox's name such as `research`",
    read: |text| {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        (!text.is_empty() && text.chars().all(fits)).then(|| text.to_owned())
    },
};

/// A name of a server of tools.
pub const SERVER: TextForm = ValueForm {
    wanted: "a server's name such as `github`, or `*` for every one",
    read: |text| {
        let fits = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        (text == EVERY || (!text.is_empty() && text.chars().all(fits))).then(|| text.to_owned())
    },
};

/// A host, in the form in which hosts are compared: one way to write it is as good as another.
pub const HOST: TextForm = ValueForm {
    wanted: "a host such as `example.org`, `*.example.org`, or `*`",
    read: |text| {
        if text == EVERY {
            return Some(text.to_owned());
        }
        match Allowlist::parse(&[text]) {
            Ok(Allowlist::Only(hosts)) => hosts.first().map(ToString::to_string),
            Ok(Allowlist::Anywhere) | Err(_) => None,
        }
    },
};

/// A name of a profile of models.
pub const PROFILE: TextForm =
    ValueForm { wanted: "a profile's name such as `cheap`", read: |text| is_profile(text).then(|| text.to_owned()) };

/// What makes vectors: a profile, for its own model, or a model of a profile.
pub const EMBEDDING: TextForm = ValueForm {
    wanted: "a profile's name such as `vectors`, or `profile:model`, with a model that makes vectors",
    read: |text| {
        let (profile, model) = text.split_once(':').unwrap_or((text, "its own"));
        let model_fits = !model.is_empty() && model.len() <= 200 && !model.contains(char::is_control);
        (is_profile(profile) && model_fits).then(|| text.to_owned())
    },
};

/// Requests a second.
pub const RATE: ValueForm<f64, f64> = ValueForm {
    wanted: "a number from 0.0001 to 1000 such as `0.5`",
    read: |rate| (0.0001..=1_000.0).contains(rate).then_some(*rate),
};

/// An amount of US dollars.
pub const DOLLARS: ValueForm<f64, f64> = ValueForm {
    wanted: "an amount of US dollars such as `2.50`",
    read: |dollars| (0.0..=1e9).contains(dollars).then_some(*dollars),
};

fn is_profile(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    (1..=PROFILE_BYTES_MAX).contains(&text.len()) && text.chars().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_value_may_be() {
        for (form, good, bad) in [
            (&TOOL, &["read_file", "ops.*", "*"][..], &["", "a b", "ä"][..]),
            (&TOOLBOX, &["research", "a-1"], &["", "Research", "a b"]),
            (&SERVER, &["github", "*", "a_b-c"], &["", "a.b", "g*"]),
            (&PROFILE, &["cheap", "gpt-5.5"], &["", "a:b", "a b", "*"]),
            (&EMBEDDING, &["vectors", "openai:text-embedding-3-small", "local:nomic:v1"], &["", ":x", "a:", "a b"]),
        ] {
            let read = |text: &&str| (form.read)(text);
            assert!(good.iter().all(|text| read(text).as_deref() == Some(*text)), "{}", form.wanted);
            assert_eq!(bad.iter().filter_map(read).collect::<Vec<_>>(), Vec::<String>::new(), "{}", form.wanted);
        }
    }

    #[test]
    fn a_host_is_what_a_fetch_takes_for_one() {
        for (text, meant) in [
            ("*", Some("*")),
            ("Status.Example.org.", Some("status.example.org")),
            ("*.example.org", Some("*.example.org")),
            ("bücher.de", Some("xn--bcher-kva.de")),
            // Whoever is compared with 8.0.0.1 asks 8.0.0.1.
            ("8.1", Some("8.0.0.1")),
            ("999.1.1.1", None),
            ("https://example.org", None),
            ("*.", None),
            ("", None),
        ] {
            assert_eq!((HOST.read)(text).as_deref(), meant, "{text}");
        }
    }
}
