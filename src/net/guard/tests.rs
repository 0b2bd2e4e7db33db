//! The guard over spellings, answers and the public test sets.

use std::net::IpAddr;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn judged(url: &str) -> Result<Target, Refusal> {
    target(url, &Allowlist::Anywhere, &GuardRules::default())
}

fn rule(url: &str) -> Option<Rule> {
    judged(url).err().map(|refusal| refusal.rule)
}

#[test]
fn each_rule_refuses_what_it_is_for() {
    for (url, expected) in [
        ("", Rule::Url),
        ("example.org", Rule::Url),
        ("http://", Rule::Url),
        ("http://exa mple.org/", Rule::Url),
        ("http://example.org../", Rule::Url),
        ("http://1.2.3.4.5.6.7.8.9.256/", Rule::Url),
        ("ftp://example.org/", Rule::Scheme),
        ("file:///etc/passwd", Rule::Scheme),
        ("javascript:alert(1)", Rule::Scheme),
        ("gopher://127.0.0.1:6379/_INFO", Rule::Scheme),
        ("http://example.org:25/", Rule::Port),
        ("http://example.org:0/", Rule::Port),
        ("http://localhost/", Rule::Name),
        ("http://LOCALHOST./", Rule::Name),
        ("http://%6cocalhost/", Rule::Name),
        ("http://ｌｏｃａｌｈｏｓｔ/", Rule::Name),
        ("http://metadata.google.internal/", Rule::Name),
        ("http://printer.local/", Rule::Name),
        ("http://2130706433/", Rule::Address),
        ("http://0x7f.1/", Rule::Address),
        ("http://0177.0.0.1/", Rule::Address),
        ("http://127.1./", Rule::Address),
        ("http://①②⑦。⓪。⓪。①/", Rule::Address),
        ("http://%31%32%37.0.0.1/", Rule::Address),
        ("http://0/", Rule::Address),
        ("http://169.254.169.254/latest/meta-data/", Rule::Address),
        ("http://[::ffff:169.254.169.254]/", Rule::Address),
        ("http://[::1]:8080/", Rule::Address),
        ("http://user:password@10.0.0.1/", Rule::Address),
    ] {
        assert_eq!(rule(url), Some(expected), "{url}");
    }
    // A backslash ends the host, as in a browser.
    assert_eq!(judged("http://example.org\\@10.0.0.1/").unwrap().host(), "example.org");
}

#[test]
fn what_is_asked_is_what_was_judged() {
    let target = judged("HTTP://user:password@Example.ORG.:8080/a/../b?q=1#part").unwrap();
    assert_eq!(target.url().as_str(), "http://example.org:8080/b?q=1");
    assert_eq!((target.host(), target.port(), target.had_credentials()), ("example.org", 8080, true));
    let target = judged("https://bücher.de").unwrap();
    assert_eq!((target.host(), target.port(), target.literal()), ("xn--bcher-kva.de", 443, None));
    let target = judged("http://[2606:4700::1111]/").unwrap();
    assert_eq!((target.host(), target.literal()), ("[2606:4700::1111]", "2606:4700::1111".parse().ok()));
    assert!(judged(&format!("http://example.org/{}", "a".repeat(URL_BYTES_MAX))).is_err());
}

#[test]
fn a_redirect_is_judged_like_a_first_url() {
    let here = judged("https://example.org/a/b").unwrap();
    let rules = GuardRules::default();
    let to = |location: &str| here.redirect(location, &Allowlist::Anywhere, &rules);
    assert_eq!(to("../c").unwrap().url().as_str(), "https://example.org/c");
    assert_eq!(to("//other.org").unwrap().host(), "other.org");
    for (location, rule) in [
        ("http://127.0.0.1/", Rule::Address),
        ("//[::1]/", Rule::Address),
        ("//localhost./x", Rule::Name),
        ("file:///etc/passwd", Rule::Scheme),
        ("https://a b/", Rule::Url),
    ] {
        assert_eq!(to(location).unwrap_err().rule, rule, "{location}");
    }
    let only = Allowlist::parse(&["example.org"]).unwrap();
    assert_eq!(here.redirect("//other.org", &only, &rules).unwrap_err().rule, Rule::Allowlist);
}

