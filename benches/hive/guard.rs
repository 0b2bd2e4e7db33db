//! `guard`: what the guard over URLs costs, beside reading the same URLs.
//!
//! Nothing is resolved: names have the addresses of a fixed table, which are judged as real ones are.

use std::hint::black_box;
use std::net::IpAddr;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use net::guard::{Allowlist, GuardRules, target};
use url::Url;

use crate::Extent;
use crate::house;
use crate::machine::Machine;
use crate::report::{Compared, Figure, Goal, Report};
use crate::spread::median;

/// What is asked for in earnest, with what its name means: all of it may be asked.
const ORDINARY: [(&str, &[&str]); 16] = [
    ("https://example.com/", &["93.184.216.34"]),
    ("https://www.rust-lang.org/learn/get-started", &["99.84.1.1", "2600:9000:2000::1"]),
    ("https://docs.rs/tokio/latest/tokio/sync/struct.Semaphore.html#method.acquire", &["18.65.1.1"]),
    ("https://crates.io/api/v1/crates?q=json&per_page=50&sort=downloads", &["18.64.2.2"]),
    ("https://en.wikipedia.org/wiki/Server-side_request_forgery", &["208.80.154.224", "2620:0:861:ed1a::1"]),
    ("http://news.ycombinator.com/item?id=1", &["209.216.230.240"]),
    ("https://api.github.com/repos/rust-lang/rust/issues?state=open&labels=bug", &["140.82.112.5"]),
    ("https://raw.githubusercontent.com/a/b/main/README.md", &["185.199.108.133", "2606:50c0:8000::154"]),
    ("https://example.org:8443/a/b/../c/./d?x=%20y", &["93.184.215.14"]),
    ("https://user:secret@example.net/private", &["93.184.216.34"]),
    ("https://bücher.example.com/straße?q=größe", &["93.184.216.34"]),
    ("https://xn--bcher-kva.example.com/", &["93.184.216.34"]),
    ("http://8.8.8.8/resolve?name=example.com", &["8.8.8.8"]),
    ("https://[2606:4700:4700::1111]/dns-query", &["2606:4700:4700::1111"]),
    ("https://EXAMPLE.com.:443/Case", &["93.184.216.34"]),
    ("https://cdn.example.com/assets/app.4f3c2b1a.js?v=2026-11-22T00:00:00Z", &["151.101.1.69", "151.101.65.69"]),
];

/// What tries to get into private networks, with what its name means: none of it may be asked.
const HOSTILE: [(&str, &[&str]); 16] = [
    ("http://127.0.0.1/", &[]),
    ("http://0x7f.1/admin", &[]),
    ("http://2130706433/", &[]),
    ("http://0177.0.0.01:8080/", &[]),
    ("http://169.254.169.254/latest/meta-data/iam/security-credentials/", &[]),
    ("http://[::ffff:10.0.0.1]/", &[]),
    ("http://[64:ff9b::7f00:1]/", &[]),
    ("http://[2002:7f00:1::]/", &[]),
    ("http://①②⑦.⓪.⓪.①/", &[]),
    ("http://localhost:3000/", &[]),
    ("http://metadata.google.internal/computeMetadata/v1/", &[]),
    ("http://printer.local/", &[]),
    ("http://rebind.example.com/", &["93.184.216.34", "127.0.0.1"]),
    ("http://inside.example.com/", &["192.168.1.1"]),
    ("gopher://example.com:70/_test", &[]),
    ("https://example.com:6667/", &[]),
];

/// A URL and the addresses of its host.
struct Case {
    url: &'static str,
    addresses: Vec<IpAddr>,
    may: bool,
}

fn cases() -> Result<Vec<Case>> {
    let of = |list: &[(&'static str, &[&str])], may| -> Result<Vec<Case>> {
        let case = |(url, addresses): &(&'static str, &[&str])| {
            let addresses =
                addresses.iter().map(|address| address.parse().context("an address")).collect::<Result<_>>();
            Ok(Case { url, addresses: addresses?, may })
        };
        list.iter().map(case).collect()
    };
    Ok([of(&ORDINARY, true)?, of(&HOSTILE, false)?].into_iter().flatten().collect())
}

/// Whether the guard lets it through.
fn judge(case: &Case, allowed: &Allowlist, rules: &GuardRules) -> bool {
    let Ok(target) = target(black_box(case.url), allowed, rules) else { return false };
    black_box(target.at(&case.addresses, rules)).is_ok()
}

/// Nanoseconds for one URL.
fn guarded_ns(cases: &[Case], rounds: usize) -> f64 {
    let (allowed, rules) = (Allowlist::Anywhere, GuardRules::default());
    let begun = Instant::now();
    for _ in 0..rounds {
        for case in cases {
            black_box(judge(case, &allowed, &rules));
        }
    }
    begun.elapsed().as_secs_f64() * 1e9 / (rounds * cases.len()) as f64
}

/// Nanoseconds for one URL.
fn parsed_ns(cases: &[Case], rounds: usize) -> f64 {
    let begun = Instant::now();
    for _ in 0..rounds {
        for case in cases {
            drop(black_box(Url::parse(black_box(case.url))));
        }
    }
    begun.elapsed().as_secs_f64() * 1e9 / (rounds * cases.len()) as f64
}

/// Runs it.
pub async fn run(extent: Extent) -> Result<Report> {
    let cases = cases()?;
    let (allowed, rules) = (Allowlist::Anywhere, GuardRules::default());
    for case in &cases {
        ensure!(judge(case, &allowed, &rules) == case.may, "the guard is wrong about {}", case.url);
    }
    let (ordinary, hostile) = cases.split_at(ORDINARY.len());
    let rounds = extent.of(1_000, 50);
    let (mut ours, mut floor, mut passed, mut refused) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    guarded_ns(&cases, rounds);
    for _ in 0..extent.pairs {
        // In short turns: what else the machine does is then in both.
        let turns: Vec<(f64, f64)> =
            (0..20).map(|_| (guarded_ns(&cases, rounds / 20), parsed_ns(&cases, rounds / 20))).collect();
        ours.push(median(&turns.iter().map(|turn| turn.0).collect::<Vec<_>>()));
        floor.push(median(&turns.iter().map(|turn| turn.1).collect::<Vec<_>>()));
        passed.push(guarded_ns(ordinary, rounds) / parsed_ns(ordinary, rounds));
        refused.push(guarded_ns(hostile, rounds) / parsed_ns(hostile, rounds));
    }
    let compared = Compared::of("one URL", "ns", &ours, "the same URLs, parsed", &floor);
    Ok(Report {
        name: "guard".to_owned(),
        about: "a URL judged with the addresses of its host, half of them ordinary and half hostile".to_owned(),
        pairs: extent.pairs,
        quick: extent.quick,
        goals: vec![Goal::at_most("ours ÷ floor", compared.ratio.median, 3.0, "")],
        compared: vec![compared],
        also: vec![
            Figure::new("ours ÷ floor, ordinary URLs alone", median(&passed), ""),
            Figure::new("ours ÷ floor, hostile URLs alone", median(&refused), ""),
        ],
        machine: Machine::here(house::folder()?.path())?,
    })
}
