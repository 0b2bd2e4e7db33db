//! What is read of texts and folders, and that nothing makes reading fail.

use std::path::Path;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

const KNOWN: &[&str] = &["role", "boundaries", "communication style", "skills"];

fn read(text: &str) -> (Document, Vec<String>) {
    let mut faults = Vec::new();
    let document = Document::read("a.md", text, KNOWN, &mut faults);
    (document, faults.iter().map(Fault::to_string).collect())
}

fn section<'d>(document: &'d Document, name: &str) -> &'d Section {
    document.sections.iter().find(|section| section.name == name).unwrap()
}

#[test]
fn a_section_ends_where_the_next_of_its_level_begins() {
    let text =
        "# Agent: a\n\n## Role\nBuilds.\n\n### Details\nMore.\n\n## Boundaries\n\n## Skills\n- one\n# After\n- two\n";
    let (document, faults) = read(text);
    assert!(faults.is_empty(), "{faults:?}");
    assert_eq!(section(&document, "role").text, "Builds.\n\n### Details\nMore.", "a deeper heading is part of it");
    assert_eq!(section(&document, "boundaries").text, "", "an empty section takes nothing of the next");
    assert_eq!(section(&document, "skills").text, "- one");
    assert_eq!(section(&document, "skills").bullets, [Bullet { line: 12, text: "one".into() }]);
    assert_eq!(document.title, Some(Heading { text: "Agent: a".into(), line: 1 }));
}

#[test]
fn a_section_is_known_at_any_level_and_in_any_case() {
    for heading in [
        "# COMMUNICATION STYLE",
        "## communication-style",
        "###### Communication  Style:",
        "## **Communication** Style ##",
        "## `Communication_Style`",
        "Communication Style\n===",
        "Communication Style\n---",
        "   ## Communication Style",
    ] {
        let (document, faults) = read(&format!("{heading}\nBrief.\n#### Role\nBuilds.\n"));
        assert_eq!(section(&document, "communication style").text, "Brief.", "{heading}");
        assert_eq!(section(&document, "role").text, "Builds.", "{heading}: a known section ends another one");
        assert!(faults.is_empty(), "{faults:?}");
    }
}

#[test]
fn what_only_looks_like_a_heading_is_none() {
    for text in [
        "```\n## Role\n```\n",
        "~~~md\n## Role\n~~~\n",
        "````\n```\n## Role\n```\n````\n",
        "    ## Role\n",
        "- ## Role\n",
        "> ## Role\n",
        "<!--\n## Role\n-->\n",
        "\\## Role\n",
    ] {
        let (document, faults) = read(text);
        assert!(document.sections.is_empty(), "{text}");
        assert!(faults.is_empty(), "{text}: {faults:?}");
    }
}

#[test]
fn what_was_meant_as_a_heading_is_said() {
    for text in ["##Role\nBuilds.\n", "**Role**\nBuilds.\n", "**Role:** builds.\n", "__role__: builds\n"] {
        let (document, faults) = read(&format!("# A\n\n{text}"));
        assert!(document.sections.is_empty(), "{text}");
        assert_eq!(faults, ["a.md:3: this is no heading, and opens no section: write `## Role`"], "{text}");
    }
    let (_, faults) = read("## Role\nBuilds.\n\n```sh\n## Skills\n");
    let said = "a.md:4: the fence that opens here never closes, and all that follows is code: close it";
    assert_eq!(faults, [said]);
    for closed in ["```\nx\n```", "```\nx\n   `````  ", "~~~\n```\n~~~", "- a\n  ```\n  x\n  ```\n"] {
        assert!(read(closed).1.is_empty(), "{closed}");
    }
    for open in ["```\nx\n``` no", "````\n```", "```", "```\nx\n~~~"] {
        assert_eq!(read(open).1.len(), 1, "{open}");
    }
}

