//! What a path's text may be, as tables and laws.

use proptest::prelude::*;

use super::*;

fn ask(given: &str, usage: Use) -> Result<PathBuf, Rule> {
    let names = [PathBuf::from("/hive/teams/ops")];
    let rules = PathRules { protected: vec!["/hive/teams/ops/shared/rules".into()], ..PathRules::default() };
    inside(&names, given, usage, &rules).map_err(|refusal| refusal.rule)
}

#[test]
fn what_lies_inside_may_be_read_whatever_its_name() {
    for (given, expected) in [
        ("notes/today.md", "notes/today.md"),
        ("./a//b/./c/", "a/b/c"),
        ("a/../b", "a/../b"),
        ("", "."),
        (".", "."),
        ("/hive/teams/ops", "."),
        ("/hive/teams/ops/", "."),
        ("/hive/teams/ops/a b.md", "a b.md"),
        ("//hive/./teams//ops/x", "x"),
        ("config.yaml", "config.yaml"),
        ("..hidden", "..hidden"),
        ("dots..", "dots.."),
        ("...", "..."),
        ("a/...", "a/..."),
        ("100%.txt", "100%.txt"),
        ("a%20b%2Fc.txt", "a%20b%2Fc.txt"),
        ("50% off & more.md", "50% off & more.md"),
        ("tmp\\name.txt", "tmp\\name.txt"),
        ("my\\ file.txt", "my\\ file.txt"),
        ("~$letter.docx", "~$letter.docx"),
        ("backup~", "backup~"),
        ("12:30.log", "12:30.log"),
        ("a:b", "a:b"),
        (":x/y", ":x/y"),
        ("notes: today.md", "notes: today.md"),
        ("$lib/x.ts", "$lib/x.ts"),
        ("$HOME", "$HOME"),
        ("routes/$postId.tsx", "routes/$postId.tsx"),
        ("日本語/ファイル.md", "日本語/ファイル.md"),
        ("Notizen – Entwurf … 2.md", "Notizen – Entwurf … 2.md"),
        ("-rf", "-rf"),
        ("line\nbreak", "line\nbreak"),
        ("*?[a]", "*?[a]"),
    ] {
        assert_eq!(ask(given, Use::Read), Ok(PathBuf::from(expected)), "{given:?}");
    }
}

#[test]
fn what_leads_out_is_refused_in_every_disguise() {
    for (given, rule) in [
        ("..", Rule::Outside),
        ("../x", Rule::Outside),
        ("a/../../x", Rule::Outside),
        ("../ops/x", Rule::Outside),
        ("/", Rule::Outside),
        ("/etc/passwd", Rule::Outside),
        ("/hive/teams/ops-evil/x", Rule::Outside),
        ("/hive/teams/ops/../other/x", Rule::Outside),
        ("/hive/teams/OPS/x", Rule::Outside),
        ("a\0b", Rule::NotAPath),
        ("..\\x", Rule::Disguised),
        ("a\\..\\..\\x", Rule::Disguised),
        ("...\\...\\x", Rule::Disguised),
        (".../x", Rule::Disguised),
        ("\\\\server\\share", Rule::Disguised),
        ("C:\\boot.ini", Rule::Disguised),
        ("C:/boot.ini", Rule::Disguised),
        ("file:///etc/passwd", Rule::Disguised),
        ("%2e%2e/x", Rule::Disguised),
        ("%2fetc/passwd", Rule::Disguised),
        ("..%252f..%252fx", Rule::Disguised),
        ("..%c0%af..%c0%afx", Rule::Disguised),
        ("x%00.txt", Rule::Disguised),
        ("x%0ay", Rule::Disguised),
        (".. /x", Rule::Disguised),
        ("．．/x", Rule::Disguised),
        ("....//....//x", Rule::Disguised),
        ("~", Rule::Home),
        ("~/.ssh/id_rsa", Rule::Home),
        ("~root/x", Rule::Home),
        ("%7e/x", Rule::Home),
        ("$HOME/.ssh/id_rsa", Rule::Home),
        ("${TMPDIR}/x", Rule::Home),
        ("%APPDATA%\\x", Rule::Home),
        ("php://filter/resource=x", Rule::Disguised),
        ("http://localhost/x", Rule::Disguised),
        ("..::$INDEX_ALLOCATION/x", Rule::Disguised),
    ] {
        for usage in [Use::Read, Use::List, Use::Write] {
            assert_eq!(ask(given, usage), Err(rule), "{given:?} {usage:?}");
        }
    }
    assert_eq!(ask(&"x".repeat(256), Use::Read), Err(Rule::NotAPath));
    assert_eq!(ask(&"x/".repeat(3_000), Use::Read), Err(Rule::NotAPath));
}

