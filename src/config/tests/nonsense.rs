//! Whatever stands in the files and variables, the answer is a configuration or faults: nothing panics or hangs.

use proptest::prelude::*;

use base::text::meant;

use super::super::fault::Log;
use super::super::reader::Reader;
use super::super::{Environment, FILES, VARIABLES, keys, profiles, read_channels, settings, yaml};
use super::Written;

/// Reads `text` as each of the files, without a disk.
fn read_everywhere(text: &str, environment: &Environment) -> usize {
    let log = Log::default();
    for file in FILES {
        let tree = yaml::parse(file, text, &mut |fault| log.fault(fault));
        let reader = || Reader::of_file(&log, file, tree.as_ref());
        drop(settings::read(reader(), environment, &log));
        drop(read_channels(reader(), environment, &log));
        drop(profiles::read(reader(), environment, &log));
    }
    let faults = log.faults();
    for fault in &faults {
        let shown = fault.to_string();
        assert!(!shown.contains('\n') && !fault.message.is_empty(), "{shown:?}");
    }
    faults.len()
}

/// Pieces that YAML is made of, so that random texts get past the first character.
fn pieces() -> impl Strategy<Value = String> {
    let known: Vec<String> =
        keys().keys().flat_map(|key| key.path.split('.').map(str::to_owned).collect::<Vec<_>>()).collect();
    let piece = prop_oneof![
        proptest::sample::select(known).prop_map(|key| format!("{key}: ")),
        proptest::sample::select(vec![
            "\n",
            "\n  ",
            "\n    ",
            "- ",
            "? ",
            ": ",
            "[",
            "]",
            "{",
            "}",
            ", ",
            "&a ",
            "*a",
            "!x ",
            "!!str ",
            "|\n",
            ">-\n",
            "'",
            "\"",
            "# ",
            "---\n",
            "...\n",
            "%YAML 1.2\n",
            "~",
            "<<: ",
            "\t",
            "\u{feff}",
            "\u{0}",
            "\r",
            "\u{85}",
            "\u{2028}",
            "\\x",
        ])
        .prop_map(str::to_owned),
        "[a-z0-9:./-]{0,12}",
        any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        read_everywhere(&text, &Environment::default());
    }

    #[test]
    fn anything_like_yaml_is_read_or_refused(text in pieces()) {
        read_everywhere(&text, &Environment::default());
    }

    #[test]
    fn any_variable_is_read_or_refused(values in proptest::collection::vec(".{0,30}", VARIABLES.len())) {
        let names = VARIABLES.iter().map(|variable| variable.name);
        read_everywhere("", &Environment::from_pairs(names.zip(values)));
    }

    #[test]
    fn any_file_of_variables_is_read_or_refused(bytes in any::<Vec<u8>>(), text in "([A-Z]=|[ '\"$\\\\{}#\n]|.){0,60}") {
        for contents in [bytes, text.into_bytes()] {
            let written = Written::nothing().file(".env", contents);
            drop(Environment::from_process(&written.data().join(".env")));
        }
    }

    #[test]
    fn a_word_with_one_letter_wrong_is_understood(at in 0usize..6, letter in proptest::char::range('a', 'z')) {
        let word: String = "policy".chars().enumerate().map(|(i, c)| if i == at { letter } else { c }).collect();
        prop_assert_eq!(meant(&word, ["sender_allowlist", "policy", "channel_overrides"]), Some("policy"));
    }
}

#[test]
fn texts_that_broke_parsers_are_refused_or_read() {
    let deep = "[".repeat(50_000);
    let maps = "{a: ".repeat(50_000);
    let blocks: String = (0..2_000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    let dashes = "- ".repeat(20_000);
    let anchors: String =
        (0..5_000).map(|number| format!("k{number}: &a{number} [*a{}]\n", number.max(1) - 1)).collect();
    let texts = [
        "",
        " ",
        "\n\n\n",
        "\u{feff}",
        "\u{0}",
        "a",
        "a:",
        ":",
        "? ",
        "-",
        "*",
        "&",
        "!",
        "|",
        ">",
        "%",
        "@",
        "`",
        "'",
        "\"",
        "{",
        "[",
        "{]",
        "[}",
        "a: *b",
        "&a",
        "*a : b",
        "&a : b",
        "? - a\n: - b",
        "a: !!binary x",
        "[?]",
        "{?: ?}",
        "a: |9\n x",
        "a: >+\n\n\n",
        "'\\'",
        "\"\\x\"",
        "\"\\ud800\"",
        "a:\tb",
        "\ta: b",
        "--- a\n--- b",
        "...\n...",
        "# only a comment",
        "{a: b, a: c}",
        "topics: {? [active_max] : 5}",
        "topics: {active_max: 5, ? : 6}",
        &deep,
        &maps,
        &blocks,
        &dashes,
        &anchors,
    ];
    let faults: usize = texts.iter().map(|text| read_everywhere(text, &Environment::default())).sum();
    assert!(faults > texts.len(), "only {faults} faults were found");
}