#[test]
fn one_bad_address_refuses_the_host() {
    let target = judged("http://example.org:8080/").unwrap();
    let rules = GuardRules::default();
    let addresses = |list: &[&str]| list.iter().map(|text| text.parse().unwrap()).collect::<Vec<IpAddr>>();
    let good = ["93.184.216.34", "2606:2800:220:1::1"];
    let allowed = target.at(&addresses(&good), &rules).unwrap();
    assert_eq!(
        allowed.iter().map(|at| at.to_string()).collect::<Vec<_>>(),
        ["93.184.216.34:8080", "[2606:2800:220:1::1]:8080"]
    );
    for bad in ["10.0.0.1", "::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "fe80::1", "0.0.0.0"] {
        for place in 0..=good.len() {
            let mut list = good.to_vec();
            list.insert(place, bad);
            let refusal = target.at(&addresses(&list), &rules).unwrap_err();
            assert_eq!(refusal.rule, Rule::Address, "{bad} at {place}");
            assert!(refusal.detail.contains("of example.org"), "{refusal}");
        }
    }
    assert_eq!(target.at(&[], &rules).unwrap_err().rule, Rule::Unresolvable);
}

#[test]
fn loopback_is_permitted_by_rule_and_nothing_beside_it() {
    let rules = GuardRules { loopback_permitted: true, refused: Vec::new() };
    let rule = |url: &str| target(url, &Allowlist::Anywhere, &rules).err().map(|refusal| refusal.rule);
    for url in ["http://127.0.0.1:3000/", "http://127.1/", "http://[::1]/", "http://localhost/", "http://a.localhost/"]
    {
        assert_eq!(rule(url), None, "{url}");
    }
    for url in ["http://0.0.0.0/", "http://[::ffff:127.0.0.1]/", "http://[::]/", "http://10.0.0.1/"] {
        assert_eq!(rule(url), Some(Rule::Address), "{url}");
    }
    assert_eq!(rule("http://host.local/"), Some(Rule::Name));
    // A name that claims to be this machine, and is elsewhere.
    let target = target("http://localhost/", &Allowlist::Anywhere, &rules).unwrap();
    assert!(target.at(&["10.0.0.1".parse().unwrap()], &rules).is_err());
}

#[test]
fn an_owner_refuses_networks_of_their_own() {
    let rules = GuardRules { loopback_permitted: false, refused: vec!["93.184.0.0/16".parse().unwrap()] };
    let refusal = target("http://93.184.216.34/", &Allowlist::Anywhere, &rules).unwrap_err();
    assert_eq!(refusal.rule, Rule::Address);
    assert_eq!(target("http://93.185.0.1/", &Allowlist::Anywhere, &rules).err(), None);
}

#[test]
fn the_door_answers_each_question_in_one_shape() {
    let of = |input: Value| {
        let answer = verdict(&input);
        let fields: Vec<_> = answer.as_object().unwrap().keys().cloned().collect();
        assert_eq!(fields, ["decision", "detail", "id", "rule"]);
        assert!(answer["detail"].as_str().is_some_and(|detail| !detail.is_empty()));
        (answer["decision"].as_str().unwrap().to_owned(), answer["rule"].as_str().unwrap().to_owned())
    };
    let resolver = json!({"Example.org.": ["93.184.216.34", "2606:2800:220:1::1"], "both.org": ["8.8.8.8", "10.0.0.1"],
        "one.org": "8.8.8.8", "none.org": []});
    for (input, decision, rule) in [
        (json!({"url": "http://example.org", "resolver": resolver}), "allow", "address"),
        (json!({"url": "http://one.org", "resolver": resolver}), "allow", "address"),
        (json!({"url": "http://both.org", "resolver": resolver}), "refuse", "address"),
        (json!({"url": "http://none.org", "resolver": resolver}), "refuse", "unresolvable"),
        (json!({"url": "http://unknown.org", "resolver": resolver}), "refuse", "unresolvable"),
        (json!({"url": "http://unknown.org"}), "allow", "name"),
        (json!({"url": "http://8.8.8.8"}), "allow", "address"),
        (json!({"url": "http://127.0.0.1", "resolver": {"127.0.0.1": ["8.8.8.8"]}}), "refuse", "address"),
        (json!({"url": "http://a.org", "allowlist": ["*.org"]}), "allow", "name"),
        (json!({"url": "http://a.com", "allowlist": ["*.org"]}), "refuse", "allowlist"),
        (json!({"url": "//127.0.0.1/", "base": "http://example.org"}), "refuse", "address"),
        (json!({"url": "http://x", "allowlist": ["a b"]}), "error", "input"),
        (json!({"url": "http://x", "resolver": {"x": ["nowhere"]}}), "error", "input"),
        (json!({"url": 5}), "error", "input"),
        (json!({}), "error", "input"),
        (json!("http://example.org"), "error", "input"),
    ] {
        assert_eq!(of(input.clone()), (decision.to_owned(), rule.to_owned()), "{input}");
    }
    assert_eq!(verdict(&json!({"id": [7], "url": "x"}))["id"], json!([7]));
}

