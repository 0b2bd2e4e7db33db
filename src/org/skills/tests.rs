//! How a team's skills are read, and what stands beside them.

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::markdown::Whose;

fn folder(files: &[(&str, &str)]) -> (TempDir, Folder) {
    let home = TempDir::new().unwrap();
    for (path, text) in files {
        let path = home.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let folder = Folder::open(home.path(), Whose::Team).unwrap();
    (home, folder)
}

fn loaded(folder: &Folder) -> (Vec<Skill>, Vec<String>) {
    let mut faults = Vec::new();
    let skills = load(folder, "ops", &mut faults);
    (skills, faults.iter().map(Fault::to_string).collect())
}

const DEPLOY: &str = "# Skill: deploy\n\n## Purpose\nBrings a version\nto its place.\n\n## Required Tools\n- ship — sends\n\
    - `ops.check`: looks\n- ship\n\n## Steps\n1. check, then ship.\n";

#[test]
fn a_skill_is_a_file_or_a_folder() {
    let (_home, folder) = folder(&[
        ("skills/deploy.md", DEPLOY),
        ("skills/web-search/SKILL.md", "---\nname: web-search\ndescription: Looks it up.\n---\nSteps.\n"),
        ("skills/web-search/scripts/look.py", "print()"),
        ("skills/notes.txt", "not a skill"),
        ("skills/README.md", "not a skill"),
    ]);
    let (skills, faults) = loaded(&folder);
    assert_eq!(faults, Vec::<String>::new());
    let [deploy, search] = skills.as_slice() else { panic!("{skills:?}") };
    assert_eq!((deploy.name.as_str(), deploy.description.as_str()), ("deploy", "Brings a version to its place."));
    assert_eq!(deploy.required().collect::<Vec<_>>(), ["ship", "check"]);
    assert_eq!((deploy.required_tools[1].line, deploy.folder.as_deref()), (9, None));
    assert_eq!((search.description.as_str(), search.body.as_str()), ("Looks it up.", "Steps."));
    assert_eq!(
        (search.file.as_str(), search.folder.as_deref()),
        ("skills/web-search/SKILL.md", Some("skills/web-search"))
    );
}

#[test]
fn faults_of_skills_say_where_and_what_to_do() {
    for (files, expected) in [
        (&[("skills/a.md", "")][..], &["skills/a.md: the skill is empty: write its steps, or take it away"][..]),
        (
            &[("skills/a.md", "# Skill: b\n1. Go.\n")],
            &["skills/a.md:1: it says `b`, and is called `a` by its file: write the same name"],
        ),
        (
            &[("skills/Build UI.md", "Steps.\n")],
            &["skills/Build UI.md: `Build UI` is no name of a skill, and `build-ui` is taken for it: rename it"],
        ),
        (
            &[("skills/prüfen.md", "Steps.\n")],
            &[
                "skills/prüfen.md: `prüfen` is no name of a skill: rename it, with 1 to 48 lower-case letters and digits \
               with single `-` or `_` between them",
            ],
        ),
        (
            &[("skills/a.md", "Steps.\n"), ("skills/a/SKILL.md", "Others.\n")],
            &[
                "skills/a.md: a skill `a` is there already in skills/a/SKILL.md, and this one is not read: rename it, or \
               take it away",
            ],
        ),
        (&[("skills/a/notes.md", "x")], &["skills/a: there is no SKILL.md in it: write one, or take the folder away"]),
        (
            &[("skills/a.md", "# A\n## Required Tools\n- docs.ship\n- ../x\n- fine\n")],
            &[
                "skills/a.md:3: `docs.ship` belongs to another team: write the bare name of a tool, `- name`",
                "skills/a.md:4: `../x` is no name of a tool: write the bare name of a tool, `- name`",
            ],
        ),
        (
            &[("skills/a.md", "# A\n## Required Tools\nship and check\n")],
            &["skills/a.md:2: there is no bullet in `Required Tools`: write `- name`, a line for each tool"],
        ),
        (
            &[("skills/a.md", "# A\n## Required Tools\n- none\n"), ("skills/b.md", "# B\n## Required Tools\nNone.\n")],
            &[],
        ),
    ] {
        let (_home, folder) = folder(files);
        assert_eq!(loaded(&folder).1, expected, "{files:?}");
    }
}

#[test]
fn a_plugin_gets_its_team_s_name_where_its_own_stands_alone() {
    for (text, expected) in [
        ("Run ship.", "Run ops.ship."),
        ("`ship`, (ship), \"ship\"; ship", "`ops.ship`, (ops.ship), \"ops.ship\"; ops.ship"),
        ("ship", "ops.ship"),
        ("ship(check)", "ops.ship(ops.check)"),
        ("ops.ship and docs.ship", "ops.ship and docs.ship"),
        (
            "shipping, airship, ship-it, pre-ship, ship_it, shipé",
            "shipping, airship, ship-it, pre-ship, ship_it, shipé",
        ),
        ("plugins/ship.ts, ship.ts, ship/a", "plugins/ship.ts, ship.ts, ship/a"),
        ("check-out check", "check-out ops.check"),
        ("- ship\n- check\n", "- ops.ship\n- ops.check\n"),
        ("船ship 船 ship", "船ship 船 ops.ship"),
        ("web_fetch", "web_fetch"),
        ("", ""),
    ] {
        assert_eq!(namespaced(text, "ops", &["ship", "check"]), expected);
    }
    let (_home, folder) = folder(&[("skills/deploy.md", DEPLOY)]);
    let (skills, _) = loaded(&folder);
    let body = skills[0].body_for("ops", |name| name == "ship");
    assert!(body.contains("- ops.ship — sends\n- `ops.check`: looks\n") && body.ends_with("1. check, then ops.ship."));
}

fn search() -> (TempDir, Folder, Skill) {
    let (home, folder) = folder(&[
        ("skills/search/SKILL.md", "Steps.\n"),
        ("skills/search/reference.md", "All of it."),
        ("skills/search/scripts/look.py", "print()"),
        ("skills/search/scripts/a/run.mjs", ""),
        ("skills/search/.hidden", ""),
        ("config.yaml", "secret"),
        ("skills/other.md", "secret"),
    ]);
    std::fs::write(home.path().join("skills/search/picture.png"), b"\x89PNG\0\xff").unwrap();
    let skill = loaded(&folder).0.remove(1);
    (home, folder, skill)
}

#[test]
fn the_files_beside_a_skill_are_listed() {
    let (_home, folder, skill) = search();
    let mut faults = Vec::new();
    let found: Vec<_> = files(&folder, &skill, &mut faults).into_iter().map(|file| (file.path, file.script)).collect();
    let expected = [
        ("picture.png", None),
        ("reference.md", None),
        ("scripts/look.py", Some(Interpreter::Python)),
        ("scripts/a/run.mjs", Some(Interpreter::Node)),
    ];
    assert_eq!(found, expected.map(|(path, script)| (path.to_owned(), script)));
    assert!(faults.is_empty(), "{faults:?}");
}

#[test]
fn a_file_beside_a_skill_is_read_and_none_elsewhere() {
    let (home, folder, skill) = search();
    let read = |path: &str| read_file(&folder, &skill, path).map(|file| file.text);
    for path in ["reference.md", "./reference.md", "scripts/../reference.md"] {
        let expected =
            if path.contains("..") { Err(Refusal::Outside(path.into())) } else { Ok("All of it.".to_owned()) };
        assert_eq!(read(path), expected);
    }
    std::os::unix::fs::symlink("../../config.yaml", home.path().join("skills/search/link")).unwrap();
    std::os::unix::fs::symlink("reference.md", home.path().join("skills/search/inside")).unwrap();
    for path in ["../other.md", "..", "/etc/passwd", "", ".", "link", "scripts/../../other.md", "a\\..\\b", "a\0"] {
        assert!(matches!(read(path), Err(Refusal::Outside(_))), "{path}: {:?}", read(path));
    }
    assert_eq!(read("inside").as_deref(), Ok("All of it."), "a link may lead about inside");
    assert_eq!(read("picture.png"), Err(Refusal::Binary("picture.png".into())));
    assert!(matches!(read("scripts"), Err(Refusal::Unreadable { .. })));
    let unknown = read("reference").unwrap_err().to_string();
    assert!(
        unknown.starts_with("there is no file `reference` beside the skill; there are: `inside`, `picture.png`, "),
        "{unknown}"
    );
    let long = "é".repeat(usize::try_from(TEXT_BYTES_MAX).unwrap());
    std::fs::write(home.path().join("skills/search/long.txt"), format!("x{long}")).unwrap();
    let file = read_file(&folder, &skill, "long.txt").unwrap();
    assert_eq!((file.is_cut, file.text.len() as u64), (true, TEXT_BYTES_MAX - 1), "no character is cut in two");
    let alone = Skill { folder: None, ..skill };
    assert_eq!(read_file(&folder, &alone, "x"), Err(Refusal::NoFolder("search".into())));
}

/// Paths that other people collected, where they are at hand.
#[test]
fn no_known_traversal_leads_out_of_a_skill() {
    let Some(sets) = fakes::testset("path") else { return };
    let (_home, folder, skill) = search();
    let mut seen = 0;
    for entry in std::fs::read_dir(sets).unwrap().flatten() {
        let text = std::fs::read(entry.path()).unwrap();
        for line in String::from_utf8_lossy(&text).lines() {
            seen += 1;
            let result = read_file(&folder, &skill, line);
            assert!(result.is_err(), "{line}: {result:?}");
        }
    }
    assert!(seen > 0, "nothing was tried");
}

proptest! {
    #[test]
    fn taking_the_team_s_names_out_again_gives_the_text(text in "(ship|check|ops|[a-z./ `\n-]){0,60}") {
        let named = namespaced(&text, "team-x", &["ship", "check"]);
        prop_assert_eq!(named.replace("team-x.", ""), text);
        prop_assert_eq!(namespaced(&named, "team-x", &["ship", "check"]), named.clone(), "twice is once");
    }

    #[test]
    fn no_file_makes_reading_fail(text in "\\PC{0,300}", name in "[a-zA-Z_. -]{1,20}") {
        let (home, folder) = folder(&[("skills/a.md", &text)]);
        std::fs::write(home.path().join("skills").join(format!("x{name}.md")), &text).unwrap();
        loaded(&folder);
    }
}

#[test]
fn a_procedure_without_steps_and_a_tool_that_is_not_there_are_told() {
    let steps = "skills/a.md: it has no section `## Steps`: write what is to be done, step by step";
    for (text, expected) in [
        ("# Skill: a\n\n## Required Tools\n- send\n\nDoes it.\n", &[steps][..]),
        ("# Skill: a\n\nDoes it.\n\n1. Do it.\n", &[]),
        ("# Skill: a\n\n### Steps\nDo it, then say so.\n", &[]),
        // Nobody said that it is one of ours.
        ("# How to do it\n\nDoes it.\n", &[]),
    ] {
        let (_home, folder) = folder(&[("skills/a.md", text)]);
        assert_eq!(loaded(&folder).1, expected, "{text}");
    }
    let (_home, folder) = folder(&[("skills/deploy.md", DEPLOY)]);
    let faults = check(&loaded(&folder).0, &["ship".to_owned()], |_| false);
    let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "skills/deploy.md:9: neither the team nor the program has a tool `check`: name one that there is, or take the line out"
        ]
    );
    assert_eq!(check(&loaded(&folder).0, &["ship".to_owned()], |name| name == "check"), []);
}