#[test]
fn line_ends_and_byte_order_marks_make_no_difference() {
    let home = TempDir::new().unwrap();
    let text = "---\nname: a\n---\n# Agent: a\n\n## Skills\n- one — builds\n- two\n";
    let variants = [text.to_owned(), text.replace('\n', "\r\n"), text.replace('\n', "\r"), format!("\u{feff}{text}")];
    for (at, text) in variants.iter().enumerate() {
        std::fs::write(home.path().join(format!("{at}.md")), text).unwrap();
    }
    let mut faults = Vec::new();
    let texts = Folder::open(home.path(), Whose::Team).unwrap().texts("", &mut faults);
    assert_eq!(texts.len(), 4);
    for Text { file, text } in texts {
        let document = Document::read(&file, &text, KNOWN, &mut faults);
        let lines: Vec<_> = section(&document, "skills").bullets.iter().map(|bullet| bullet.line).collect();
        assert_eq!((lines, document.front.text("NAME")), (vec![7, 8], Some("a")), "{file}");
    }
    assert!(faults.is_empty(), "{faults:?}");
}

#[test]
fn a_bullet_is_a_name_and_what_is_said_of_it() {
    for (bullet, expected) in [
        ("- build-ui — builds it", Some(("build-ui", "builds it"))),
        ("- build-ui – builds it", Some(("build-ui", "builds it"))),
        ("- build-ui - builds it", Some(("build-ui", "builds it"))),
        ("- build-ui -- builds it", Some(("build-ui", "builds it"))),
        ("- build-ui: builds it", Some(("build-ui", "builds it"))),
        ("- build-ui—builds it", Some(("build-ui", "builds it"))),
        ("* `build-ui` — builds it: all of it", Some(("build-ui", "builds it: all of it"))),
        ("+ **build-ui**: builds it", Some(("build-ui", "builds it"))),
        ("1. [build-ui](skills/build-ui.md) - builds it", Some(("build-ui", "builds it"))),
        ("- [ ] build-ui", Some(("build-ui", ""))),
        ("- build-ui (the main one)", Some(("build-ui", "(the main one)"))),
        ("- build-ui", Some(("build-ui", ""))),
        ("- build-ui:", Some(("build-ui", ""))),
        ("- \"build-ui\"", Some(("build-ui", ""))),
        ("- build-ui — builds\n  it", Some(("build-ui", "builds it"))),
        ("- build-ui\n\n  builds it", Some(("build-ui", ""))),
        ("- build-ui\n  - a part of it", Some(("build-ui", ""))),
        ("- build-ui\n  ```\n  code\n  ```", Some(("build-ui", ""))),
        ("- http://x.example/a: a page", Some(("http://x.example/a", "a page"))),
        ("- none", None),
        ("- (none yet)", None),
        ("- N/A", None),
        ("-", None),
    ] {
        let (document, _) = read(&format!("## Skills\n{bullet}\n"));
        let bullets = &section(&document, "skills").bullets;
        assert_eq!(bullets.len(), 1, "{bullet}: {bullets:?}");
        assert_eq!(bullets[0].named(), expected, "{bullet}");
    }
}

#[test]
fn only_lists_that_stand_directly_in_a_section_are_read() {
    let (document, _) = read("## Skills\n> - quoted\n\n```\n- code\n```\n\n- one\n  - nested\n\nText.\n\n1. two\n");
    let names: Vec<_> = section(&document, "skills").bullets.iter().map(|bullet| bullet.text.as_str()).collect();
    assert_eq!(names, ["one", "two"]);
}

