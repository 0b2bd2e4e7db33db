//! `hive doctor` over teams: what is wrong with their files, where, and with which exit code.

use std::path::Path;

use fakes::product::{Ended, Setup};

use super::world::{KEY, World};
use super::{Named, real};

pub(super) const ALL: &[Named] = &[
    ("doctor_names_file_and_line_of_what_is_wrong_with_teams", || real(errors())),
    ("doctor_passes_over_what_is_only_odd_about_teams", || real(warnings())),
    ("doctor_says_that_the_files_of_teams_are_good", || real(good())),
];

/// What a team is given: its file, and others in its folder.
type Team<'a> = (&'a str, &'a str, &'a [(&'a str, &'a [u8])]);

/// A hive with these teams, `name` and `parent` first; the program itself makes the database.
async fn with_teams(setup: &Setup, teams: &[(Team<'_>, &str)]) {
    let first = setup.run(&["doctor", "--offline"], "").await;
    assert_eq!(first.code(), Some(0), "{}{}", first.output, first.log);
    let rows = rusqlite::Connection::open(setup.run_dir().join("openhive.db")).expect("it is there");
    for ((name, config, files), parent) in teams {
        let depth = "(SELECT depth + 1 FROM teams WHERE name = ?2)";
        let sql =
            format!("INSERT INTO teams (name, parent, depth, state, created_at) VALUES (?1, ?2, {depth}, 'ready', 0)");
        rows.execute(&sql, [name, parent]).expect("its parent is there");
        let home = setup.run_dir().join("teams").join(name);
        write(&home, "config.yaml", config.as_bytes());
        files.iter().for_each(|(path, bytes)| write(&home, path, bytes));
    }
}

fn write(home: &Path, path: &str, bytes: &[u8]) {
    let path = home.join(path);
    std::fs::create_dir_all(path.parent().expect("it is below")).expect("made");
    std::fs::write(path, bytes).expect("written");
}

/// The lines of a grade, without the word for it.
fn lines<'e>(ended: &'e Ended, grade: &str) -> Vec<&'e str> {
    ended.output.lines().filter_map(|line| line.strip_prefix(grade)).map(str::trim_start).collect()
}

