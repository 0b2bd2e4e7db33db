//! How subagents and personas are read, and that what is written comes back.

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

fn loaded(files: &[(&str, &str)]) -> (Vec<Subagent>, Vec<String>) {
    let (_home, folder) = folder(files);
    let mut faults = Vec::new();
    let subagents = load(&folder, &mut faults);
    (subagents, faults.iter().map(Fault::to_string).collect())
}

const REACT: &str = "# Agent: react-dev\n\n## Role\nBuilds pages.\n\nIn React.\n\n## Boundaries\n- No servers.\n\n\
    ### Ever\n- None.\n\n## Communication Style\nBrief.\n\n## Skills\n- build-ui — builds them\n* `test-ui`: tests them\n\n\
    ## Tools\n- read_file\n- write_file\n";

#[test]
fn a_subagent_is_its_sections_and_its_whole_text() {
    let (subagents, faults) = loaded(&[("subagents/react-dev.md", REACT), ("subagents/README.md", "no")]);
    assert_eq!(faults, Vec::<String>::new());
    let skill = |name, description: &str, line| SkillRef {
        name: Slug::parse(name).unwrap(),
        description: description.to_owned(),
        line: Some(line),
    };
    let expected = Subagent {
        name: Slug::parse("react-dev").unwrap(),
        description: "Builds pages.".into(),
        boundaries: "- No servers.\n\n### Ever\n- None.".into(),
        style: "Brief.".into(),
        skills: vec![skill("build-ui", "builds them", 18), skill("test-ui", "tests them", 19)],
        tools: Some(vec!["read_file".into(), "write_file".into()]),
        text: REACT.trim().into(),
        file: "subagents/react-dev.md".into(),
    };
    assert_eq!(subagents, [expected]);
}

#[test]
fn a_name_is_that_of_the_heading_then_of_the_front_matter_then_of_the_file() {
    let rest = "## Role\nr\n## Boundaries\nb\n## Communication Style\nc\n## Skills\n- none\n";
    for (head, expected, faults) in [
        ("# Agent: one\n", "one", 0),
        ("#   AGENT :  `one`  \n", "one", 0),
        ("---\nname: two\n---\n# Agent: one\n", "one", 0),
        ("---\nname: two\n---\n", "two", 0),
        ("# About\n", "file", 0),
        ("# Agent:\n", "file", 0),
        ("", "file", 0),
        ("# Agent: React Dev\n", "react-dev", 1),
    ] {
        let (subagents, found) = loaded(&[("subagents/file.md", &format!("{head}{rest}"))]);
        assert_eq!(subagents[0].name.as_str(), expected, "{head}");
        assert_eq!(found.len(), faults, "{head}: {found:?}");
    }
}

#[test]
fn faults_of_subagents_say_where_and_what_to_do() {
    let whole = |name: &str, skills: &str| {
        format!("# Agent: {name}\n## Role\nr\n## Boundaries\nb\n## Communication Style\nc\n## Skills\n{skills}\n")
    };
    for (text, expected) in [
        (
            whole("a", "- ../../other-team/skills/x — reads"),
            &[
                "subagents/a.md:9: `../../other-team/skills/x` is no name of a skill: write `- name — description`, the \
               name with 1 to 48 lower-case letters and digits with single `-` or `_` between them",
            ][..],
        ),
        (whole("a", "- x\n- x.md: again"), &["subagents/a.md:10: the skill `x` is named twice: take one line out"]),
        (
            whole("a", "x and y"),
            &[
                "subagents/a.md:8: there is no bullet in `Skills`: write `- name — description` for each skill, or `- none`",
            ],
        ),
        (whole("a", "None."), &[]),
        (
            whole("Ä", "- x"),
            &[
                "subagents/a.md:1: `Ä` is no name of a subagent, and it is not read: write `# Agent: <name>` with 1 to 48 \
               lower-case letters and digits with single `-` or `_` between them",
            ],
        ),
        (
            "# Agent: a\n## Role\n## Boundaries\n- b\n".to_owned(),
            &[
                "subagents/a.md:2: the section `Role` is empty: fill it",
                "subagents/a.md: it has no section `## Communication Style`: write one",
                "subagents/a.md: it has no section `## Skills`: write one, with `- name — description` for each skill, \
                 or `- none`",
            ],
        ),
        (" \n".to_owned(), &["subagents/a.md: the subagent is empty: write its sections, or take it away"]),
    ] {
        assert_eq!(loaded(&[("subagents/a.md", &text)]).1, expected, "{text}");
    }
    let (subagents, faults) = loaded(&[("subagents/a.md", &whole("x", "- s")), ("subagents/b.md", &whole("x", "- s"))]);
    assert_eq!(subagents.len(), 1);
    let said = "subagents/b.md:1: a subagent `x` is there already in subagents/a.md, and this one is not read: rename it, \
                or take it away";
    assert_eq!(faults, [said]);
}