#[test]
fn front_matter_is_optional_and_read_as_far_as_it_goes() {
    let (document, faults) =
        read("---\nname: \"a: b\"\nskills: [x, y]\nmcp:\n  - z\nmeta:\n  deep: 1\nold: ~\n---\n# T\n");
    assert!(faults.is_empty(), "{faults:?}");
    assert_eq!(document.front.text("name"), Some("a: b"));
    assert_eq!(document.front.list("skills"), Some(vec!["x".into(), "y".into()]));
    assert_eq!(document.front.list("MCP"), Some(vec!["z".into()]));
    assert_eq!(
        (document.front.text("deep"), document.front.text("meta"), document.front.text("old")),
        (None, None, None)
    );
    assert_eq!(document.title.unwrap().line, 10);
    let (document, _) = read("---\nskills: x, `y`\n...\nText\n");
    assert_eq!(document.front.list("skills"), Some(vec!["x".into(), "y".into()]));
    assert_eq!(document.lead, "Text");
    let (document, faults) = read("---\n\nA rule across the page.\n\n---\n");
    assert_eq!((document.front, faults.len()), (Front::default(), 1), "{faults:?}");
    let (document, faults) = read("---\nA rule across the page.\n");
    assert_eq!((document.front, faults), (Front::default(), vec![]));
    let (document, faults) = read("---\nname: a\n# T\n");
    assert_eq!((document.front, faults.len()), (Front::default(), 1), "it never ends");
    let (document, faults) = read("---\nname: Ships it: fast\nskills:\n  - a\n  - `b`\n---\nText\n");
    assert_eq!(document.front.text("name"), Some("Ships it: fast"));
    assert_eq!(document.front.list("skills"), Some(vec!["a".into(), "b".into()]));
    assert!(faults[0].starts_with("a.md:2: this is not YAML ("), "{faults:?}");
    let (document, _) = read("---\n? [a, b]\n: c\n*x : y\nname: z\n---\n");
    assert_eq!(document.front.text("name"), Some("z"), "what is strange does not shift what follows");
}

#[test]
fn a_name_for_people_comes_to_a_slug_or_to_none() {
    for (text, expected) in [
        ("react-dev", Some("react-dev")),
        ("React Dev (v2)", Some("react-dev-v2")),
        ("build_ui", Some("build_ui")),
        ("a--b", Some("a-b")),
        ("  x  ", Some("x")),
        ("", None),
        ("…", None),
        ("Prüfer", None),
        ("../../other/skills/x", None),
        (&"a".repeat(49), None),
    ] {
        assert_eq!(Slug::of(text).as_ref().map(Slug::as_str), expected, "{text}");
    }
    for bad in ["", "-a", "a-", "a--b", "a-_b", "A", "a b", "a.b", "a/b", "..", "ä"] {
        assert_eq!(Slug::parse(bad), None, "{bad}");
    }
}

