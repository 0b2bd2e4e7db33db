//! No form of a known secret survives, however it is encoded and wherever the text is cut; and nothing else goes.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use proptest::prelude::*;

use super::*;

fn knowing(secrets: &[&str]) -> Scrub {
    let scrub = Scrub::new();
    secrets.iter().for_each(|secret| scrub.learn(&Secret::new(*secret)));
    scrub
}

#[test]
fn a_secret_never_shows() {
    let secret = Secret::new("hunter2hunter2");
    assert_eq!(format!("{secret:?} {secret}"), "[REDACTED] [REDACTED]");
    let mut stream = knowing(&["hunter2hunter2"]).stream();
    assert_eq!(stream.push("hunter2"), "");
    assert_eq!(
        format!("{:?}", knowing(&["hunter2hunter2"])),
        "Scrub(RwLock { data: [REDACTED], poisoned: false, .. })"
    );
    assert_eq!(format!("{stream:?}"), "ScrubStream { held_bytes: 7, .. }");
}

#[test]
fn every_form_of_a_secret_is_taken_out_and_nothing_else() {
    let scrub = knowing(&["pa\"ss wö/rd", "short"]);
    for text in [
        "pa\"ss wö/rd",
        r#"pa\"ss wö/rd"#,
        r#"pa\"ss wö\/rd"#,
        r"pa\u0022ss w\u00F6\u002frd",
        r"pa\\u0022ss w\\u00f6/rd",
        r#"pa\\\"ss wö/rd"#,
        r#"pa\\\\\\\"ss wö/rd"#,
        r"pa\x22ss w\xc3\xb6/rd",
        "pa%22ss%20w%C3%B6%2Frd",
        "pa%22ss+w%c3%b6%2frd",
        "pa%22ss%20w%C3%B6/rd",
        "pa%2522ss%2520w%25C3%25B6%252Frd",
        "cGEic3Mgd8O2L3Jk",
        "cGEic3Mg\nd8O2L3Jk",
        "706122737320\u{77}",
        "70612273732077c3b62f7264",
        "70612273732077C3B62F7264",
    ] {
        let expected =
            if text.len() == 13 && text.ends_with("w") { format!("<{text}>") } else { "<[REDACTED]>".into() };
        assert_eq!(scrub.clean(&format!("<{text}>")), expected, "{text}");
    }
    for text in ["short password", "100% \\ of + it", "\\u12", "%2", "a\\", "\\ud83d", ""] {
        assert_eq!(scrub.clean(text), text);
    }
}

#[test]
fn overlapping_secrets_leave_no_ends_standing() {
    let scrub = knowing(&["12345678", "abc12345678xyz", "78xyz-and-more"]);
    assert_eq!(scrub.clean("abc12345678xyz 12345678"), "[REDACTED] [REDACTED]");
    assert_eq!(scrub.clean("abc12345678xyz-and-more."), "[REDACTED].");
    assert_eq!(scrub.clean("1234567812345678"), "[REDACTED][REDACTED]");
}

#[test]
fn a_stream_holds_back_only_what_could_be_a_secret() {
    let scrub = knowing(&["s3cr3t-v4lue"]);
    let mut stream = scrub.stream();
    for (piece, safe) in
        [("hello s", "hello "), ("3cr", ""), ("ap, s3cr3t-v4", "s3crap, "), ("lue!", "[REDACTED]!"), ("\\", "")]
    {
        assert_eq!(stream.push(piece), safe, "{piece}");
    }
    assert_eq!(stream.finish(), "\\");
    assert_eq!(scrub.clean_unfinished("that is s3cr"), "that is ");
    assert_eq!(scrub.clean_unfinished("that is s3crap"), "that is s3crap");
    assert!(scrub.finds_in("s3cr3t%2Dv4lue") && !scrub.finds_in("s3cr3t"));
}

#[test]
fn a_secret_that_is_learned_while_a_text_comes_holds_at_once() {
    let scrub = Scrub::new();
    let mut stream = scrub.stream();
    assert_eq!(stream.push("12345678 and "), "12345678 and ");
    scrub.learn(&Secret::new("12345678"));
    assert_eq!(stream.push("1234567"), "");
    assert_eq!(stream.push("8"), "[REDACTED]");
    assert_eq!(stream.finish(), "");
}

#[test]
fn an_endless_chain_of_secrets_is_not_kept() {
    let mut stream = knowing(&["aaaaaaaa"]).stream();
    let told: String = (0..2_000).map(|_| stream.push("aaa")).collect();
    assert_eq!((told.as_str(), format!("{stream:?}").len() < 40), (REDACTED, true));
    assert_eq!(stream.finish(), "");
}

#[test]
fn thousands_of_secrets_are_found_in_one_go() {
    let scrub = Scrub::new();
    (0..2_000).for_each(|number| scrub.learn(&Secret::new(format!("secret-number-{number:05}-of-many"))));
    let text: String = (0..2_000).map(|number| format!("secret-number-{number:05}-of-many,")).collect();
    assert_eq!(scrub.clean(&text), format!("{REDACTED},").repeat(2_000));
}