async fn errors() {
    let world = World::new().await;
    let setup = world.setup.clone().with_anthropic(&world.model, KEY);
    let dev = b"# Agent: dev\n\n## Role\nWrites.\n\n## Boundaries\nNone.\n\n## Communication Style\nShort.\n\n## Skills\n- build";
    let strange = "name: other\nallowed_tools: [web_fetch, dev, raed_file]\ntoolboxes:\n  - resaerch\n\
                   provider_profile: dear\nshell_network: true\n";
    with_teams(
        &setup,
        &[
            (("ops", "# ours\nmax_step: 5\n", &[("subagents/dev.md", dev), ("org-rules/a.md", b"# A\n\xff")]), "main"),
            // What is wrong with the one above it is told there.
            (("deep", "max_steps: 5\n", &[]), "ops"),
            (("web", strange, &[("subagents/dev.md", dev), ("skills/build.md", b"Builds.\n\n1. Build.\n")]), "main"),
            (("hosts", "allowed_domains: [example.org, 999.1.1.1]\n", &[]), "main"),
            (("bytes", "name: bytes\ndescription: \"\u{e9}\"\n", &[]), "main"),
            (("gone", "{}\n", &[]), "main"),
        ],
    )
    .await;
    let teams = setup.run_dir().join("teams");
    std::fs::remove_dir_all(teams.join("gone")).expect("it was there");
    std::fs::create_dir(teams.join("nobody")).expect("made");
    std::fs::write(teams.join("bytes/config.yaml"), b"name: bytes\ndescription: \"\xe9\"\n").expect("written");
    let doctor = setup.run(&["doctor", "--offline"], "").await;
    assert_eq!(doctor.code(), Some(1), "{}{}", doctor.output, doctor.log);
    let told = lines(&doctor, "WRONG");
    for (at, why) in [
        ("teams/ops/config.yaml:2: ", "there is no key `max_step`: did you mean `max_steps`?"),
        ("teams/ops/subagents/dev.md:13: ", "the skill `build` is not in skills/"),
        ("teams/ops/org-rules/a.md:2: ", "it is not UTF-8 from here on"),
        ("teams/web/config.yaml:1: `name`: ", "it is `web`, not `other`"),
        (
            "teams/web/config.yaml:2: `allowed_tools`: ",
            "no subagent `raed_file`, and it grants nothing: did you mean `read_file`?",
        ),
        ("teams/web/config.yaml:3: `toolboxes`: ", "there is no toolbox `resaerch`"),
        (
            "teams/web/config.yaml:5: `provider_profile`: ",
            "there is no profile `dear`, and the main agent's model answers; there are: anthropic",
        ),
        ("teams/web/config.yaml:6: `shell_network`: ", "the shell of the team above has no network"),
        ("teams/hosts/config.yaml:1: `allowed_domains", "`999.1.1.1` is not a host"),
        ("teams/bytes/config.yaml:2: ", "it is not UTF-8 from here on"),
        ("team gone: ", "there is no folder teams/gone"),
    ] {
        let found = told.iter().filter(|line| line.starts_with(at) && line.contains(why)).count();
        assert_eq!(found, 1, "{at}{why}\n{}", doctor.output);
    }
    assert_eq!(told.len(), 11, "each thing comes once:\n{}", doctor.output);
    assert!(doctor.output.contains("Wrong: 11."), "{}", doctor.output);
    let noted = lines(&doctor, "note").into_iter().any(|line| line.starts_with("teams/nobody: it belongs to no team"));
    assert!(noted, "{}", doctor.output);
    assert!(!doctor.output.contains("ok     the files of"), "{}", doctor.output);
}

async fn warnings() {
    let world = World::new().await;
    let setup = world.setup.clone().with_openai(&world.model, KEY).file("rules/style.md", "# Style\nPlain words.\n");
    with_teams(
        &setup,
        &[
            (
                (
                    "eng",
                    "description: x\nmemory_embedding: openai\n",
                    &[("org-rules/style.md", b"# Style\nShort words.\n")],
                ),
                "main",
            ),
            (
                ("web", "{}\n", &[("team-rules/a.md", b"# Pages\nSmall.\n"), ("team-rules/b.md", b"# Pages\nFew.\n")]),
                "eng",
            ),
        ],
    )
    .await;
    let doctor = setup.run(&["doctor", "--offline"], "").await;
    assert_eq!(doctor.code(), Some(0), "{}{}", doctor.output, doctor.log);
    let noted = lines(&doctor, "note");
    for (at, why) in [
        ("teams/eng/org-rules/style.md:1: ", "the rule rules/style.md has the heading `Style` as well"),
        ("teams/web/team-rules/b.md:1: ", "a.md beside it has the heading `Pages` as well"),
        ("teams/eng/config.yaml:2: ", "`memory_embedding`: it has no effect yet"),
    ] {
        assert!(noted.iter().any(|line| line.starts_with(at) && line.contains(why)), "{at}{why}\n{}", doctor.output);
    }
}

async fn good() {
    let world = World::new().await;
    let config = "name: ops\nparent: main\nallowed_tools: ['*', ops.*]\ntoolboxes: [ops]\nmax_steps: 20\n\
                  allowed_domains: ['*.example.org']\nbrowser: {timeout_ms: 5000}\nmcp_servers: [github]\n\
                  budgets: {daily_usd: 2.5}\n";
    with_teams(&world.setup, &[(("ops", config, &[]), "main")]).await;
    let doctor = world.setup.run(&["doctor", "--offline"], "").await;
    assert_eq!(doctor.code(), Some(0), "{}{}", doctor.output, doctor.log);
    assert!(lines(&doctor, "ok").contains(&"the files of 2 teams and the owner's rules"), "{}", doctor.output);
}