/// A folder with files of these names and bytes.
fn folder(files: &[(&str, &[u8])]) -> (TempDir, Folder) {
    let home = TempDir::new().unwrap();
    for (path, bytes) in files {
        let path = home.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    let folder = Folder::open(home.path(), Whose::Team).unwrap();
    (home, folder)
}

fn texts(folder: &Folder, below: &str) -> (Vec<String>, Vec<String>) {
    let mut faults = Vec::new();
    let texts = folder.texts(below, &mut faults);
    (texts.into_iter().map(|text| text.file).collect(), faults.iter().map(Fault::to_string).collect())
}

#[test]
fn a_folder_is_read_in_one_order_and_only_its_own_files() {
    let (home, folder) = folder(&[
        ("r/b.md", b"b"),
        ("r/B.md", b"B"),
        ("r/a.MD", b"a"),
        ("r/notes.txt", b"no"),
        ("r/.hidden.md", b"no"),
        ("r/deep/c.md", b"no"),
        ("r/x.md/y", b"no"),
        ("outside.md", b"secret"),
    ]);
    std::os::unix::fs::symlink(home.path().join("outside.md"), home.path().join("r/absolute.md")).unwrap();
    std::os::unix::fs::symlink("../outside.md", home.path().join("r/within.md")).unwrap();
    std::os::unix::fs::symlink("nothing", home.path().join("r/to-nothing.md")).unwrap();
    let (files, faults) = texts(&folder, "r");
    assert_eq!(files, ["r/B.md", "r/a.MD", "r/b.md", "r/within.md"]);
    assert_eq!(
        faults,
        [
            "r/absolute.md: it is a link that leads out of the folder: put the file itself here",
            "r/to-nothing.md: it is a link to nothing: take it away",
            "r/x.md: it is a folder, and only files are read: rename it, or move its files up",
        ]
    );
    assert_eq!(texts(&folder, "not-there"), (vec![], vec![]));
    assert_eq!(texts(&folder, "outside.md").1.len(), 1, "a file where a folder belongs");
}

#[test]
fn a_link_out_of_the_folder_is_refused_however_it_leads() {
    let other = TempDir::new().unwrap();
    std::fs::write(other.path().join("secret.md"), "secret").unwrap();
    let (home, folder) = folder(&[("r/a.md", b"a")]);
    let link = |target: &Path, name: &str| std::os::unix::fs::symlink(target, home.path().join(name)).unwrap();
    link(&other.path().join("secret.md"), "r/file.md");
    link(other.path(), "whole");
    link(Path::new("../.."), "r/up");
    let mut up = std::path::PathBuf::new();
    home.path().components().for_each(|_| up.push(".."));
    link(&up.join(other.path().strip_prefix("/").unwrap()).join("secret.md"), "r/relative.md");
    for (below, found) in [("r", vec!["r/a.md"]), ("whole", vec![]), ("r/up", vec![])] {
        let (files, faults) = texts(&folder, below);
        assert_eq!(files, found, "{below}");
        assert!(!faults.is_empty(), "{below}");
        assert!(faults.iter().all(|fault| fault.contains("leads out of the folder")), "{faults:?}");
    }
    assert_eq!(folder.text("whole/secret.md", &mut Vec::new()), None);
    std::fs::hard_link(home.path().join("r/a.md"), home.path().join("r/b.md")).unwrap();
    let (files, faults) = texts(&folder, "r");
    assert!(files.is_empty() && faults.iter().filter(|fault| fault.contains("several names")).count() == 2);
    let owner = Folder::open(home.path(), Whose::Owner).unwrap();
    assert_eq!(texts(&owner, "r").0, ["r/a.md", "r/b.md"], "an owner may keep a file under two names");
}

#[test]
fn what_is_no_text_or_too_much_is_said() {
    let long = vec![b'x'; usize::try_from(FILE_BYTES_MAX).unwrap() + 1];
    let (home, folder) = folder(&[
        ("a.md", b"good\nbad \xff\n"),
        ("b.md", b"a\0b"),
        ("c.md", &long),
        ("d.md", &long[1..]),
        ("e.md", b"\xff\xfea\0"),
    ]);
    socket(&home.path().join("pipe.md"));
    let (files, faults) = texts(&folder, "");
    assert_eq!(files, ["d.md"]);
    assert_eq!(
        faults,
        [
            "pipe.md: it is neither a file nor a folder: take it away",
            "a.md:2: it is not UTF-8 from here on: save it as UTF-8",
            "b.md:1: there is a zero byte here: save it as UTF-8 text",
            "c.md: it is longer than 64 KiB: shorten it, or part it",
            "e.md:1: it is not UTF-8 from here on: save it as UTF-8",
        ]
    );
    let many = TempDir::new().unwrap();
    for at in 0..=FILES_MAX {
        std::fs::write(many.path().join(format!("{at:03}.md")), "x").unwrap();
    }
    let (files, faults) = texts(&Folder::open(many.path(), Whose::Team).unwrap(), "");
    assert_eq!((files.len(), files.last().map(String::as_str)), (FILES_MAX, Some("199.md")));
    assert_eq!(faults, [".: there are 201 files, and the first 200 by name are read: put some together"]);
}

/// A socket: what is no file and no folder, and can be made without further ado.
fn socket(path: &Path) {
    std::os::unix::net::UnixListener::bind(path).unwrap();
}

#[test]
fn a_name_that_is_no_text_or_no_line_is_shown_on_one() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let (home, folder) = folder(&[("two\nlines.md", b"a\0")]);
    std::fs::write(home.path().join(OsStr::from_bytes(b"\xff.md")), "x").unwrap();
    let (files, faults) = texts(&folder, "");
    assert!(files.is_empty());
    assert_eq!(
        faults,
        [
            "\u{fffd}.md: its name is not UTF-8: rename it",
            "two\\nlines.md:1: there is a zero byte here: save it as UTF-8 text",
        ]
    );
}