#[test]
fn an_empty_section_takes_nothing_of_the_next() {
    let text = "# Agent: a\n## Role\nr\n## Communication Style\nc\n## Skills\n## Boundaries\n- not-a-skill\n";
    let (subagents, _) = loaded(&[("subagents/a.md", text)]);
    assert_eq!((subagents[0].skills.len(), subagents[0].boundaries.as_str()), (0, "- not-a-skill"));
}

#[test]
fn what_is_not_around_a_subagent_is_said() {
    let skill_file = ("skills/test-ui.md", "# Skill: test-ui\n1. Go.\n");
    let grep = REACT.replace("react-dev", "grep");
    let (_home, folder) = folder(&[("subagents/react-dev.md", REACT), ("subagents/grep.md", &grep), skill_file]);
    let mut faults = Vec::new();
    let (subagents, skills) = (load(&folder, &mut faults), skills::load(&folder, "ops", &mut faults));
    assert!(faults.is_empty(), "{faults:?}");
    let said: Vec<_> = check(&subagents, &skills, |name| name == "grep").iter().map(Fault::to_string).collect();
    let missing = "the skill `build-ui` is not in skills/: write skills/build-ui.md, or take the line out";
    let expected = [
        "subagents/grep.md: a tool is called `grep` already, and the subagent's is `subagent-grep`: give it another name".to_owned(),
        format!("subagents/grep.md:18: {missing}"),
        format!("subagents/react-dev.md:18: {missing}"),
    ];
    assert_eq!(said, expected);
}

#[test]
fn a_persona_is_its_front_matter_and_what_stands_below() {
    let text =
        "---\nname: Ada\ndescription: >\n  Looks after\n  releases.\nskills: [a, skills/b.md]\n---\n\n# Ada\nCalm.\n";
    let (_home, folder) = folder(&[("AGENT.md", text)]);
    let mut faults = Vec::new();
    let expected = Persona {
        name: Some("Ada".into()),
        description: "Looks after releases.".into(),
        skills: Some(["a", "b"].map(|name| Slug::parse(name).unwrap()).to_vec()),
        text: "# Ada\nCalm.".into(),
    };
    assert_eq!(persona(&folder, &mut faults), Some(expected));
    assert!(faults.is_empty(), "{faults:?}");
    assert_eq!(persona(&self::folder(&[]).1, &mut faults), None);
    let (_home, empty) = self::folder(&[("AGENT.md", "---\nname: x\n---\n")]);
    assert!(persona(&empty, &mut faults).is_some());
    let said = "AGENT.md: there is nothing below its front matter: write who the agent is, or take the file away";
    assert_eq!(faults.iter().map(Fault::to_string).collect::<Vec<_>>(), [said]);
}