#[test]
fn what_is_governed_is_not_written_by_any_spelling() {
    for given in [
        "config.yaml",
        "/hive/teams/ops/config.yaml",
        "./a/../config.yaml",
        "Config.YAML",
        "config.yaml.",
        "config.yaml ",
        "config.yaml::$DATA",
        "config%2eyaml",
        "con\u{200b}fig.yaml",
        "conﬁg.yaml",
        "ｃonfig.yaml",
        ".\\config.yaml",
        "config.yaml/x",
        ".results/1-1-0.txt",
        "System-Rules/00.md",
        "admin-rules/x",
        "shared/rules/00.md",
        "a/../shared/rules/00.md",
    ] {
        assert_eq!(ask(given, Use::Write), Err(Rule::Governed), "{given}");
        assert!(ask(given, Use::Read).is_ok(), "{given}");
    }
    for (given, expected) in [
        ("app/config.yaml", "app/config.yaml"),
        ("config.yaml.bak", "config.yaml.bak"),
        ("org-rules/10-style.md", "org-rules/10-style.md"),
        ("team-rules/x.md", "team-rules/x.md"),
        ("skills/x.md", "skills/x.md"),
        ("shared/rules.md", "shared/rules.md"),
        ("a/../b/./c", "b/c"),
    ] {
        assert_eq!(ask(given, Use::Write), Ok(PathBuf::from(expected)), "{given}");
    }
    for given in ["", ".", "a/", "a/.", "a/..", "/hive/teams/ops", "/hive/teams/ops/a/."] {
        assert_eq!(ask(given, Use::Write), Err(Rule::Folder), "{given:?}");
    }
    for given in ["a\\b", "my\\ file"] {
        assert_eq!(ask(given, Use::Write), Err(Rule::Backslash), "{given:?}");
    }
    for given in ["a\nb", "a\u{7}", "a\u{85}b"] {
        assert_eq!(ask(given, Use::Write), Err(Rule::ControlCharacter), "{given:?}");
    }
}

/// Names and steps, and what is used to disguise them.
fn any_path() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("..".to_owned()),
        Just(".".to_owned()),
        Just("/".to_owned()),
        Just("\\".to_owned()),
        Just("%2e".to_owned()),
        Just("%2f".to_owned()),
        Just("%25".to_owned()),
        Just("%c0%ae".to_owned()),
        Just("/hive/teams/ops".to_owned()),
        Just("a".to_owned()),
        "\\PC{0,3}",
    ];
    proptest::collection::vec(part, 0..14).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn an_accepted_path_never_leaves(given in any_path()) {
        for usage in [Use::Read, Use::List, Use::Write] {
            let Ok(path) = ask(&given, usage) else { continue };
            prop_assert!(path.is_relative(), "{given:?} became {path:?}");
            let mut depth = 0;
            for part in path.components() {
                depth += match part {
                    Component::Normal(_) => 1,
                    Component::CurDir => 0,
                    _ => -1,
                };
                prop_assert!(depth >= 0, "{given:?} became {path:?}");
            }
            if usage == Use::Write {
                prop_assert!(path.components().all(|part| matches!(part, Component::Normal(_))), "{given:?}");
            }
        }
    }

    #[test]
    fn a_plain_name_is_always_accepted(given in "[a-zA-Z0-9_ (),+=@#-]{1,20}(\\.[a-z]{1,4})?") {
        let path = format!("folder/{given}");
        prop_assert_eq!(ask(&path, Use::Read), Ok(PathBuf::from(&path)));
        prop_assert!(ask(&path, Use::Write).is_ok(), "{}", path);
    }

    #[test]
    fn what_one_decoding_makes_a_way_out_is_refused(given in any_path()) {
        let encoded: String = given.bytes().map(|byte| format!("%{byte:02x}")).collect();
        if ask(&given, Use::Read) == Err(Rule::Outside) {
            prop_assert!(ask(&encoded, Use::Read).is_err(), "{encoded}");
        }
    }
}