proptest! {
    #[test]
    fn no_text_makes_reading_fail(text in "(\\PC|[#\\-*`~>:\n\t |\\[\\]<!]){0,400}") {
        let (document, _) = read(&text);
        for section in &document.sections {
            prop_assert!(document.body.contains(&section.text));
            for bullet in &section.bullets {
                prop_assert!(bullet.named().is_none_or(|(name, said)| name.len() + said.len() <= bullet.text.len()));
            }
        }
    }

    #[test]
    fn lines_of_markdown_in_any_order_are_read(lines in prop::collection::vec(prop::sample::select(&[
        "# Agent: a", "## Role", "## Skills", "### Skills", "Role\n---", "- one — two", "* x", "  - y", "```", "~~~",
        "> q", "---", "name: a", "text", "", "<!--", "-->", "|a|b|\n|-|-|", "    code", "[x]: y", "**Role**", "##Role",
    ][..]), 0..40)) {
        let text = lines.join("\n");
        let count = text.matches('\n').count() + 1;
        let mut faults = Vec::new();
        let document = Document::read("a.md", &text, KNOWN, &mut faults);
        for section in &document.sections {
            prop_assert!(section.line <= count);
            prop_assert!(section.bullets.iter().all(|bullet| bullet.line > section.line && bullet.line <= count));
        }
        prop_assert!(faults.iter().all(|fault| fault.line.is_some_and(|line| (1..=count).contains(&line))));
    }

    #[test]
    fn a_slug_of_a_slug_is_itself(text in "\\PC{0,60}") {
        if let Some(slug) = Slug::of(&text) {
            prop_assert_eq!(Slug::parse(slug.as_str()), Some(slug.clone()));
            prop_assert_eq!(Slug::of(slug.as_str()), Some(slug));
        }
    }
}

#[test]
fn a_heading_names_what_its_word_announces() {
    for (text, name, fault) in [
        ("# Agent: react-dev", Some("react-dev"), None),
        ("# agent - react-dev", Some("react-dev"), None),
        ("# Agent — react-dev", Some("react-dev"), None),
        ("# Agent –react-dev", Some("react-dev"), None),
        ("## Agent: `react-dev`\n\n## Role", Some("react-dev"), None),
        ("# Front end\n\n## Agent: react-dev", None, None),
        (
            "# Agent react-dev",
            None,
            Some("a.md:1: `Agent react-dev` names nothing: write `# Agent: react-dev` if that is its name"),
        ),
        (
            "\n## Agent react-dev",
            None,
            Some("a.md:2: `Agent react-dev` names nothing: write `# Agent: react-dev` if that is its name"),
        ),
        ("# Agents: all", None, None),
        ("# Agent-based testing", None, None),
        ("# Agent", None, None),
        ("Agent: react-dev", None, None),
    ] {
        let mut faults = Vec::new();
        let document = Document::read("a.md", text, &[], &mut faults);
        let found = document.titled("a.md", "agent", &mut faults).map(|(name, _)| name);
        assert_eq!(found, name, "{text}");
        assert_eq!(
            faults.iter().map(Fault::to_string).collect::<Vec<_>>(),
            fault.into_iter().collect::<Vec<_>>(),
            "{text}"
        );
    }
}