/// The spellings of the public set: what is to be refused is, and a name is refused or allowed by its addresses.
#[test]
fn every_case_of_the_ssrf_set_is_decided_as_it_must_be() {
    let Some(path) = fakes::testset("ssrf/hosts.jsonl") else { return };
    let (mut denied, mut by_address) = (0, 0);
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let decision = |address: &str| {
            let table = case["host"].as_str().map(|host| json!({host: [address]})).unwrap_or(json!({}));
            verdict(&json!({"url": case["url"], "resolver": table}))["decision"].as_str().unwrap().to_owned()
        };
        assert_eq!(decision("127.0.0.1"), "refuse", "{line}");
        if case["expect"] == "deny" {
            assert_eq!(decision("93.184.216.34"), "refuse", "{line}");
            assert_eq!(verdict(&case)["decision"], "refuse", "{line}");
            denied += 1;
        } else {
            assert_eq!(decision("93.184.216.34"), "allow", "{line}");
            assert_eq!(verdict(&case)["decision"], "allow", "{line}");
            assert_eq!(judged(case["url"].as_str().unwrap()).unwrap().host(), case["host"].as_str().unwrap());
            by_address += 1;
        }
    }
    assert!(denied > 500 && by_address > 100, "{denied} and {by_address} cases");
}

/// The cases that browsers share: what they cannot read is refused, and what they can is judged by the same host.
#[test]
fn every_case_of_the_url_set_is_read_as_browsers_read_it() {
    let Some(path) = fakes::testset("url/urltestdata.json") else { return };
    let cases: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let (mut failures, mut web) = (0, 0);
    for case in cases.iter().filter(|case| case.is_object()) {
        let question = json!({"url": case["input"], "base": case["base"], "resolver": {}});
        let answer = verdict(&question);
        if case["failure"] == true {
            assert_eq!(answer["decision"], "refuse", "{case}");
            failures += 1;
            continue;
        }
        let (protocol, host) = (case["protocol"].as_str().unwrap(), case["hostname"].as_str().unwrap());
        let Ok(target) = judged(case["href"].as_str().unwrap()) else {
            assert_eq!(answer["decision"], "refuse", "{case}");
            continue;
        };
        assert!(matches!(protocol, "http:" | "https:"), "{case}");
        assert_eq!(target.host(), host.strip_suffix('.').unwrap_or(host), "{case}");
        web += 1;
    }
    assert!(failures > 200 && web > 100, "{failures} and {web} cases");
}

/// Spells an IPv4 address in one of the ways a browser reads.
fn spelled(bits: u32, parts: usize, bases: [u8; 4], trailing: bool) -> String {
    let octets = bits.to_be_bytes();
    let tail = octets[parts - 1..].iter().fold(0_u32, |tail, octet| tail << 8 | u32::from(*octet));
    let numbers = octets[..parts - 1].iter().map(|octet| u32::from(*octet)).chain([tail]);
    let words = numbers.zip(bases).map(|(number, base)| match base % 4 {
        0 => format!("{number}"),
        1 => format!("0{number:o}"),
        2 => format!("0x{number:x}"),
        _ => number.to_string().bytes().map(|digit| format!("%{digit:02x}")).collect(),
    });
    words.collect::<Vec<_>>().join(".") + if trailing { "." } else { "" }
}

proptest! {
    #[test]
    fn no_spelling_of_a_private_address_passes(bits: u32, parts in 1_usize..=4, bases: [u8; 4], trailing: bool) {
        let url = format!("http://{}/", spelled(bits, parts, bases, trailing));
        let expected = IpAddr::V4(bits.into());
        match judged(&url) {
            Ok(target) => {
                prop_assert_eq!(target.literal(), Some(expected), "{}", url);
                prop_assert_eq!(super::ranges::special(expected), None, "{}", url);
            }
            Err(refusal) => {
                prop_assert_eq!(refusal.rule, Rule::Address, "{}", url);
                prop_assert!(super::ranges::special(expected).is_some(), "{}", url);
            }
        }
    }

    #[test]
    fn any_text_gets_an_answer(url in "\\PC*", host in "\\PC{0,12}") {
        let answer = verdict(&json!({"url": url, "resolver": {host: ["8.8.8.8"]}}));
        prop_assert!(answer["decision"].is_string());
    }
}