/// An encoder that something out there has, with a free choice where encoders differ.
fn encode(secret: &str, how: u8, choice: u64) -> String {
    let choose = |at: usize| choice >> (at % 64) & 1 == 1;
    let json = |text: &str, all: bool| -> String {
        let escape = |(at, c): (usize, char)| match c {
            '"' | '\\' if !all => format!("\\{c}"),
            '\n' if !all => "\\n".to_owned(),
            c if all || (c as u32) < 0x20 || choose(at) => {
                let unit =
                    |unit: &u16| if choose(at + 1) { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") };
                c.encode_utf16(&mut [0; 2]).iter().map(unit).collect()
            }
            c => c.to_string(),
        };
        text.chars().enumerate().map(escape).collect()
    };
    let url = |text: &str, form: bool| -> String {
        let escape = |(at, byte): (usize, u8)| match byte {
            b' ' if form => "+".to_owned(),
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => char::from(byte).to_string(),
            b'/' | b'-' | b'.' | b'!' if choose(at) => char::from(byte).to_string(),
            byte if choose(at + 1) => format!("%{byte:02x}"),
            byte => format!("%{byte:02X}"),
        };
        text.bytes().enumerate().map(escape).collect()
    };
    let around = |before: u64, after: u64| {
        format!("{}{secret}{}", &"abc"[..(before % 4) as usize], &"xyz"[..(after % 4) as usize])
    };
    match how {
        0 => secret.to_owned(),
        1 => json(secret, false),
        2 => json(secret, true),
        3 => json(&json(secret, false), false),
        4 => url(secret, false),
        5 => url(secret, true),
        6 => url(&json(secret, false), false),
        7 => json(&url(secret, true), choose(5)),
        8 => STANDARD.encode(around(choice, choice >> 8)),
        9 => URL_SAFE.encode(around(choice, choice >> 8)),
        10 => STANDARD_NO_PAD.encode(around(choice, choice >> 8)),
        11 => url(&STANDARD.encode(around(choice, choice >> 8)), false),
        12 => {
            let encoded = STANDARD.encode(around(choice, choice >> 8));
            let lines: Vec<&str> = encoded.as_bytes().chunks(7).map(|line| str::from_utf8(line).unwrap()).collect();
            lines.join(if choose(0) { "\n" } else { "\r\n" })
        }
        13 => secret.bytes().map(|byte| format!("{byte:02x}")).collect(),
        14 => secret.bytes().map(|byte| format!("{byte:02X}")).collect(),
        _ => URL_SAFE_NO_PAD.encode(around(choice, choice >> 8)),
    }
}

/// Whether a reader who takes off whatever is on it can still find the secret.
fn readable(secret: &str, text: &str) -> bool {
    let forms: Vec<String> =
        (0..16).flat_map(|how| [0, 0x0101_0101, u64::MAX].map(|c| encode(secret, how, c))).collect();
    forms.iter().any(|form| text.contains(form.as_str()))
}

/// A text made of pieces, some of which are secrets in some form.
fn texts(secrets: Vec<String>) -> impl Strategy<Value = (Vec<String>, String)> {
    let piece = prop_oneof![
        3 => (0..secrets.len(), 0u8..16, any::<u64>()).prop_map(|(at, how, choice)| (Some((at, how, choice)), String::new())),
        1 => (0..secrets.len(), any::<prop::sample::Index>()).prop_map(|(at, cut)| (Some((at, 255, cut.index(97) as u64)), String::new())),
        2 => "[ -~éß\n\\\\%+]{0,6}".prop_map(|text| (None, text)),
        1 => r#"[\\u0%2"n]{0,9}"#.prop_map(|text| (None, text)),
    ];
    prop::collection::vec(piece, 0..6).prop_map(move |pieces| {
        let write = |(form, text): (Option<(usize, u8, u64)>, String)| match form {
            None => text,
            // The beginning of a secret only.
            Some((at, 255, cut)) => secrets[at].chars().take(cut as usize % 8).collect(),
            Some((at, how, choice)) => encode(&secrets[at], how, choice),
        };
        (secrets.clone(), pieces.into_iter().map(write).collect())
    })
}

fn secrets() -> impl Strategy<Value = Vec<String>> {
    let secret = prop_oneof!["[a-c\\\\\"%+ ]{8,12}", "[!-~]{8,40}", "[ -~é😀\n]{8,20}"];
    prop::collection::vec(secret, 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_form_of_a_secret_survives(secret in "[!-~é]{8,40}", how in 0u8..16, choice: u64, before in "[ -~]{0,9}", after in "[ -~]{0,9}") {
        let scrub = knowing(&[&secret]);
        let text = format!("{before} {} {after}", encode(&secret, how, choice));
        let clean = scrub.clean(&text);
        prop_assert!(clean.contains(REDACTED), "{text}");
        prop_assert!(!readable(&secret, &clean), "{text} became {clean}");
    }

    #[test]
    fn a_stream_gives_what_the_whole_text_gives_however_it_is_cut(
        (secrets, text) in secrets().prop_flat_map(texts),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let scrub = knowing(&secrets.iter().map(String::as_str).collect::<Vec<_>>());
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| text.floor_char_boundary(cut.index(text.len() + 1))).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let mut stream = scrub.stream();
        let mut told: String = cuts.windows(2).map(|cut| stream.push(&text[cut[0]..cut[1]])).collect();
        told.push_str(&stream.finish());
        prop_assert_eq!(told, scrub.clean(&text), "{:?}", text);
    }

    #[test]
    fn a_text_without_secrets_is_left_alone(text in "[ -~é\n]{0,200}") {
        let scrub = knowing(&["\u{1}never in such a text\u{1}"]);
        prop_assert_eq!(scrub.clean(&text), text);
    }
}