#[test]
fn a_key_of_a_persona_without_effect_is_told_with_its_line() {
    let text = "---\nname: Ada\ndescripton: x\nmodel: large\nMCP:\n  - github\nSkills: [\"no skill!\"]\ncolour: red\n---\nCalm.\n";
    let (_home, folder) = folder(&[("AGENT.md", text)]);
    let mut faults = Vec::new();
    persona(&folder, &mut faults);
    let said: Vec<_> = faults.iter().map(Fault::to_string).collect();
    let expected = [
        "AGENT.md:3: `descripton` has no effect here: did you mean `description`?".to_owned(),
        "AGENT.md:4: `model` has no effect here: what the team may do is for `provider_profile` of its config.yaml to say"
            .to_owned(),
        "AGENT.md:5: `MCP` has no effect here: what the team may do is for `mcp_servers` of its config.yaml to say".to_owned(),
        "AGENT.md:8: `colour` has no effect here: there are `name`, `description`, `skills`".to_owned(),
        format!("AGENT.md: `no skill!` is no name of a skill: write it with {}", Slug::FORM),
    ];
    assert_eq!(said, expected);
}

/// A subagent as somebody could write it: names and texts by chance, and one of the many forms.
#[derive(Clone, Debug)]
struct Written {
    name: String,
    role: String,
    boundaries: String,
    style: String,
    skills: Vec<(String, String)>,
    level: usize,
    bullet: &'static str,
    dash: &'static str,
    end: &'static str,
    order: Vec<usize>,
}

fn written() -> impl Strategy<Value = Written> {
    let slug = "[a-z][a-z0-9]{0,8}(-[a-z0-9]{1,8}){0,2}";
    let text = "[A-Z][a-z]{1,9}( [a-z]{1,9}){0,6}\\.";
    let skills =
        prop::collection::btree_map(slug, prop_oneof![Just(String::new()), "[a-z]{1,9}( [a-z]{1,9}){0,3}"], 0..5);
    let form = (
        1usize..=6,
        prop::sample::select(&["- ", "* ", "+ "][..]),
        prop::sample::select(&[" — ", " – ", " - ", ": "][..]),
        prop::sample::select(&["\n", "\r\n"][..]),
        Just(vec![0usize, 1, 2, 3]).prop_shuffle(),
    );
    (slug, text, text, text, skills, form).prop_map(
        |(name, role, boundaries, style, skills, (level, bullet, dash, end, order))| Written {
            name,
            role,
            boundaries,
            style,
            skills: skills.into_iter().filter(|(name, _)| name != "none").collect(),
            level,
            bullet,
            dash,
            end,
            order,
        },
    )
}

impl Written {
    fn text(&self) -> String {
        let skills = self.skills.iter().map(|(name, description)| match description.as_str() {
            "" => format!("{}{name}", self.bullet),
            description => format!("{}{name}{}{description}", self.bullet, self.dash),
        });
        let skills = if self.skills.is_empty() { "- none".to_owned() } else { skills.collect::<Vec<_>>().join("\n") };
        let sections = [
            ("Role", &self.role),
            ("Boundaries", &self.boundaries),
            ("Communication Style", &self.style),
            ("Skills", &skills),
        ];
        let mut text = format!("# Agent: {}\n\n", self.name);
        for at in &self.order {
            let (heading, inside) = sections[*at];
            text.push_str(&format!("{} {heading}\n\n{inside}\n\n", "#".repeat(self.level)));
        }
        text.replace('\n', self.end)
    }
}

proptest! {
    #[test]
    fn what_is_written_comes_back(written in written()) {
        let (subagents, faults) = loaded(&[("subagents/file.md", &written.text())]);
        prop_assert_eq!(faults, Vec::<String>::new());
        let read = &subagents[0];
        prop_assert_eq!(read.name.as_str(), &written.name);
        prop_assert_eq!(&read.description, &written.role);
        prop_assert_eq!((&read.boundaries, &read.style), (&written.boundaries, &written.style));
        let skills: Vec<_> = read.skills.iter().map(|s| (s.name.to_string(), s.description.clone())).collect();
        prop_assert_eq!(skills, written.skills);
    }

    #[test]
    fn no_file_makes_reading_fail(text in "(\\PC|\n){0,300}") {
        loaded(&[("subagents/a.md", &text), ("AGENT.md", &text)]);
    }
}
