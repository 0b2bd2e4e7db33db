//! A folder in which everything is wrong that agents and people get wrong, and one in which nothing is.

use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::markdown::{Grade, Whose};

fn read(path: &Path) -> Handbook {
    let folder = Folder::open(path, Whose::Owner).unwrap();
    Handbook::read(&folder, &"ops".parse().unwrap(), |name| name == "grep")
}

/// `UPDATE=1` writes what is expected anew.
#[test]
fn every_fault_of_a_broken_folder_is_named_with_its_place() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("handbook");
    let book = read(&home.join("broken"));
    let lines = book.faults.iter().map(|fault| format!("{:7} {fault}\n", fault.grade.as_str()));
    let found: String = lines.collect();
    #[expect(clippy::disallowed_methods, reason = "a switch of the test, not of the program")]
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(home.join("broken.txt"), &found).unwrap();
    }
    assert_eq!(found, std::fs::read_to_string(home.join("broken.txt")).unwrap());
    // What can be read is there all the same.
    assert_eq!(
        book.skills.iter().map(|skill| skill.name.as_str()).collect::<Vec<_>>(),
        ["build-ui", "deploy", "nothing"]
    );
    let names: Vec<_> = book.subagents.iter().map(|subagent| subagent.name.as_str()).collect();
    assert_eq!(names, ["grep", "react-dev", "reader"]);
    let named: Vec<_> = book.subagent("reader").unwrap().skills.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(named, ["build_the_ui", "build-ui", "deploy"]);
    assert!(book.subagent("react-dev").unwrap().skills.is_empty());
    assert_eq!((book.org_rules.len(), book.team_rules.len()), (0, 1));
}

/// The forms that the bootstrap task shows are read without a fault, their placeholders filled in.
#[test]
fn what_a_new_team_is_told_to_write_is_what_is_read() {
    let home = TempDir::new().unwrap();
    let forms: Vec<String> = BOOTSTRAP
        .split("   ```\n")
        .skip(1)
        .step_by(2)
        .map(|form| {
            form.replace("   ", "").replace("<name>", "dev").replace("<skill>", "build-ui").replace("<plugin>", "draw")
        })
        .collect();
    let [subagent, skill] = forms.as_slice() else { panic!("{forms:?}") };
    for (path, text) in
        [("subagents/dev.md", subagent), ("skills/build-ui.md", skill), ("plugins/draw.ts", &String::new())]
    {
        let path = home.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let book = read(home.path());
    assert_eq!(book.faults, []);
    let dev = book.subagent("dev").unwrap();
    assert_eq!(dev.description, "What it does, in one paragraph. You will choose it by this.");
    assert_eq!((dev.skills[0].name.as_str(), dev.skills[0].description.as_str()), ("build-ui", "what it does"));
    let skill = book.skill("build-ui").unwrap();
    assert_eq!((skill.description.as_str(), skill.required().collect::<Vec<_>>()), ("One sentence.", vec!["draw"]));
    assert!(BOOTSTRAP.starts_with("Bootstrap"));
}

#[test]
fn a_report_names_files_from_the_run_directory_and_each_fault_once() {
    let home = TempDir::new().unwrap();
    let long = "word ".repeat(20_000);
    for (path, text) in [
        ("teams/main/org-rules/a.md", "# Words\nPlain."),
        ("teams/ops/org-rules/a.md", "# Words\nFew."),
        ("teams/ops/org-rules/long.md", &long[..60_000]),
        ("teams/ops/skills/a.md", ""),
        ("teams/web/team-rules/a.md", "# Other\n"),
    ] {
        let path = home.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let books = ["main", "ops", "web"].map(|team| {
        let folder = Folder::open(&home.path().join("teams").join(team), Whose::Team).unwrap();
        Handbook::read(&folder, &team.parse().unwrap(), |_| false)
    });
    let report = |at: usize| {
        let above: Vec<&[Rule]> = books[..at].iter().map(|book| book.org_rules.as_slice()).collect();
        let (book, role) = (&books[at], rules::Role::Team);
        let place = rules::Place {
            team: &book.team,
            role,
            owner: &[],
            above: &above,
            org: &book.org_rules,
            own: &book.team_rules,
            unread: &[],
        };
        faults(book, &Cascade::of(&place)).iter().map(Fault::to_string).collect::<Vec<_>>()
    };
    assert_eq!((report(0), report(2)), (vec![], vec![]));
    let [empty, no_room, conflict] = &report(1)[..] else { panic!("{:?}", report(1)) };
    assert_eq!(empty, "teams/ops/skills/a.md: the skill is empty: write its steps, or take it away");
    assert!(no_room.starts_with("teams/ops/org-rules/long.md: the rules of this team are about "), "{no_room}");
    assert!(conflict.starts_with("teams/ops/org-rules/a.md:1: the rule teams/main/org-rules/a.md has"), "{conflict}");
}

#[test]
fn a_folder_that_is_empty_or_whole_has_no_faults() {
    let home = TempDir::new().unwrap();
    assert_eq!(read(home.path()).faults, []);
    for (path, text) in [
        ("config.yaml", "name: ops\n"),
        ("AGENT.md", "You are calm.\n"),
        ("org-rules/a.md", "# Words\nPlain ones.\n"),
        ("team-rules/team-context.md", "Looks after releases.\n"),
        ("notes.md", "Not read.\n"),
        ("work/skill/x.md", "Not read.\n"),
    ] {
        let path = home.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let book = read(home.path());
    assert_eq!(book.faults, []);
    assert_eq!(book.persona.unwrap().text, "You are calm.");
    assert!(Grade::Error < Grade::Warning);
}

/// Texts that break other programs, as each of the files.
#[test]
fn no_naughty_text_makes_reading_fail() {
    let Some(sets) = fakes::testset("text") else { return };
    let mut seen = 0;
    for entry in std::fs::read_dir(sets).unwrap().flatten() {
        let text = std::fs::read(entry.path()).unwrap();
        let head: Vec<u8> = b"# Agent: x\n\n## Role\n".iter().chain(&text).copied().collect();
        for text in [&text[..text.len().min(60_000)], &head[..head.len().min(60_000)]] {
            let home = TempDir::new().unwrap();
            for path in ["AGENT.md", "subagents/a.md", "skills/a.md", "team-rules/a.md"] {
                let path = home.path().join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            seen += 1;
            let book = read(home.path());
            assert!(book.faults.iter().all(|fault| !fault.to_string().contains('\n')), "{:?}", book.faults);
        }
    }
    assert!(seen > 0, "nothing was tried");
}
